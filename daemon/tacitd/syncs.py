"""Who waits for everything to be handled, and for which bytes. Decides nothing about handling."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from tacitd.inbox import gone
from tacitd.progress import Progress

EVERYONE = 1.0
"""Seconds."""


@dataclass(slots=True, eq=False)
class Waiting:
    """A `sync` in progress: the first so many bytes of these transcripts are to be handled or parked."""

    left: dict[Path, int]
    future: Future[None] = field(default_factory=Future)


class Syncs:
    """All of them. Engine thread only."""

    def __init__(self) -> None:
        self._waiting: list[Waiting] = []
        self._next = 0.0

    def begin(self, sizes: Mapping[Path, int]) -> Waiting:
        """Wait for these bytes, and for every event that is due."""
        waiting = Waiting(dict(sizes))
        self._waiting.append(waiting)
        return waiting

    def forget(self, waiting: Waiting) -> None:
        """Nobody waits for this one any more."""
        if waiting in self._waiting:
            self._waiting.remove(waiting)

    def check(self, unread: Collection[Path], progress: Progress, now: float) -> None:
        """Answer those for whom everything is done. `now` is monotonic.

        Each transcript is asked for only until it is settled. While work is going on, thousands may be waited for: then
        only those are asked of which something became, and all of them once a second.
        """
        if not self._waiting:
            progress.touched.clear()
            return
        everyone = now >= self._next or not progress.working
        touched = progress.touched.copy()
        progress.touched.clear()
        if everyone:
            self._next = now + EVERYONE
        for waiting in list(self._waiting):
            left = waiting.left
            if any(path in left for path in unread):
                continue
            for path in list(left) if everyone else left.keys() & touched:
                if progress.settled(path, left[path]):
                    del left[path]
            if not left and progress.quiet():
                self._waiting.remove(waiting)
                waiting.future.set_result(None)

    def abandon(self) -> None:
        """Nobody must wait for a loop that has ended."""
        while self._waiting:
            self._waiting.pop().future.set_exception(gone())
