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
    r"kein\w*|nicht|nie|niemals|ohne|vermeide\w*|pas|jamais|sans|aucune?|évite\w*|nunca|jamás|sin|ningún|evit(?:a|e|ar)|niet|nooit|geen|zonder|non|mai|senza|não|"
    r"nie|nigdy|не|никогда|без|aldrig|inte|ikke|utan|uten|älä\w*|ei|ilman|asla|hiç|nikdy|soha|sosem|jangan|tidak|tanpa|đừng|không|μην?|ποτέ|"
    rf"(?P<instead>{_INSTEAD}))(?!\w)|n't\b|ない|ません|ずに|不|别|勿|没",
    re.IGNORECASE,
)
_ORDER = compile_lazily(
    r"\b(?:before|until|after|than|over|instead of|bevor|nachdem|statt|avant|après|au lieu d[e']|plutôt qu[e']|antes de|después de|en vez de|prima d[i']|dopo|"
    r"invece d[i']|em vez de|depois de|voordat|nadat|in plaats van|przed|po|zamiast|перед|после|вместо)(?!\w)",
    re.IGNORECASE,
)
"""What stands on its two sides may not change places."""
_OPPOSITES = tuple(
    (compile_lazily(rf"(?:\b(?:{one})\b|{ours})"), compile_lazily(rf"(?:\b(?:{other})\b|{theirs})"))
    for one, other, ours, theirs in (
        (r"enabl\w+|on|activ\w+|aktiv\w+", r"disabl\w+|off", "有効|启用|开启|켜", "無効|禁用|关闭|꺼"),
        (r"increas\w+|rais\w+|grow|erhöh\w+", r"decreas\w+|lower\w*|reduc\w+|shrink|senk\w+", "增加|増や", "减少|減ら"),
        (r"max(?:imum)?|at most|up to|less|fewer|below|under|höchstens|weniger", r"min(?:imum)?|at least|more|above|mindestens|mehr", "以下", "以上"),
        (r"allow\w*|permit\w*|accept\w*|erlaub\w*|autoris\w*", r"den(?:y|ies)|forbid\w*|refus\w+|reject\w*|block\w*|verbiet\w*|interdi\w*", "允许|許可", "禁止"),
        (r"short\w*|small\w*|brief\w*|kurz\w*|court\w*|cort\w*|kort\w*", r"long\w*|large\w*|detailed|lang\w*|larg\w*|lung\w*", "短|简|짧", "長|长|冗|긴|길"),
        (r"love\w*|mag", r"hate\w*|hass\w*", "好き|喜欢", "嫌い|讨厌"), (r"includ\w+", r"exclud\w+", "包括", "除外"),
        (r"show\w*", r"hid(?:e|es|ing)", "显示", "隐藏"), (r"first", r"last", "最初", "最後"), (r"keep\w*", r"drop\w*|delet\w+|remov\w+", "保留", "删除"),
        (r"public", r"private", "公开", "私有"), (r"sync\w*", r"async\w*", "同步", "异步"), (r"ascending", r"descending", "升序", "降序"),
        (r"always|must|every", r"sometimes|may|rarely|optional\w*", "必须|必ず", "可选|任意"), (r"before", r"after", "之前|前に", "之后|後に"),
    )
)  # fmt: skip
_THEN = compile_lazily(
    r"\b(?:then|dann|danach|puis|ensuite|luego|después|poi|dopo|depois|daarna|потом|затем|potem)\b|再|然后"
)
_UNDOES = ("dis", "de", "des", "dés", "un", "non", "dez", "ent")
"""How a word begins that says the contrary of the rest of it."""
_DENIES = compile_lazily(
    "ない|なく|なし|ません|ず|ぬ|禁|不|别|勿|没|无|非|않|안 |말고|마(?=$|[ .!])|지 마|못|없|금지"
)
_ARRANGES = compile_lazily(
    "ではな|じゃな|前|後|后|先|なら|以外|より|だけ|而|代|比|除|只|전에|후에|만 |보다|대신|말고|skip|건너"
)
"""What negates, and what compares, orders or limits in Chinese, Japanese and Korean."""
_SIGNS = compile_lazily("[a-z0-9+./_-]+|[\u30a0-\u30ff]+|[\u3400-\u9fff\uac00-\ud7af]")
_CLAUSES = compile_lazily("[、，,。.!?！？；;]")
_WORDLESS = compile_lazily(r"\W+")
_UNKNOWN_SCRIPT = compile_lazily(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff\u0400-\u04ff]")
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
_RATHER = compile_lazily(r"\brather ((?:\w+ ){1,6})than\b")
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
    """Whether each forbids what the other asks for: "Use npm, never pnpm" and "never use npm here, always pnpm".

    Words behind a negation are compared, among those that both have. "Existing migrations are never edited" has fewer of them
    than "Never edit existing migrations" and says the same.
    """
    both = list_stems(text) & list_stems(source)
    own, theirs = find_negated(text) & both, find_negated(source) & both
    return bool(own - theirs and theirs - own)


def demands_forbidden(text: str, other: str) -> bool:
    """Whether a text that forbids something asks for what the other forbids: "Use npm, not yarn", of "never use npm here, always pnpm".

    It has words that the other negates, and negates none of them.
    """
    negated, words = find_negated(text), list_stems(text)
    return bool(negated) and any(
        _have_common(behind, words) and not _have_common(behind, negated)
        for behind in map(_list_behind, _list_negated_in(other))
    )


def _have_common(words: Iterable[str], others: Collection[str]) -> bool:
    # A word of three letters, such as the German "auf", is the beginning of too many others.
    return any(
        word == other or (min(len(word), len(other)) > 3 and match_stems(word, other))
        for word in words
        for other in others
    )


def match_stems(word: str, other: str) -> bool:
    """Whether two beginnings are of one word: "line" and "lines"."""
    return word == other or (
        min(len(word), len(other)) > 2 and (word.startswith(other) or other.startswith(word))
    )


def turns_round(text: str, source: str) -> bool:
    """Whether a text changes the places of what its source puts in an order, or has the opposite of one of its words."""
    one, other = plain_text(text), plain_text(source)
    if count_negations(text)[1] == count_negations(source)[1] and any(
        a.search(x) and b.search(y) and not b.search(x) and not a.search(y)
        for a, b in _OPPOSITES
        for x, y in ((one, other), (other, one))
    ):
        return True
    ours, theirs = set(WORD.findall(one)), set(WORD.findall(other))
    for some, rest in ((ours - theirs, theirs - ours), (theirs - ours, ours - theirs)):
        if any(f"{begin}{word}" in rest for word in some if len(word) > 4 for begin in _UNDOES):
            return True
    if _is_swapped(one, other) or _is_reordered(one, other) or _has_other_word(one, other):
        return True
    return count_negations(text)[0] > 0 and count_negations(source)[1] == 0


def _is_reordered(text: str, source: str) -> bool:
    """Whether two words changed places and all others between them stayed: "the server calls the client"."""
    ours, theirs = (_list_words(each) for each in (text, source))
    places = [theirs.index(word) for word in ours if ours.count(word) == theirs.count(word) == 1]
    order = sorted(places)
    moved = [at for at, (one, other) in enumerate(zip(places, order, strict=True)) if one != other]
    if len(moved) != 2 or not all(any(match_stems(word, each) for each in theirs) for word in ours):
        return False
    return (len(places) > 3 and moved[1] - moved[0] > 1) or _THEN.search(source) is not None


def _has_other_word(text: str, source: str) -> bool:
    """Whether a text is its source, which is not English, with another word in the place of one: nothing else tells "zapni" from "vypni"."""
    ours, theirs = ([*dict.fromkeys(_list_words(each))] for each in (text, source))
    if len(ours) != len(theirs) or len(ours) < 3 or not STOP_WORDS.isdisjoint(WORD.findall(source)):
        return False
    other = [pair for pair in zip(ours, theirs, strict=True) if not match_stems(*pair)]
    return len(other) == 1


def _list_words(plain: str) -> list[str]:
    words = (word for word in WORD.findall(plain) if len(word) > 1 and not _NOT.fullmatch(word))
    return [word[:STEM] for word in words if word not in STOP_WORDS and word not in _ARTICLES]


def _is_swapped(text: str, source: str) -> bool:
    here, there = _ORDER.search(text), _ORDER.search(source)
    if here is None or there is None:
        return False
    left, right = list_stems(text[: here.start()]), list_stems(text[here.end() :])
    first, second = list_stems(source[: there.start()]), list_stems(source[there.end() :])
    return _count_common(second, left) + _count_common(first, right) > _count_common(
        first, left
    ) + _count_common(second, right)


def _count_common(some: Iterable[str], others: Collection[str]) -> int:
    return sum(any(match_stems(one, other) for other in others) for one in some)


def hides_reversal(text: str, source: str) -> bool:
    """Whether a source is in a script in which words are not compared, and a text may leave out what limits it: it is neither a clause of
    the source nor without any word that negates, compares or orders."""
    if len(_UNKNOWN_SCRIPT.findall(source)) < 3:
        return False
    plain = _WORDLESS.sub("", plain_text(text))
    if plain in {_WORDLESS.sub("", one) for one in _CLAUSES.split(plain_text(source))}:
        return False
    if not CJK.search(source) or any(
        len(each.findall(text)) != len(each.findall(source)) for each in (_DENIES, _ARRANGES)
    ):
        return True
    ours, theirs = _SIGNS.findall(plain_text(text)), _SIGNS.findall(plain_text(source))
    places = [theirs.index(sign) for sign in ours if ours.count(sign) == theirs.count(sign) == 1]
    rests = [[*places[:at], *places[at + 1 :]] for at in range(len(places))] if len(places) > 3 else [places]
    return (
        all(rest != sorted(rest) for rest in rests) if places else False
    )  # one word, the verb, may be moved


def strip_answer(sentence: str) -> str:
    """A sentence without the "no" that answers the assistant."""
    found = _OPENER.match(sentence)
    return sentence[found.end() :].lstrip() if found is not None else sentence


def count_negations(text: str) -> tuple[int, int]:
    """How many negations a text has: without those that only set its statement against something, and with them."""
    plain = _without_openers(plain_text(text))
    return len(_NOT.findall(_CONTRAST.sub(" ", plain))), len(_NOT.findall(plain))


def _without_openers(plain: str) -> str:
    """A text without what negates nothing, and with "rather A than B" as "A rather than B"."""
    return _RATHER.sub(r"\1rather than", _NOTHING_NEGATED.sub(" ", _OPENER.sub(" ", plain)))


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


@lru_cache(maxsize=64)
def plain_text(text: str) -> str:
    """A text in small letters and with single spaces, as it is compared."""
    plain = " ".join(fold_text(unicodedata.normalize("NFKC", text)).split())
    return _SPELT.sub(lambda found: re.sub(r"[\W_]", "", found[0]), plain)


@lru_cache(maxsize=2048)
def list_stems(text: str) -> frozenset[str]:
    """The beginnings of the words with a meaning."""
    words = (found for found in WORD.findall(plain_text(text)) if len(found) > 1 and not CJK.search(found))
    return frozenset(word[:STEM] for word in words if word not in STOP_WORDS and not _NOT.fullmatch(word))


@lru_cache(maxsize=64)
def find_negated(text: str, plain: str = "") -> frozenset[str]:
    """The beginnings of the words that stand behind a negation. In Chinese and Japanese it stands behind them: they are left out."""
    return frozenset(word for rest in _list_negated_in(text, plain) for word in _list_behind(rest))


def _list_negated_in(text: str, plain: str = "") -> list[str]:
    return list_negated(CJK_RUN.sub(" ", plain or _without_openers(plain_text(text))))


def _list_behind(rest: str) -> list[str]:
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
