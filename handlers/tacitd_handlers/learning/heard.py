"""Parse the first call's answer, which has one JSON object a line (SPEC S-01, S-03). Pure.

    {"message": 2, "words": "no, pnpm. npm breaks the lockfile", "corrected": true, "fact": "Use pnpm, not npm"}
    {"message": 4, "words": "lint before you commit, I said", "corrected": true, "known": 7}

Whether the words were typed and support the fact is decided in `shared/words`.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.learning.estimate import EXTRACTION_ANSWER
from tacitd_handlers.learning.prompt_templates import repeats_prompt
from tacitd_handlers.shared.fact_text import tidy_fact
from tacitd_handlers.shared.model_answers import Unusable, is_nothing, list_objects, says_none


class Heard(Struct, frozen=True):
    """One line of the answer, unchecked."""

    message: int
    """The number of the message, from 1 on. It may not exist."""
    words: str
    """What the model copied from the message."""
    fact: str = ""
    """"" for a known line that was said again."""
    corrected: bool = False
    """Whether the person corrected what the assistant did or said."""
    known: int = 0
    """The number of a known line, 0 for a new fact. It may not exist."""
    is_about_person: bool = False
    """Whether it says who the person is, or how they want to be answered in every project."""


class HeardAnswer(Struct, frozen=True):
    """The lines of one answer."""

    lines: tuple[Heard, ...] = ()
    unreadable: int = 0
    """Number of lines that begin as an object and are none of these."""


def parse_heard(answer: str) -> HeardAnswer | Unusable:
    """Return the lines of an answer; none for NONE and an empty answer. Prose, such as a refusal, is Unusable."""
    if len(answer) > EXTRACTION_ANSWER:
        return Unusable(f"the answer is longer than {EXTRACTION_ANSWER} characters")
    if repeats_prompt("extraction", answer):
        return Unusable("the answer repeats the prompt")
    found = [_read_line(value) for value in list_objects(answer)]
    lines = tuple(dict.fromkeys(line for line in found if line is not None))
    if not lines and (found or not says_none(answer)):
        return Unusable("no fact in the answer")
    return HeardAnswer(lines, found.count(None))


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
