"""The log of what the next session start must print, and of the stamp that each session was given.

    {"k":"stamp","at","session","stamp","first"}    a session was given its stamp; `first`: it was the very first
    {"k":"say","at","text"}                         a line for the next session start
    {"k":"told","at","count"}                       so many of these lines were printed
    {"k":"cap","at","tags"}                         the tags that wait for room in Known Weaknesses
    {"k":"restored","at","names"}                   sections that a session start restored empty; []: they are filled
    {"k":"place","at","directory"}                  a project in which a teaching session worked

`at` is in seconds since 1970, UTC. The log is read at every session start, so it is kept short. It contains nothing
of the ledger (SPEC L-05).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from tacitd.files.disk import Disk
from tacitd.files.log import Log

LARGE = 128 << 10
KEEP = 200
"""Sessions whose stamps are kept when the log is compacted."""


class NotesState(Struct):
    """The folded log."""

    stamps: dict[str, str] = field(default_factory=dict)
    """Stamps by session id, newest last."""
    firsts: set[str] = field(default_factory=set)
    pending_lines: list[str] = field(default_factory=list)
    """Lines that were not printed yet."""
    waiting_tags: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    """The projects in which teaching sessions worked."""


class SessionNotes:
    """The log. Several processes may append to it."""

    def __init__(self, home: Path, disk: Disk | None = None) -> None:
        self._log = Log(home / "sessions.jsonl", disk)

    def read_state(self) -> NotesState:
        """Read and fold the log. Raises OSError."""
        return fold_notes(self._log.read())

    def record_stamp(self, session: str, stamp: str, at: float, *, first: bool = False) -> None:
        """Store the stamp that a session was given. `at`: seconds since 1970, UTC."""
        self._log.append({"k": "stamp", "at": at, "session": session, "stamp": stamp, "first": first})

    def queue_lines(self, lines: Iterable[str], at: float) -> None:
        """Print these lines at the next session start."""
        for text in lines:
            self._log.append({"k": "say", "at": at, "text": text})

    def mark_shown(self, count: int, at: float) -> None:
        """Mark the first `count` pending lines as printed, and compact a large log."""
        if count:
            self._log.append({"k": "told", "at": at, "count": count})
        if self._log.size > LARGE:
            self._log.compact(compact_notes(self.read_state(), at))

    def record_waiting(self, tags: Iterable[str], at: float) -> None:
        """Replace the list of tags that wait for room."""
        self._log.append({"k": "cap", "at": at, "tags": list(tags)})

    def record_restored(self, names: Iterable[str], at: float) -> None:
        """Replace the list of sections that were restored empty."""
        self._log.append({"k": "restored", "at": at, "names": list(names)})

    def record_place(self, directory: str, at: float) -> None:
        """Note a project in which a teaching session worked."""
        self._log.append({"k": "place", "at": at, "directory": directory})

    def flush(self) -> None:
        self._log.flush()

    def close(self) -> None:
        """Flush, and close the file descriptor."""
        self._log.close()


def fold_notes(records: Iterable[Mapping[str, Any]]) -> NotesState:
    """Fold the records, oldest first. Foreign records are skipped."""
    known = NotesState()
    for record in records:
        match record:
            case {"k": "stamp", "session": str(session), "stamp": str(stamp)}:
                known.stamps.pop(session, None)
                known.stamps[session] = stamp
                if record.get("first"):
                    known.firsts.add(session)
            case {"k": "say", "text": str(text)}:
                known.pending_lines.append(text)
            case {"k": "told", "count": int(count)}:
                del known.pending_lines[:count]
            case {"k": "cap", "tags": list(tags)}:
                known.waiting_tags = tuple(str(tag) for tag in tags)
            case {"k": "restored", "names": list(names)}:
                known.restored = tuple(str(name) for name in names)
            case {"k": "place", "directory": str(directory)}:
                known.places = tuple(dict.fromkeys([*known.places, directory]))
            case _:
                continue
    return known


def compact_notes(known: NotesState, at: float) -> list[dict[str, Any]]:
    """Return the records that fold to the same state, for compaction."""
    stamps = list(known.stamps.items())[-KEEP:]
    made: list[dict[str, Any]] = [
        {"k": "stamp", "at": at, "session": s, "stamp": t, "first": s in known.firsts} for s, t in stamps
    ]
    made += [{"k": "say", "at": at, "text": text} for text in known.pending_lines]
    made += [{"k": "place", "at": at, "directory": place} for place in known.places[-KEEP:]]
    made.append({"k": "restored", "at": at, "names": list(known.restored)})
    return [*made, {"k": "cap", "at": at, "tags": list(known.waiting_tags)}]
