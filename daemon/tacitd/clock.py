"""The one place that asks what time it is, and the formats in which times are written.

Two kinds of time are kept apart. `now()` is wall time: seconds since 1970, UTC; it may jump. `monotonic()`
only moves forward, in seconds since some start; every waiting and every deadline is measured with it.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What a part may ask about time. `tacitd.testing.FakeClock` is the one for tests."""

    def now(self) -> float:
        """Seconds since 1970-01-01 UTC. May jump either way."""
        ...

    def monotonic(self) -> float:
        """Seconds since an unnamed start. Never goes back."""
        ...


_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> float:
        """Seconds since 1970-01-01 UTC."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since an unnamed start, time asleep included: a session is idle also while its lid is closed.

        Linux: CLOCK_BOOTTIME, because CLOCK_MONOTONIC stands still in sleep; macOS: CLOCK_MONOTONIC goes on.
        """
        return time.clock_gettime(_STEADY)


def utc_seconds(at: float) -> str:
    """`2025-12-17T01:50:00Z`: the form of seed 003's raw facts."""
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def utc_millis(at: float) -> str:
    """`2025-12-17T01:50:00.123Z`: the form of Claude Code's records and of seed 001."""
    whole = datetime.fromtimestamp(at, UTC)
    return whole.strftime("%Y-%m-%dT%H:%M:%S.") + f"{whole.microsecond // 1000:03d}Z"


def local_minutes(at: float) -> str:
    """`2026-02-19T14:30`, local time and no zone: the form of seed 000."""
    return datetime.fromtimestamp(at).strftime("%Y-%m-%dT%H:%M")


def local_date(at: float) -> str:
    """`2024-02-10`, local time: the form of seed 004, and the day of the budget."""
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d")


def parse_utc(text: object) -> float | None:
    """Given an ISO 8601 time with a zone (or none: UTC), return seconds since 1970; None for anything else."""
    if not isinstance(text, str) or not text:
        return None
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    try:
        return when.timestamp()
    except (OverflowError, OSError, ValueError):
        return None
