"""The order of learned lines within a section, and which of them a person placed (S-28). Pure.

What was corrected most often comes first, then what was learned first. A line that a person
moved stays where it is: it is recognised by comparing the file with the order in which tacitd left it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from tacitd.files.operations import ArrangeLines, PutLine, SwapLine, TakeLine
from tacitd.files.transaction_records import Transaction
from tacitd.text.markdown import clean_line
from tacitd.text.markdown_text import normalise_heading

Layout = dict[str, list[str]]
"""The lines by heading, as `normalise_heading` returns it, in order."""


class LineAge(Struct, frozen=True):
    """What decides about a line's place, besides its words."""

    corrections: int
    first_seen: float
    """Seconds since 1970, UTC."""


def order_lines(lines: Sequence[str], ages: Mapping[str, LineAge]) -> list[str]:
    """Return the lines in their order. Lines without an age, and lines that are equal in all, keep their order."""
    last = LineAge(0, float("inf"))

    def rank(line: str) -> tuple[int, float]:
        age = ages.get(line, last)
        return -age.corrections, age.first_seen

    return sorted(lines, key=rank)


def fold_layout(transactions: Iterable[Transaction], path: Path) -> Layout:
    """Return the lines of one file where the finished transactions left them, oldest transaction first."""
    layout: Layout = {}
    for done in transactions:
        for operation, effect in zip(done.operations, done.effects, strict=True):
            if operation.path != path or done.state != "done" or effect.did == "nothing":
                continue
            match operation:
                case PutLine(heading=heading, line=line):
                    _place(layout, heading, clean_line(line))
                case SwapLine(old=old, new=new):
                    heading = effect.heading if effect.did == "swapped" else operation.heading
                    if not _replace(layout, clean_line(old), clean_line(new)):
                        _place(layout, heading, clean_line(new))
                case TakeLine(line=line):
                    _replace(layout, clean_line(line), None)
                case ArrangeLines(order=order):
                    rank = {line: at for at, line in enumerate(order.splitlines())}
                    for title, lines in layout.items():
                        layout[title] = _permute(lines, rank)
                case _:
                    pass
    return layout


def find_placed(layout: Layout, current: Sequence[tuple[str, str]]) -> set[str]:
    """Given the (heading, line) pairs of our lines in a file, return those that a person moved since tacitd left them.

    Of lines that changed places, as few as possible count as moved.
    """
    place = {line: (title, at) for title, lines in layout.items() for at, line in enumerate(lines)}
    moved: set[str] = set()
    by_heading: dict[str, list[str]] = {}
    for heading, line in current:
        title = normalise_heading(heading)
        if line in place and place[line][0] == title:
            by_heading.setdefault(title, []).append(line)
        else:
            moved.add(line)
    for lines in by_heading.values():
        kept = _longest_rising([place[line][1] for line in lines])
        moved |= {line for at, line in enumerate(lines) if at not in kept}
    return moved


def _longest_rising(numbers: Sequence[int]) -> set[int]:
    """The indices of a longest rising subsequence."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for at, number in enumerate(numbers):
        length = bisect_left(tails, number)
        before.append(ends[length - 1] if length else -1)
        tails[length:], ends[length:] = [number, *tails[length + 1 :]], [at, *ends[length + 1 :]]
    found: set[int] = set()
    at = ends[-1] if ends else -1
    while at >= 0:
        found.add(at)
        at = before[at]
    return found


def _place(layout: Layout, heading: str, line: str) -> None:
    _replace(layout, line, None)
    layout.setdefault(normalise_heading(heading), []).append(line)


def _replace(layout: Layout, old: str, new: str | None) -> bool:
    for lines in layout.values():
        if old in lines:
            at = lines.index(old)
            lines[at : at + 1] = [new] if new is not None else []
            return True
    return False


def _permute(lines: Sequence[str], rank: Mapping[str, int]) -> list[str]:
    wanted = iter(sorted((line for line in lines if line in rank), key=lambda line: rank[line]))
    return [next(wanted) if line in rank else line for line in lines]
