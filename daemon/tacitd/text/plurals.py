"""Numbers with their noun, for lines that a person reads. English nouns that take an s."""

from __future__ import annotations


def count_noun(number: int, noun: str) -> str:
    """`1 call`, `2 calls`, `1,200 calls`."""
    return f"{number:,} {pluralise_noun(number, noun)}"


def pluralise_noun(number: int, noun: str) -> str:
    """`call` for one, otherwise `calls`."""
    return noun if number == 1 else f"{noun}s"
