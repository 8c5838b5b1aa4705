"""Callers of `sync`, and the bytes that each waits for. Decides nothing about handling."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from tacitd.dispatch.inbox import make_stopped_error
from tacitd.dispatch.lane import WorkProgress

FULL_CHECK_EVERY = 1.0
"""Seconds."""


@dataclass(slots=True, eq=False)
class SyncWaiter:
    """A `sync` in progress."""

    unsettled: dict[Path, int]
    """The transcripts that it waits for, each with the number of bytes that are to be handled or parked."""
    future: Future[None] = field(default_factory=Future)


class SyncWaiters:
    """All callers of `sync`. Engine thread only."""

    def __init__(self) -> None:
        self._waiters: list[SyncWaiter] = []
        self._next_full_check = 0.0

    def add_waiter(self, sizes: Mapping[Path, int]) -> SyncWaiter:
        """Wait until these bytes, and all events that are due, are handled or parked."""
        waiter = SyncWaiter(dict(sizes))
        self._waiters.append(waiter)
        return waiter

    def drop_waiter(self, waiter: SyncWaiter) -> None:
        """Its caller stopped waiting (timeout)."""
        if waiter in self._waiters:
            self._waiters.remove(waiter)

    def resolve_settled(self, unread: Collection[Path], progress: WorkProgress, now: float) -> None:
        """Answer the callers for which everything is settled. `now` is monotonic.

        A transcript is checked only until it is settled. While handlers work, a caller may wait for thousands of transcripts:
        then only those are checked whose state changed since the last call, and all of them once a second.
        """
        if not self._waiters:
            progress.changed_paths.clear()
            return
        check_all = now >= self._next_full_check or not progress.is_working
        changed = progress.changed_paths.copy()
        progress.changed_paths.clear()
        if check_all:
            self._next_full_check = now + FULL_CHECK_EVERY
        for waiter in list(self._waiters):
            left = waiter.unsettled
            if any(path in left for path in unread):
                continue  # an unread transcript may contain more than the handlers have seen
            for path in list(left) if check_all else left.keys() & changed:
                if progress.is_settled(path, left[path]):
                    del left[path]
            if not left and progress.is_quiet():
                self._waiters.remove(waiter)
                waiter.future.set_result(None)

    def fail_all(self) -> None:
        """The engine has stopped: every caller gets an error."""
        while self._waiters:
            self._waiters.pop().future.set_exception(make_stopped_error())
