"""What has to be told at the next session start, and which stamp each session was given: one small log.

    {"k":"stamp","at","session","stamp","first"}    a session was told its stamp; `first`: it was the very first
    {"k":"say","at","text"}                         a line for the next session start
    {"k":"told","at","count"}                       so many of those lines were said
    {"k":"cap","at","tags"}                         who waits for room in Known Weaknesses
    {"k":"restored","at","names"}                   sections that a session start put back empty; none: they are full again

It is read at every session start, so it is kept short. Nothing of the ledger is in it (SPEC L-05).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacitd.files.disk import Disk
from tacitd.files.log import Log

LARGE = 128 << 10
KEEP = 200
"""Sessions whose stamps stay when the log is made short."""


@dataclass(slots=True)
class Known:
    """The log, folded."""

    stamps: dict[str, str] = field(default_factory=dict)
    """Newest last."""
    firsts: set[str] = field(default_factory=set)
    say: list[str] = field(default_factory=list)
    """What was not told yet."""
    cap: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()


class Notes:
    """The log. Several processes may add to it."""

    def __init__(self, home: Path, disk: Disk | None = None) -> None:
        self._log = Log(home / "sessions.jsonl", disk)

    def known(self) -> Known:
        """Read it. Raises OSError."""
        return fold(self._log.read())

    def stamp(self, session: str, stamp: str, at: float, *, first: bool = False) -> None:
        """A session was given its stamp. `at`: seconds since 1970, UTC."""
        self._log.append({"k": "stamp", "at": at, "session": session, "stamp": stamp, "first": first})

    def say(self, lines: Iterable[str], at: float) -> None:
        """Tell these lines at the next session start."""
        for text in lines:
            self._log.append({"k": "say", "at": at, "text": text})

    def told(self, count: int, at: float) -> None:
        """So many of the waiting lines were told."""
        if count:
            self._log.append({"k": "told", "at": at, "count": count})
        if self._log.size > LARGE:
            self._log.compact(short(self.known(), at))

    def cap(self, tags: Iterable[str], at: float) -> None:
        """These wait for room."""
        self._log.append({"k": "cap", "at": at, "tags": list(tags)})

    def restored(self, names: Iterable[str], at: float) -> None:
        """These sections were put back empty."""
        self._log.append({"k": "restored", "at": at, "names": list(names)})

    def flush(self) -> None:
        """Make it durable."""
        self._log.flush()

    def close(self) -> None:
        """Make it durable, and give the descriptor back."""
        self._log.close()


def fold(records: Iterable[Mapping[str, Any]]) -> Known:
    """Foreign records are skipped."""
    known = Known()
    for record in records:
        match record:
            case {"k": "stamp", "session": str(session), "stamp": str(stamp)}:
                known.stamps.pop(session, None)
                known.stamps[session] = stamp
                if record.get("first"):
                    known.firsts.add(session)
            case {"k": "say", "text": str(text)}:
                known.say.append(text)
            case {"k": "told", "count": int(count)}:
                del known.say[:count]
            case {"k": "cap", "tags": list(tags)}:
                known.cap = tuple(str(tag) for tag in tags)
            case {"k": "restored", "names": list(names)}:
                known.restored = tuple(str(name) for name in names)
            case _:
                continue
    return known


def short(known: Known, at: float) -> list[dict[str, Any]]:
    """The same in fewer records."""
    stamps = list(known.stamps.items())[-KEEP:]
    made: list[dict[str, Any]] = [
        {"k": "stamp", "at": at, "session": s, "stamp": t, "first": s in known.firsts} for s, t in stamps
    ]
    made += [{"k": "say", "at": at, "text": text} for text in known.say]
    made.append({"k": "restored", "at": at, "names": list(known.restored)})
    return [*made, {"k": "cap", "at": at, "tags": list(known.cap)}]
