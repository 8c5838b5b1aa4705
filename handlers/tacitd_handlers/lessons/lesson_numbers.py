"""The ids of lessons: numbers with at least three digits (SPEC E-22)."""

from __future__ import annotations

DIGITS = 12
"""Maximum digits of an id. A longer one would use up all numbers below it."""


def number_of(id: object) -> int | None:
    """The number of an id, given as digits or as an integer; None for anything else."""
    if isinstance(id, bool):
        return None
    text = str(id) if isinstance(id, int) else id
    if not isinstance(text, str) or not (text.isascii() and text.isdigit()) or len(text) > DIGITS:
        return None
    return int(text) or None


def name_of(number: int) -> str:
    """The number with at least three digits: `002` (SPEC E-22)."""
    return f"{number:03d}"
