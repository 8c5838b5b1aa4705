"""Whether two lessons are the same in other words. For drafts only: what a person adds is compared exactly.

Two lessons that differ in a number, a negation or the order of two sides are never the same. The rule for single
statements is `shared/equality.py`; no other module of lessons uses it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace

from tacitd_handlers.lessons import pattern
from tacitd_handlers.lessons.error_match import GENERIC, SMALL, stem_word
from tacitd_handlers.lessons.pattern import Pattern
from tacitd_handlers.shared.equality import normalise_text, same_fact

ENOUGH = 0.75
"""The fraction of significant words that must be shared if the wording differs."""
_NOT, _CONTRAST = "not", "over"
_ORDER = frozenset(map(stem_word, ("first", "before", "beforehand", "always", "then", "again")))
"""Words that say when something is done. "Read it first" and "read it before editing" are the same."""


def is_same_lesson(one: Pattern, other: Pattern) -> bool:
    """Whether two lessons have the same case and the same action; reasons are ignored. Symmetric and reflexive."""
    if same_fact(one.when, other.when) and same_fact(_action_text(one), _action_text(other)):
        return True
    words, others = _words(one), _words(other)
    if _CONTRAST in words or _CONTRAST in others or _numbers(words) != _numbers(others):
        return False
    if words.count(_NOT) % 2 != others.count(_NOT) % 2:
        return False
    return _shared(_content(words), _content(others)) >= ENOUGH and _acts(one, other)


def _repeats(line: str, lesson: Pattern) -> bool:
    """Whether a line has most words of the action and at least one of the case, with the same negation and numbers."""
    words, wanted = normalise_text(line).split(), normalise_text(_action_text(lesson)).split()
    if same_fact(line, _action_text(lesson)):
        return True
    if words.count(_NOT) % 2 != wanted.count(_NOT) % 2 or _CONTRAST in words or _CONTRAST in wanted:
        return False
    if not _numbers(wanted) <= _numbers(words):
        return False
    stated, action, case = _content(words), _content(wanted), _content(normalise_text(lesson.when).split())
    action = action - _ORDER or action
    share = len(action & stated) / len(action) if action else 0.0
    return share >= ENOUGH and bool(case & stated)


def is_said_by(lesson: Pattern, line: str) -> bool:
    """Whether a line that a session loads says what the lesson says, so that the lesson adds nothing to it.

    A clause of the line may be the action: "Use pnpm, never npm" says "DO use pnpm".
    """
    if line.strip().removeprefix("- ") == pattern.format_pattern(lesson):
        return True
    case = _content(normalise_text(lesson.when).split()) - GENERIC
    if _repeats(line, lesson) and (not case or case & _content(normalise_text(line).split())):
        return True
    return any(
        same_fact(clause, _action_text(lesson)) for clause in re.split(r"[,;:]\s+", line) if clause.strip()
    )


def shares_words(lesson: Pattern, line: str) -> bool:
    """Whether a line has at least half of the significant words of a lesson, as one made of the same facts has."""
    words = _content(_words(lesson))
    words = words - GENERIC or words
    return bool(words) and len(words & _content(normalise_text(line).split())) * 2 >= len(words)


def is_opposite(one: Pattern, other: Pattern) -> bool:
    """Whether two lessons have the same case and opposite actions, in whatever words. Symmetric."""
    return one.action != other.action and is_same_lesson(one, replace(other, action=one.action))


def find_contradictions(lessons: Mapping[str, Pattern]) -> dict[str, str]:
    """Given lessons by id, return for each that contradicts another one the first such id.

    Only lessons whose actions share a word are compared, so that thousands of lessons take no pairs of all of them.
    """
    words = {id: _content(normalise_text(one.do).split()) for id, one in lessons.items()}
    words = {id: found - GENERIC or found for id, found in words.items()}
    users: dict[str, list[str]] = {}
    for id, found in words.items():
        for word in found:
            users.setdefault(word, []).append(id)
    opposites: dict[str, str] = {}
    for id, one in lessons.items():
        near = dict.fromkeys(other for word in words[id] for other in users[word])
        against = next((other for other in near if is_opposite(one, lessons[other])), None)
        if against is not None:
            opposites[id] = against
    return opposites


def _action_text(lesson: Pattern) -> str:
    return f"do not {lesson.do}" if lesson.action == "dont" else lesson.do


def _words(lesson: Pattern) -> list[str]:
    return [*normalise_text(lesson.when).split(), *normalise_text(_action_text(lesson)).split()]


def _content(words: list[str]) -> frozenset[str]:
    return frozenset(stem_word(word) for word in words if word not in SMALL and word not in (_NOT, _CONTRAST))


def _numbers(words: list[str]) -> frozenset[str]:
    return frozenset(word for word in words if any(char.isdigit() for char in word))


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


def _acts(one: Pattern, other: Pattern) -> bool:
    """Whether the actions share their subject. The same case with another action is another lesson."""
    left, right = (_content(normalise_text(each.do).split()) for each in (one, other))
    return bool((left & right) - GENERIC) or left == right or _shared(left, right) >= ENOUGH
