"""Publishing `.processed_turns`: the line counts of the transcripts that this daemon has read (SPEC P-27 to P-31).

The file's format belongs to `turn_counts`. Which byte a count reaches is kept in a file of tacitd's own, so that a start, also
one after a crash, only counts lines that were not counted before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

from tacitd.errors import TacitdError
from tacitd.files import json_document
from tacitd.files.replaced import edit_file, replace_file
from tacitd_handlers.profile import turn_counts


class _Read(Struct):
    """The position in one transcript."""

    path: Path
    upto: int
    """The byte offset up to which the handler has read."""
    counted: int = 0
    """The byte offset up to which its lines were counted."""
    lines: int = 0


class TurnPublisher:
    """The positions of one handler, and the file that they are published in."""

    def __init__(self, directory: Path, list_sessions: Callable[[], set[str]], counted: Path) -> None:
        """`counted`: the file for what was counted."""
        self._file = directory / turn_counts.NAME
        self._list_sessions = list_sessions
        self._counted = counted
        self._read: dict[str, _Read] = {}
        self._stale = False

    def resume_positions(self, positions: Iterable[tuple[str, Path, int]]) -> None:
        """Take over the positions of an earlier process: session, transcript, byte offset. What it read and did not publish
        before it ended is published next."""
        self._read = self._load_counted()
        for session, path, upto in positions:
            known = self._read.get(session)
            if session and upto > 0 and (known is None or (known.path, known.upto) != (path, upto)):
                self.note_read(session, path, upto)

    def note_read(self, session: str, path: Path, upto: int) -> None:
        """Note that a session's transcript was read up to this byte offset. Nothing is counted or written yet."""
        known = self._read.get(session)
        if known is None or known.path != path or upto < known.counted:  # another file, or rewritten (P-29)
            self._read[session] = _Read(path, upto)
        else:
            known.upto = upto
        self._stale = True

    def publish_counts(self, *, tidy: bool = False) -> None:
        """Count the new lines and write the file, if there are any.

        With `tidy` an existing file is always written, so that sessions without a transcript are removed (SPEC P-31).
        Raises OSError, FileRefusedError.
        """
        if not self._stale and not (tidy and self._file.exists()):
            return
        counts = {session: one.lines for session, one in self._read.items() if _counted(one)}
        there = self._list_sessions()
        there |= {session for session, one in self._read.items() if one.path.exists()}

        def changed(before: bytes | None) -> bytes | None:
            known = turn_counts.parse_counts((before or b"").decode("utf-8", "replace"))
            text = turn_counts.format_counts(turn_counts.merge_counts(known, counts, there))
            return text.encode() if text or before is not None else None

        with json_document.lock_directory(self._file.parent):
            edit_file(self._file, changed, mode=0o600)
        self._save_counted()
        self._stale = False

    def _load_counted(self) -> dict[str, _Read]:
        """What was counted before; nothing if the file is missing or damaged: then all lines are counted again."""
        try:
            found = json_document.read_document(self._counted, patient=False) or {}
            return {
                session: _Read(Path(path), int(upto), int(upto), int(lines))
                for session, (path, upto, lines) in found.items()
            }
        except (OSError, TacitdError, ValueError, TypeError):
            return {}

    def _save_counted(self) -> None:
        done = {
            session: [str(one.path), one.counted, one.lines]
            for session, one in self._read.items()
            if one.counted == one.upto and one.path.exists()
        }
        replace_file(self._counted, json.dumps(done).encode() + b"\n", mode=0o600)


def _counted(one: _Read) -> bool:
    """Count the new lines. False if the file is gone or shorter than before: then it is counted from its start later."""
    more = turn_counts.count_lines(one.path, one.upto, one.counted)
    if more is None:
        one.counted = one.lines = 0
        return False
    one.counted, one.lines = one.upto, one.lines + more
    return True
