"""When a usage limit ends, parsed from the client's message: `resets 5:33am (UTC)`. Pure.

The wordings were observed from 1.0.128 to 2.1.328 (CLAUDE_CODE 3.4). A `rate_limit_event` is more exact and takes
precedence (outcome.py).
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from tacitd.text.lazy_pattern import compile_lazily

UNKNOWN = 1800.0
"""Seconds to wait if the message has no time."""
LONGEST = 8 * 86400.0
"""Seconds. The longest window is a week, so a later time is not believed."""

_AT = compile_lazily(
    r"resets\s+(?:at\s+)?"
    r"(?:(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(?P<day>\d{1,2})\b,?\s*(?:at\s+)?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s*(?P<half>[ap]m)?"
    r"(?:\s*\((?P<zone>[A-Za-z0-9_+\-/]{1,40})\))?",
    re.IGNORECASE,
)
_EPOCH = compile_lazily(r"limit reached\|(\d{9,13})")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


def reset_time(text: str, now: float) -> float:
    """Given the client's message, return the next such time after `now`; both in seconds since 1970, UTC.

    A time without a zone is local time. Without a readable time the result is thirty minutes from `now`.
    """
    epoch = _EPOCH.search(text)
    if epoch:
        return clamp_reset_time(float(epoch[1][:10]), now)
    said = _AT.search(text)
    try:
        return clamp_reset_time(_next(said, now), now) if said else now + UNKNOWN
    except (ValueError, OverflowError, OSError, KeyError):  # 25:70, or an unknown zone
        return now + UNKNOWN


def clamp_reset_time(at: float, now: float) -> float:
    """The reset time (seconds since 1970, UTC), limited to between a minute and eight days from `now`."""
    return min(max(at, now + 60.0), now + LONGEST)


def _next(said: re.Match[str], now: float) -> float:
    zone: tzinfo | None = ZoneInfo(said["zone"]) if said["zone"] else None
    here = datetime.fromtimestamp(now, zone)
    when = here.replace(hour=_hour(said), minute=int(said["minute"] or 0), second=0, microsecond=0)
    if said["month"]:
        when = when.replace(month=_MONTHS.index(said["month"].lower()[:3]) + 1, day=int(said["day"]))
        return (when if when >= here else when.replace(year=when.year + 1)).timestamp()
    return (when if when > here else when + timedelta(days=1)).timestamp()


def _hour(said: re.Match[str]) -> int:
    hour, half = int(said["hour"]), (said["half"] or "").lower()
    if not half:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError(f"{hour}{half} is not a time")
    return hour % 12 + (12 if half == "pm" else 0)
