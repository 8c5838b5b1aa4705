"""The small dictionaries behind `equality`: which words negate, which only say "prefers", which forms are one."""

from __future__ import annotations

from functools import lru_cache

from tacitd.text.lazy_pattern import compile_lazily


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NOT = "not"
CONTRAST = "over"

NEGATORS = _words(
    "not without nor neither "  # English; never, no, none are folded to `not`
    "nicht kein keine keinen keiner keines keinem nie niemals ohne weder "
    "ne pas jamais aucun aucune sans ni "
    "nunca jamás jamas ningún ninguno ninguna sin tampoco "
    "niet geen nooit zonder noch"
)
JOINING = _words("and or but if when where while why whether than as so that")
"""After these, "not" negates what follows; after any other word it sets two things against each other."""
AUXILIARY = _words("do does did should must shall will can may would could might need is are be to")

_TOWARDS = _words(
    "prefer prefers want wants like likes favor favors love loves use uses using always please do does to would"
)
_AGAINST = _words("avoid avoids avoiding dislike dislikes hate hates not against")
_IN_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {word: str(number) for number, word in enumerate(_IN_WORDS, 2)}
_SAME = {
    "never": NOT,
    "no": NOT,
    "none": NOT,
    "does": "do",
    "always": "always",
    "has": "have",
    "this": "this",
}
_OUR = compile_lazily(r"(behavi|col|fav|hon|lab|neighb|flav)our")
_ISE = compile_lazily(r"(\w{4,})is(e|ed|es|ing|er|ers|ation|ations)")


@lru_cache(maxsize=8192)
def fold_word(word: str) -> str:
    """Given one word, return the form under which its spellings, plural and third person meet.

    Remembered, because thousands of lines are folded at a start and have few words; equal words are then one object.
    """
    low = word.casefold()
    if low in _SAME:
        return _SAME[low]
    if low in _NUMBERS:
        return _NUMBERS[low]
    if not low.isascii() or not low.isalpha():
        return low
    low = _OUR.sub(r"\1or", low) if "our" in low else low
    spelt = _ISE.fullmatch(low) if "is" in low else None
    return _singular(f"{spelt[1]}iz{spelt[2]}" if spelt else low)


def stance_sign(word: str) -> int | None:
    """1 for a word that only says "prefers", -1 for one that says "avoids", None for any other."""
    if word in _TOWARDS:
        return 1
    return -1 if word in _AGAINST else None


def _singular(word: str) -> str:
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "zes")) else word[:-1]
