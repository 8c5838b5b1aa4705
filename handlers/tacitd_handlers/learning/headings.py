"""The group of a line: Coding, Testing, Communication, Architecture, otherwise General (SPEC S-25, S-42). Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from tacitd.text.lazy_pattern import compile_lazily

GENERAL = "General"
GROUPS = ("Coding", "Testing", "Communication", "Architecture", GENERAL)
"""In the order in which files and the summary show them."""

# Whole words as regular expressions. The group with the most hits wins. On a tie the first one in this order wins,
# because a line about tests or answers nearly always names some code as well.
_KEYWORDS: Mapping[str, str] = {
    "Testing": "test|tests|tested|testing|pytest|unittest|jest|vitest|tdd|coverage|mock\\w*|fixture\\w*|e2e|assert\\w*|"
    "stubs?|flaky|playwright|cypress|hypothesis|snapshots?",
    "Communication": "respons\\w*|respond\\w*|answer\\w*|repl(?:y|ies)|explain\\w*|explanation\\w*|summar\\w*|concise|"
    "verbos\\w*|tone|emojis?|ask|asks|asking|questions?|apolog\\w*|chat|speak\\w*|language of|in english|in german|"
    "in french|in dutch|in spanish|bullet points?|wording|polite\\w*|flatter\\w*|praise",
    "Coding": "functions?|classes|class|typ(?:e|es|ed|ing)|annotations?|docstrings?|comments?|imports?|naming|"
    "names?|indent\\w*|tabs?|spaces?|lint\\w*|format\\w*|npm|pnpm|yarn|bun|pip|uv|poetry|cargo|commit\\w*|git|"
    "branch\\w*|code|coding|variables?|abstractions?|loops?|async|await|exceptions?|errors?|refactor\\w*|python|"
    "typescript|javascript|rust|golang|java|semicolons?|quotes?|camelcase|snake_case|prettier|ruff|eslint|black|"
    "logging|pull requests?|dataclass\\w*|pydantic|dependenc\\w*",
    "Architecture": "architect\\w*|event bus|modules?|services?|microservices?|layers?|patterns?|database\\w*|"
    "schemas?|apis?|endpoints?|monorepo|handlers?|interfaces?|adapters?|queues?|cach(?:e|es|ing)|plugins?|"
    "postgres\\w*|sqlite|redis|docker|kubernetes|deploy\\w*|backend|frontend|hexagonal|coupl\\w*|rest|graphql",
}
_PATTERNS = {
    group: compile_lazily(rf"(?<![\w-])(?:{words})(?!\w)", re.IGNORECASE)
    for group, words in _KEYWORDS.items()
}
_ALIASES = {"code": "Coding", "code style": "Coding", "coding style": "Coding", "tests": "Testing"}


def group_of(text: str) -> str:
    """Return the group of a line by the words in it; General if no keyword matches."""
    hits = {group: len(pattern.findall(text)) for group, pattern in _PATTERNS.items()}
    best = max(hits, key=lambda group: hits[group])
    return best if hits[best] else GENERAL


def known_group(title: str) -> str | None:
    """Return the group that a heading names, compared without case; None if it names none."""
    wanted = title.strip().rstrip(":").casefold()
    return next((group for group in GROUPS if group.casefold() == wanted), _ALIASES.get(wanted))


def choose_heading(section: str, headings: Collection[str], line: str) -> str:
    """Return the heading for a line, without `##`, given the answer's SECTION ("" if there is none) and the headings of the file.

    It is the group that the section names, or a heading of the file, otherwise the line's group. A model makes no other heading.
    """
    title = section.strip("#*_`\"' ")
    same = next((one for one in headings if one.casefold() == title.casefold()), None)
    return known_group(title) or same or group_of(line)


def groups_after(heading: str) -> tuple[str, ...]:
    """The groups that come after this one in a file; () for another heading, which comes last."""
    return GROUPS[GROUPS.index(heading) + 1 :] if heading in GROUPS else ()
