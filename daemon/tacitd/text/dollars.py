"""Amounts of US dollars for a person."""

from __future__ import annotations


def format_dollars(usd: float) -> str:
    """Return `$0.01`; `<$0.01` for less that is not nothing, so that a call that cost something is never `$0.00`."""
    return f"${usd:.2f}" if usd >= 0.005 or usd <= 0 else "<$0.01"
