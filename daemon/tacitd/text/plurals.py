"""Numbers with their noun and spans of time, for lines that a person reads. English nouns that take an s."""

from __future__ import annotations


def count_noun(number: int, noun: str) -> str:
    """`1 call`, `2 calls`, `1,200 calls`."""
    return f"{number:,} {pluralise_noun(number, noun)}"


def pluralise_noun(number: int, noun: str) -> str:
    """`call` for one, otherwise `calls`."""
    return noun if number == 1 else f"{noun}s"


def format_age(seconds: float) -> str:
    """`just now`, `12 min ago`, `3 h ago`, `2 days ago`; "" for a time that has not come."""
    if seconds < 0:
        return ""
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    if seconds < 86_400:
        return f"{int(seconds // 3600)} h ago"
    return f"{count_noun(int(seconds // 86_400), 'day')} ago"
