"""Times for a person: local, with how long ago it was."""

from __future__ import annotations

from tacitd.clock import SystemClock, local_minutes, parse_utc
from tacitd.text.wording import format_age


def format_moment(at: str, now: float | None = None) -> str:
    """Given a UTC time, return `2026-11-22 10:05 (3 h ago)`; the text itself if it is no time, such as a local date.

    `now`: seconds since 1970, UTC; None: the machine's clock.
    """
    found = parse_utc(at)
    if found is None or len(at) == len("2026-11-22"):
        return at
    age = format_age((SystemClock().now() if now is None else now) - found)
    return local_minutes(found).replace("T", " ") + (f" ({age})" if age else "")
