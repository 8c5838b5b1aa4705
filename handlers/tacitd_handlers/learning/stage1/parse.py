"""Parse Stage 1's answer, which has one fact a line (SPEC S-01, S-03).

    [3] fact        [3] Corrected: fact        [3] AGAIN: the known line        [3] Corrected: AGAIN: the known line

Models also write `[3-4]`, `[Message 3]` and "Corrected" in the language of the facts. A line without these marks is a fact too: models leave them out. Numbers of messages that do not exist are ignored.

The model extracted the facts; this module only splits its list. No regular expression extracts a fact from what the
user typed (SPEC S-08). Whether a fact is known or grounded is decided in `run`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.redact import has_secret
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.learning.answer_sizes import EXTRACTION_ANSWER
from tacitd_handlers.learning.fact_marks import is_only_marks, split_corrected
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
from tacitd_handlers.shared.equality import find_equal, normalise_text
from tacitd_handlers.shared.tidy import tidy_fact

_PROSE = 600
"""Maximum length in characters of an answer that is a single line."""
_TALK = compile_lazily(
    r"(?:here (?:are|is)|based on|below (?:are|is)|the following|extracted facts|let me know|i have extracted|"
    r"i[’']ve extracted|these are|i hope|note that (?:i|these|the above)|sure[,!.]|"
    r"\(?(?:the|this|these) (?:user[’']?s? )?(?:messages?|conversation|input|prompt|text|request)s? "
    r"(?:(?:only|just|simply) )?(?:contain|hold|is|are|has|have|do|does|appear|seem|ask|express|state|request|include)s?\b)",
    re.IGNORECASE,
)
_ABOUT_THE_TASK = compile_lazily(
    r"\b(?:(?:no|any|new|extracted|extractable|the following|\d+|of|these) (?:\w+ ){0,2}(?:facts?|preferences?|opinions?|corrections?)|"
    r"(?:i have|i[’']ve) extracted|what (?:(?:the )?(?:user|person|you) (?:typed|wrote|said)|was (?:typed|written|said))|extracted (?:from|above|below)|"
    r"let me know if you (?:need|want)|i hope (?:this|that|these) helps?|(?:user[’']?s?|person[’']?s?|this|above|these|numbered) messages?)\b",
    re.IGNORECASE,
)
"""What the facts, preferences or the messages of the prompt are called. A fact about messages of a program is none of it."""
_HANDLED = compile_lazily(
    r"(?:the|these) (?:messages?|requests?|inputs?|texts?) (?:is|are) "
    r"(?!(?:un)?related\b|focus\w*|limited\b|concerned\b|directed\b|intended\b|based\b)(?:\w+ed|sent|kept)\b",
    re.IGNORECASE,
)
"""What a program does with messages: "the messages are stored in the new preferences table" is a fact."""
_SORRY = compile_lazily(r"(?:i[’']?m|i am) (?:\w+ )?sorry\b|sorry\b|i apologi[sz]e\b", re.IGNORECASE)
_NUMBERED = compile_lazily(r"messages? \d{1,3}\W*", re.IGNORECASE)
"""The heading that the prompt puts above each message; a model may repeat it."""
_LIST = r"#?\d{1,3}(?:\s*(?:,|;|&|/|-|–|—|\band\b|\bto\b)\s*#?\d{1,3})*"
_NUMBERS = compile_lazily(
    rf"(?:(?:\*\*|__)?[\[【]\s*(?:messages?\s+)?(?P<numbers>{_LIST})\s*[\]】]|(?:\*\*|__)?(?:from\s+)?messages?\s+(?P<label>{_LIST})\s*:)"
    r"(?:\*\*|__)?[:\s]*(?=\S)",
    re.IGNORECASE,
)
_RANGE = compile_lazily(r"(\d+)(?:\s*(?:-|–|—|to)\s*#?(\d+))?", re.IGNORECASE)
_HIGHEST = 99
"""The highest number of a range. No batch has so many messages; numbers of messages that do not exist are ignored later."""
_AGAIN = compile_lazily(r"(?:\*\*|__)?AGAIN(?:\*\*|__)?\s*[:：](?:\*\*|__)?\s*(?=\S)", re.IGNORECASE)
_BARE_AGAIN = compile_lazily(r"(?:\*\*|__)?AGAIN(?:\*\*|__)?\s+(?:[–—-]\s+)?(?=\S)")
"""AGAIN without a colon. It is a mark only in front of a known line, otherwise the first word of a fact."""
_ABOUT_NONE = compile_lazily(
    r"\b(?:preference|opinion|fact|message|extract|already known|new)", re.IGNORECASE
)


class AnswerMark(Struct, frozen=True):
    """The marks of one line of an answer."""

    messages: tuple[int, ...] = ()
    """Numbers of messages, from 1 on; () if the line has none."""
    corrected: bool = False
    again: bool = False
    """The line is a known one that was said again."""

    def merge(self, other: AnswerMark) -> AnswerMark:
        """Return the mark of a fact that two lines of the answer contain."""
        messages = tuple(dict.fromkeys((*self.messages, *other.messages)))
        return AnswerMark(messages, self.corrected or other.corrected, self.again or other.again)


@dataclass(frozen=True, slots=True)
class ParsedFacts:
    """The facts of one answer, in its order."""

    facts: tuple[str, ...]
    """The facts without their marks, and the known lines that were said again."""
    withheld: int = 0
    """Number of facts that looked like a secret. They are not stored."""
    marks: Mapping[str, AnswerMark] = field(default_factory=dict)
    """The marks of the facts that have some, by fact."""
    commentary: int = field(default=0, compare=False)
    """Number of lines that were left out because they are about the task and not facts."""

    def find_mark(self, fact: str) -> AnswerMark:
        """The marks of one of the facts."""
        return self.marks.get(fact, AnswerMark())


def parse_facts(
    answer: str, given: str = "", additions: Sequence[str] = (), known: Sequence[str] = ()
) -> ParsedFacts | Unusable:
    """Return the facts in an answer, or why it cannot be used.

    `given` is the text of the messages that the prompt contains, `additions` the lines that prompt extensions added to it,
    `known` the lines that are written already.
    NONE in any spelling and an empty answer mean that there are no facts. An echo of the prompt, a refusal, prose and
    JSON are Unusable, so that the batch is asked again instead of being taken as empty.
    """
    if not answer.strip() or (len(answer) <= EXTRACTION_ANSWER and is_none(answer)):
        return ParsedFacts(())
    problem = _why_unusable(answer, given, additions)
    if problem:
        return Unusable(problem)
    lines = [line for line in answer.splitlines() if line.strip() and not is_fence(line)]
    candidates = [line for line in lines if not _is_json(line)]
    if not candidates:
        return Unusable("the answer is JSON or code, not one fact a line")
    after_none = is_none(candidates[0])
    lines = [line for line in candidates if not _is_heading(line)]
    kept = [line for line in lines if not _is_commentary(line, after_none)]
    return _collect_facts(kept, len(lines) - len(kept), known)


def _why_unusable(answer: str, given: str, additions: Sequence[str]) -> str:
    if len(answer) > EXTRACTION_ANSWER:
        return f"the answer is longer than {EXTRACTION_ANSWER} characters"
    # An answer with a marked fact was given: its first line may be a fact too, "I'm unable to use sudo on this machine".
    if is_refusal(answer) and not any(map(_has_fact, answer.splitlines())):
        return "the model declined or asked back"
    if repeats_prompt(answer, [*list_instructions("extraction"), *sentences_of(additions)], given):
        return "the answer repeats the prompt"
    lines = [line for line in answer.splitlines() if line.strip()]
    if len(lines) == 1 and len(lines[0]) > _PROSE:
        return "the answer is prose, not one fact a line"
    return ""


def _collect_facts(lines: list[str], commentary: int, known: Sequence[str]) -> ParsedFacts:
    kept: dict[str, str] = {}
    marks: dict[str, AnswerMark] = {}
    withheld = 0
    for line in lines:
        text, mark = _split_marks(line, known)
        if not any(char.isalnum() for char in text) or is_none(text) or is_only_marks(text):
            continue
        # The line is checked too: if shortening cut a secret, the shortened text would not match the pattern.
        if has_secret(sanitize_line(line)) or has_secret(text):
            withheld += 1
            continue
        fact = kept.setdefault(normalise_text(text), text)
        marks[fact] = marks[fact].merge(mark) if fact in marks else mark
    facts = tuple(kept.values())
    given = {fact: marks[fact] for fact in facts if marks[fact] != AnswerMark()}
    return ParsedFacts(facts, withheld, given, commentary)


def _split_marks(line: str, known: Sequence[str]) -> tuple[str, AnswerMark]:
    """Return the fact in a line of the answer, and its marks, in whatever order they are."""
    text, messages = _split_numbers(line)
    text, corrected = split_corrected(tidy_fact(text))
    mark = AnswerMark(messages, corrected)
    found = _AGAIN.match(text) or _BARE_AGAIN.match(text)
    if found is not None:
        rest, more = _split_marks(text[found.end() :], known)
        if _AGAIN.match(text) or find_equal(rest, known) is not None:
            return rest, replace(mark.merge(more), again=True)
    elif corrected and _has_number(text):
        rest, more = _split_marks(text, known)
        return rest[:1].upper() + rest[1:], mark.merge(more)
    return text, mark


def _split_numbers(line: str) -> tuple[str, tuple[int, ...]]:
    text, messages = strip_marks(line), list[int]()
    while (found := _NUMBERS.match(text)) is not None:
        messages += _expand_numbers(found["numbers"] or found["label"])
        text = text[found.end() :]
    return text, tuple(dict.fromkeys(messages))


def _expand_numbers(text: str) -> Iterator[int]:
    """Yield 1, 3, 4, 5 for `1, 3-5`."""
    for first, last in _RANGE.findall(text):
        yield from range(int(first), min(int(last), _HIGHEST) + 1) if last else ()
        if not last or int(last) < int(first):
            yield from map(int, filter(None, (first, last)))


def _has_number(line: str) -> bool:
    return bool(_split_numbers(line)[1])


def _has_fact(line: str) -> bool:
    """Whether the line has the number of a message, and a fact: "[1] NONE" has none."""
    text, messages = _split_numbers(line)
    return bool(messages) and not is_none(text) and not is_refusal(text)


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


def _is_heading(line: str) -> bool:
    """Whether a line is a heading: marked as one, a group's name, or the title that the prompt puts above a message."""
    text = strip_marks(line)
    return (
        line.lstrip().startswith("#")
        or known_group(text.strip("*_")) is not None
        or _NUMBERED.fullmatch(text) is not None
    )


def _is_commentary(line: str, after_none: bool) -> bool:
    """Whether a line is an introduction, a closing remark or an explanation of NONE.

    Trigger: the line has no mark of an item and is about the task. Why: "The request has to be signed" is a fact, and it
    begins like a remark about the message. Outcome: a line is left out only if it ends with a colon or speaks of facts,
    preferences or the message.
    """
    text = strip_marks(line)
    if _has_number(line):
        return False
    if text.rstrip("*_ ").endswith((":", "：")):
        return True
    # A line with a bullet or a number is an item of the list, even if it begins like commentary.
    if line.strip() != text:
        return False
    if after_none and _ABOUT_NONE.search(text) is not None:
        return True
    if _HANDLED.match(text) is not None:
        return False
    if is_refusal(text) and _SORRY.match(text) is not None:
        return True
    return (_TALK.match(text) is not None or is_refusal(text)) and _ABOUT_THE_TASK.search(text) is not None
