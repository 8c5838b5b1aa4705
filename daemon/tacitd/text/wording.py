"""Words for a person: amounts, counts, ages, shortened lines and tables. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Sequence

from tacitd.text.sanitize import sanitize_line


def format_dollars(usd: float) -> str:
    """Return `$0.01`; `<$0.01` for less that is not nothing, so that a call that cost something is never `$0.00`."""
    return f"${usd:.2f}" if usd >= 0.005 or usd <= 0 else "<$0.01"


def count_noun(number: int, noun: str) -> str:
    """`1 call`, `2 calls`, `1,200 calls`."""
    return f"{number:,} {pluralise_noun(number, noun)}"


def pluralise_noun(number: int, noun: str) -> str:
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


def shorten_line(line: str, limit: int) -> str:
    """Given one sanitised line, return at most `limit` characters of it, cut at a word and ended with `…`.

    An emoji or a cluster that would fit only in part leaves no joiner or selector behind.
    """
    if len(line) <= limit:
        return line
    if limit <= 1:
        return sanitize_line(line[: max(0, limit)])
    head = line[: limit - 1]
    word = head.rpartition(" ")[0]
    return sanitize_line(word if len(word) > limit // 2 else head).rstrip(" ,;:") + "…"


def format_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[int] = ()
) -> list[str]:
    """Return the lines of a table: the head, then the rows. [] without rows.

    Each column is as wide as its longest cell plus two; the last one is neither padded nor cut. `right`: the columns,
    from 0 on, that are aligned to the right, such as numbers.
    """
    lines = [tuple(head), *map(tuple, rows)]
    if len(lines) == 1:
        return []
    widths = [max(measure_width(line[at]) for line in lines) for at in range(len(head))]
    return [_align(line, widths, right) for line in lines]


def measure_width(text: str) -> int:
    """The number of terminal columns of a text."""
    return len(text) if text.isascii() else sum(map(_measure_character, text))


def _measure_character(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _align(cells: Sequence[str], widths: Sequence[int], right: Collection[int]) -> str:
    last, shown = len(cells) - 1, []
    for at, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        space = " " * (width - measure_width(cell))
        shown.append(space + cell if at in right else cell if at == last else cell + space)
    return "  ".join(shown).rstrip()
