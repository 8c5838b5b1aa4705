"""Whether two lessons are the same in other words. For drafts only: what a person adds is compared exactly.

Two lessons that differ in a number, a negation or the order of two sides are never the same. The rule for single
statements is `shared/equality.py`; no other module of lessons uses it.
"""

from __future__ import annotations

from tacitd_handlers.lessons.pattern import Pattern
from tacitd_handlers.lessons.relevance import GENERIC, SMALL, stem_word
from tacitd_handlers.shared.equality import normalise_text, same_fact

ENOUGH = 0.75
"""The fraction of significant words that must be shared if the wording differs."""
_NOT, _CONTRAST = "not", "over"


def is_same_lesson(one: Pattern, other: Pattern) -> bool:
    """Whether two lessons have the same case and the same action; reasons are ignored. Symmetric and reflexive."""
    if same_fact(one.when, other.when) and same_fact(_said(one), _said(other)):
        return True
    words, others = _words(one), _words(other)
    if _CONTRAST in words or _CONTRAST in others or _numbers(words) != _numbers(others):
        return False
    if words.count(_NOT) % 2 != others.count(_NOT) % 2:
        return False
    return _shared(_content(words), _content(others)) >= ENOUGH and _acts(one, other)


def repeats_lesson(fact: str, lesson: Pattern) -> bool:
    """Whether a newly learned fact repeats what a lesson says, so that the person had to correct it again.

    The fact must contain most words of the action and at least one of the case, with the same negation and numbers.
    """
    words, wanted = normalise_text(fact).split(), normalise_text(_said(lesson)).split()
    if same_fact(fact, _said(lesson)):
        return True
    if words.count(_NOT) % 2 != wanted.count(_NOT) % 2 or _CONTRAST in words or _CONTRAST in wanted:
        return False
    if not _numbers(wanted) <= _numbers(words):
        return False
    said, action, case = _content(words), _content(wanted), _content(normalise_text(lesson.when).split())
    held = len(action & said) / len(action) if action else 0.0
    return held >= ENOUGH and bool(case & said)


def _said(pattern: Pattern) -> str:
    return f"do not {pattern.do}" if pattern.action == "dont" else pattern.do


def _words(pattern: Pattern) -> list[str]:
    return [*normalise_text(pattern.when).split(), *normalise_text(_said(pattern)).split()]


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
