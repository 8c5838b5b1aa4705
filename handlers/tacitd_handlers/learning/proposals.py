"""Parse the second call's answer, which has one JSON object for each line (SPEC S-24 to S-26). Pure.

    {"FILE": "LEARNED.md", "SECTION": "Coding", "FACT": "Use pnpm, not npm", "FROM": [2, 5], "REPLACES": ["L3"]}

The numbers are resolved here, with what they meant in the prompt. Whether a line may say what it says, and where it goes, is decided
in `plan`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.learning.numbered import ExistingLine, Numbered, NumberedFact
from tacitd_handlers.learning.prompt_templates import repeats_prompt
from tacitd_handlers.shared.equality import make_key
from tacitd_handlers.shared.model_answers import Unusable, is_nothing, list_objects, says_none, strip_marks

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


class Proposals(Struct, frozen=True):
    """The lines of one answer."""

    lines: tuple[Proposal, ...] = ()
    unreadable: int = 0
    """Number of objects that are no proposal, or that name no number of the prompt."""


def parse_proposals(answer: str, numbered: Numbered) -> Proposals | Unusable:
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
    return Proposals(lines, found.count(None))


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
    facts = [numbered.facts[n] for n in map(_read_number, _listed(values.get("FROM"))) if n in numbered.facts]
    names = [str(one).strip(" []().").upper() for one in _listed(values.get("REPLACES"))]
    replaces = tuple(dict.fromkeys(numbered.lines[name] for name in names if name in numbered.lines))
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


def _listed(value: Any) -> list[int | str]:
    """The numbers and names in a list, or one that stands alone."""
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, int | str) and not isinstance(one, bool)]


def _read_number(value: int | str) -> int:
    """The number that a model wrote as 2, "2" or "[2]"; 0 for anything else."""
    text = str(value).strip(" []().")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 0


def _read_word(value: Any) -> str:
    return sanitize_line(value)[:_WORD_LIMIT] if isinstance(value, str) else ""
