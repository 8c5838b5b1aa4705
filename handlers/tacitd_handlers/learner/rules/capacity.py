"""Which list a weakness belongs to: active, resolved, pending or dropped (SPEC L-09, L-26 to L-29).

Pure; lists of tags. No entry is removed from the active list to make room, and none is promoted without proof. A
weakness that finds the active list full waits in `pending` until there is room. How a status changes is in
`lifecycle.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from tacitd_handlers.learner.rules.lifecycle import Weakness
from tacitd_handlers.learner.rules.resolution import longest_untested, most_resolved
from tacitd_handlers.learner.rules.vocabulary import LONG, SHORT

MAX_ACTIVE: Final = 20
MAX_RESOLVED: Final = 10


class WeaknessLists(Struct):
    """The tags of each list. `active` and `resolved` are in the order of the profile, `pending` is a FIFO queue."""

    active: list[str] = field(default_factory=list)
    resolved: list[str] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    """Tags removed from a full `### Resolved`. The ledger keeps their history."""
    others_active: int = 0
    """The number of active entries without a tag: a person wrote them.

    They count towards the cap and are never changed.
    """
    others_resolved: int = 0

    def find_list(self, tag: str) -> list[str] | None:
        """The list that contains a tag, or None."""
        lists = (self.active, self.resolved, self.pending, self.dropped)
        return next((each for each in lists if tag in each), None)

    @property
    def is_full(self) -> bool:
        """Whether the active list is at its cap."""
        return self.surplus >= 0

    @property
    def surplus(self) -> int:
        """By how many entries the active list exceeds its cap; negative if there is room."""
        return len(self.active) + self.others_active - MAX_ACTIVE


class Move(Struct, frozen=True):
    """A change of list, for the log and the output of `record`."""

    tag: str
    what: Literal["enters", "waits", "promoted", "makes room", "returns", "dropped", "archived"]


def move_tags(
    lists: WeaknessLists,
    tags: dict[str, Weakness],
    touched: Iterable[str],
    removed: Collection[str],
    proved: Callable[[Weakness], bool],
) -> list[Move]:
    """Apply the caps after a session touched these tags.

    Changes `lists`, and in `tags` the weaknesses that it promotes. `removed` are tags that a person took out (SPEC
    L-30); they are not placed. `proved` checks the four weeks of a promotion (SPEC L-25). Returns the moves in order.
    """
    moves: list[Move] = []
    for tag in touched:
        if tag not in removed:
            moves += _by_status(lists, tags[tag])
    moves += _overflow(lists, tags)
    # The queue is FIFO: if its head finds no room, nothing behind it does.
    while lists.pending:
        while lists.is_full and _make_room(lists, tags, proved, moves):
            pass  # more than one promotion is needed if a person wrote more than the cap
        if lists.is_full:
            break
        tag = lists.pending.pop(0)
        lists.active.append(tag)
        # It was queued and admitted in one call: report only that it entered.
        moves = [move for move in moves if move != Move(tag, "waits")]
        moves.append(Move(tag, "enters"))
    return moves


def archive_surplus(
    lists: WeaknessLists,
    tags: dict[str, Weakness],
    others: Sequence[Weakness],
    recorded: Collection[str],
    proved: Callable[[Weakness], bool],
) -> tuple[list[Move], list[Weakness]]:
    """Bring the active list down to the cap, when a person asks for it (SPEC L-09, L-27).

    What is proved is promoted. Then the most resolved entries move to `### Resolved` with their status, as far as there
    is room; tags in `recorded`, whose courses are in the ledger, wait if there is none. `others` are the active
    entries without a tag: they can only move. Returns the moves, and those of `others` that move.
    """
    moves: list[Move] = []
    while lists.surplus > 0 and _make_room(lists, tags, proved, moves):
        pass
    known = [tags[tag] for tag in lists.active if tag in tags]
    leaving = most_resolved([*known, *others])[: max(0, lists.surplus)]
    tagged = [weakness.tag for weakness in leaving if any(weakness is one for one in known)]
    moved = [weakness for weakness in leaving if any(weakness is one for one in others)]
    lists.others_active -= len(moved)
    lists.others_resolved += len(moved)
    waiting: list[str] = []
    for tag in tagged:
        lists.active.remove(tag)
        if len(lists.resolved) + lists.others_resolved < MAX_RESOLVED or tag not in recorded:
            lists.resolved.append(tag)
            moves.append(Move(tag, "archived"))
        else:
            waiting.insert(0, tag)
            moves.append(Move(tag, "waits"))
    lists.pending = [*waiting, *lists.pending]
    return [*moves, *(Move(weakness.tag, "archived") for weakness in moved)], moved


def _by_status(lists: WeaknessLists, weakness: Weakness) -> list[Move]:
    tag, at = weakness.tag, lists.find_list(weakness.tag)
    if weakness.status == LONG:
        if at is lists.resolved or at is lists.dropped:
            return []
        if at is not None:
            at.remove(tag)
        lists.resolved.append(tag)
        return [Move(tag, "promoted")]
    if at is lists.active or at is lists.pending:
        return []
    if at is lists.resolved and weakness.clean:
        return []  # a person archived it; only another failure brings it back
    if at is not None:
        at.remove(tag)
    lists.pending.append(tag)
    return [Move(tag, "returns"), Move(tag, "waits")] if at is lists.resolved else [Move(tag, "waits")]


def _overflow(lists: WeaknessLists, tags: dict[str, Weakness]) -> list[Move]:
    """Drop the entries of a full `### Resolved` that were tested longest ago (SPEC L-28)."""
    moves = []
    known = [tags[tag] for tag in lists.resolved if tag in tags]
    while known and len(lists.resolved) + lists.others_resolved > MAX_RESOLVED:
        oldest = longest_untested(known)
        known.remove(oldest)
        gone = oldest.tag
        lists.resolved.remove(gone)
        lists.dropped.append(gone)
        moves.append(Move(gone, "dropped"))
    return moves


def _make_room(
    lists: WeaknessLists, tags: dict[str, Weakness], proved: Callable[[Weakness], bool], moves: list[Move]
) -> bool:
    """Promote the most resolved active entry whose four weeks are proved (SPEC L-27). False if there is none."""
    able = [tags[tag] for tag in lists.active if tag in tags and tags[tag].status == SHORT]
    for weakness in most_resolved(able):
        if proved(weakness):
            tags[weakness.tag] = replace(weakness, status=LONG)
            moves.append(Move(weakness.tag, "makes room"))
            moves += _by_status(lists, tags[weakness.tag])
            moves += _overflow(lists, tags)
            return True
    return False
