"""The facts of one synthesis as its prompt numbers them, each with its origin (SPEC S-36). Pure.

Equal facts are one numbered fact, which counts how often it was said. The answer's `FROM: 2, 5` names the facts of a line.
Facts that an earlier synthesis left out are numbered after the new ones: a line can be made from them too once they are
said again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tacitd.clock import utc_seconds
from tacitd_handlers.learning.confidence import SESSIONS_LIMIT, describe_count
from tacitd_handlers.learning.raw_facts import RawLine
from tacitd_handlers.learning.stage2.pending_facts import split_portions
from tacitd_handlers.learning.state import LearningState, LeftOutFact
from tacitd_handlers.shared.equality import normalise_text

REPEATED_LIMIT = 30
"""Maximum number of existing lines with their counts in one prompt."""
_SHARED_WORDS = 0.5
"""The share of a fact's words that a line without FROM must repeat to count as made from it."""


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
        """Return the fact as the prompt shows it, with the day on which it was said: `Corrected: Stop deploying tomorrow (2026-11-20)`."""
        text = f"Corrected: {self.text}" if self.corrections else self.text
        notes = ["an existing line"] if self.again else []
        if self.at is not None:
            notes.append(utc_seconds(self.at)[:10])
        return f"{text} ({', '.join(notes)})" if notes else text


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


class FactSources:
    """The facts of one synthesis, indexed by their words: which of them is a line made from?

    A plan may have as many lines as there are facts. Without the index each line would be compared with each fact.
    """

    def __init__(self, facts: Sequence[NumberedFact]) -> None:
        self._facts = facts
        self._words = {
            at: frozenset(normalise_text(fact.text).split()) for at, fact in enumerate(facts) if fact.is_new
        }
        self._equal = {normalise_text(self._facts[at].text): at for at in reversed(self._words)}
        self._index: dict[str, list[int]] = {}
        """By word, the facts that have it among their rarest words: a line that repeats half of a fact's words has one
        of these."""
        frequency = Counter(word for words in self._words.values() for word in words)
        for at, words in self._words.items():
            rarest = sorted(words, key=lambda word: (frequency[word], word))
            for word in rarest[: len(rarest) - ceil(len(rarest) * _SHARED_WORDS) + 1]:
                self._index.setdefault(word, []).append(at)

    def find_facts(self, line: str, numbers: Sequence[int]) -> tuple[NumberedFact, ...]:
        """Return the facts that a line is made from: those that FROM names, otherwise new ones that share words with it.

        A line that says the same as a new fact is made from it, even if FROM names others only. Numbers of facts that do not exist are ignored. () if nothing tells.
        """
        named = tuple(self._facts[number - 1] for number in numbers if 1 <= number <= len(self._facts))
        same = normalise_text(line)
        if same in self._equal:
            equal = self._facts[self._equal[same]]
            return named if equal in named else (equal,)
        if named:
            return named
        words = set(same.split())
        near = sorted({at for word in words for at in self._index.get(word, ())})
        return tuple(self._facts[at] for at in near if _is_shared(self._words[at], words))


def split_numbered(facts: Sequence[NumberedFact]) -> Iterator[dict[int, NumberedFact]]:
    """Yield the facts by number, in portions of one call each. Facts that were left out before are in each of them.

    There is no portion without a new fact.
    """
    numbers = dict(enumerate(facts, 1))
    new = [number for number, fact in numbers.items() if fact.is_new]
    texts = iter(new)
    for portion in split_portions([numbers[number].text for number in new]):
        taken = {next(texts) for _ in portion}
        yield {number: fact for number, fact in numbers.items() if number in taken or not fact.is_new}


def list_repeated(facts: Mapping[int, NumberedFact], state: LearningState, root: Path) -> list[str]:
    """How often facts were said, if more than once, and lines of ours that were said again since the last synthesis.

    A fact that was left out before is listed too, with its number.
    """
    counts: list[str] = []
    for number, fact in facts.items():
        count = describe_count(fact.said, len(fact.sessions), fact.corrections)
        if not fact.is_new:
            counts.append(f"{number}. left out before, {count}: {fact.text}")
        elif fact.said > 1:
            counts.append(f"{count}: {fact.text}")
    confidences = state.get_confidences(root)
    for line in sorted(state.repeated.get(root, ()))[:REPEATED_LIMIT]:
        if (known := confidences.get(line)) is not None:
            count = describe_count(known.seen_count, len(known.sessions), known.corrections)
            counts.append(f"{count}: {line}")
    return counts


def _is_shared(own: Collection[str], words: Collection[str]) -> bool:
    return bool(own) and sum(word in words for word in own) >= len(own) * _SHARED_WORDS


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
