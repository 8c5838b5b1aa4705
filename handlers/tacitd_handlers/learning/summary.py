"""The known-facts summary: made from the files without a model, or read out of the model's answer (S-40 to S-44).

    # Known facts

    ## Coding
    - Prefers functions over classes

At most 49 lines, none of them cut. Reads texts and returns a text; who writes it is not known here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

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
    shorten_line,
    strip_marks,
)
from tacitd_handlers.shared.equality import normalise_text
from tacitd_handlers.shared.tidy import FACT_LIMIT, strip_user

__all__ = ["SummarySource", "deterministic_summary", "known_lines", "parse_summary_answer", "summary_lines"]

TITLE = "# Known facts"
LINES_LIMIT = 49
ANSWER_LIMIT = 32_768
_HEADING = re.compile(
    r"^\s*(?:#{1,6}\s+(?P<marked>.+)|(?P<bold>(?:\*\*|__)[^*_]+(?:\*\*|__):?)|(?P<plain>[A-Z][\w &/-]{2,40}:))\s*$"
)
_BARE_TITLE = re.compile(
    r"\s*(?:\d{1,2}[.)]\s+|[-*+]\s+)?[*_]*(?P<title>[^\W\d_][\w &/()+-]{1,40}?)[*_]*:?[*_]*\s*"
)
_MARKED = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+\S")
_TITLE_WORDS = 4
"""Words of a heading at most: "Error handling and logging"."""
_TITLE_NOISE = re.compile(
    r"\s*\(.*\)$|\s+(?:style|conventions?|preferences?|rules|standards?|guidelines|practices|requirements|patterns|principles)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SummarySource:
    """A document that holds known facts."""

    name: str
    """LEARNED.md, AGENTS.md, coding-directives.md: a LEARNED.md grows at its end, so its last line is its newest."""
    text: str
    rank: int
    """0 is the newest."""


@dataclass(frozen=True, slots=True)
class _SummaryLine:
    group: str
    text: str


def deterministic_summary(sources: Sequence[SummarySource]) -> str:
    """Given the sources, return the summary: newest first, whole lines, at most 49 (SPEC S-41 to S-44)."""
    ordered = sorted(sources, key=lambda source: source.rank)
    return _render_groups(line for source in ordered for line in _lines_of(source))


def parse_summary_answer(answer: str, given: Iterable[str] = ()) -> str | Unusable:
    """Given the model's answer and the documents it was asked about, return the summary in our form."""
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
    """The statements of a summary, without their groups."""
    return list_bullets(summary)


def _lines_of(source: SummarySource) -> Iterator[_SummaryLine]:
    """A document's bullets; the sentences of its paragraphs where it has no bullets."""
    said = parse_statements(source.text)
    listed = [statement for statement in said if statement.is_bullet]
    if source.name.rsplit("/", 1)[-1].casefold() == "learned.md":
        listed.reverse()
    for statement in listed:
        yield _SummaryLine(known_group(statement.heading) or group_of(statement.text), statement.text)
    for statement in said if not listed else ():
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
    """The title in a line that is a heading, None for a statement.

    A heading without a mark is the name of a group, or a few words above a bullet that has none itself.
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
    """Show the lines by group, as many as there is room for; within a group they keep their order (SPEC S-41)."""
    groups: dict[str, list[str]] = {name: [] for name in GROUPS}
    arrived: list[str] = []
    seen: set[str] = set()
    for line in lines:
        text = shorten_line(strip_user(line.text), FACT_LIMIT)
        key = normalise_text(text)
        secret = has_secret(line.text) or has_secret(text)
        if key and key not in seen and not secret:
            seen.add(key)
            arrived.append(line.group if line.group in groups else GENERAL)
            groups[arrived[-1]].append(text)
    quotas = _quotas(arrived)
    blocks = [
        f"## {name}\n" + "\n".join(f"- {text}" for text in texts[: quotas[name]])
        for name, texts in groups.items()
        if texts
    ]
    return "\n\n".join([TITLE, *blocks]) + "\n"


def _quotas(arrived: Sequence[str]) -> Counter[str]:
    """Given the group of each line in order, return how many lines each group may show.

    Each group has an equal share of the room; what one does not need goes to the lines that come first.
    """
    wanted = Counter(arrived)
    room = LINES_LIMIT - 1 - 2 * len(wanted)  # the title; for each group a blank line and its heading
    share = room // len(wanted) if wanted else 0
    quotas = Counter({group: min(number, share) for group, number in wanted.items()})
    left = room - quotas.total()
    met: Counter[str] = Counter()
    for group in arrived:
        met[group] += 1
        if left and met[group] > share:
            quotas[group] += 1
            left -= 1
    return quotas
