"""The JSON objects in a model's answer. Pure. Models write fences and sentences around them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def find_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects in an answer, outermost first, from left to right. NaN and Infinity are no JSON."""
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    at = text.find("{")
    while at >= 0:
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield found
        at = text.find("{", end)


def _refuse_constant(name: str) -> float:
    raise ValueError(name)
