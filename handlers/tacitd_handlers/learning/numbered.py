"""What a synthesis numbers: the facts, the existing lines, and the files that may be chosen (SPEC S-20, S-36). Pure.

    1. Corrected: Use pnpm (2026-11-20, said 2 times in 2 sessions, 1 of them a correction)
    L3. Use yarn
    P1. Never push to main

The answer names numbers. Each is resolved as soon as the answer is there, so a number means what it meant in its prompt: later it
is compared by its text. Equal facts are one numbered fact. Facts that an earlier synthesis left out come after the new ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tacitd.clock import utc_seconds
from tacitd.text.redact import redact_secrets
from tacitd_handlers.learning.answer_sizes import FACTS_BYTES
from tacitd_handlers.learning.confidence import SESSIONS_LIMIT, describe_count
from tacitd_handlers.learning.raw_facts import RawLine
from tacitd_handlers.learning.state import LeftOutFact
from tacitd_handlers.shared.equality import normalise_text


class NumberedFact(Struct, frozen=True):
    """A fact with its origin and how often it was said."""

    text: str
    spellings: tuple[str, ...]
    """The equal facts of the raw file; () if the fact was left out before and not said again."""
    prompts: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    said: int = 1
    corrections: int = 0
    again: bool = False
    """It is an existing line that was corrected again."""
    at: float | None = None
    """When its first prompt was typed: seconds since 1970, UTC; None if unknown."""
    prompts_of_batch: tuple[str, ...] = ()
    """The prompts of its batch, for a fact whose own prompts are not known."""

    @property
    def is_new(self) -> bool:
        """Whether it was said since the last synthesis."""
        return bool(self.spellings)

    def describe(self) -> str:
        """Return the fact as the prompt shows it: `Corrected: Stop deploying tomorrow (2026-11-20, said 2 times)`."""
        notes = [utc_seconds(self.at)[:10]] if self.at is not None else []
        if self.again:
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

    @property
    def new_texts(self) -> frozenset[str]:
        """The new facts that the call is about."""
        return frozenset(fact.text for fact in self.facts.values() if fact.is_new)

    def show_facts(self) -> list[str]:
        """The facts as the prompt has them, each on one line."""
        return [f"{number}. {_flatten(fact.describe())}" for number, fact in self.facts.items()]

    def show_lines(self) -> list[str]:
        """The existing lines as the prompt has them, below their files and headings."""
        shown: list[str] = []
        path, heading = "", ""
        for number, line in self.lines.items():
            if line.path != path:
                path, heading = line.path, ""
                shown.append(f"{_flatten(path)}:")
            if line.heading != heading:
                heading = line.heading
                shown.append(f"## {_flatten(heading)}")
            shown.append(_show_line(number, line))
        return shown


def number_facts(
    lines: Iterable[RawLine],
    wanted: Collection[str],
    times: Mapping[str, float],
    left_out: Iterable[LeftOutFact] = (),
) -> tuple[NumberedFact, ...]:
    """Return the facts in order, equal ones merged; the first has the number 1.

    `wanted`: the facts to take from the lines. `times`: when prompts were typed, by id, in seconds since 1970, UTC.
    """
    found: dict[str, NumberedFact] = {}
    for line in lines:
        for fact, mark in line.marked_facts:
            if fact not in wanted:
                continue
            prompts = mark.prompts or line.prompts
            at = min((times[one] for one in prompts if one in times), default=None)
            sessions: tuple[str, ...] = (line.session,) if line.session else ()
            made = NumberedFact(
                fact, (fact,), mark.prompts, sessions, 1, int(mark.corrected), mark.again, at, line.prompts
            )
            key = normalise_text(fact)
            found[key] = _merge(found[key], made) if key in found else made
    new = dict(found)
    for one in left_out:
        key = normalise_text(one.text)
        if key in new:
            before = new[key]
            sessions = tuple(dict.fromkeys((*one.sessions, *before.sessions)))[-SESSIONS_LIMIT:]
            found[key] = replace(
                before,
                said=before.said + one.said,
                corrections=before.corrections + one.corrections,
                sessions=sessions,
            )
        else:
            found[key] = NumberedFact(
                one.text, (), one.prompts, one.sessions, one.said, one.corrections, at=one.at
            )
    return tuple(found.values())


def split_facts(facts: Sequence[NumberedFact], limit: int = FACTS_BYTES) -> Iterator[dict[int, NumberedFact]]:
    """Yield the facts by number, in portions of one call each, at most `limit` bytes of new facts in one.

    Facts that were left out before are in each of them. There is no portion without a new fact.
    """
    numbers = dict(enumerate(facts, 1))
    old = {number: fact for number, fact in numbers.items() if not fact.is_new}
    portion: dict[int, NumberedFact] = {}
    size = 0
    for number, fact in numbers.items():
        if not fact.is_new:
            continue
        more = len(fact.describe().encode(errors="replace"))
        if portion and size + more > limit:
            yield portion | old
            portion, size = {}, 0
        portion[number] = fact
        size += more
    if portion:
        yield portion | old


def number_lines(lines: Iterable[ExistingLine], limit: int) -> dict[str, ExistingLine]:
    """Return the lines by number, those of each file together, as many as fit into `limit` bytes; ours first.

    A line that is left out is still compared with what is proposed.
    """
    given = list(lines)
    paths = {line.path: at for at, line in reversed(list(enumerate(given)))}
    taken: list[ExistingLine] = []
    for line in sorted(given, key=lambda line: not line.is_ours):
        limit -= len(_show_line("L0000", line).encode(errors="replace")) + len(line.heading) + 4
        if limit < 0:
            break
        taken.append(line)
    place = {id(line): at for at, line in enumerate(given)}
    taken.sort(key=lambda line: (paths[line.path], place[id(line)]))
    ours = iter(range(1, len(taken) + 1))
    theirs = iter(range(1, len(taken) + 1))
    return {f"L{next(ours)}" if line.is_ours else f"P{next(theirs)}": line for line in taken}


def _show_line(number: str, line: ExistingLine) -> str:
    return f"{number}. {_flatten(line.text)}"


def _flatten(text: str) -> str:
    """On one line, with secrets blanked."""
    return redact_secrets(" ".join(text.split()))[0]


def _merge(before: NumberedFact, other: NumberedFact) -> NumberedFact:
    """Return the fact after it was said once more."""
    # If one saying does not tell its prompts, the own prompts of the others would hide it.
    complete = bool(before.prompts and other.prompts)
    own = tuple(dict.fromkeys((*before.prompts, *other.prompts)))
    return replace(
        before,
        spellings=tuple(dict.fromkeys((*before.spellings, *other.spellings))),
        prompts=own if complete else (),
        prompts_of_batch=tuple(dict.fromkeys((*before.prompts_of_batch, *other.prompts_of_batch))),
        sessions=tuple(dict.fromkeys((*before.sessions, *other.sessions)))[-SESSIONS_LIMIT:],
        said=before.said + other.said,
        corrections=before.corrections + other.corrections,
        again=before.again or other.again,
    )
