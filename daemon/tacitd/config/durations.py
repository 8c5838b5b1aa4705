"""Durations as people write them: `20s`, `30m`, `6h`, `2d`, `500ms`, or a number of seconds. It imports no
more than `re` and `math`."""

from __future__ import annotations

import math
import re

ALLOWED = "a duration such as 500ms, 20s, 30m, 6h, 2d, or a number of seconds"
"""The allowed forms, for errors."""

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)", re.ASCII)
_WHOLE = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)


def parse_duration(value: object) -> float:
    """Given `30m`, `1h30m`, `"20"` or `20`, return seconds. Raises ValueError, which names the allowed forms."""
    seconds = -1.0
    if isinstance(value, str):
        text = value.strip().lower()
        if _NUMBER.fullmatch(text):
            seconds = float(text)
        elif _WHOLE.fullmatch(text):
            seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        try:
            seconds = float(value)
        except OverflowError:
            seconds = math.inf
    if math.isfinite(seconds) and seconds >= 0:
        return seconds
    raise ValueError(f"it must be {ALLOWED}")


def format_duration(seconds: float) -> str:
    """The shortest form that is exact to the millisecond, which `parse_duration` reads back: `1h30m`,
    `500ms`."""
    millis = round(max(0.0, seconds) * 1000)
    if millis == 0:
        return "0s"
    words = []
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, millis = divmod(millis, size)
        if count:
            words.append(f"{count}{unit}")
    return "".join(words)
