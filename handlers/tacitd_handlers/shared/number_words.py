"""Numbers written as words, in English, German, Spanish, French and Japanese, and numbers that a word implies. Pure.

The names of 0 to 999 are generated once for each language; "thousand" and "million" multiply what precedes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.shared.text_parts import compose_text, list_words

_EN = list_words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_EN_TENS = list_words("twenty thirty forty fifty sixty seventy eighty ninety")
_DE = list_words(
    "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
    "achtzehn neunzehn"
)
_DE_TENS = list_words("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig")
_ES = list_words(
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete "
    "dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete "
    "veintiocho veintinueve"
)
_ES_TENS = list_words("treinta cuarenta cincuenta sesenta setenta ochenta noventa")
_ES_HUNDREDS = list_words(
    "ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos novecientos"
)
_FR = list_words(
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dixsept dixhuit "
    "dixneuf"
)
_FR_TENS = list_words("vingt trente quarante cinquante soixante")
_JOINING = frozenset(list_words("and und y et"))
_MULTIPLIERS = {
    "thousand": 1000, "tausend": 1000, "mil": 1000, "mille": 1000,
    "million": 10**6, "millionen": 10**6, "millón": 10**6, "millones": 10**6, "millions": 10**6,
}  # fmt: skip
_IMPLIED = {
    "0": "no none never without null nil kein keine keinen nie ohne nunca sin aucun aucune jamais sans",
    "1": "a an one single once first only each eine einen einem einer einmal erste ersten erster einzige un una uno une "
    "unique primer primera première premier once same",
    "2": "twice double both pair couple second doppelt zweimal beide paar zweite doble ambos segundo double deux "
    "deuxième",
    "3": "thrice triple third dreimal dritte triple tercero troisième",
    "4": "fourth vierte cuarto quatrième quadruple",
    "5": "fifth fünfte quinto cinquième",
    "6": "half-dozen sixth sechste",
    "7": "week weeks weekly woche wochen wöchentlich semana semaine seventh siebte",
    "10": "tenth ten-fold decimal",
    "12": "dozen dutzend docena douzaine twelfth",
    "24": "daily day days täglich",
    "25": "quarter viertel cuarto quart",
    "50": "half halb hälfte mitad moitié demi",
    "0.5": "half halb hälfte mitad moitié demi",
    "100": "hundred hundert cien cent hundreds centum fully completely full complete all every",
    "60": "minute hour stunde minuto hora heure",
    "365": "year yearly annual jahr año an",
    "30": "month monthly monat mes mois",
}
_WORD = compile_lazily(r"[^\W\d_]+")
_KANJI = compile_lazily(r"[〇一二三四五六七八九十百千万]+")
_KANJI_DIGITS = {char: value for value, char in enumerate("〇一二三四五六七八九")}
_KANJI_UNITS = {"十": 10, "百": 100, "千": 1000}
_WIDEST = 6
"""Words of the longest number below a thousand ("neuf cent quatre vingt dix neuf")."""


def find_number_words(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield each number that is written as words: its value, start and end in the composed text."""
    words = list(_WORD.finditer(text.casefold()))
    at = 0
    while at < len(words):
        value, end = _number_at(text, words, at)
        if value is None:
            at += 1
            continue
        yield value, words[at].start(), words[end - 1].end()
        at = end
    for match in _KANJI.finditer(text):
        yield _kanji_value(match[0]), match.start(), match.end()


@cache
def implied_numbers() -> dict[str, frozenset[str]]:
    """Return, by word, the numbers that a fact may write as digits for it: "twice" is 2, "half" is 50 or 0.5."""
    found: dict[str, set[str]] = {}
    for number, words in _IMPLIED.items():
        for word in words.split():
            found.setdefault(compose_text(word), set()).add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}


def _number_at(text: str, words: list[re.Match[str]], at: int) -> tuple[int | None, int]:
    """The longest number that begins with this word (None: none), and the index after its last word."""
    # Each round reads one number below a thousand and the multiplier after it: "two million | three thousand | five".
    names = _names()
    total: int | None = None
    while True:
        value, end = None, at
        joined = ""
        for next_word in range(at, min(at + _WIDEST, len(words))):
            if next_word > at and not _adjacent(text, words[next_word - 1], words[next_word]):
                break
            word = words[next_word][0]
            if word in _JOINING and joined:
                continue
            joined += word
            if joined in names:
                value, end = names[joined], next_word + 1
        multiplier = _MULTIPLIERS.get(words[end][0]) if end < len(words) else None
        if multiplier is not None and (value is not None or (total is None and end == at)):
            total = (total or 0) + (1 if value is None else value) * multiplier
            at = end + 1
            if at < len(words) and _adjacent(text, words[at - 1], words[at]):
                continue
            return total, at
        if value is None:
            return total, at
        return (total or 0) + value, end


def _adjacent(text: str, one: re.Match[str], other: re.Match[str]) -> bool:
    return text[one.end() : other.start()] in (" ", "-")


@cache
def _names() -> dict[str, int]:
    """The names of 0 to 999 without spaces, hyphens and joining words."""
    names: dict[str, int] = {}
    for value in range(1000):
        for name in (*_english(value), *_german(value), *_spanish(value), *_french(value)):
            names.setdefault(compose_text(name), value)
    # Articles, and words of two languages.
    for name in (
        "ein",
        "un",
        "uno",
        "one",
        "eins",
        "once",
        "six",
        "dix",
    ):
        names.setdefault(name, 1)
    del names["ein"], names["un"]
    return names


def _english(value: int) -> list[str]:
    if value < 20:
        return [_EN[value]]
    if value < 100:
        return [_EN_TENS[value // 10 - 2] + (_EN[value % 10] if value % 10 else "")]
    rest = _english(value % 100)[0] if value % 100 else ""
    return [_EN[value // 100] + "hundred" + rest] + ([f"hundred{rest}"] if value < 200 else [])


def _german(value: int) -> list[str]:
    if value < 20:
        return [_DE[value]] + (["eins"] if value == 1 else [])
    if value < 100:
        unit = _DE[value % 10] + "und" if value % 10 else ""
        names = [unit + _DE_TENS[value // 10 - 2]]
        return names + [name.replace("ß", "ss") for name in names if "ß" in name]
    rest = _german(value % 100)[-1] if value % 100 else ""
    return [_DE[value // 100] + "hundert" + rest] + ([f"hundert{rest}"] if value < 200 else [])


def _spanish(value: int) -> list[str]:
    if value < 30:
        return [_ES[value]]
    if value < 100:
        return [_ES_TENS[value // 10 - 3] + (_ES[value % 10] if value % 10 else "")]
    if value == 100:
        return ["cien"]
    return [_ES_HUNDREDS[value // 100 - 1] + (_spanish(value % 100)[0] if value % 100 else "")]


def _french(value: int) -> list[str]:
    if value < 20:
        return [_FR[value]]
    if value < 70:
        return [_FR_TENS[value // 10 - 2] + (_FR[value % 10] if value % 10 else "")]
    if value < 80:
        return ["soixante" + _FR[value - 60]]
    if value < 100:
        names = ["quatrevingt" + (_FR[value - 80] if value > 80 else "")]
        return names + (["quatrevingts"] if value == 80 else [])
    rest = _french(value % 100)[0] if value % 100 else ""
    first = "" if value < 200 else _FR[value // 100]
    return [f"{first}cent{rest}"] + ([f"{first}cents"] if not rest else [])


def _kanji_value(text: str) -> int:
    total = section = digit = 0
    for char in text:
        if char in _KANJI_DIGITS:
            digit = digit * 10 + _KANJI_DIGITS[char]
        elif char == "万":
            total, section, digit = total + (section + digit or 1) * 10_000, 0, 0
        else:
            section, digit = section + (digit or 1) * _KANJI_UNITS[char], 0
    return total + section + digit
