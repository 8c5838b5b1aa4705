"""Who stands where: active, resolved, waiting for room, or out (SPEC L-09, L-26 to L-29). Pure; lists of tags.

Nobody is pushed out of the active list, and nobody is promoted to make room without proof. Whoever finds no room waits
in line, and the line moves when a place is free.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from tacitd_handlers.learner.lifecycle import Weakness
from tacitd_handlers.learner.resolution import longest_untested, most_resolved
from tacitd_handlers.learner.words import LONG, SHORT

ACTIVE: Final = 20
RESOLVED: Final = 10


@dataclass(slots=True)
class Seats:
    """The order is that of the profile, or of the line."""

    active: list[str] = field(default_factory=list)
    resolved: list[str] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    """They left a full `### Resolved`; the ledger keeps their history."""
    others_active: int = 0
    """Entries that are nobody's tag: a person's own. They count, and are never touched."""
    others_resolved: int = 0

    def of(self, tag: str) -> list[str] | None:
        """The list in which a tag stands."""
        lists = (self.active, self.resolved, self.pending, self.dropped)
        return next((each for each in lists if tag in each), None)

    @property
    def full(self) -> bool:
        """Whether the active list has no room."""
        return len(self.active) + self.others_active >= ACTIVE


@dataclass(frozen=True, slots=True)
class Move:
    """What became of a tag."""

    tag: str
    what: Literal["enters", "waits", "promoted", "makes room", "returns", "dropped"]


def seat(
    seats: Seats,
    tags: dict[str, Weakness],
    touched: Iterable[str],
    removed: Collection[str],
    proved: Callable[[Weakness], bool],
) -> list[Move]:
    """After a session touched these tags, move whoever must move. Changes `seats`, and in `tags` whom it promotes."""
    moves: list[Move] = []
    for tag in touched:
        if tag not in removed:
            moves += _by_status(seats, tags[tag])
    moves += _overflow(seats, tags)
    while seats.pending:
        if seats.full and not _make_room(seats, tags, proved, moves):
            break
        tag = seats.pending.pop(0)
        seats.active.append(tag)
        moves = [move for move in moves if move != Move(tag, "waits")]
        moves.append(Move(tag, "enters"))
    return moves


def _by_status(seats: Seats, weakness: Weakness) -> list[Move]:
    tag, at = weakness.tag, seats.of(weakness.tag)
    if weakness.status == LONG:
        if at is seats.resolved or at is seats.dropped:
            return []
        if at is not None:
            at.remove(tag)
        seats.resolved.append(tag)
        return [Move(tag, "promoted")]
    if at is seats.active or at is seats.pending:
        return []
    if at is not None:
        at.remove(tag)
    seats.pending.append(tag)
    return [Move(tag, "returns"), Move(tag, "waits")] if at is seats.resolved else [Move(tag, "waits")]


def _overflow(seats: Seats, tags: dict[str, Weakness]) -> list[Move]:
    """SPEC L-28: a full `### Resolved` lets go of the one that was tested longest ago."""
    moves = []
    known = [tags[tag] for tag in seats.resolved if tag in tags]
    while known and len(seats.resolved) + seats.others_resolved > RESOLVED:
        oldest = longest_untested(known)
        known.remove(oldest)
        gone = oldest.tag
        seats.resolved.remove(gone)
        seats.dropped.append(gone)
        moves.append(Move(gone, "dropped"))
    return moves


def _make_room(
    seats: Seats, tags: dict[str, Weakness], proved: Callable[[Weakness], bool], moves: list[Move]
) -> bool:
    """SPEC L-27: promote the most resolved whose four weeks are proved."""
    able = [tags[tag] for tag in seats.active if tag in tags and tags[tag].status == SHORT]
    for weakness in most_resolved(able):
        if proved(weakness):
            tags[weakness.tag] = replace(weakness, status=LONG)
            moves.append(Move(weakness.tag, "makes room"))
            moves += _by_status(seats, tags[weakness.tag])
            moves += _overflow(seats, tags)
            return True
    return False


def suggestions(seats: Seats, tags: dict[str, Weakness], count: int = 3) -> list[Weakness]:
    """Whom to archive, where someone waits (SPEC L-27)."""
    return most_resolved([tags[tag] for tag in seats.active if tag in tags])[:count]
