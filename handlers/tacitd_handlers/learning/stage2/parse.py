"""Parse Stage 2's answer: FILE and FACT, with optional FROM, SECTION and REPLACES (SPEC S-24 to S-26, S-35).

The result is what the model proposed, unchecked. Whether a file may be written is decided in `place`, whether a line is
new in `plan`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.learning.fact_marks import strip_copied_marks
from tacitd_handlers.learning.prompt_templates import list_instructions, sentences_of
from tacitd_handlers.shared.answer_screening import (
    Unusable,
    is_fence,
    is_none,
    is_refusal,
    repeats_prompt,
    strip_marks,
)
from tacitd_handlers.shared.equality import normalise_text, same_fact
from tacitd_handlers.shared.lexicon import fold_word

ANSWER_LIMIT = 65_536
"""Maximum length of an answer in characters."""
EXAMPLES = ("Prefers functions over classes", "Use event bus pattern for hook communication")
"""The facts in the prompt's example (seed 003)."""
_KEY = compile_lazily(
    r"^\s*(?:(?:[-*+•>]|\d{1,3}[.)])\s+)?(?:\*\*|__|`)?(FILE|FACT|FROM|SECTION|REPLACES)(?:\*\*|__|`)?\s*[:：]\s*(?:\*\*|__)?(.*)$"
)
_FROM_BEHIND = compile_lazily(
    r"(.*\S)\s+(?:\*\*|__)?FROM(?:\*\*|__)?\s*[:：](?:\*\*|__)?\s*([\d\s,\[\]–-]*\d[\s\]]*)"
)
"""A FACT with its FROM on the same line."""
_NUMBER = compile_lazily(r"(?<!\d)(\d{1,5})(?:\]?\s*[-–]\s*\[?(\d{1,5}))?(?!\d)")
_RANGE = 1000
"""Maximum length of a range of numbers. A longer one counts as its two ends."""
_PLACEHOLDERS = ("{relative_path}", "{the preference statement}", "the exact existing line")


class ProposedLine(Struct, frozen=True):
    """One FILE/FACT pair as the model wrote it, unchecked. "" for a key that is missing."""

    file: str
    fact: str
    section: str = ""
    replaces: str = ""
    sources: tuple[int, ...] = ()
    """Numbers of the facts that the line is made from, unchecked."""
    merges: tuple[str, ...] = ()
    """The lines that further REPLACES name: the line takes the place of all of them."""


class SynthesisPlan(Struct, frozen=True):
    """What the model proposes to write. It is empty if nothing is new."""

    items: tuple[ProposedLine, ...] = ()


class _Draft(Struct, frozen=True):
    """The block that is being read. None for a key that has not occurred yet."""

    file: str = ""
    fact: str | None = None
    section: str | None = None
    replaces: str | None = None
    sources: str | None = None
    merges: tuple[str, ...] = ()

    def build_item(self) -> ProposedLine | None:
        if not self.file or not self.fact or is_none(self.fact):
            return None
        replaces = strip_copied_marks(self.replaces or "")
        return ProposedLine(
            self.file,
            strip_copied_marks(self.fact),
            self.section or "",
            "" if is_none(replaces) else replaces,
            _read_numbers(self.sources or ""),
            tuple(strip_copied_marks(one) for one in self.merges if one and not is_none(one)),
        )


def parse_plan(
    answer: str, given: Sequence[str] = (), additions: Sequence[str] = ()
) -> SynthesisPlan | Unusable:
    """Return the plan in an answer, or why it cannot be used.

    `given` are the raw facts and existing lines that the prompt contains, `additions` the lines that prompt extensions
    added to it. NONE and an empty answer are an empty plan. Text without a FILE/FACT pair, a refusal, and an echo of the
    prompt or of its example are Unusable, so that the raw facts are kept (SPEC S-23).
    """
    if not answer.strip() or (len(answer) <= ANSWER_LIMIT and is_none(answer)):
        return SynthesisPlan()
    if len(answer) > ANSWER_LIMIT:
        return Unusable(f"the answer is longer than {ANSWER_LIMIT} characters")
    pairs, items = _read_items(answer)
    if not pairs:
        return Unusable(
            "the model declined or asked back" if is_refusal(answer) else "no FILE and FACT in the answer"
        )
    if _is_echo(answer, items, given, additions):
        return Unusable("the answer repeats the prompt")
    return SynthesisPlan(tuple(dict.fromkeys(items)))


def _read_items(answer: str) -> tuple[int, list[ProposedLine]]:
    """Return the number of FILE/FACT pairs, including those with FACT: NONE, and the items of the others."""
    drafts = [draft for draft in _split_drafts(answer.splitlines()) if draft.file and draft.fact]
    return len(drafts), [item for draft in drafts if (item := draft.build_item()) is not None]


def _split_drafts(lines: Iterable[str]) -> list[_Draft]:
    drafts: list[_Draft] = []
    current, continues = _Draft(), False
    for line in lines:
        found = _KEY.match(line)
        if found:
            value = strip_marks(re.sub(r"(?:\*\*|__)\s*$", "", found[2]))
            behind = _FROM_BEHIND.fullmatch(value) if found[1] == "FACT" else None
            current = _add_key(current, found[1], behind[1] if behind else value, drafts)
            if behind:
                current = _add_key(current, "FROM", behind[2], drafts)
            continues = found[1] == "FACT"
        # A model may wrap a long fact: the lines below FACT continue it. Cut off, it could mean the contrary.
        elif continues and line.strip() and not is_fence(line) and not is_none(line):
            current = replace(current, fact=f"{current.fact} {line.strip()}".strip())
        else:
            continues = False
    return [*drafts, current]


def _add_key(draft: _Draft, key: str, value: str, done: list[_Draft]) -> _Draft:
    """Given the block so far and a key, return the block with it. A key that occurs again begins the next block, except
    REPLACES: a line may take the place of several.

    The next block is in the same file. A second FACT keeps the SECTION too, because models list several facts under one.
    """
    if key == "FILE":
        done.append(draft)
        return _Draft(file=value)
    if key == "REPLACES" and draft.replaces is not None:
        return replace(draft, merges=(*draft.merges, value))
    field = {"FACT": "fact", "FROM": "sources", "SECTION": "section", "REPLACES": "replaces"}[key]
    if getattr(draft, field) is not None:
        done.append(draft)
        draft = _Draft(file=draft.file, section=draft.section if key == "FACT" else None)
    match field:
        case "fact":
            return replace(draft, fact=value)
        case "section":
            return replace(draft, section=value)
        case "sources":
            return replace(draft, sources=value)
        case _:
            return replace(draft, replaces=value)


def _read_numbers(text: str) -> tuple[int, ...]:
    """Given what FROM says, return its numbers without repetitions: "2, 5" has two, "2-5" has four."""
    numbers: dict[int, None] = {}
    for found in _NUMBER.finditer(text):
        first, last = int(found[1]), int(found[2] or found[1])
        numbers |= dict.fromkeys(range(first, last + 1) if 0 <= last - first < _RANGE else (first, last))
    return tuple(numbers)


def _is_echo(
    answer: str, items: Sequence[ProposedLine], given: Sequence[str], additions: Sequence[str]
) -> bool:
    data = "\n".join(given)
    if repeats_prompt(answer, [*list_instructions("synthesis"), *sentences_of(additions)], data):
        return True
    if any(
        mark in item.file + "\n" + item.fact + "\n" + item.replaces
        for item in items
        for mark in _PLACEHOLDERS
    ):
        return True
    return any(_is_unsupported_example(item.fact, given) for item in items)


def _is_unsupported_example(fact: str, given: Sequence[str]) -> bool:
    """Whether the fact is one of the prompt's examples and shares fewer than two content words with what was given."""
    example = next((example for example in EXAMPLES if same_fact(example, fact)), None)
    if example is None:
        return False
    words = _content_words(example)
    return not any(len(words & _content_words(text)) >= min(2, len(words)) for text in given)


def _content_words(text: str) -> frozenset[str]:
    stop_words = {"over", "for", "not", "the", "and", "use", "pattern"}
    return frozenset(fold_word(word) for word in normalise_text(text).split()) - stop_words
