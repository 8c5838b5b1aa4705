"""What a text forbids, and whether two texts ask for the contrary of each other (SPEC S-67). Pure.

No grammar is known: words behind a negation are negated, to the end of their clause, and words are compared by their beginnings. "No, …"
turns down what the assistant did and negates nothing that follows, and what a text sets its statement against, "…, not after the merge",
may be left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from tacitd.text.lazy_pattern import compile_lazily

STEM = 5
"""Letters of a word that are compared, in place of a stemmer."""
_BEHIND = 3
"""Words behind a negation that count as negated."""
_CLAUSE = 300
"""Characters behind a negation that are looked at: a text of negations alone takes no quadratic time."""

CJK = compile_lazily("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
CJK_RUN = compile_lazily("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_CLAUSE_END = compile_lazily(r"[.;:!?]|, | (?:and|but|und|et|y|sondern|aber|sino|mais|ma|maar|mas|ale|но|а) ")
_SPELT = compile_lazily(r"(?<![^\W_])(?:[^\W\d_][ .*_-]{1,2}){2,}[^\W\d_](?![^\W_])")
"""A word with spaces or signs between its letters."""
WORD = compile_lazily(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_INSTEAD = (
    r"instead of|rather than|moved from|over|(?:an)?statt|au lieu d[e']|plutôt qu[e']|en (?:lugar|vez) de|invece d[i']|in plaats van|em vez de|"
    r"zamiast|вместо"
)
_NOT = compile_lazily(
    r"\b(?:not?|never|nor|none|without|cannot|avoid\w*|stop|quit|dislike\w*|hates?|leave out|zero|forget|banned|dead|don'?t|doesn'?t|didn'?t|mustn'?t|shouldn'?t|"
    r"kein\w*|nicht|nie|niemals|ohne|pas|jamais|sans|aucune?|nunca|jamás|sin|ningún|niet|geen|non|mai|senza|não|nie|не|никогда|без|"
    rf"(?P<instead>{_INSTEAD}))(?!\w)|n't\b|ない|ません|ずに|不|别|勿|没",
    re.IGNORECASE,
)
_CONTRAST = compile_lazily(
    rf"(?:\b(?:{_INSTEAD})(?!\w)|[,;(–—-] ?(?:and |und |et |а )?(?:not|nicht|non|no(?= (?:en|con|de|a|para)\b)|pas|não|niet|nie|не)\b(?! (?:even|only|yet|sogar|nur|mal|même|seulement)\b))"
    r"[^.;:!?]*?(?=[.;:!?)]|, | use |$)",
    re.IGNORECASE,
)
"""What a text sets something against: ", not after the merge". A wording may leave it out."""
_NO = r"no+|nope|nah|nein|nö|ne|nee|nej|nie|non|não|нет|wrong|falsch|stop|not (?:like )?(?:that|this|so|again|here|there)|nicht so|so nicht|pas comme ça|así no|いや|いいえ|不是|不对|不"
_OPENER = compile_lazily(
    rf"(?:^|(?<=[.!?;] ))\W*(?:(?:oh|ugh|hm+|wait|actually|well|sorry|ok|hey)\W+)*(?:(?:{_NO})(?:\s*[,.!:;、–—]+\s*| -+ | (?=(?:{_NO})(?:[ ,.!:]))"
    r"|(?<=no) (?=(?:use(?! (?:of|for|in|cases?)\b)|the|it|it's|we|i|you|that|this|don'?t|never|always|please|keep|they)\b(?!-))))+",
    re.IGNORECASE,
)
"""How a person turns down what the assistant did: "no, …". It negates nothing that follows."""
_NOTHING_NEGATED = compile_lazily(
    r"\b(?:(?:don'?t|do not|never) forget|vergiss nicht|nicht vergessen|n'oublie pas|no olvides|not only|nicht nur|pas seulement|no s[oó]lo|non solo|"
    r"no matter|no problem|no worries)\b",
    re.IGNORECASE,
)
_OMITTED = compile_lazily(
    r"(?:^|(?<=[.!?;] ))\W*(?:why (?:did|have)(?:n'?t| you not)(?: you)?|(?:you|u) (?:still |again )?(?:did|have)(?:n'?t| not))\b",
    re.IGNORECASE,
)
"""How a person complains that something was not done."""
_STOP = (
    "the and for with that this from into not never always please use uses using should must are was our your you only also all any "
    "each every than rather instead prefers prefer over have has don can will its when just here there then they them very want wants "
    "like likes does doesn isn now too let make sure need needs leave out is in to it of on as at by be do we if or so up an no my me us i a"
)
STOP_WORDS = frozenset(_STOP.split())
_ARTICLE = "a an the der die das dem den ein eine le la les un une el los las una il lo i gli o os de het een"
_ARTICLES = frozenset(_ARTICLE.split())


def forbids(text: str) -> bool:
    """Whether a text has a negation: "Niemals direkt auf main pushen"."""
    return _NOT.search(plain_text(text)) is not None


def reverses(text: str, source: str) -> bool:
    """Whether each forbids what the other asks for, or one of two texts that both forbid something asks for what the other forbids.

    That is "Use npm, never pnpm", or "Use npm, not yarn", of "never use npm here, always pnpm". Words behind a negation are compared.
    "Existing migrations are never edited" has fewer of them than "Never edit existing migrations" and says the same: one of them
    must be negated in both.
    """
    both = list_stems(text) & list_stems(source)
    own, theirs = find_negated(text) & both, find_negated(source) & both
    return bool(own - theirs and theirs - own) or _asks_for(text, source) or _asks_for(source, text)


def _asks_for(text: str, other: str) -> bool:
    """Whether a text that negates something has words that the other negates, and negates none of them."""
    negated, words = find_negated(text), list_stems(text)
    return bool(negated) and any(
        _have_common(behind, words) and not _have_common(behind, negated)
        for behind in map(_list_behind, _list_negated_in(other))
    )


def _have_common(words: Iterable[str], others: Collection[str]) -> bool:
    return any(match_stems(word, other) for word in words for other in others)


def match_stems(word: str, other: str) -> bool:
    """Whether two beginnings are of one word: "line" and "lines"."""
    return word == other or (
        min(len(word), len(other)) > 2 and (word.startswith(other) or other.startswith(word))
    )


def strip_answer(sentence: str) -> str:
    """A sentence without the "no" that answers the assistant."""
    found = _OPENER.match(sentence)
    return sentence[found.end() :].lstrip() if found is not None else sentence


def count_negations(text: str) -> tuple[int, int]:
    """How many negations a text has: without those that only set its statement against something, and with them."""
    plain = _without_openers(plain_text(text))
    return len(_NOT.findall(_CONTRAST.sub(" ", plain))), len(_NOT.findall(plain))


def _without_openers(plain: str) -> str:
    return _NOTHING_NEGATED.sub(" ", _OPENER.sub(" ", plain))


def is_onesided(text: str, source: str, *, is_strict: bool) -> bool:
    """Whether one of two texts negates what both have, and the other does not; nor does a source that only sets something against it.

    `is_strict`: the source is one statement, which may set something against what the text has of it. Of several the text may leave
    none out.
    """
    if find_negated(source) & list_stems(text) and not find_negated(text) and not is_strict:
        return True
    if _denies(text, source) or _denies(source, text):
        return True
    plain, theirs = _without_openers(plain_text(text)), _without_openers(plain_text(source))
    if _NOT.search(_CONTRAST.sub(" ", theirs)):
        return False
    asked = list_stems(_without_negated(theirs)) - find_negated(source)
    return bool(find_negated(text, _CONTRAST.sub(" ", plain)) & asked)


def _denies(text: str, other: str) -> bool:
    """Whether a text negates what the other has, which negates nothing.

    A word that the text has beside the negation too, "tests go next to the module, not into tests/", is negated if the other is not
    nearer to the rest of the text.
    """
    if find_negated(other):
        return False
    plain = _OMITTED.sub(" ", _without_openers(plain_text(text)))
    words, negated = list_stems(other), find_negated(text, plain)
    if not negated & words:
        return False
    rest = _without_negated(plain)
    only = {word for span in list_negated(plain) for word in WORD.findall(span)}
    only -= {*WORD.findall(rest), *_ARTICLES}
    beside = list_stems(rest)
    if negated & words - beside or only & {*WORD.findall(plain_text(other))}:
        return True
    return len(negated & words) >= len(beside & words)


def fold_text(text: str) -> str:
    plain = text.casefold()
    return plain.translate({0x2019: "'", 0x2018: "'", 0x201C: '"', 0x201D: '"', 0xA0: " "})


def plain_text(text: str) -> str:
    """A text in small letters and with single spaces, as it is compared."""
    plain = " ".join(fold_text(unicodedata.normalize("NFKC", text)).split())
    return _SPELT.sub(lambda found: re.sub(r"[\W_]", "", found[0]), plain)


@lru_cache(maxsize=2048)
def list_stems(text: str) -> frozenset[str]:
    """The beginnings of the words with a meaning."""
    words = (found for found in WORD.findall(plain_text(text)) if len(found) > 1 and not CJK.search(found))
    return frozenset(word[:STEM] for word in words if word not in STOP_WORDS and not _NOT.fullmatch(word))


def find_negated(text: str, plain: str = "") -> frozenset[str]:
    """The beginnings of the words that stand behind a negation. In Chinese and Japanese it stands behind them: they are left out."""
    return frozenset(word for rest in _list_negated_in(text, plain) for word in _list_behind(rest))


def _list_negated_in(text: str, plain: str = "") -> list[str]:
    return list_negated(CJK_RUN.sub(" ", plain or _without_openers(plain_text(text))))


def _list_behind(rest: str) -> list[str]:
    """The beginnings of the first words behind a negation."""
    words = [word for word in WORD.findall(rest) if word not in STOP_WORDS]
    return [word[:STEM] for word in words[:_BEHIND]]


def list_negated(plain: str) -> list[str]:
    return [plain[begin:end] for begin, end in _find_spans(plain)]


def _without_negated(plain: str) -> str:
    for begin, end in _find_spans(plain):
        plain = f"{plain[:begin]}{' ' * (end - begin)}{plain[end:]}"
    return plain


def _find_spans(plain: str) -> Iterator[tuple[int, int]]:
    """Where what stands behind each negation begins and ends: at the end of its clause, or where the clause begins anew, as in "don't
    use npm use pnpm" and "instead of npm use pnpm"."""
    for found in _NOT.finditer(plain):
        clause = _CLAUSE_END.split(plain[found.end() : found.end() + _CLAUSE], maxsplit=1)[0]
        first = WORD.search(clause)
        again = first and re.search(rf"(?<=\w )\b{re.escape(first[0])}\b", clause[first.end() :])
        verb = re.search(r"(?<=\w )use\b", clause) if found["instead"] else None
        if first and again:
            clause = clause[: first.end() + again.start()]
        elif verb:
            clause = clause[: verb.start()]
        yield found.end(), found.end() + len(clause)
