"""Whether the clock can be believed, before something is removed because of its age.

One start in the year 2100, or in 1970, must not empty what was learned. The clock is compared with the newest record of the
transcripts, which the client wrote.
"""

from __future__ import annotations

from collections.abc import Callable

DAY = 86_400.0
EARLIEST = 1_735_689_600.0
"""2025-01-01 UTC: a clock that shows an earlier time is wrong."""
LATEST_AFTER = 400 * DAY
"""Seconds. A clock that is further than this after the newest known time is not believed."""


def find_newest_record(rows: Callable[..., list[tuple[float | None]]], now: float) -> float | None:
    """The newest time in a transcript, in seconds since 1970; None if there is none. One from the future confirms no clock."""
    return rows("SELECT max(last) FROM session WHERE last <= ?", now + DAY)[0][0]


def doubt_clock(now: float, known: float | None) -> str:
    """Return why the clock is not believed, as a clause; "" if it is. `known`: the newest time from elsewhere; None: unknown."""
    if now < EARLIEST:
        return "the clock shows a time before 2025"
    if known is None:
        return ""
    if now > known + LATEST_AFTER:
        return "the clock is more than 400 days after the newest known time"
    return "the clock is more than a day before the newest known time" if now < known - DAY else ""
