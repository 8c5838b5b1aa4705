"""What the engine itself has to say of its work: prompts that were read, and work that is parked.

Each reason for parked work is announced once an hour, however many tasks wait for it.
"""

from __future__ import annotations

import threading

from tacitd.clock import Clock, local_minutes
from tacitd.work.activities import Activities

AGAIN = 3600.0
"""Seconds until the same reason of parked work is announced again."""
REASONS = 256
"""Reasons that are remembered."""


class WorkNotes:
    """Announces what was read and what is parked. Thread-safe."""

    def __init__(self, activities: Activities, clock: Clock) -> None:
        self._activities = activities
        self._clock = clock
        self._lock = threading.Lock()
        self._parked: dict[tuple[str, str], float] = {}

    def note_read(self, where: str, number: int) -> None:
        """Prompts were read that a handler which asks the model will get."""
        self._activities.add("read", f"{number} prompt{'' if number == 1 else 's'}", where)

    def note_parked(self, plugin: str, reason: str, not_before: float | None) -> None:
        """Work was parked, or again."""
        key, now = (plugin, reason), self._clock.monotonic()
        with self._lock:
            if now - self._parked.get(key, -AGAIN) < AGAIN:
                return
            self._parked.pop(key, None)
            self._parked[key] = now
            if len(self._parked) > REASONS:
                del self._parked[next(iter(self._parked))]
        until = f", until {_format_time(not_before)}" if not_before is not None else ""
        self._activities.add("parked", f"{reason}{until}", plugin, "", plugin)


def _format_time(at: float) -> str:
    try:
        return local_minutes(at).replace("T", " ")
    except (ValueError, OverflowError, OSError):  # third-party handlers name times too
        return "a time that cannot be shown"
