"""The lessons that fit the error of a failed call of a tool, by the words of their WHEN (SPEC E-31). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacitd_handlers.lessons.lesson_log import Lesson

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SMALL = (
    "a an and any are as at be been before after but by can could did do does done each every for from get got had has "
    "have how i if in into is it its just let may me more most my need needs no not of off on one only or other our out "
    "over own please s same should so some such t than that the their them then there these they this those to too "
    "under up us want was we were what when where which while who why will with without would you your yes"
)

_FAILURES = frozenset({"error", "fail", "failur", "exception", "crash", "broken", "traceback", "fatal"})


def list_matches(lessons: Iterable[Lesson], error: str) -> list[Lesson]:
    """The lessons that fit an error, the best first."""
    scored = [(-score_match(one.parts.when, error), one.id, one) for one in lessons]
    return [one for score, _, one in sorted(scored) if score]


def shares_words(one: str, other: str) -> bool:
    """Whether the second text has at least half of the significant words of the first."""
    words = extract_terms(one)
    return bool(words) and len(words & extract_terms(other)) * 2 >= len(words)


def stem_word(word: str) -> str:
    """A word without its ending. It is a prefix of the word, so a text that lacks the stem lacks the word."""
    for ending in ("ings", "ing", "ies", "ied", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] in "ey":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls" else word


_stem = lru_cache(maxsize=65_536)(stem_word)
SMALL = frozenset(_SMALL.split()) | frozenset(map(stem_word, _SMALL.split()))


def extract_terms(text: str) -> frozenset[str]:
    """The stems of the words in a text, including the parts of CamelCase names, without the smallest words."""
    low = text.casefold()
    words = set(_WORD.findall(low))
    if low != text and _CAMEL.search(text):
        words.update(_WORD.findall(_CAMEL.sub(" ", text).casefold()))
    return frozenset([_stem(word) for word in words if word not in SMALL])


def score_match(when: str, error: str) -> float:
    """The fraction of WHEN's terms that an error's text contains; 0 if it is below 0.6."""
    wanted = {_failing(term) for term in extract_terms(when)}
    present = {_failing(term) for term in extract_terms(error)}
    if not wanted or not (wanted & present) - {"fail"}:
        return 0.0
    share = len(wanted & present) / len(wanted)
    return share if share >= 0.6 else 0.0


def _failing(term: str) -> str:
    """One term for all words that mean failure."""
    return "fail" if term in _FAILURES else term
