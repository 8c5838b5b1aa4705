"""Durations as people write them: `20s`, `30m`, `6h`, `2d`, `500ms`, or a number of seconds.

The fast commands use this module, so it imports no more than `re` and `math`. The type for configuration fields is in
`types.py`.
"""

from __future__ import annotations

import math
import re

ALLOWED = "a duration such as 500ms, 20s, 30m, 6h, 2d, or a number of seconds"
"""The allowed forms, for errors."""

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)", re.ASCII)
_NUMBER = re.compile(r"\s*\d+(?:\.\d+)?\s*", re.ASCII)


def parse_duration(value: object) -> float:
    """Given `30m`, `1h30m`, `"20"` or `20`, return seconds.

    Raises ValueError, which names the allowed forms, for anything else: negative, infinite, empty, a boolean.
    """
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            seconds = float(value)
        except OverflowError:
            seconds = math.inf
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    raise ValueError(f"it must be {ALLOWED}")


def _from_text(text: str) -> float:
    if _NUMBER.fullmatch(text):
        return parse_duration(float(text))
    total, at, lowered = 0.0, 0, text.strip().lower()
    while at < len(lowered):
        part = _PART.match(lowered, at)
        if part is None:
            raise ValueError(f"it must be {ALLOWED}")
        total += float(part[1]) * _SECONDS[part[2]]
        at = part.end()
    if not lowered:
        raise ValueError(f"it must be {ALLOWED}")
    return parse_duration(total)


def format_duration(seconds: float) -> str:
    """Given seconds, return the shortest form that is exact to the millisecond: `1h30m`, `500ms`.

    `parse_duration` reads it back. A negative number becomes `0s`.
    """
    millis = round(max(0.0, seconds) * 1000)
    if millis == 0:
        return "0s"
    words = []
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, millis = divmod(millis, size)
        if count:
            words.append(f"{count}{unit}")
    return "".join(words)
