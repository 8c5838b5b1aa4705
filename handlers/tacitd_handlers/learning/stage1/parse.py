"""Parse Stage 1's answer, which has one fact a line (SPEC S-03).

The model extracted the facts; this module only splits its list. No regular expression extracts a fact from what the
user typed (SPEC S-08). Whether a fact is known or grounded is decided in `run`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tacitd.text.redact import has_secret
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.learning.headings import known_group
from tacitd_handlers.learning.prompt_templates import list_instructions, sentences_of
from tacitd_handlers.shared.answer_screening import (
    Unusable,
    is_fence,
    is_none,
    is_refusal,
    repeats_prompt,
    strip_marks,
)
from tacitd_handlers.shared.equality import normalise_text
from tacitd_handlers.shared.tidy import tidy_fact

ANSWER_LIMIT = 8192
"""Maximum length of an answer in characters. A longer answer is not a list of facts."""
FACTS_LIMIT = 20
"""Maximum number of facts taken from one answer."""
_PROSE = 600
"""Maximum length in characters of an answer that is a single line."""
_TALK = re.compile(
    r"(?:here (?:are|is)|based on|below (?:are|is)|the following|extracted facts|let me know|i have extracted|"
    r"i[’']ve extracted|these are|i hope|note that (?:i|these|the above)|sure[,!.]|"
    r"\(?(?:the|this|these) (?:user[’']?s? )?(?:messages?|conversation|input|prompt|text|request)s? "
    r"(?:(?:only|just|simply) )?(?:contain|hold|is|are|has|have|do|does|appear|seem|ask|express|state|request|include)s?\b)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"messages? \d{1,3}\W*", re.IGNORECASE)
"""The heading that the prompt puts above each message; a model may repeat it."""
_ABOUT_NONE = re.compile(r"\b(?:preference|opinion|fact|message|extract|already known|new)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ParsedFacts:
    """The facts of one answer, in its order."""

    facts: tuple[str, ...]
    withheld: int = 0
    """Number of facts that looked like a secret. They are not stored."""
    over_limit: int = 0
    """Number of facts beyond FACTS_LIMIT."""


def parse_facts(answer: str, given: str = "", additions: Sequence[str] = ()) -> ParsedFacts | Unusable:
    """Return the facts in an answer, or why it cannot be used.

    `given` is the text of the messages that the prompt contains, `additions` the lines that prompt extensions added to it.
    NONE in any spelling and an empty answer mean that there are no facts. An echo of the prompt, a refusal, prose and
    JSON are Unusable, so that the batch is asked again instead of being taken as empty.
    """
    if not answer.strip() or (len(answer) <= ANSWER_LIMIT and is_none(answer)):
        return ParsedFacts(())
    problem = _why_unusable(answer, given, additions)
    if problem:
        return Unusable(problem)
    lines = [line for line in answer.splitlines() if line.strip() and not is_fence(line)]
    candidates = [line for line in lines if not _is_json(line)]
    if not candidates:
        return Unusable("the answer is JSON or code, not one fact a line")
    after_none = is_none(candidates[0])
    return _collect_facts([line for line in candidates if not _is_commentary(line, after_none)])


def _why_unusable(answer: str, given: str, additions: Sequence[str]) -> str:
    if len(answer) > ANSWER_LIMIT:
        return f"the answer is longer than {ANSWER_LIMIT} characters"
    if is_refusal(answer):
        return "the model declined or asked back"
    if repeats_prompt(answer, [*list_instructions("extraction"), *sentences_of(additions)], given):
        return "the answer repeats the prompt"
    lines = [line for line in answer.splitlines() if line.strip()]
    if len(lines) == 1 and len(lines[0]) > _PROSE:
        return "the answer is prose, not one fact a line"
    return ""


def _collect_facts(lines: list[str]) -> ParsedFacts:
    kept: dict[str, str] = {}
    withheld = 0
    for line in lines:
        text = tidy_fact(line)
        if not any(char.isalnum() for char in text) or is_none(text):
            continue
        # The line is checked too: if shortening cut a secret, the shortened text would not match the pattern.
        if has_secret(sanitize_line(line)) or has_secret(text):
            withheld += 1
        else:
            kept.setdefault(normalise_text(text), text)
    facts = tuple(kept.values())
    return ParsedFacts(facts[:FACTS_LIMIT], withheld, max(0, len(facts) - FACTS_LIMIT))


def _is_json(line: str) -> bool:
    text = line.strip().rstrip(",")
    if text in ("{", "}", "[", "]"):
        return True
    if not text.startswith(("{", "[")):
        return False
    try:
        return isinstance(json.loads(text), (dict, list))
    except (ValueError, RecursionError):
        return False


def _is_commentary(line: str, after_none: bool) -> bool:
    """Whether a line is not a fact but an introduction, a heading, a closing remark or an explanation of NONE."""
    text = strip_marks(line)
    if (
        line.lstrip().startswith("#")
        or known_group(text.strip("*_")) is not None
        or text.rstrip("*_ ").endswith((":", "："))
        or _NUMBERED.fullmatch(text)
    ):
        return True
    # A line with a bullet or a number is an item of the list, even if it begins like commentary.
    if line.strip() != text:
        return False
    return _TALK.match(text) is not None or (after_none and _ABOUT_NONE.search(text) is not None)
