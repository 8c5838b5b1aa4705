"""When `.processed_turns` is written, and with what: the counts of the transcripts that this daemon has read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tacitd.files.replaced import edit
from tacitd.paths import config_dir
from tacitd_handlers.profile import turns
from tacitd_handlers.usermemory import document


@dataclass(slots=True)
class _Read:
    """How far one transcript was read."""

    path: Path
    upto: int
    counted: int = 0
    """The offset up to which its lines were counted."""
    lines: int = 0


class Turns:
    """The positions of one handler, on their way into the file."""

    def __init__(self, directory: Path, env: Mapping[str, str]) -> None:
        self._file = directory / turns.NAME
        self._projects = config_dir(env) / "projects"
        self._read: dict[str, _Read] = {}
        self._stale = False

    def read(self, session: str, path: Path, upto: int) -> None:
        """A session's transcript was read up to this offset."""
        known = self._read.get(session)
        if (
            known is None or known.path != path or upto < known.counted
        ):  # another file, or rewritten (SPEC P-29)
            self._read[session] = _Read(path, upto)
        else:
            known.upto = upto
        self._stale = True

    def publish(self, *, tidy: bool = False) -> None:
        """Write what is new; with `tidy` also where nothing is, so that sessions without a transcript go.

        Raises OSError, FileRefusedError.
        """
        if not self._stale and not (tidy and self._file.exists()):
            return
        counts = {session: one.lines for session, one in self._read.items() if _counted(one)}
        there = {path.stem for path in self._projects.glob("*/*.jsonl")}
        there |= {session for session, one in self._read.items() if one.path.exists()}

        def changed(before: bytes | None) -> bytes | None:
            known = turns.parse((before or b"").decode("utf-8", "replace"))
            text = turns.format(turns.published(known, counts, there))
            return text.encode() if text or before is not None else None

        with document.locked(self._file.parent):
            edit(self._file, changed, mode=0o600)
        self._stale = False


def _counted(one: _Read) -> bool:
    """Count the lines that are new; a file that is gone or shorter counts for nothing."""
    more = turns.count(one.path, one.upto, one.counted)
    if more is None:
        one.counted = one.lines = 0
        return False
    one.counted, one.lines = one.upto, one.lines + more
    return True
