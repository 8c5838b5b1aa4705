"""Types of configuration fields that pydantic checks: durations and lists of names.

Only configuration models import this module. Code that must not need pydantic is in `durations.py`.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

from tacitd.config.durations import format_duration, parse_duration

__all__ = ["Duration", "Names"]


def _names(value: Any) -> Any:
    """`"A,B"` (as in an environment variable) and a JSON list in a text become `("A", "B")`; a list stays unchanged."""
    if isinstance(value, str):
        if value.startswith("["):
            return json.loads(value)  # ValueError: pydantic reports it
        return tuple(name.strip() for name in value.split(",") if name.strip())
    return value


Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
]
"""Seconds as a float, written `20s`, `30m`, `6h`, `2d`, `500ms`, or as a number; in JSON as `30m` again."""

Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
"""Several strings: a list in config.toml, `A,B` in a variable."""
