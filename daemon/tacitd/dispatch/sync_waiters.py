"""Callers of `sync`, and the bytes that each waits for: until all of them are handled, parked, or wait for an editor.

Offers nothing. It has one side effect: a transcript that is behind is made due.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future
from pathlib import Path

from msgspec import Struct, field

from tacitd.clock import Clock
from tacitd.dispatch.inbox import make_stopped_error
from tacitd.dispatch.unhandled import UnhandledRecords
from tacitd.dispatch.work_item import WorkItem
from tacitd.events import SessionEnded

CHECK_EVERY = 0.1
"""Seconds between two checks of what changed, while handlers work."""
FULL_CHECK_EVERY = 5.0
"""Seconds."""


class SyncWaiter(Struct, eq=False):
    """A `sync` in progress."""

    unsettled: dict[Path, int]
    """The transcripts that it waits for, each with the number of bytes that are to be handled or parked."""
    future: Future[None] = field(default_factory=Future)


class SyncWaiters:
    """All callers of `sync`. Engine thread only."""

    def __init__(self, unhandled: UnhandledRecords, clock: Clock) -> None:
        self._waiters: list[SyncWaiter] = []
        self._next_check = self._next_full_check = 0.0
        self._unhandled = unhandled
        self._work_queue = unhandled.work_queue
        self._clock = clock

    def add_waiter(self, sizes: Mapping[Path, int]) -> SyncWaiter:
        """Wait until these bytes, and all events that are due, are handled or parked."""
        waiter = SyncWaiter(dict(sizes))
        self._waiters.append(waiter)
        return waiter

    def drop_waiter(self, waiter: SyncWaiter) -> None:
        """Its caller stopped waiting (timeout)."""
        if waiter in self._waiters:
            self._waiters.remove(waiter)

    def resolve_settled(self, unread: Collection[Path]) -> None:
        """Answer the callers for which everything is settled.

        A transcript is checked only until it is settled. While handlers work, a caller may wait for thousands of transcripts:
        then only those are checked whose state changed since the last check, ten times a second, and all of them every few seconds.
        """
        now, is_working = self._clock.monotonic(), self._is_working()
        if self._waiters and is_working and now < self._next_check:
            return
        self._next_check = now + CHECK_EVERY
        changed, self._work_queue.changed_paths = self._work_queue.changed_paths, set()
        if not self._waiters:
            return
        check_all = now >= self._next_full_check or not is_working
        if check_all:
            self._next_full_check = now + FULL_CHECK_EVERY
        for waiter in list(self._waiters):
            left = waiter.unsettled
            if any(path in left for path in unread):
                continue  # an unread transcript may contain more than the handlers have seen
            for path in list(left) if check_all else left.keys() & changed:
                if self._is_settled(path, left[path]):
                    del left[path]
            if not left and self._is_quiet():
                self._waiters.remove(waiter)
                waiter.future.set_result(None)

    def fail_all(self) -> None:
        """The engine has stopped: every caller gets an error."""
        while self._waiters:
            self._waiters.pop().future.set_exception(make_stopped_error())

    def _is_working(self) -> bool:
        """Whether a handler is busy, or an item is to be examined now."""
        return self._work_queue.lanes.is_busy or self._work_queue.lanes.has_ready

    def _is_quiet(self) -> bool:
        """Whether no handler is busy and no event that is due can go on: the rest is parked or waits for a file."""
        if self._is_working():
            return False
        now = self._clock.monotonic()
        waiting = (
            item
            for item in self._work_queue.items_by_event.values()
            if item.may_run(now) and item.gather_until <= now
        )
        # The end of a session whose transcript is parked counts as parked with it.
        return all(
            isinstance(item.event, SessionEnded) and self._unhandled.find_reader(item) is not None
            for item in waiting
        )

    def _is_settled(self, path: Path, size: int) -> bool:
        """Whether the first `size` bytes of a transcript are handled, or parked, for every handler."""
        items = self._work_queue.list_items_of(path)
        # A list, because each item is to be examined: that makes due what is behind.
        return all([self._is_item_settled(item, size) for item in items])  # noqa: C419

    def _is_item_settled(self, item: WorkItem, size: int) -> bool:
        if item.busy or (item.parked is not None and item.may_run(self._clock.monotonic())):
            return False
        if item.parked is not None or item.declined_while_due:
            return True
        if (item.cursor is not None and item.cursor.offset >= size) or not self._unhandled.is_behind(item):
            return True
        if not item.due:
            self._work_queue.make_due(item)
        elif item.blocked_by is None:
            self._work_queue.wake(item)  # more became final since it was examined
        # If another transcript has its prompts in flight and is itself settled, nothing more will happen for this `sync`.
        owner = self._unhandled.find_owner(item)
        return owner is not None and not owner.busy and (owner.declined_while_due or owner.parked is not None)
