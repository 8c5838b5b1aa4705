"""Publishing `.processed_turns`: the line counts of the transcripts that this daemon has read (SPEC P-27 to P-31).

The file's format belongs to `turn_counts`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tacitd.files import json_document
from tacitd.files.replaced import edit_file
from tacitd_handlers.profile import turn_counts


@dataclass(slots=True)
class _Read:
    """The position in one transcript."""

    path: Path
    upto: int
    """The byte offset up to which the handler has read."""
    counted: int = 0
    """The byte offset up to which its lines were counted."""
    lines: int = 0


class TurnPublisher:
    """The positions of one handler, and the file that they are published in."""

    def __init__(self, directory: Path, list_sessions: Callable[[], set[str]]) -> None:
        self._file = directory / turn_counts.NAME
        self._list_sessions = list_sessions
        self._read: dict[str, _Read] = {}
        self._stale = False

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
        self._stale = False


def _counted(one: _Read) -> bool:
    """Count the new lines. False if the file is gone or shorter than before: then it is counted from its start later."""
    more = turn_counts.count_lines(one.path, one.upto, one.counted)
    if more is None:
        one.counted = one.lines = 0
        return False
    one.counted, one.lines = one.upto, one.lines + more
    return True
