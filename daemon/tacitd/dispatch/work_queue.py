"""Which work items exist, which of them are examined next, and what the blocked ones wait for.

Nothing here decides whether an item may be offered: `run_ready` calls a function for that. An item that cannot be offered
waits for a named thing (`WaitKey`): its lane, a worker of its handler, or another item. When that thing becomes free, one
waiting item is examined, and the next one only if the first did not take it. If all were examined each time, the cost
would be the square of a backlog.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tacitd.consumers.consumer import Consumer, Cursor
from tacitd.dispatch.backoff import Parked
from tacitd.dispatch.in_flight import InFlightPrompts
from tacitd.dispatch.work_item import WaitKey, WorkItem, lane_of, make_due_key, make_event_key
from tacitd.events import Event, NoProject, Project, SessionEnded

MAX_ROUNDS = 100
"""How often items may wake others in one call of `run_ready`; more would be a loop."""


class WorkQueue:
    """Items by transcript and by event: the ready ones, the blocked ones, and the timers. Engine thread only."""

    def __init__(
        self,
        consumers: Mapping[str, Consumer],
        monotonic: Callable[[], float],
        project_of: Callable[[str], Project | NoProject],
        in_flight: InFlightPrompts,
    ) -> None:
        self.items_by_transcript: dict[tuple[str, Path], WorkItem] = {}
        self.items_by_event: dict[tuple[str, ...], WorkItem] = {}
        self.lane_members: dict[WaitKey, dict[Path, WorkItem]] = {}
        """The transcripts that are handled in a lane, by path."""
        self._consumers = consumers
        self._monotonic = monotonic
        self._project_of = project_of
        self._in_flight = in_flight
        self._session_ends: dict[tuple[str, Path], dict[tuple[str, ...], WorkItem]] = {}
        """The ends of sessions in a transcript, by handler: they wait until it is handled."""
        self._ready: list[WorkItem] = []
        self._blocked: dict[WaitKey, list[tuple[int, int, WorkItem]]] = {}
        """By what they wait for: a heap of (rank, queue number, item). If an item no longer waits for the key, its
        `queue_number` differs from the entry's."""
        self._released: dict[WaitKey, None] = {}
        self._timers: list[tuple[float, int, WorkItem]] = []
        self._serial = 0

    # items

    def get_item(self, consumer: Consumer, path: Path) -> WorkItem:
        """The item of a handler and a transcript; a new one if there is none."""
        key = (consumer.name, path)
        item = self.items_by_transcript.get(key)
        if item is None:
            item = self.items_by_transcript[key] = WorkItem(consumer, consumer.get_cursor(path))
            # If the directory cannot be examined, the item is in no lane, and is parked when it is offered.
            with suppress(Exception):
                self.assign_home_lane(item)
        return item

    def list_items_of(self, path: Path) -> list[WorkItem]:
        """The items of all handlers for a transcript."""
        return [self.get_item(consumer, path) for consumer in self._consumers.values()]

    def list_items(self) -> list[WorkItem]:
        """Every item."""
        return [*self.items_by_transcript.values(), *self.items_by_event.values()]

    def list_parked(self) -> list[tuple[WorkItem, Parked]]:
        """The parked items, oldest first."""
        found = [(item, item.parked) for item in self.list_items() if item.parked is not None]
        return sorted(found, key=lambda pair: pair[1].since)

    def is_current(self, item: WorkItem) -> bool:
        """Whether this item is still the one for its transcript or event: it was neither forgotten nor replaced."""
        if item.event is not None:
            return self.items_by_event.get((item.consumer.name, *make_event_key(item.event))) is item
        return (
            item.cursor is not None
            and self.items_by_transcript.get((item.consumer.name, item.cursor.path)) is item
        )

    # events

    def post_event(self, event: Event, only: str | None = None) -> None:
        """Queue an event without records, for every handler or for one of them."""
        for name, consumer in self._consumers.items():
            if only in (None, name):
                item = self._put_event(consumer, event)
                if isinstance(event, SessionEnded) and item.cursor is not None:
                    self.make_due(self.get_item(consumer, item.cursor.path))
                self.wake(item)

    def _put_event(self, consumer: Consumer, event: Event) -> WorkItem:
        """The item for an event. A second event with the same key replaces one that is not being handled."""
        key = (consumer.name, *make_event_key(event))
        item = self.items_by_event.get(key)
        if item is None or item.busy:
            item = self.items_by_event[key] = WorkItem(consumer, _cursor_of(consumer, event))
        item.event = event
        if item.cursor is not None:
            self._session_ends.setdefault((consumer.name, item.cursor.path), {})[key] = item
        return item

    def finish_event(self, item: WorkItem, event: Event) -> None:
        """An event was handled. It may have been posted again while what was done for it could not be written."""
        item.parked = None
        if item.event is not event:
            self.wake(item)
        elif self.is_current(item):
            key = (item.consumer.name, *make_event_key(event))
            del self.items_by_event[key]
            if item.cursor is not None:
                ends = self._session_ends[item.consumer.name, item.cursor.path]
                del ends[key]
                if not ends:
                    del self._session_ends[item.consumer.name, item.cursor.path]

    # transcripts

    def restart_transcript(self, path: Path, *, due: bool = False) -> None:
        """The cursors of a transcript were set back, by `scan` (`due`) or because the file was replaced."""
        self._in_flight.release_owner(path)
        for item in self.list_items_of(path):
            item.reset_progress()
            item.due = item.due or due
        self.wake_all_blocked()

    def assign_home_lane(self, item: WorkItem) -> None:
        """Assign a transcript to the lane of the directory that its newest record names."""
        cursor = item.cursor
        if cursor is None:
            return
        lane = item.consumer.name, lane_of(self._project_of(cursor.cwd), cursor.path)
        if item.home_lane not in (None, lane):
            # Events of the old lane may wait until its due transcripts are handled: this is no longer one of them.
            self.wake_waiters(item, make_due_key(item.home_lane))
        self._move_to_lane(item, cursor.path, lane)

    def _move_to_lane(self, item: WorkItem, path: Path, lane: WaitKey | None) -> None:
        if item.home_lane == lane:
            return
        if item.home_lane is not None:
            members = self.lane_members[item.home_lane]
            del members[path]
            if not members:
                del self.lane_members[item.home_lane]
        if lane is not None:
            self.lane_members.setdefault(lane, {})[path] = item
        item.home_lane = lane

    def forget_closed(self, is_open: Callable[[Path], bool]) -> None:
        """Forget the items of closed transcripts, which growth makes again, and examine all others once.

        Called every minute, so an item that was not woken when it should have been is delayed and not lost.
        """
        self.wake_all_blocked()
        for item in self.items_by_event.values():
            self.wake(item)
        for key, item in list(self.items_by_transcript.items()):
            if is_open(key[1]):
                self.wake(item)
            elif item.is_idle and item.gather_until <= self._monotonic():
                self._move_to_lane(item, key[1], None)
                del self.items_by_transcript[key]

    # when an item is examined

    def make_due(self, item: WorkItem) -> None:
        """Stop gathering, and retry parked work now unless its reason names a time."""
        item.due, item.declined_while_due = True, False
        if item.event is not None:
            item.gather_until = 0.0
        self.retry_now(item)
        self.wake(item)

    def retry_now(self, item: WorkItem) -> bool:
        """End the delay of parked work; return whether that changed anything. A time that its reason names stays."""
        if item.parked is None or item.parked.not_before is not None:
            return False
        item.parked = replace(item.parked, due=self._monotonic())
        return True

    def wake(self, item: WorkItem) -> None:
        """Examine this item in the next round; if it is busy, as soon as it no longer is."""
        if item.busy:
            item.woken_while_busy = True
        elif not item.ready:
            item.ready = True
            self._ready.append(item)

    def wake_waiters(self, item: WorkItem, *keys: WaitKey) -> None:
        """The state of a transcript changed: wake the ends of its sessions, and all items that wait for `keys`."""
        if item.cursor is not None:
            for end in self._session_ends.get((item.consumer.name, item.cursor.path), {}).values():
                self.wake(end)
        for key in keys:
            self._wake_in_order(self._blocked.pop(key, []))

    def release(self, *keys: WaitKey) -> None:
        """These are free: the first item that waits for each is examined."""
        self._released |= {key: None for key in keys if key in self._blocked}

    def wake_all_blocked(self) -> None:
        """Wake every item that waits for something else."""
        blocked, self._blocked = self._blocked, {}
        self._wake_in_order([entry for waiting in blocked.values() for entry in waiting])

    def _wake_in_order(self, waiting: list[tuple[int, int, WorkItem]]) -> None:
        """Wake the items of a heap that was removed, in their order."""
        for _, number, item in sorted(waiting):
            if item.queue_number == number:
                item.queue_number = 0
                self.wake(item)

    def schedule_wake(self, item: WorkItem, at: float) -> None:
        """Wake it at this time: monotonic seconds."""
        self._serial += 1
        heapq.heappush(self._timers, (at, self._serial, item))

    def next_in(self) -> float:
        """Seconds until an item is to be examined; infinite if none waits for a time."""
        if self.has_ready:
            return 0.0
        return max(0.0, self._timers[0][0] - self._monotonic()) if self._timers else float("inf")

    @property
    def has_ready(self) -> bool:
        """Whether an item is to be examined now."""
        return bool(self._ready or self._released)

    def run_ready(
        self, try_offer: Callable[[WorkItem], WaitKey | None], is_taken: Callable[[WaitKey], bool]
    ) -> None:
        """Examine all ready items, and those that become ready by that.

        `try_offer` returns what an item must wait for; None if nothing more is to be done for it now. `is_taken` says
        whether a lane is busy, or all workers of a handler are.
        """
        now = self._monotonic()
        while self._timers and self._timers[0][0] <= now:
            self.wake(heapq.heappop(self._timers)[2])
        for _ in range(MAX_ROUNDS):
            self._admit_next(is_taken)
            ready, self._ready = self._ready, []
            for item in ready:
                item.ready = False
            # Items that wait come before the one that was handled last, the longest waiting first. Without this, an item
            # that is woken again as soon as it is done would keep its lane for ever.
            for item in sorted(ready, key=lambda one: (one.rank, one.queue_number or self._serial + 1)):
                self._process_item(item, try_offer)
            if not self.has_ready:
                return

    def _process_item(self, item: WorkItem, try_offer: Callable[[WorkItem], WaitKey | None]) -> None:
        """Examine an item, queue it for what it must wait for, and release what it waited for and did not take.

        An item that still waits for the same key keeps its position. Why: an item that is woken often, because its
        transcript grows, would otherwise always be the last.

        An item whose lane is free and that waits for a worker of its handler does not release the lane. Why: the others of
        the lane would only wait for a worker as well.
        """
        before, lane = item.waiting_for, item.needed_lane
        item.waiting_for = try_offer(item) if self.is_current(item) else None
        if item.waiting_for != before:
            item.queue_number = 0
        if item.waiting_for is not None and not item.queue_number:
            self._serial += 1
            item.queue_number = self._serial
            heapq.heappush(self._blocked.setdefault(item.waiting_for, []), (item.rank, self._serial, item))
        kept = {item.waiting_for}
        if item.waiting_for == (item.consumer.name,):
            kept.add(item.needed_lane)
        self.release(*(key for key in (before, lane) if key is not None and key not in kept))

    def _admit_next(self, is_taken: Callable[[WaitKey], bool]) -> None:
        """Wake the first item that waits for each released key."""
        released, self._released = self._released, {}
        for key in released:
            waiting = self._blocked.get(key, [])
            while waiting and waiting[0][2].queue_number != waiting[0][1]:
                heapq.heappop(waiting)  # it no longer waits for this
            if not waiting:
                self._blocked.pop(key, None)
            elif not is_taken(key):
                self.wake(waiting[0][2])


def _cursor_of(consumer: Consumer, event: Event) -> Cursor | None:
    return consumer.get_cursor(event.transcript) if isinstance(event, SessionEnded) else None
