"""What is read of a model's answer: its JSON objects, among fences and sentences, and whether it says NONE. Pure.

An answer is untrusted. What an object means is decided in the modules that ask.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.sanitize import sanitize_line


class Unusable(Struct, frozen=True):
    """An answer that is not one: it is kept, asked for again, then put aside with this reason (SPEC S-23)."""

    reason: str


_BULLET = compile_lazily(r"^\s*(?:(?:[-*+•‣▪·–—>]+|#{1,6}|\(?\d{1,3}[.)])\s+)+")
_QUOTES = "\"'`“”‘’«»„"
_NOTHING = frozenset(
    [
        "none",
        "n/a",
        "nil",
        "null",
        "nothing",
        "keine",
        "keiner",
        "aucun",
        "aucune",
        "ninguno",
        "ninguna",
        "geen",
        "rien",
        "nada",
    ]
)
_NONE = compile_lazily(
    r"(?:output|answer|result|facts?)?[\W_]*(?:(?:none|n/a|nil|null|nothing|keiner?|aucune?|ningun[oa]|geen|rien|nada)(?! of\b)(?!\w)"
    r"|(?:there (?:are|is|were) )?no (?:[a-z]+ ){0,3}?(?:preferences?|facts?|opinions?|beliefs?|corrections?|information)\b)",
)


def list_objects(answer: str) -> Iterator[Any]:
    """Yield the JSON objects of an answer, outermost first; None for one that begins a line or an item of a list and is broken."""
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    at = answer.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(answer, at)
        except (ValueError, RecursionError):
            value, end = None, at + 1
        if value is not None or not answer[answer.rfind("\n", 0, at) + 1 : at].strip(" \t>*•`-[,"):
            yield value
        at = answer.find("{", end)


def _refuse_constant(name: str) -> float:
    """NaN and Infinity are no JSON."""
    raise ValueError(name)


def strip_marks(line: str) -> str:
    """Given a line of a list, return what it says: no bullet, number, quotes or emphasis around it."""
    text = sanitize_line(line)
    before = None
    while text != before:
        before = text
        if not text[:1].isalpha():
            text = _BULLET.sub("", text).strip()
        for mark in ("**", "__", "*"):
            if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
                text = text[len(mark) : -len(mark)].strip()
        if len(text) >= 2 and text[0] in _QUOTES and text[-1] in _QUOTES and _is_one_quotation(text):
            text = text[1:-1].strip()
    return text


def _is_one_quotation(text: str) -> bool:
    """`"a" and "b"` begins and ends with quotes too, but they are not around all of it."""
    return not any(quote in text[1:-1] for quote in {text[0], text[-1]} - {"'", "’"})


def is_fence(line: str) -> bool:
    """Whether the line opens or closes a block of code."""
    return line.lstrip().startswith(("```", "~~~"))


def is_nothing(text: str) -> bool:
    """Whether a value of an object is "none" in one of its spellings; "None of the tests may sleep" is not (SPEC S-03)."""
    return strip_marks(text).rstrip(".!").casefold() in _NOTHING


def says_none(answer: str) -> bool:
    """Whether an answer without an object is empty, or begins with NONE in one of its spellings."""
    lines = [strip_marks(line) for line in answer.splitlines() if not is_fence(line)]
    first = next((line for line in lines if line), "")
    return not first or _NONE.match(first.casefold()) is not None
