"""The slots of model calls: how many run at once, and whose call is next.

A call that a person waits for goes before those that nobody waits for. A running call is never ended for another one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

TICK = 0.1
"""Seconds between two looks at whether the caller gives up."""


class CallSlots:
    """A counting semaphore with two queues. Thread-safe."""

    def __init__(self, count: int) -> None:
        self._count = self._free = count
        self._first_waiting = 0
        """Callers that wait and go before the others."""
        self._changed = threading.Condition()

    @property
    def taken(self) -> int:
        """How many slots are in use."""
        return self._count - self._free

    def acquire_slot(self, *, first: bool, given_up: Callable[[], bool]) -> bool:
        """Wait for a slot and take it; return False without one as soon as `given_up` returns True.

        `first`: before all callers that wait without it.
        """
        with self._changed:
            self._first_waiting += first
            try:
                while not given_up():
                    if self._free and (first or not self._first_waiting):
                        self._free -= 1
                        return True
                    self._changed.wait(TICK)
                return False
            finally:
                self._first_waiting -= first
                self._changed.notify_all()

    def release_slot(self) -> None:
        """Give a slot back."""
        with self._changed:
            self._free += 1
            self._changed.notify_all()
