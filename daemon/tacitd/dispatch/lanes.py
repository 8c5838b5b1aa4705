"""The lanes of all handlers: which item is examined next, and where a handler is busy.

A lane is one handler's work for one project, or all its work if it keeps a single store (`Plugin.single_store`). A lane runs
one item at a time, in the order in which items came; a worker may be given several that have no prompt, which it runs one after
the other. The lanes of a handler take turns, and at most `Plugin.lanes` of them are busy at once, so a slow project or a long
backlog does not keep the others waiting. An item is only examined when its lane could run it. Nothing here decides what an
item does.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping

from msgspec import Struct, field

from tacitd.consumers.consumer import Consumer
from tacitd.dispatch.work_item import LaneKey, WorkItem

JOINING = 32
"""How many items a worker is given in one turn of their lane, if none of them has a prompt."""
MAX_ROUNDS = 100
"""How many items of one lane are examined in one call of `run_ready`; the loop then reads again."""


class Lane(Struct):
    """The items that wait in a lane, and whether it is busy."""

    queue: list[tuple[int, int, WorkItem]] = field(default_factory=list)
    """A heap of (rank, number, item): starts of sessions, then records, then what is made of records."""
    due: dict[WorkItem, None] = field(default_factory=dict)
    """The transcripts that are due and whose newest record belongs to the lane's project."""
    busy_since: float | None = None
    """Monotonic seconds at which it became busy, or the newest outcome came; None: not busy."""
    running: int = 0
    """How many items are in work. A worker runs them one after the other."""
    given: int = 0
    """How many items its worker was given since the lane became busy. Without a limit, a flood would never leave it to others."""
    may_join: bool = False
    """Whether further items may be given to its worker, so that thousands of transcripts without a prompt cost no change of
    threads for each."""

    @property
    def is_empty(self) -> bool:
        """Whether it can be forgotten."""
        return not self.queue and not self.due and not self.running

    @property
    def can_begin(self) -> bool:
        """Whether one more item may be given to a worker."""
        return not self.running or (self.may_join and self.given < JOINING)


class Lanes:
    """The lanes that have an item, by key. Engine thread only."""

    def __init__(self, consumers: Mapping[str, Consumer], monotonic: Callable[[], float]) -> None:
        self._plugins = {name: consumer.plugin for name, consumer in consumers.items()}
        self._monotonic = monotonic
        self._lanes: dict[LaneKey, Lane] = {}
        self._runnable: dict[str, dict[LaneKey, None]] = {name: {} for name in consumers}
        """By handler, the lanes that have an item and are not busy, in the order in which they take turns."""
        self._joinable: dict[str, dict[LaneKey, None]] = {name: {} for name in consumers}
        """By handler, the busy lanes that have an item which may be given to their worker."""
        self._busy_counts = dict.fromkeys(consumers, 0)
        self._serial = 0

    def __len__(self) -> int:
        return len(self._lanes)

    def make_key(self, handler: str, project: str) -> LaneKey:
        """The key of the lane for a handler's work in a project, named by `lane_of` or `lane_of_event`."""
        return handler, "" if self._plugins[handler].single_store else project

    # items

    def push(self, item: WorkItem, number: int | None = None) -> None:
        """Queue an item in its lane, at the end or with the number that it had in another lane."""
        if number is None:
            self._serial += 1
            number = self._serial
        item.is_queued = True
        lane = self._lanes.setdefault(item.lane, Lane())
        heapq.heappush(lane.queue, (item.rank, number, item))
        self._list_runnable(item.lane, lane)

    def run_ready(self, try_offer: Callable[[WorkItem], LaneKey | None]) -> None:
        """Examine the first item of each lane that can run, until none is left.

        `try_offer` returns the lane to which the item belongs, if that is another one.
        """
        for _ in range(MAX_ROUNDS):
            if not self.has_ready:
                return
            for handler, runnable in self._runnable.items():
                joinable = self._joinable[handler]
                for _ in range(len(joinable)):
                    if joinable:
                        self._examine_first(joinable, try_offer)
                # A lane that can run again is put at the end, so in one round each lane has one turn.
                for _ in range(len(runnable)):
                    if not self._has_worker(handler):
                        break
                    if runnable:
                        self._examine_first(runnable, try_offer)

    def _examine_first(
        self, ready: dict[LaneKey, None], try_offer: Callable[[WorkItem], LaneKey | None]
    ) -> None:
        key = next(iter(ready))
        del ready[key]
        lane = self._lanes[key]
        _, number, item = heapq.heappop(lane.queue)
        item.is_queued = False
        try:
            # Its directory may have become known while it was queued: then it need not be examined here.
            other = item.lane if item.lane != key else try_offer(item)
            if other is not None:
                item.lane = other
                self.push(item, number)
        finally:
            # Also after an exception: a lane that is not listed would never be examined again.
            self._list_runnable(key, lane)

    def _list_runnable(self, key: LaneKey, lane: Lane) -> None:
        """Give the lane a turn after the others if it has an item and may begin it."""
        if lane.queue and lane.can_begin:
            (self._joinable if lane.running else self._runnable)[key[0]][key] = None
        elif lane.is_empty:
            self._lanes.pop(key, None)

    def _has_worker(self, handler: str) -> bool:
        return self._busy_counts[handler] < max(1, self._plugins[handler].lanes)

    @property
    def has_ready(self) -> bool:
        """Whether an item can be examined now."""
        return any(self._joinable.values()) or any(
            runnable and self._has_worker(handler) for handler, runnable in self._runnable.items()
        )

    # busy lanes

    def begin(self, key: LaneKey, *, may_join: bool = False) -> None:
        """A worker gets an item of a lane. `may_join`: it may get more of them before the outcome comes."""
        lane = self._lanes.setdefault(key, Lane())
        assert lane.can_begin, f"{key} is busy already"
        if not lane.running:
            lane.busy_since, lane.given = self._monotonic(), 0
            self._busy_counts[key[0]] += 1
        lane.running, lane.given, lane.may_join = lane.running + 1, lane.given + 1, may_join
        # It may be listed: to examine the item may have woken another one of the lane.
        self._runnable[key[0]].pop(key, None)
        self._joinable[key[0]].pop(key, None)
        self._list_runnable(key, lane)

    def close(self, key: LaneKey) -> LaneKey | None:
        """Given the lane of an item that must not join others: if it is busy, let nothing more join, and return it; the item
        waits in it. Otherwise None."""
        lane = self._lanes.get(key)
        if lane is None or not lane.running:
            return None
        lane.may_join = False
        return key

    def release(self, key: LaneKey) -> None:
        """The outcome of an item was received."""
        lane = self._lanes[key]
        lane.running -= 1
        lane.busy_since = self._monotonic() if lane.running else None
        if not lane.running:
            self._busy_counts[key[0]] -= 1
            self._joinable[key[0]].pop(key, None)
        self._list_runnable(key, lane)

    def list_busy(self) -> dict[LaneKey, float]:
        """The busy lanes, each with the monotonic seconds at which it became busy."""
        return {key: lane.busy_since for key, lane in self._lanes.items() if lane.busy_since is not None}

    @property
    def is_busy(self) -> bool:
        """Whether a handler is busy."""
        return any(self._busy_counts.values())

    # transcripts that are due

    def add_due(self, item: WorkItem) -> None:
        """A transcript is due: events of its lane come after it."""
        self._lanes.setdefault(item.home, Lane()).due[item] = None

    def remove_due(self, item: WorkItem) -> None:
        """A transcript is not due, or no longer belongs to this lane."""
        lane = self._lanes.get(item.home)
        if lane is not None and item in lane.due:
            del lane.due[item]
            self._list_runnable(item.home, lane)

    def list_due(self, key: LaneKey) -> list[WorkItem]:
        """The due transcripts of a lane."""
        lane = self._lanes.get(key)
        return list(lane.due) if lane is not None else []
