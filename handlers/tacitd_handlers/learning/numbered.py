"""What a synthesis numbers: the facts, the existing lines, and the files that may be chosen (SPEC S-20, S-36). Pure.

    1. Corrected: Use pnpm (2026-11-20, said 2 times in 2 sessions, 1 of them a correction)
    L3. Use yarn
    P1. Never push to main

The answer names numbers. Equal facts are one numbered fact. Facts that an earlier synthesis left out come after the new ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from tacitd.clock import utc_seconds
from tacitd_handlers.learning.estimate import FACTS_BYTES
from tacitd_handlers.learning.learned_rows import FactRow
from tacitd_handlers.learning.line_queries import describe_count

_LINE_OVERHEAD = 12
"""Bytes that a line has in the prompt besides its text and heading."""


class NumberedFact(Struct, frozen=True):
    """A fact with its origin and how often it was said."""

    text: str
    rows: tuple[int, ...] = ()
    """The rows of the facts that say it; those of a fact that was left out before are not among them if it was said again."""
    is_new: bool = True
    """Whether it was said since the last synthesis."""
    prompts: frozenset[int] = frozenset()
    """The messages that say it. One that another program appended has none."""
    sessions: frozenset[str] = frozenset()
    said: int = 1
    corrections: int = 0
    line: int | None = None
    """The existing line that it corrects again."""
    at: float | None = None
    """When it was said first: seconds since 1970, UTC."""
    tries: int = 0
    """Answers about it that could not be used."""

    def describe(self) -> str:
        """Return the fact as the prompt shows it: `Corrected: Stop deploying tomorrow (2026-11-20, said 2 times)`."""
        notes = [utc_seconds(self.at)[:10]] if self.at is not None else []
        if self.line is not None:
            notes.append("an L line, said again")
        if not self.is_new:
            notes.append("left out before")
        if self.said > 1 or not self.is_new:
            notes.append(describe_count(self.said, len(self.sessions), self.corrections))
        text = f"Corrected: {self.text}" if self.corrections else self.text
        return f"{text} ({', '.join(notes)})" if notes else text


class ExistingLine(Struct, frozen=True):
    """A line of a file, as it was when the model was asked."""

    path: str
    """Of its file, relative to the project."""
    heading: str
    text: str
    is_ours: bool


class Numbered(Struct, frozen=True):
    """What the numbers of one prompt mean."""

    facts: Mapping[int, NumberedFact]
    lines: Mapping[str, ExistingLine]
    """By `L3` or `P1`."""
    files: tuple[str, ...]
    """The files that may be chosen, relative to the project."""

    def show_facts(self) -> list[str]:
        """The facts as the prompt has them."""
        return [f"{number}. {fact.describe()}" for number, fact in self.facts.items()]

    def show_lines(self) -> list[str]:
        """The existing lines as the prompt has them, below their files and headings."""
        shown: list[str] = []
        path, heading = "", ""
        for number, line in self.lines.items():
            if line.path != path:
                path, heading = line.path, ""
                shown.append(f"{path}:")
            if line.heading != heading:
                heading = line.heading
                shown.append(f"## {heading}")
            shown.append(f"{number}. {' '.join(line.text.split())}")
        return shown


def number_facts(new: Iterable[FactRow], left_out: Iterable[FactRow] = ()) -> tuple[NumberedFact, ...]:
    """Return the facts in order, equal ones merged; the first has the number 1. `left_out`: those that an earlier synthesis left out.

    One that was left out and is said again has its new rows alone: the old ones stay left out if it is again.
    """
    groups: dict[str, list[FactRow]] = {}
    fresh = list(new)
    for row in (*fresh, *left_out):
        groups.setdefault(row.same, []).append(row)
    numbers = {row.number for row in fresh}
    return tuple(_merge(rows, [row for row in rows if row.number in numbers]) for rows in groups.values())


def _merge(rows: Sequence[FactRow], new: Sequence[FactRow]) -> NumberedFact:
    """Rows that say the same as one fact. The same message says it once."""
    times = [row.said_at for row in rows]
    return NumberedFact(
        rows[0].text,
        tuple(row.number for row in new or rows),
        bool(new),
        frozenset(row.prompt for row in rows if row.prompt is not None),
        frozenset(row.session for row in rows if row.session),
        len({_message(row) for row in rows}),
        len({_message(row) for row in rows if row.corrected}),
        next((row.line for row in rows if row.line is not None), None),
        min(times),
        max(row.tries for row in rows),
    )


def _message(row: FactRow) -> int:
    return row.prompt if row.prompt is not None else -row.number


def split_facts(
    new: Mapping[int, NumberedFact], old: Mapping[int, NumberedFact], limit: int = FACTS_BYTES
) -> Iterator[dict[int, NumberedFact]]:
    """Yield the new facts by number, in portions of one call each, at most `limit` bytes in one, each with all old ones."""
    portion: dict[int, NumberedFact] = {}
    size = 0
    for number, fact in new.items():
        more = len(fact.describe().encode(errors="replace"))
        if portion and size + more > limit:
            yield {**portion, **old}
            portion, size = {}, 0
        portion[number] = fact
        size += more
    if portion:
        yield {**portion, **old}


def number_lines(lines: Iterable[ExistingLine], limit: int) -> dict[str, ExistingLine]:
    """Return the lines by number, those of each file together, as many as fit into `limit` bytes; ours first.

    A line that is left out is still compared with what is proposed.
    """
    given = list(lines)
    paths = {line.path: at for at, line in reversed(list(enumerate(given)))}
    taken: list[ExistingLine] = []
    for line in sorted(given, key=lambda line: not line.is_ours):
        limit -= len(f"{line.heading}{line.text}".encode(errors="replace")) + _LINE_OVERHEAD
        if limit < 0:
            break
        taken.append(line)
    place = {id(line): at for at, line in enumerate(given)}
    taken.sort(key=lambda line: (paths[line.path], place[id(line)]))
    ours = iter(range(1, len(taken) + 1))
    theirs = iter(range(1, len(taken) + 1))
    return {f"L{next(ours)}" if line.is_ours else f"P{next(theirs)}": line for line in taken}
