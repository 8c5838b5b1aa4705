"""A list with a head in aligned columns, for a person who reads it. Pure.

Every command that prints a list uses it. Programs use `--json`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Sequence


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
