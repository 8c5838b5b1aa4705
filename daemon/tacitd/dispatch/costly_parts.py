"""Parts of the status document whose size depends on how much waits, so that they cannot be counted as they change.

A part is computed when it is asked for. One that took long is kept for twenty times as long, so that a caller who polls
takes at most a twentieth of the engine's thread. Small parts are never kept: what is shown of them is exact.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")

CHEAP = 0.002
"""Seconds of CPU time up to which a part is not kept."""
SHARE = 20.0


class CostlyParts:
    """The kept parts by name. Engine thread only."""

    def __init__(
        self, monotonic: Callable[[], float], cpu_time: Callable[[], float] = time.thread_time
    ) -> None:
        """`cpu_time`: seconds that this thread has computed. Time in which others have the processor must not count."""
        self._monotonic = monotonic
        self._cpu_time = cpu_time
        self._kept: dict[str, tuple[float, Any]] = {}

    def get_part(self, name: str, compute: Callable[[], T]) -> T:
        """The part, at most twenty times as old as its computation takes."""
        until, part = self._kept.get(name, (0.0, None))
        if name in self._kept and self._monotonic() < until:
            return cast("T", part)
        begin = self._cpu_time()
        made = compute()
        took = self._cpu_time() - begin
        if took > CHEAP:
            self._kept[name] = (self._monotonic() + SHARE * took, made)
        else:
            self._kept.pop(name, None)
        return made

    def forget_all(self) -> None:
        """Compute everything again: a caller acts on it."""
        self._kept.clear()
