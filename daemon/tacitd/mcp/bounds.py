"""A command's output as the bounded answer of a tool. Pure.

JSON is written without spaces and stays JSON when it is shortened; what was left out is said beside it, in a text of its own.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from tacitd.mcp.agent_tools import LARGEST_RESULT

DEEPEST = 50
"""Levels of a document that is shortened; what is deeper is left out."""
LONGEST = 400
"""Characters of a text in a document that is shortened, or fewer if it must have few elements."""
FIELDS = 40
"""The same for the fields of an object."""


class Bounded(NamedTuple):
    """A text of at most the wanted length, and what was left out of it, in words; "" if nothing was."""

    text: str
    note: str = ""


def bound_output(text: str, limit: int = LARGEST_RESULT) -> Bounded:
    """The text with at most `limit` characters (200 at least)."""
    text = text.encode("utf-8", "replace").decode("utf-8").strip()
    if text.startswith(("[", "{")):
        try:
            return _bound_document(json.loads(text), limit)
        except (ValueError, RecursionError):
            pass  # it only begins like JSON
    if len(text) <= limit:
        return Bounded(text)
    return Bounded(
        text[: limit - 1] + "…", f"{len(text) - limit + 1:,} characters are left out; ask for less"
    )


def _bound_document(document: Any, limit: int) -> Bounded:
    best = _write(document)
    if len(best) <= limit:
        return Bounded(best)
    low, high = 0, len(best)
    while low <= high:  # the largest number of elements that fits
        count = (low + high) // 2
        text = _write(_shorten(document, count))
        if len(text) <= limit:
            best, low = text, count + 1
        else:
            high = count - 1
    left = _count(document) - _count(json.loads(best))
    return Bounded(best, f"{left:,} values are left out, and long texts are cut; ask for less")


def _shorten(value: Any, count: int, depth: int = DEEPEST) -> Any:
    """The value with at most `count` elements of each list; with few, also with few fields and short texts."""
    longest = min(LONGEST, 10 * count + 10)
    if isinstance(value, str):
        return value if len(value) <= longest else value[:longest] + "…"
    if depth == 0 and isinstance(value, list | dict):
        return None
    if isinstance(value, list):
        return [_shorten(one, count, depth - 1) for one in value[:count]]
    if isinstance(value, dict):
        fields = list(value.items())[: max(count, min(FIELDS, 5 * count + 1))]
        return {name[:longest]: _shorten(one, count, depth - 1) for name, one in fields}
    return value


def _count(value: Any) -> int:
    """The values in a document that are neither lists nor objects."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 1 if inner is None else sum(map(_count, inner))


def _write(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
