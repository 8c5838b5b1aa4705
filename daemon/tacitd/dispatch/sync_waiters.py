"""Who waits for everything to be handled, and for which bytes. Decides nothing about handling."""

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
    """A `sync` in progress: the first so many bytes of these transcripts are to be handled or parked."""

    unsettled: dict[Path, int]
    future: Future[None] = field(default_factory=Future)


class SyncWaiters:
    """All of them. Engine thread only."""

    def __init__(self) -> None:
        self._waiters: list[SyncWaiter] = []
        self._next_full_check = 0.0

    def add_waiter(self, sizes: Mapping[Path, int]) -> SyncWaiter:
        """Wait for these bytes, and for every event that is due."""
        waiting = SyncWaiter(dict(sizes))
        self._waiters.append(waiting)
        return waiting

    def drop_waiter(self, waiting: SyncWaiter) -> None:
        """Nobody waits for this one any more."""
        if waiting in self._waiters:
            self._waiters.remove(waiting)

    def resolve_settled(self, unread: Collection[Path], progress: WorkProgress, now: float) -> None:
        """Answer those for whom everything is done. `now` is monotonic.

        Each transcript is asked for only until it is settled. While work is going on, thousands may be waited for: then
        only those are asked of which something became, and all of them once a second.
        """
        if not self._waiters:
            progress.changed_paths.clear()
            return
        everyone = now >= self._next_full_check or not progress.is_working
        touched = progress.changed_paths.copy()
        progress.changed_paths.clear()
        if everyone:
            self._next_full_check = now + FULL_CHECK_EVERY
        for waiting in list(self._waiters):
            left = waiting.unsettled
            if any(path in left for path in unread):
                continue
            for path in list(left) if everyone else left.keys() & touched:
                if progress.is_settled(path, left[path]):
                    del left[path]
            if not left and progress.is_quiet():
                self._waiters.remove(waiting)
                waiting.future.set_result(None)

    def fail_all(self) -> None:
        """Nobody must wait for a loop that has ended."""
        while self._waiters:
            self._waiters.pop().future.set_exception(make_stopped_error())
