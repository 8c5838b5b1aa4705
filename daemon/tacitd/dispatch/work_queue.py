"""Which work items exist, and when each is examined again: at once, at a time, or when another item changes.

Whether an item may be offered is decided in `dispatcher.py`; in which order items are examined, in `lanes.py`.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from tacitd.consumers.consumer import Consumer
from tacitd.consumers.cursor_table import Cursor
from tacitd.dispatch.backoff import Parked
from tacitd.dispatch.event_keys import lane_of, lane_of_event, make_event_key
from tacitd.dispatch.in_flight import InFlightPrompts
from tacitd.dispatch.lanes import Lanes
from tacitd.dispatch.work_item import LaneKey, WorkItem
from tacitd.events import Event, NoProject, Project, SessionEnded, SessionStarted


class WorkQueue:
    """Items by transcript and by event, and the timers. Engine thread only."""

    def __init__(
        self,
        consumers: Mapping[str, Consumer],
        lanes: Lanes,
        monotonic: Callable[[], float],
        project_of: Callable[[str], Project | NoProject],
        in_flight: InFlightPrompts,
    ) -> None:
        self.items_by_transcript: dict[tuple[str, Path], WorkItem] = {}
        self.items_by_event: dict[tuple[str, ...], WorkItem] = {}
        self.changed_paths: set[Path] = set()
        """Transcripts whose state changed since `sync` examined them."""
        self.lanes = lanes
        self._consumers = consumers
        self._monotonic = monotonic
        self._project_of = project_of
        self._in_flight = in_flight
        self._timers: list[tuple[float, int, WorkItem]] = []
        self._serial = 0

    # items

    def get_item(self, consumer: Consumer, path: Path) -> WorkItem:
        """The item of a handler and a transcript; a new one if there is none."""
        key = (consumer.name, path)
        item = self.items_by_transcript.get(key)
        if item is None:
            cursor, lane = consumer.get_cursor(path), self.lanes.make_key(consumer.name, str(path))
            # If the directory cannot be examined, the item is parked when it is offered.
            with suppress(Exception):
                lane = self.find_lane(consumer, self._project_of(cursor.cwd), path)
            item = self.items_by_transcript[key] = WorkItem(consumer, cursor, lane=lane, home=lane)
        return item

    def find_lane(self, consumer: Consumer, project: Project | NoProject, path: Path) -> LaneKey:
        """The lane of records of this project in this transcript."""
        return self.lanes.make_key(consumer.name, lane_of(project, path))

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
                    # Nothing more is typed in this session, so there is nothing to gather.
                    self.make_due(self.get_item(consumer, item.cursor.path))
                if isinstance(event, SessionStarted):
                    # It may be an earlier session's start that failed, and comes before this session's prompts.
                    self.retry_now(item)
                self.wake(item)

    def _put_event(self, consumer: Consumer, event: Event) -> WorkItem:
        """The item for an event. A second event with the same key replaces one that is not being handled."""
        key = (consumer.name, *make_event_key(event))
        item = self.items_by_event.get(key)
        # A busy item was offered the earlier event; this one is handled after it, by an item of its own.
        if item is None or item.busy:
            lane = self.lanes.make_key(consumer.name, lane_of_event(event))
            cursor = consumer.get_cursor(event.transcript) if isinstance(event, SessionEnded) else None
            item = self.items_by_event[key] = WorkItem(consumer, cursor, lane=lane, home=lane)
        item.event = event
        return item

    def finish_event(self, item: WorkItem, event: Event) -> None:
        """An event was handled. It may have been posted again while what was done for it could not be written."""
        item.parked = None
        if item.event is not event:
            self.wake(item)
        elif self.is_current(item):
            del self.items_by_event[item.consumer.name, *make_event_key(event)]

    # transcripts

    def restart_transcript(self, path: Path, *, due: bool = False) -> None:
        """The cursors of a transcript were set back, by `scan` (`due`) or because the file was replaced."""
        # A fork that waits for prompts of this transcript may hand them over now.
        self._in_flight.release_owner(path)
        for item in self.list_items_of(path):
            item.reset_progress()
            self.set_due(item, item.due or due)
            self.wake_followers(item)

    def assign_home(self, item: WorkItem, cursor: Cursor) -> None:
        """Assign a transcript to the lane of the directory that its newest record names. Events of the old lane may wait
        until its due transcripts are handled: this is no longer one of them."""
        home = self.find_lane(item.consumer, self._project_of(cursor.cwd), cursor.path)
        if home != item.home:
            self.lanes.remove_due(item)
            item.home = home
            self.set_due(item, item.due)
            self.wake_followers(item)

    def forget_closed(self, is_open: Callable[[Path], bool]) -> None:
        """Forget the items of closed transcripts, which growth makes again, and examine all others once.

        Called every minute, so an item that was not woken when it should have been is delayed and not lost.
        """
        for item in self.items_by_event.values():
            self.wake(item)
        for key, item in list(self.items_by_transcript.items()):
            if is_open(key[1]):
                self.wake(item)
            elif item.is_idle and item.gather_until <= self._monotonic():
                self.lanes.remove_due(item)
                del self.items_by_transcript[key]

    # when an item is examined

    def make_due(self, item: WorkItem) -> None:
        """Stop gathering, and retry parked work now unless its reason names a time."""
        item.declined_while_due = False
        self.set_due(item, True)
        if item.event is not None:
            # Records are offered because they are due; for an event only this time counts.
            item.gather_until = 0.0
        self.retry_now(item)
        self.wake(item)

    def set_due(self, item: WorkItem, due: bool) -> None:
        """Note whether gathering ended. What was due is handled, or waits for an editor (False)."""
        item.due = due
        if due and item.event is None:
            self.lanes.add_due(item)
        else:
            self.lanes.remove_due(item)

    def retry_now(self, item: WorkItem) -> bool:
        """End the delay of parked work; return whether that changed anything. A time that its reason names stays. If the work
        waits for something outside, a failure now does not lengthen the next delay."""
        if item.parked is None or item.parked.not_before is not None:
            return False
        item.parked = replace(item.parked, due=self._monotonic(), is_early=True)
        return True

    def wake(self, item: WorkItem) -> None:
        """Examine this item when its lane can run it; if it is busy, again as soon as it no longer is. One that waits
        already keeps its position: otherwise one that is woken often would always be the last."""
        if item.busy:
            item.woken_while_busy = True
        elif not item.is_queued:
            self.lanes.push(item)

    def follow(self, item: WorkItem, other: WorkItem) -> None:
        """Wake this item when the state of another one changes."""
        other.followers[item] = None

    def wake_followers(self, item: WorkItem) -> None:
        """The state of an item changed: wake what waits for it, in the order in which it began to wait."""
        # Each is examined from the start, and follows again if it must still wait.
        followers, item.followers = item.followers, {}
        for follower in followers:
            self.wake(follower)

    def note_change(self, item: WorkItem) -> None:
        """The state of an item changed: for those that wait for it, and for `sync`."""
        if item.event is None and item.cursor is not None:
            self.changed_paths.add(item.cursor.path)
        self.wake_followers(item)

    def schedule_wake(self, item: WorkItem, at: float) -> None:
        """Wake it at this time: monotonic seconds."""
        self._serial += 1
        # The number decides between equal times, because items have no order.
        heapq.heappush(self._timers, (at, self._serial, item))

    def wake_scheduled(self) -> None:
        """Wake the items whose time has come."""
        now = self._monotonic()
        while self._timers and self._timers[0][0] <= now:
            # A timer is never taken back: if its reason is gone, the item is examined once too often.
            self.wake(heapq.heappop(self._timers)[2])

    def next_in(self) -> float:
        """Seconds until an item is to be examined; infinite if none waits for a time."""
        if self.lanes.has_ready:
            return 0.0
        return max(0.0, self._timers[0][0] - self._monotonic()) if self._timers else float("inf")
