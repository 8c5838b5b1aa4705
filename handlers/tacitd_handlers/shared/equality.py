"""Do two lines say the same? Deterministic, and careful: order, numbers and negations always count.

A false "different" costs a line that is said twice. A false "same" loses what a person said, and so nothing
here guesses: two lines are the same where their words are, in the same order, after spelling, bullets, case,
plural and third person, articles, and the way of saying "prefers" or "avoids" are folded; beside that only a
doubled or a transposed letter in a long word is forgiven. Paraphrases are the model's work.

    Prefers functions over classes.  =  Prefer functions over classes  =  Use functions instead of classes
    use pnpm, not npm  ≠  use npm, not pnpm          Use tabs  ≠  Use tabs in Makefiles

Text without spaces between words (Chinese, Japanese) is compared as runs of one script, exactly.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.shared.answer_screening import strip_marks
from tacitd_handlers.shared.lexicon import (
    AUXILIARY,
    CONTRAST,
    JOINING,
    NEGATORS,
    NOT,
    fold_word,
    stance_sign,
)
from tacitd_handlers.shared.tidy import strip_user

FORM = 2
"""To be raised with each change of what `normalise_text` returns: digests of it are stored."""
_HAN = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff"
_PIECE = compile_lazily(
    rf"[<>=!]+|(?<!\w)-\d[\d.,:]*\d|(?<!\w)-\d|\d+(?:[.,:]\d+)*|[{_HAN}]+|(?:(?![{_HAN}])[^\W_]|_)+(?:\+\+|#)?|[$%^~]"
)
_WRAPPERS = "\"'`*_()[]{}"
_STOPS = ".,;:!?…。、"
_KEEPING_NOT = AUXILIARY | JOINING | {NOT}
"""After these words, "not" is no contrast."""
_NO_WORDS = frozenset("-–—•·")
_REWRITES = (
    (("cannot", "can't"), compile_lazily(r"\bcan(?:no|')t\b", re.IGNORECASE), "can not"),
    (("won't",), compile_lazily(r"\bwon't\b", re.IGNORECASE), "will not"),
    (("n't",), compile_lazily(r"n't\b", re.IGNORECASE), " not"),
    (
        ("stead of", "rather than", ", not", ",not"),
        compile_lazily(r"\b(?:instead of|rather than)\b|,\s*not\b", re.IGNORECASE),
        f" {CONTRAST} ",
    ),
)
"""What is replaced, after texts in small letters of which one is in each match: to look for those takes a tenth of the time of
a search. To a pattern, a Turkish dotless i is an i, which `str.casefold` does not say."""


def normalise_text(text: str) -> str:
    """Given a line, return the words that count, folded: equal for lines that say the same."""
    return " ".join(_words(text))


def same_fact(one: str, other: str) -> bool:
    """Whether the two lines say the same. Symmetric and reflexive."""
    if one == other:
        return True
    words, others = _words(one), _words(other)
    if not words or not others:
        return _plain(one) == _plain(other)
    if words != others and not _misspelt(words, others):
        return False
    return not _reordered(one, other)


def find_equal(fact: str, texts: Iterable[str]) -> str | None:
    """Given a fact and lines that are known, return the first line that already says it."""
    return next((text for text in texts if same_fact(fact, text)), None)


def is_reversal(one: str, other: str) -> bool:
    """Whether one line is the other with its negation or its two sides changed (SPEC S-26).

    Lines that differ in a number are about different things: a rule for port 5432 is not one for port 6379.
    """
    if same_fact(one, other):
        return False
    words, others = _words(one), _words(other)
    content, contents = content_words(words), content_words(others)
    if content and content == contents:
        return True
    return CONTRAST in words and len(content) > 1 and sorted(words) == sorted(others)


@lru_cache(maxsize=2048)
def _words(text: str) -> tuple[str, ...]:
    surface = _surface(text)
    folded = _distinct(surface, [fold_word(word) for word in surface])
    negations, start = _stance(folded)
    return (NOT,) * negations + tuple(_body(folded[start:]))


def _surface(text: str) -> list[str]:
    """The words and signs as written; only the capital that begins a sentence is taken off."""
    plain = _plain(text)
    low = plain.casefold()
    for parts, pattern, instead in _REWRITES:
        if any(part in low for part in parts):
            plain = pattern.sub(instead, plain)
            low = " ".join(plain.split()).casefold()
    words: list[str] = []
    for chunk in plain.split():
        if chunk.isalpha() and chunk.isascii():
            words.append(chunk)
        else:
            words += _pieces(chunk)
    words = [_contrast(words, at) if word.casefold() == NOT else word for at, word in enumerate(words)]
    if words and words[0][1:] == words[0][1:].lower():
        words[0] = words[0].lower()
    return words


def _contrast(words: list[str], at: int) -> str:
    """ "use pnpm not npm" is "use pnpm over npm"; "should not", "and not" and a leading "not" stay negations."""
    return words[at] if at < 2 or words[at - 1].casefold() in _KEEPING_NOT else CONTRAST


def _plain(text: str) -> str:
    if text.isascii():  # has no other form, and nothing invisible
        return strip_user(strip_marks(text))
    composed = unicodedata.normalize("NFKC", text).translate(
        {0x2019: "'", 0x2018: "'", 0x201C: '"', 0x201D: '"'}
    )
    visible = "".join(char for char in composed if unicodedata.category(char) != "Cf")
    return strip_user(strip_marks(visible))


def _pieces(chunk: str) -> list[str]:
    core = chunk.strip(_WRAPPERS).rstrip(_STOPS).strip(_WRAPPERS)
    if not core:
        return [] if chunk in _NO_WORDS or not chunk.strip(_STOPS + "()*_") else [chunk.rstrip(",.") or chunk]
    return _PIECE.findall(core) or [core]


def _distinct(surface: list[str], folded: list[str]) -> list[str]:
    """Where a line sets two forms of one word against each other ("user, not users"), the forms count."""
    if len(set(surface)) == len(set(folded)):
        return folded
    forms: dict[str, set[str]] = {}
    for word, fold in zip(surface, folded, strict=True):
        forms.setdefault(fold, set()).add(word)
    return [
        word if fold != NOT and len(forms[fold]) > 1 else fold
        for word, fold in zip(surface, folded, strict=True)
    ]


def _stance(words: list[str]) -> tuple[int, int]:
    """How many negations the line begins with, and where its content begins: "do not use", "avoids"."""
    negations = at = 0
    while at < len(words) - 1:
        stance = stance_sign(words[at])
        if stance is None:
            break
        negations += stance < 0
        at += 1
    return negations, at


def _body(words: list[str]) -> list[str]:
    kept: list[str] = []
    for word, follower in pairwise((*words, "")):
        if word in AUXILIARY and follower == NOT:
            continue
        if word in ("a", "an", "the") and follower not in ("", NOT, CONTRAST, "a", "an", "the"):
            continue
        kept.append(word)
    return kept


def content_words(words: Iterable[str]) -> list[str]:
    """Given folded words, return those that are not negations."""
    return [word for word in words if word not in NEGATORS]


def _misspelt(words: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether exactly one long word differs, by one doubled letter or two letters in the wrong order."""
    if len(words) != len(others):
        return False
    differing = [(one, other) for one, other in zip(words, others, strict=True) if one != other]
    return len(differing) == 1 and _slip(*differing[0])


def may_be_misspelt(word: str) -> bool:
    """Whether a slip in this word is forgiven: only in long words, whose first two letters are right."""
    return len(word) >= 7 and word.isalpha()


def _slip(one: str, other: str) -> bool:
    if not (may_be_misspelt(one) and may_be_misspelt(other)) or one[:2] != other[:2]:
        return False
    from rapidfuzz.distance import OSA  # imported at the first use: commands that list lines compare none

    if OSA.distance(one, other, score_cutoff=1) != 1:
        return False
    return sorted(one) == sorted(other) or re.sub(r"(.)\1", r"\1", one) == re.sub(r"(.)\1", r"\1", other)


def _reordered(one: str, other: str) -> bool:
    """The last net: the same words in another order are never taken for the same."""
    words, others = _surface(one), _surface(other)
    return words != others and sorted(words) == sorted(others)
