"""The possible values of a number in a text: `2,000` is 2000 or 2.000, `80 %` is 80 or 0.8, `3.12` is also "Python 3".

Pure. Numbers written as words belong to `number_words`, dates to `relative_dates`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.shared.number_words import find_number_words, implied_numbers
from tacitd_handlers.shared.text_parts import compose_text, split_words

_NUMBER = compile_lazily(r"(?<![\d.,])\d+(?:[.,:'’ ]\d{3}(?!\d))*(?:[.,:]\d+)*\s?(?:%|[kKM](?![^\W\d_]))?")
_GROUPED = compile_lazily(r"\d{1,3}(?:[.,'’ ]\d{3})+(?:[.,]\d+)?")
_SCALES = {"k": 1000, "m": 1_000_000}
_COUNTED_OUT = compile_lazily(r"(?:the|these|those|all|both|any|either|of)\s+$", re.IGNORECASE)


def find_numbers(text: str) -> Iterator[str]:
    """Yield each number in digits as it is written, with its `%`, `k` or `M`."""
    for match in _NUMBER.finditer(text):
        # "port 3000 100 times" has two numbers: "3000 100" is not in groups of three digits.
        yield from [match[0].strip()] if _GROUPED.fullmatch(match[0].rstrip("%kKM ")) else match[0].split()


def read_number(text: str) -> frozenset[str]:
    """Return every possible value of a number in digits, each in one spelling. Empty if the text has no number."""
    body = re.match(r"[\d.,:'’ ]*\d", text)
    if body is None:
        return frozenset()
    digits, suffix = body[0], text[body.end() :].strip().casefold()
    readings = {digits.replace(",", "."), digits}
    if _GROUPED.fullmatch(digits):
        readings.add(re.sub(r"[.,'’ ](?=\d{3})", "", digits))
    readings |= {reading[:-2] for reading in readings if reading.endswith(".0")}
    readings |= {reading.lstrip("0") or "0" for reading in readings if reading.isdigit()}
    if suffix in _SCALES:
        readings |= {_scaled(reading, _SCALES[suffix]) for reading in tuple(readings) if _is_plain(reading)}
    if suffix == "%":
        readings |= {_scaled(reading, 0.01) for reading in tuple(readings) if _is_plain(reading)}
    return frozenset(readings)


def numbers_in(text: str) -> set[str]:
    """Return the readings of every number in a text: of digits, of number words, and of words that imply one.

    A version also gives its beginnings and parts: 3.12 gives 3.
    """
    plain = compose_text(text)
    found: set[str] = set()
    for number in find_numbers(plain):
        found |= read_number(number)
        pieces = re.split(r"[.:]", number.rstrip("%kKM "))
        found |= {".".join(pieces[:upto]) for upto in range(1, len(pieces) + 1)}
        found |= {piece.lstrip("0") or "0" for piece in pieces}
    for value, _, _ in find_number_words(plain):
        found |= {str(value), _scaled(str(value), 0.01)}
    implied = implied_numbers()
    for word in split_words(plain):
        found |= implied.get(word, frozenset())
    return found


def counting_words(text: str) -> Iterator[tuple[str, int]]:
    """Yield the number words of a fact that state an amount, with their value.

    "the two sides" and "one of them" state no amount: a model may write those about anything.
    """
    for value, start, end in find_number_words(text):
        before, after = text[:start], text[end:]
        if value < 2 or _COUNTED_OUT.search(before) or after.lstrip().startswith("of "):
            continue
        yield text[start:end], value


def _is_plain(reading: str) -> bool:
    return re.fullmatch(r"\d+(?:\.\d+)?", reading) is not None


def _scaled(reading: str, factor: float) -> str:
    return f"{float(reading) * factor:.10g}"
