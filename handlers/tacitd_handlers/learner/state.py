"""tacitd's state about the two files: how far the ledger is folded, what was written, and what a person changed.

One JSON file, replaced as a whole. If it is lost, only the memory of what a person removed is lost; the rest is
rebuilt from ledger and profile. This module defines the format; it decides nothing.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct, field

from tacitd_handlers.learner.rules.capacity import WeaknessLists
from tacitd_handlers.learner.rules.ledger_fold import FoldedLedger, Override
from tacitd_handlers.learner.rules.lifecycle import Weakness

VERSION = 1
SessionKey = tuple[str, ...]
"""Stamp, problem, mode and session id. Without the id, as in older states, it matches all sessions of the three."""


class WrittenEntry(Struct, frozen=True):
    """A weakness entry as tacitd last wrote it."""

    label: str
    description: str
    first: str
    tested: str
    status: str
    resolved: bool
    failed: str = ""


class GuessedEntry(Struct):
    """An entry that was found to be a tag's, and that no second session confirmed yet."""

    found: Weakness
    """The entry's fields when it was found; `tag` is the label."""
    course: Weakness
    """These fields with what others wrote since. If the guess was wrong, and the entry is no other tag's, it gets them."""
    resolved: bool
    """Where others placed it."""


class LearnerState(msgspec.Struct):
    """The content of state.json."""

    version: int = VERSION
    size: int = 0
    """Bytes of the ledger that are folded."""
    crc: int = 0
    """Their CRC-32. If it differs, the ledger was changed by hand and is folded from the start."""
    bad: int = 0
    """Ledger lines that are not rows."""
    records: int = 0
    """Bytes of `records.jsonl` whose rows were written or given up. A crash cut off what follows."""
    profile: int = 0
    """The CRC-32 of the profile as last written. If it differs, somebody changed the profile."""
    folded: FoldedLedger = field(default_factory=FoldedLedger)
    lists: WeaknessLists = field(default_factory=WeaknessLists, name="seats")
    wrote: dict[str, WrittenEntry] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    """The description of each tag, kept also while the tag has no entry."""
    removed: list[str] = field(default_factory=list)
    """Tags whose entries a person removed, or that were forgotten (SPEC L-30)."""
    sessions: list[SessionKey] = field(default_factory=list)
    """The sessions in the profile after the last write."""
    gone: list[SessionKey] = field(default_factory=list)
    """The sessions that a person removed."""
    aged: str = ""
    """The newest stamp that the cap removed from Session History."""
    overrides: list[Override] = field(default_factory=list)
    """In the order in which they were made."""
    given: dict[str, Weakness] = field(default_factory=dict)
    also: dict[str, list[str]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    """By tag, the label of its entry, if it is not the tag itself. Kept also while the tag has no entry (SPEC L-11)."""
    guesses: dict[str, GuessedEntry] = field(default_factory=dict)
    """By tag, the entries whose alias later stamps may contradict."""
    healed: bool = False
    """Whether the doubles that earlier versions wrote were removed. An entry that appears later beside a tag's own is not one."""
    separate: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of label and tag that a person declared different."""
    held: dict[str, list[str]] = field(default_factory=dict)
    """Tags without an entry, because one of these labels may be theirs. Their courses are kept in the fold only."""
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of label and tag about which a person was asked, so that it is done once."""
    planned: LearnerState | None = None
    """The state after the write of the profile that is in progress. It is there for that moment, or after a crash in it."""

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever written."""
        return not self.wrote and not self.sessions


_DECODER = msgspec.json.Decoder(LearnerState)


def decode_state(data: bytes) -> LearnerState | None:
    """Given the file's bytes, return the state.

    None if they are not valid or of another version: then everything is folded again.
    """
    try:
        found = _DECODER.decode(data)
    except (msgspec.DecodeError, ValueError):
        return None
    return found if found.version == VERSION else None


def encode_state(state: LearnerState) -> bytes:
    """Encode the state as the file's bytes."""
    return msgspec.json.encode(state)
