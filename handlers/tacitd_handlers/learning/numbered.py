"""What a synthesis numbers: the facts, the existing lines, and the files that may be chosen (SPEC S-20, S-36). Pure.

    1. Corrected: Use pnpm (2026-11-20, said 2 times in 2 sessions, 1 of them a correction)
    L3. Use yarn
    P1. Never push to main

The answer names numbers. Equal facts are one numbered fact. Facts that an earlier synthesis left out come after the new ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from tacitd.clock import utc_seconds
from tacitd_handlers.learning.answer_sizes import FACTS_BYTES
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
    """Return the facts in order, equal ones merged; the first has the number 1. `left_out`: those that an earlier synthesis left out."""
    found: dict[str, NumberedFact] = {}
    for is_new, facts in ((True, new), (False, left_out)):
        for fact in facts:
            made = NumberedFact(
                fact.text,
                (fact.number,),
                is_new,
                frozenset(() if fact.prompt is None else (fact.prompt,)),
                frozenset((fact.session,) if fact.session else ()),
                1,
                int(fact.corrected),
                fact.line,
                fact.said_at,
                fact.tries,
            )
            before = found.get(fact.same)
            found[fact.same] = made if before is None else _merge(before, made)
    return tuple(found.values())


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


def _merge(before: NumberedFact, other: NumberedFact) -> NumberedFact:
    """Return the fact after it was said once more. The same message says it once."""
    is_again = not (other.prompts and other.prompts <= before.prompts)
    # A fact that was left out before and is said again is told by its new rows alone: the old ones stay left out if it is again.
    counts = before.is_new == other.is_new
    return replace(
        before,
        rows=(*before.rows, *other.rows) if counts else before.rows,
        prompts=before.prompts | other.prompts,
        sessions=before.sessions | other.sessions,
        said=before.said + is_again,
        corrections=before.corrections + (other.corrections if is_again else 0),
        line=before.line if before.line is not None else other.line,
        at=before.at if before.at is None or other.at is None else min(before.at, other.at),
        tries=max(before.tries, other.tries),
    )
