"""What tacitd remembers of the two files: how far the ledger is folded, what it wrote, and what a person changed.

One JSON file of ours, replaced whole. The ledger is the truth and the profile is the learner's: losing this file costs
the memory of what a person removed, and nothing else. Nothing is decided here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from tacitd_handlers.learner.caps import Seats
from tacitd_handlers.learner.fold import Folded, Override
from tacitd_handlers.learner.lifecycle import Weakness

VERSION = 1
SessionKey = tuple[str, str, str]
"""Stamp, problem, mode: what an entry shares with its row."""


@dataclass(frozen=True, slots=True)
class Wrote:
    """An entry as it stood in the profile after the last writing."""

    label: str
    description: str
    first: str
    tested: str
    status: str
    resolved: bool


@dataclass(slots=True)
class State:
    """All of it."""

    version: int = VERSION
    size: int = 0
    """Bytes of the ledger that are folded."""
    crc: int = 0
    """Their CRC-32: a ledger that was changed by hand is folded anew."""
    bad: int = 0
    """Lines of it that are no rows."""
    records: int = 0
    """Bytes of `records.jsonl` whose rows were written, or given up: what comes after was cut off by a crash."""
    profile: int = 0
    """The CRC-32 of the profile after the last writing: another one was changed by somebody else."""
    folded: Folded = field(default_factory=Folded)
    seats: Seats = field(default_factory=Seats)
    wrote: dict[str, Wrote] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    """The description of each tag, also while it stands nowhere."""
    removed: list[str] = field(default_factory=list)
    """Tags whose entries a person took out, or that were forgotten (SPEC L-30)."""
    sessions: list[SessionKey] = field(default_factory=list)
    """Those that stood in the profile after the last writing."""
    gone: list[SessionKey] = field(default_factory=list)
    """Those that a person took out."""
    aged: str = ""
    """The newest stamp that the cap of Session History took out."""
    overrides: list[Override] = field(default_factory=list)
    """In the order in which they were made."""
    given: dict[str, Weakness] = field(default_factory=dict)
    also: dict[str, list[str]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    """Tag to the label that a person gave it (SPEC L-11)."""

    @property
    def fresh(self) -> bool:
        """Nothing was ever written."""
        return not self.wrote and not self.sessions


_DECODER = msgspec.json.Decoder(State)


def load(data: bytes) -> State | None:
    """Given the file's bytes, return the state; None where it is none of this version: then all is folded anew."""
    try:
        found = _DECODER.decode(data)
    except (msgspec.DecodeError, ValueError):
        return None
    return found if found.version == VERSION else None


def dump(state: State) -> bytes:
    """The file's bytes."""
    return msgspec.json.encode(state)
