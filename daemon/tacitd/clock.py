"""The clock, and the formats of times (SPEC X-01). A part that depends on time takes a `Clock` as an argument.

`now()` is wall time, in seconds since 1970, UTC; it may jump. `monotonic()` only moves forward; every wait is measured with it.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

__all__ = [
    "Clock",
    "SystemClock",
    "doubt_clock",
    "local_date",
    "local_minutes",
    "parse_utc",
    "utc_millis",
    "utc_seconds",
]


class Clock(Protocol):
    """A clock. Tests use `tacitd.testing.FakeClock`."""

    def now(self) -> float: ...

    def monotonic(self) -> float: ...


_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SystemClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        """Includes time in sleep, so sessions also become idle while the machine sleeps. CLOCK_MONOTONIC stops in sleep on
        Linux only."""
        return time.clock_gettime(_STEADY)


def utc_seconds(at: float) -> str:
    """Given seconds since 1970, return `2025-12-17T01:50:00Z`: UTC, the form of seed 003's raw facts (S-02)."""
    return datetime.fromtimestamp(int(at), UTC).isoformat().removesuffix("+00:00") + "Z"


def utc_millis(at: float) -> str:
    """Given seconds since 1970, return `2025-12-17T01:50:00.123Z`: UTC, the form of seed 001 and of Claude Code's records."""
    whole = datetime.fromtimestamp(at, UTC)
    return whole.strftime("%Y-%m-%dT%H:%M:%S.") + f"{whole.microsecond // 1000:03d}Z"


def local_minutes(at: float) -> str:
    """Given seconds since 1970, return `2026-02-19T14:30`: local time without a zone, the form of seed 000 (L-47)."""
    return datetime.fromtimestamp(at).isoformat(timespec="minutes")


def local_date(at: float) -> str:
    """Given seconds since 1970, return `2024-02-10`: local time, the form of seed 004 (E-24), and the budget's day."""
    return datetime.fromtimestamp(at).date().isoformat()


def parse_utc(text: object) -> float | None:
    """Given an ISO 8601 time, return seconds since 1970; None for anything else. A time without a zone is UTC."""
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


EARLIEST = 1_735_689_600.0
"""2025-01-01 UTC: a clock that shows an earlier time is wrong."""
LATEST_AFTER = 400 * 86_400.0
"""Seconds."""


def doubt_clock(now: float, known: float | None) -> str:
    """Return why a clock is not believed, as a clause; "" if it is. One start in the year 2100, or in 1970, must not remove
    what is old. `known`: the newest time from elsewhere, such as a transcript's record; None: unknown."""
    if now < EARLIEST:
        return "the clock shows a time before 2025"
    if known is None:
        return ""
    if now > known + LATEST_AFTER:
        return "the clock is more than 400 days after the newest known time"
    return "the clock is more than a day before the newest known time" if now < known - 86_400.0 else ""
