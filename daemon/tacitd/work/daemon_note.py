"""What the daemon that runs, or ran last, says of itself, as rows: so `status` is the same with it, without it, and beside one that
hangs.

Its loop writes them at the end of a pass, if something changed, and once a minute.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

if TYPE_CHECKING:
    from tacitd.contract import Rows
    from tacitd.handler import Degradation
    from tacitd.store import Store

KEY = "daemon"
"""Of the row of `setting` that has the note."""
OWNER = "daemon"
"""The owner of the rows of `degradation` that hold for as long as the daemon says so."""
EVERY = 60.0
"""Seconds after which the note is written anew, for the time of the last pass."""


class DaemonNote(Struct, frozen=True):
    """What the daemon says of itself. Times are seconds since 1970, UTC."""

    version: str
    pid: int
    since: float
    passed: float
    """When its last pass ended, to the minute."""
    root: str
    """The client's own directory."""
    transcripts: int
    lines: Mapping[str, int] = field(default_factory=dict)
    """Lines of transcripts that were not read as usual, since its start, by kind."""
    unread: tuple[int, int] = (0, 0)
    """Transcripts that were not read to their end, and how many bytes."""
    program: str = ""
    """The path of the model's program; "" if it was not found."""
    first_start: float = 0.0
    plugins: Sequence[str] = ()
    """Those that run."""
    readers: Sequence[str] = ()
    """Those of them that read records."""
    payers: Sequence[str] = ()
    """Those of them that ask the model about prompts."""
    ends: Mapping[str, float] = field(default_factory=dict)
    """By open session when it ends, if its client has ended."""


_READ_NOTE = msgspec.json.Decoder(DaemonNote)


def read_note(rows: Rows) -> DaemonNote | None:
    """The note; None if no daemon has run here yet, or one of another version wrote it."""
    found = rows("SELECT value FROM setting WHERE key = ?", KEY)
    try:
        return _READ_NOTE.decode(found[0][0]) if found else None
    except msgspec.DecodeError:
        return None


class NoteWriter:
    """Writes the note and the problems when they have changed. Use it from one thread, the loop's."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.last: DaemonNote | None = None
        """What was to be written last."""
        self._written: object = None
        self._passed = -math.inf

    def write(self, note: DaemonNote, problems: Sequence[Degradation]) -> None:
        """Raises UnwritableError, StoreLostError: it is written by a later pass."""
        self.last = note
        same = self._store.generation, replace(note, passed=0.0), list(problems)
        if same == self._written and 0.0 <= note.passed - self._passed < EVERY:
            return
        with self._store.write() as tx:
            known: dict[tuple[str, str], float] = {
                (id, what): since
                for id, what, since in tx.rows(
                    "SELECT id, what, since FROM degradation WHERE owner = ?", OWNER
                )
            }
            tx.execute("INSERT OR REPLACE INTO setting VALUES(?, ?)", KEY, msgspec.json.encode(note).decode())
            tx.execute("DELETE FROM degradation WHERE owner = ?", OWNER)
            tx.executemany(
                "INSERT OR IGNORE INTO degradation(owner, id, what, hint, since) VALUES(?, ?, ?, ?, ?)",
                [
                    (OWNER, one.id, one.what, one.hint, known.get((one.id, one.what), note.passed))
                    for one in problems
                ],
            )
        self._written, self._passed = same, note.passed
