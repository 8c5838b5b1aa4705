"""Build the known-facts summary from the documents, or parse it from the model's answer (SPEC S-40 to S-44).

    # Known facts

    ## Coding
    - Prefers functions over classes

It has at most 49 lines, and no line is cut. Texts in and a text out; `bootstrap` reads and writes the files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.redact import has_secret
from tacitd_handlers.learning.headings import GENERAL, GROUPS, group_of, known_group
from tacitd_handlers.learning.prompt_templates import list_instructions
from tacitd_handlers.learning.statements import known_lines, list_bullets, parse_statements, split_sentences
from tacitd_handlers.shared.answer_screening import (
    Unusable,
    is_fence,
    is_none,
    is_refusal,
    repeats_prompt,
    shorten_to_sentence,
    strip_marks,
)
from tacitd_handlers.shared.equality import normalise_text
from tacitd_handlers.shared.tidy import FACT_LIMIT, strip_user

__all__ = ["SummarySource", "deterministic_summary", "known_lines", "parse_summary_answer", "summary_lines"]

TITLE = "# Known facts"
LINES_LIMIT = 49
"""Maximum number of lines of the summary, headings and blank lines included (SPEC S-41)."""
ANSWER_LIMIT = 32_768
"""Maximum length of an answer in characters."""
_HEADING = compile_lazily(
    r"^\s*(?:#{1,6}\s+(?P<marked>.+)|(?P<bold>(?:\*\*|__)[^*_]+(?:\*\*|__):?)|(?P<plain>[A-Z][\w &/-]{2,40}:))\s*$"
)
_BARE_TITLE = compile_lazily(
    r"\s*(?:\d{1,2}[.)]\s+|[-*+]\s+)?[*_]*(?P<title>[^\W\d_][\w &/()+-]{1,40}?)[*_]*:?[*_]*\s*"
)
_MARKED = compile_lazily(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+\S")
_TITLE_WORDS = 4
"""Maximum number of words of a heading without a mark, such as "Error handling and logging"."""
_TITLE_NOISE = compile_lazily(
    r"\s*\(.*\)$|\s+(?:style|conventions?|preferences?|rules|standards?|guidelines|practices|requirements|patterns|principles)$",
    re.IGNORECASE,
)


class SummarySource(Struct, frozen=True):
    """A document with known facts."""

    name: str
    """Such as LEARNED.md, AGENTS.md, coding-directives.md. The lines of a LEARNED.md are used in reverse order, because new
    ones are appended."""
    text: str
    rank: int
    """Sources with a lower rank come first."""


class _SummaryLine(Struct, frozen=True):
    group: str
    text: str


def deterministic_summary(sources: Sequence[SummarySource], first: Sequence[str] = ()) -> str:
    """Return the summary of the sources without a model, newest lines first (SPEC S-41 to S-44).

    `first`: lines that come before all others, such as those that were said most often.
    """
    ordered = sorted(sources, key=lambda source: source.rank)
    places = {normalise_text(line): place for place, line in enumerate(first)}
    lines = [line for source in ordered for line in _lines_of(source)]
    return _render_groups(sorted(lines, key=lambda line: places.get(normalise_text(line.text), len(places))))


def parse_summary_answer(answer: str, given: Iterable[str] = ()) -> str | Unusable:
    """Return the summary in a model's answer in our format, or why the answer cannot be used.

    `given`: the texts of the documents that the prompt contains.
    """
    if len(answer) > ANSWER_LIMIT:
        return Unusable(f"the answer is longer than {ANSWER_LIMIT} characters")
    if is_none(answer):
        return _render_groups(())
    if is_refusal(answer):
        return Unusable("the model declined or asked back")
    if repeats_prompt(answer, list_instructions("summary"), "\n".join(given)):
        return Unusable("the answer repeats the prompt")
    text = _render_groups(_answer_lines(answer))
    return text if len(text.splitlines()) > 1 else Unusable("no statement in the answer")


def summary_lines(summary: str) -> tuple[str, ...]:
    """Return the statements of a summary without their groups."""
    return list_bullets(summary)


def _lines_of(source: SummarySource) -> Iterator[_SummaryLine]:
    """Yield a document's bullets; if it has none, the sentences of its paragraphs."""
    statements = parse_statements(source.text)
    listed = [statement for statement in statements if statement.is_bullet]
    if source.name.rsplit("/", 1)[-1].casefold() == "learned.md":
        listed.reverse()
    for statement in listed:
        yield _SummaryLine(known_group(statement.heading) or group_of(statement.text), statement.text)
    for statement in statements if not listed else ():
        for sentence in split_sentences(statement.text):
            yield _SummaryLine(known_group(statement.heading) or group_of(sentence), sentence)


def _answer_lines(answer: str) -> Iterator[_SummaryLine]:
    group: str | None = None
    lines = [line for line in answer.splitlines() if line.strip() and not is_fence(line)]
    for at, line in enumerate(lines):
        title = _heading_of(line, lines[at + 1] if at + 1 < len(lines) else "")
        if title is not None:
            group = known_group(title) or known_group(_TITLE_NOISE.sub("", title))
        else:
            text = strip_marks(line)
            if not is_none(text) and not text.endswith(":"):
                yield _SummaryLine(group or group_of(text), text)


def _heading_of(line: str, following: str) -> str | None:
    """Return the title if a line of the answer is a heading; None if it is a statement.

    Models write headings in several forms. A line without Markdown marks is a heading if it names a group, or if it has few
    words, begins with a capital letter, and is followed by a bullet.
    """
    heading = _HEADING.match(line)
    if heading:
        return strip_marks(heading["marked"] or heading["bold"] or heading["plain"]).strip("*_: ")
    bare = _BARE_TITLE.fullmatch(line)
    if bare is None:
        return None
    title = bare["title"].strip()
    if known_group(title) or known_group(_TITLE_NOISE.sub("", title)):
        return title
    above = _MARKED.match(following) is not None and _MARKED.match(line) is None
    return title if above and len(title.split()) <= _TITLE_WORDS and title[:1].isupper() else None


def _render_groups(lines: Iterable[_SummaryLine]) -> str:
    """Render the lines by group up to LINES_LIMIT. Within a group they keep their order (SPEC S-41).

    Duplicates and lines with a secret are left out.
    """
    groups: dict[str, list[str]] = {name: [] for name in GROUPS}
    line_groups: list[str] = []
    seen: set[str] = set()
    for line in lines:
        text = shorten_to_sentence(strip_user(line.text), FACT_LIMIT)
        key = normalise_text(text)
        secret = has_secret(line.text) or has_secret(text)
        if key and key not in seen and not secret:
            seen.add(key)
            line_groups.append(line.group if line.group in groups else GENERAL)
            groups[line_groups[-1]].append(text)
    quotas = _quotas(line_groups)
    blocks = [
        f"## {name}\n" + "\n".join(f"- {text}" for text in texts[: quotas[name]])
        for name, texts in groups.items()
        if texts
    ]
    return "\n\n".join([TITLE, *blocks]) + "\n"


def _quotas(line_groups: Sequence[str]) -> Counter[str]:
    """Return how many lines of each group are shown, given the group of each line in order.

    Each group has an equal share. What a group does not need is given to the earliest lines that exceed their share.
    """
    counts = Counter(line_groups)
    room = LINES_LIMIT - 1 - 2 * len(counts)  # the title; for each group a blank line and its heading
    share = room // len(counts) if counts else 0
    quotas = Counter({group: min(number, share) for group, number in counts.items()})
    left = room - quotas.total()
    reached: Counter[str] = Counter()
    for group in line_groups:
        reached[group] += 1
        if left and reached[group] > share:
            quotas[group] += 1
            left -= 1
    return quotas
