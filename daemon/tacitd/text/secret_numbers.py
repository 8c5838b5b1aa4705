"""Secrets with a checksum or from a fixed list of words: payment cards, bank accounts, seed phrases. Pure.

The checksum distinguishes them from order numbers, timestamps and identifiers.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tacitd.text.lazy_pattern import compile_lazily

CARD = compile_lazily(
    r"(?=[2-6]\d{3})(?<![\w.+/=-])(?:"
    r"(?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|6(?:011|4[4-9]\d|5\d\d|2\d\d)|35[2-8]\d)(?P<gap>[ -]?)\d{4}(?P=gap)\d{4}(?P=gap)\d{4}"
    r"|3[47]\d\d(?P<gap_amex>[ -]?)\d{6}(?P=gap_amex)\d{5}"
    r"|3(?:0[0-5]|[68]\d)\d(?P<gap_diners>[ -]?)\d{6}(?P=gap_diners)\d{4}"
    r")(?![\w/=-]|\.\d)"
)
"""Visa, Mastercard, Discover, UnionPay, JCB; American Express; Diners Club: the beginning and length of their numbers."""

IBAN = compile_lazily(
    r"[A-Z](?<![A-Za-z0-9][A-Z])[A-Z]\d{2}(?:[A-Z0-9]{11,30}|(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,4})?)(?![A-Za-z0-9])"
)
_LENGTHS = {
    country: int(length)
    for part in [
        "NO15",
        "BE16",
        "DK18",
        "FI18",
        "FO18",
        "GL18",
        "NL18",
        "MK19",
        "SI19",
        "AT20",
        "BA20",
        "EE20",
        "KZ20",
        "LT20",
        "LU20",
        "XK20",
        "CH21",
        "HR21",
        "LI21",
        "LV21",
        "BG22",
        "BH22",
        "CR22",
        "DE22",
        "GB22",
        "GE22",
        "IE22",
        "ME22",
        "RS22",
        "AE23",
        "GI23",
        "IL23",
        "IQ23",
        "TL23",
        "AD24",
        "CZ24",
        "ES24",
        "MD24",
        "PK24",
        "RO24",
        "SA24",
        "SE24",
        "SK24",
        "TN24",
        "VG24",
        "PT25",
        "ST25",
        "IS26",
        "TR26",
        "AZ28",
        "AL28",
        "BY28",
        "CY28",
        "DO28",
        "EG29",
        "FR27",
        "GR27",
        "IT27",
        "MC27",
        "MR27",
        "SM27",
        "GT28",
        "HU28",
        "LB28",
        "PL28",
        "BR29",
        "PS29",
        "QA29",
        "UA29",
        "JO30",
        "KW30",
        "MU30",
        "MT31",
        "LC32",
        "SC31",
        "VA22",
        "SV28",
        "LY25",
        "SD18",
        "BI27",
        "DJ27",
        "SO23",
        "NI28",
        "MN20",
        "RU33",
        "FK18",
        "OM23",
        "YE30",
    ]
    for country, length in [(part[:2], part[2:])]
}

_WORD_RUN = compile_lazily(
    r"[a-z](?<![\w.'’-][a-z])[a-z]{2,7}+(?![\w'’-])"
    r"(?:(?:[ \t]{1,3}|[ \t]?,[ \t]?|[ \t]?\r?\n[ \t]?)(?:\d{1,2}[.)][ \t]?)?[a-z]{3,8}+(?![\w'’-]))*+"
)
"""As many such words as there are. It reads no character twice, so the time is linear in the text's length."""
_SHORTEST_PHRASE = 12 * 3 + 11
WORDS = compile_lazily(
    r"(?<![\w.'’-])[a-z]{3,8}(?:(?:[ \t]{1,3}|[ \t]?,[ \t]?|[ \t]?\r?\n[ \t]?)(?:\d{1,2}[.)][ \t]?)?[a-z]{3,8}){11,23}(?![\w'’-])"
)
"""Twelve to twenty-four short words with only white space between them: a seed phrase, or a plain sentence."""


def is_card(number: str) -> bool:
    """Whether the Luhn checksum of a card's number is right. Spaces and hyphens are ignored."""
    digits = [int(char) for char in number if char.isdigit()]
    doubled = [
        digit if at % 2 == 0 else (digit * 2 - 9 if digit > 4 else digit * 2)
        for at, digit in enumerate(reversed(digits))
    ]
    return sum(doubled) % 10 == 0 and len(set(digits)) > 1


def is_iban(number: str) -> bool:
    """Whether an account number has its country's length and checksum (ISO 13616, mod 97)."""
    plain = number.replace(" ", "")
    if _LENGTHS.get(plain[:2]) != len(plain):
        return False
    return int("".join(str(int(char, 36)) for char in plain[4:] + plain[:4])) % 97 == 1


def find_seed_phrases(text: str) -> list[tuple[int, int]]:
    """The spans of all seed phrases."""
    spans: list[tuple[int, int]] = []
    if len(text) < _SHORTEST_PHRASE:
        return spans
    for run in _WORD_RUN.finditer(text):
        if run.end() - run.start() < _SHORTEST_PHRASE:
            continue
        for found in WORDS.finditer(text, run.start(), run.end()):
            if phrase := find_seed_phrase(found[0]):
                start = text.index(phrase, found.start())
                spans.append((start, start + len(phrase)))
    return spans


def find_seed_phrase(words: str) -> str | None:
    """Given what `WORDS` matched, return the longest seed phrase at its beginning or end, or None.

    All words of a seed phrase are among the 2,048 of BIP-39. An English sentence does not have twelve of them in a row.
    """
    if not _is_seed_word(words.split(None, 1)[0].strip(",")) and not _is_seed_word(words.rsplit(None, 1)[-1]):
        return None
    found = list(re.finditer(r"[a-z]+", words))
    run: list[re.Match[str]] = []
    best: list[re.Match[str]] = []
    for one in found:
        run = [*run, one] if _is_seed_word(one[0]) else []
        if len(run) >= max(12, len(best)):
            best = run
    # "very very very …" is not a random choice.
    if len({one[0] for one in best}) < max(8, len(best) * 3 // 4):
        return None
    return words[best[0].start() : best[-1].end()]


def _is_seed_word(word: str) -> bool:
    return word in _seed_words()


@lru_cache(maxsize=1)
def _seed_words() -> frozenset[str]:
    """The word list. Loaded when the first text has twelve short words in a row."""
    from mnemonic import Mnemonic

    return frozenset(Mnemonic("english").wordlist)
