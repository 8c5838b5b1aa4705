"""Who waits for everything to be handled, and for which bytes. Decides nothing about handling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from tacitd.inbox import gone


@dataclass(slots=True, eq=False)
class Waiting:
    """A `sync` in progress: the first so many bytes of these transcripts are to be handled or parked."""

    left: dict[Path, int]
    future: Future[None] = field(default_factory=Future)


class Syncs:
    """All of them. Engine thread only."""

    def __init__(self) -> None:
        self._waiting: list[Waiting] = []

    def begin(self, sizes: Mapping[Path, int]) -> Waiting:
        """Wait for these bytes, and for every event that is due."""
        waiting = Waiting(dict(sizes))
        self._waiting.append(waiting)
        return waiting

    def forget(self, waiting: Waiting) -> None:
        """Nobody waits for this one any more."""
        if waiting in self._waiting:
            self._waiting.remove(waiting)

    def check(
        self, unread: Callable[[Path], bool], settled: Callable[[Path, int], bool], quiet: Callable[[], bool]
    ) -> None:
        """Answer those for whom everything is done. Each transcript is asked for only until it is settled."""
        for waiting in list(self._waiting):
            if any(unread(path) for path in waiting.left):
                continue
            waiting.left = {path: size for path, size in waiting.left.items() if not settled(path, size)}
            if not waiting.left and quiet():
                self._waiting.remove(waiting)
                waiting.future.set_result(None)

    def abandon(self) -> None:
        """Nobody must wait for a loop that has ended."""
        while self._waiting:
            self._waiting.pop().future.set_exception(gone())
