"""The answers of both calls, one JSON object a line, and what the numbers in them mean (SPEC S-01, S-03, S-20, S-24 to S-26, S-36). Pure.

    {"message": 2, "words": "no, pnpm. npm breaks the lockfile", "corrected": true, "fact": "Use pnpm, not npm"}
    {"message": 4, "words": "lint before you commit, I said", "corrected": true, "known": 7}

Whether the words were typed and support the fact is decided in `shared/words`. A synthesis numbers the facts and the existing lines:

    1. Corrected: Use pnpm (2026-11-20, said 2 times in 2 sessions, 1 of them a correction)
    L3. Use yarn
    P1. Never push to main

    {"FILE": "LEARNED.md", "SECTION": "Coding", "FACT": "Use pnpm, not npm", "FROM": [2, 5], "REPLACES": ["L3"]}

Equal facts are one numbered fact; those that an earlier synthesis left out come after the new ones. Whether a line may say what it says,
and where it goes, is decided in `plan`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from tacitd.clock import utc_seconds
from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.learning.learned_rows import FactRow
from tacitd_handlers.learning.line_queries import describe_count
from tacitd_handlers.learning.prompt_templates import repeats_prompt
from tacitd_handlers.shared.equality import make_key
from tacitd_handlers.shared.fact_text import tidy_fact
from tacitd_handlers.shared.model_text import Unusable, is_nothing, list_objects, says_none, strip_marks

EXTRACTION_ANSWER = 16_384
"""Maximum length of an answer with facts in characters. Nothing else limits their number."""
FACTS_BYTES = 20_000
"""Bytes of the new facts of one synthesis."""


class Heard(Struct, frozen=True):
    """One line of the answer, unchecked."""

    message: int
    """The number of the message, from 1 on. It may not exist."""
    words: str
    fact: str = ""
    """"" for a known line that was said again."""
    corrected: bool = False
    known: int = 0
    """The number of a known line, 0 for a new fact. It may not exist."""
    is_about_person: bool = False
    """Whether it says who the person is, or how they want to be answered in every project."""


def parse_heard(answer: str) -> tuple[Heard | None, ...] | Unusable:
    """Return the lines of an answer; none for NONE and an empty answer. Prose, such as a refusal, is Unusable.

    None stands for objects that are none of these, if there are others.
    """
    if len(answer) > EXTRACTION_ANSWER:
        return Unusable(f"the answer is longer than {EXTRACTION_ANSWER} characters")
    if repeats_prompt("extraction", answer):
        return Unusable("the answer repeats the prompt")
    found = tuple(dict.fromkeys(_read_line(value) for value in list_objects(answer)))
    if not any(found) and (found or not says_none(answer)):
        return Unusable("no fact in the answer")
    return found


def _read_line(value: Any) -> Heard | None:
    if not isinstance(value, dict):
        return None
    message, words, fact, known = (value.get(key) for key in ("message", "words", "fact", "known"))
    if not isinstance(message, int) or not isinstance(words, str) or not words.strip():
        return None
    text = tidy_fact(fact) if isinstance(fact, str) and not is_nothing(fact) else ""
    number = known if isinstance(known, int) and not isinstance(known, bool) and known > 0 else 0
    if not number and not any(char.isalnum() for char in text):
        return None
    return Heard(
        int(message),
        sanitize_line(words),
        "" if number else text,
        value.get("corrected") is True,
        number,
        value.get("about") == "person",
    )


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
    """1 or 2 after an answer that could not be used: in which half of its facts it was."""

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

    def show_facts(self) -> list[str]:
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
    numbers, found = {row.number for row in fresh}, list[NumberedFact]()
    for rows in groups.values():
        again = [row for row in rows if row.number in numbers]
        # The same message says it once.
        messages = {row.number: row.prompt if row.prompt is not None else -row.number for row in rows}
        fact = NumberedFact(
            rows[0].text,
            tuple(row.number for row in again or rows),
            bool(again),
            frozenset(row.prompt for row in rows if row.prompt is not None),
            frozenset(row.session for row in rows if row.session),
            len(set(messages.values())),
            len({messages[row.number] for row in rows if row.corrected}),
            next((row.line for row in rows if row.line is not None), None),
            min(row.said_at for row in rows),
            max(row.tries for row in rows),
        )
        found.append(fact)
    return tuple(found)


def choose_facts(facts: Sequence[NumberedFact], limit: int = FACTS_BYTES) -> tuple[NumberedFact, ...]:
    """Return the facts of one call: at most `limit` bytes of new ones, and all that were left out before.

    Those that no usable answer was given about yet come first, then those of the first half of a failed call, then those of the second.
    """
    new = [fact for fact in facts if fact.is_new]
    tries = min((fact.tries for fact in new), default=0)
    chosen, size = list[NumberedFact](), 0
    for fact in (one for one in new if one.tries == tries):
        size += len(fact.describe().encode(errors="replace"))
        if chosen and size > limit:
            break
        chosen.append(fact)
    return (*chosen, *(fact for fact in facts if not fact.is_new)) if chosen else ()


def number_lines(lines: Iterable[ExistingLine], limit: int) -> dict[str, ExistingLine]:
    """Return the lines by number, those of each file together, as many as fit into `limit` bytes; ours first.

    A line that is left out is still compared with what is proposed.
    """
    given = list(lines)
    paths = {line.path: at for at, line in reversed(list(enumerate(given)))}
    taken = list[int]()
    for at in sorted(range(len(given)), key=lambda at: not given[at].is_ours):
        limit -= len(f"{given[at].heading}{given[at].text}".encode(errors="replace")) + _LINE_OVERHEAD
        if limit < 0:
            break
        taken.append(at)
    found, counts = dict[str, ExistingLine](), Counter[str]()
    for at in sorted(taken, key=lambda at: (paths[given[at].path], at)):
        kind = "L" if given[at].is_ours else "P"
        counts[kind] += 1
        found[f"{kind}{counts[kind]}"] = given[at]
    return found


ANSWER_LIMIT = 65_536
"""Maximum length of an answer in characters."""
_COPIED = compile_lazily(
    r"^(?:\[\d+\]\s*|corrected:\s*)+(?=\S)|\s*\((?:\d{4}-\d\d-\d\d|an L line, said again|left out before|said \d+ times?\b)(?:, [^()]*| in [^()]*)?\)$",
    re.IGNORECASE,
)
"""The marks that the prompt puts around the numbered facts: a model may copy them."""
_WORD_LIMIT = 300
"""Maximum length of a FILE or SECTION in characters."""


class Proposal(Struct, frozen=True):
    """One line that the model proposes, unchecked but for its numbers."""

    file: str
    """One of the files that were offered, otherwise what the model named."""
    section: str
    text: str
    facts: tuple[NumberedFact, ...]
    """() for a line that only merges existing ones."""
    replaces: tuple[ExistingLine, ...] = ()


def parse_proposals(answer: str, numbered: Numbered) -> tuple[Proposal, ...] | Unusable:
    """Return the lines of an answer; none for NONE and an empty answer.

    Prose, and an answer in which no object names a number that exists, are Unusable, so that the facts are kept (SPEC S-23).
    """
    if len(answer) > ANSWER_LIMIT:
        return Unusable(f"the answer is longer than {ANSWER_LIMIT} characters")
    if repeats_prompt("synthesis", answer):
        return Unusable("the answer repeats the prompt")
    by_key = {make_key(fact.text): fact for fact in numbered.facts.values() if fact.is_new}
    found = [_read_proposal(value, numbered, by_key) for value in list_objects(answer)]
    lines = tuple(dict.fromkeys(one for one in found if one is not None))
    if not lines and found:
        return Unusable("no object in the answer names a number of the prompt")
    if not lines and not says_none(answer):
        return Unusable("no line in the answer")
    return lines


def _read_proposal(value: Any, numbered: Numbered, by_key: Mapping[str, NumberedFact]) -> Proposal | None:
    """The proposal in an object; None if it is none, or names neither a fact nor two lines to merge.

    A line that says the same as a new fact is made of that one, whichever the answer names. `by_key`: the new facts.
    """
    if not isinstance(value, dict):
        return None
    values = {str(key).upper(): one for key, one in value.items()}
    text = values.get("FACT")
    if not isinstance(text, str) or is_nothing(text) or not any(char.isalnum() for char in text):
        return None
    by_number = {str(number): fact for number, fact in numbered.facts.items()}
    facts = [by_number[name] for name in _listed(values.get("FROM")) if name in by_number]
    names = (name for name in _listed(values.get("REPLACES")) if name in numbered.lines)
    replaces = tuple(dict.fromkeys(map(numbered.lines.__getitem__, names)))
    # What was left out before is no reason for a line: it was said too seldom.
    is_new = any(fact.is_new for fact in facts)
    if not is_new and (facts or sum(line.is_ours for line in replaces) < 2):
        return None
    line = _COPIED.sub("", sanitize_line(text))
    equal = by_key.get(make_key(line))
    if is_new and equal is not None and equal not in facts:
        facts = [equal]
    return Proposal(
        _read_word(values.get("FILE")),
        strip_marks(_read_word(values.get("SECTION"))),
        line,
        tuple(dict.fromkeys(facts)),
        replaces,
    )


def _listed(value: Any) -> list[str]:
    """The numbers and names in a list, or one that stands alone, as a model may write them: 2, "2", "[L2]"."""
    values = value if isinstance(value, list) else [value]
    plain = (one for one in values if isinstance(one, int | str) and not isinstance(one, bool))
    return [str(one).strip(" []().").upper() for one in plain]


def _read_word(value: Any) -> str:
    return sanitize_line(value)[:_WORD_LIMIT] if isinstance(value, str) else ""
