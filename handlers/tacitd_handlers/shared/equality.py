"""Do two lines say the same? Deterministic, and careful: order, numbers and negations always count.

A false "different" costs a line that is said twice. A false "same" loses what a person said, and so nothing here guesses: two lines
are the same where their words are, in the same order, after spelling, bullets, case, plural and third person, articles, and the way of
saying "prefers" or "avoids" are folded. Paraphrases are the model's work.

    Prefers functions over classes.  =  Prefer functions over classes  =  Use functions instead of classes
    use pnpm, not npm  ≠  use npm, not pnpm          Use tabs  ≠  Use tabs in Makefiles

Text without spaces between words (Chinese, Japanese) is compared as runs of one script, exactly. What `normalise_text` returns is stored
as a digest: if it changes, what a person said is never to be learned no longer matches.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.shared.model_text import strip_marks, strip_user

_NOT = "not"
_CONTRAST = "over"
_NEGATING = (
    "not without nor neither "  # English; never, no, none are folded to `not`
    "nicht kein keine keinen keiner keines keinem nie niemals ohne weder ne pas jamais aucun aucune sans ni "
    "nunca jamás jamas ningún ninguno ninguna sin tampoco niet geen nooit zonder noch"
)
_NEGATORS = frozenset(_NEGATING.split())
_HELPING = "do does did should must shall will can may would could might need is are be to"
_AUXILIARY = frozenset(_HELPING.split())
_JOINING = "and or but if when where while why whether than as so that not"
_KEEPING_NOT = _AUXILIARY | frozenset(_JOINING.split())
"""After these words "not" negates what follows; after any other word it sets two things against each other."""
_FOR = "prefer prefers want wants like likes favor favors love loves use uses using always please do does to would"
_AGAINST = "avoid avoids avoiding dislike dislikes hate hates not against"
_SIGNS = {**dict.fromkeys(_FOR.split(), 0), **dict.fromkeys(_AGAINST.split(), 1)}
"""The negations in the words that only say "prefers" or "avoids"."""
_ARTICLES = ("a", "an", "the")
_IN_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_FOLDED = {
    **{word: str(number) for number, word in enumerate(_IN_WORDS, 2)},
    **dict.fromkeys(("never", "no", "none"), _NOT),
    "does": "do",
    "always": "always",
    "has": "have",
    "this": "this",
}
_OUR = compile_lazily(r"(behavi|col|fav|hon|lab|neighb|flav)our")
_ISE = compile_lazily(r"(\w{4,})is(e|ed|es|ing|er|ers|ation|ations)")
_HAN = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff"
_PIECE = compile_lazily(
    rf"[<>=!]+|(?<!\w)-\d[\d.,:]*\d|(?<!\w)-\d|\d+(?:[.,:]\d+)*|[{_HAN}]+|(?:(?![{_HAN}])[^\W_]|_)+(?:\+\+|#)?|[$%^~]"
)
_WRAPPERS = "\"'`*_()[]{}"
_STOPS = ".,;:!?…。、"
_REWRITE = compile_lazily(
    r"(?P<can>\bcan(?:no|')t\b)|(?P<will>\bwon't\b)|(?P<n>n't\b)|\b(?:instead of|rather than)\b|,\s*not\b",
    re.IGNORECASE,
)
_INSTEAD = {"can": "can not", "will": "will not", "n": " not", None: f" {_CONTRAST} "}


def normalise_text(text: str) -> str:
    """Given a line, return the words that count, folded: equal for lines that say the same; "" for one without words."""
    return " ".join(_words(text))


def make_key(text: str) -> str:
    """What lines that say the same have in common: their normal form, or the text where it has no words."""
    return normalise_text(text) or _plain(text)


def index_texts(texts: Iterable[str]) -> dict[str, str]:
    """Lines by what they say, the first of those that say the same."""
    found: dict[str, str] = {}
    for text in texts:
        found.setdefault(make_key(text), text)
    return found


def is_reversal(one: str, other: str) -> bool:
    """Whether one line is the other with its negation or its two sides changed (SPEC S-26).

    Lines that differ in a number are about different things: a rule for port 5432 is not one for port 6379.
    """
    words, others = _words(one), _words(other)
    if words == others:
        return False
    content = [word for word in words if word not in _NEGATORS]
    if content and content == [word for word in others if word not in _NEGATORS]:
        return True
    return _CONTRAST in words and len(content) > 1 and sorted(words) == sorted(others)


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    plain = _REWRITE.sub(lambda found: _INSTEAD[found.lastgroup], _plain(text))
    # The words and signs as written; only the capital that begins a sentence is taken off.
    surface = [piece for chunk in plain.split() for piece in _split_chunk(chunk)]
    for at, word in enumerate(surface):
        # "use pnpm not npm" is "use pnpm over npm"; "should not", "and not" and a leading "not" stay negations.
        if at > 1 and word.casefold() == _NOT and surface[at - 1].casefold() not in _KEEPING_NOT:
            surface[at] = _CONTRAST
    if surface and surface[0][1:] == surface[0][1:].lower():
        surface[0] = surface[0].lower()
    folded = list(map(_fold, surface))
    # Where a line sets two forms of one word against each other ("user, not users"), the forms count.
    forms: dict[str, set[str]] = {}
    for word, fold in zip(surface, folded, strict=True):
        forms.setdefault(fold, set()).add(word)
    for at, fold in enumerate(folded):
        if fold != _NOT and len(forms[fold]) > 1:
            folded[at] = surface[at]
    negations = at = 0
    while at < len(folded) - 1 and folded[at] in _SIGNS:
        negations += _SIGNS[folded[at]]
        at += 1
    kept: list[str] = []
    for word, follower in pairwise((*folded[at:], "")):
        is_helping = word in _AUXILIARY and follower == _NOT
        is_article = word in _ARTICLES and follower not in ("", _NOT, _CONTRAST, *_ARTICLES)
        if not is_helping and not is_article:
            kept.append(word)
    return (_NOT,) * negations + tuple(kept)


def _plain(text: str) -> str:
    if text.isascii():  # has no other form, and nothing invisible
        return strip_user(strip_marks(text))
    quotes = {0x2019: "'", 0x2018: "'", 0x201C: '"', 0x201D: '"'}
    composed = unicodedata.normalize("NFKC", text).translate(quotes)
    visible = "".join(char for char in composed if unicodedata.category(char) != "Cf")
    return strip_user(strip_marks(visible))


def _split_chunk(chunk: str) -> list[str]:
    core = chunk.strip(_WRAPPERS).rstrip(_STOPS).strip(_WRAPPERS)
    if not core:
        return [] if chunk in "-–—•·" or not chunk.strip(_STOPS + "()*_") else [chunk.rstrip(",.") or chunk]
    return _PIECE.findall(core) or [core]


@lru_cache(maxsize=8192)  # thousands of lines are folded at a start and have few words
def _fold(word: str) -> str:
    """The form under which a word's spellings, plural and third person meet."""
    low = word.casefold()
    if low in _FOLDED:
        return _FOLDED[low]
    if not low.isascii() or not low.isalpha():
        return low
    low = _OUR.sub(r"\1or", low)
    spelt = _ISE.fullmatch(low)
    low = f"{spelt[1]}iz{spelt[2]}" if spelt else low
    if len(low) <= 3 or not low.endswith("s") or low.endswith(("ss", "us", "is")):
        return low
    if low.endswith("ies") and len(low) > 4:
        return low[:-3] + "y"
    return low[:-2] if low.endswith(("sses", "shes", "ches", "xes", "zes")) else low[:-1]
