"""Checks that every answer of the model goes through before it is parsed: refusals, NONE, echoes, marks.

An answer is untrusted. What an answer contains is parsed in the modules that ask: learning's `heard`, `proposals` and `summary`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.sanitize import sanitize_line


class Unusable(Struct, frozen=True):
    """An answer that is not one: it is kept, asked for again, then put aside with this reason (SPEC S-23)."""

    reason: str


_BULLET = compile_lazily(r"^\s*(?:(?:[-*+•‣▪·–—>]+|#{1,6}|\(?\d{1,3}[.)])\s+)+")
_QUOTES = "\"'`“”‘’«»„"
_NONE = compile_lazily(
    r"""(?:none|n/a)
        (?:[.!:;](?:\s.*)?|\s*[(\[].*[)\]]\.?|\s+[–—-].*|[–—].*|\s+(?:new|found|detected|identified|nothing)\b.*)?
      | (?:nil|null|nothing|nothing\ new|keine[rs]?|aucune?|ninguno|ninguna|geen|rien|nada)[.!]?
      | (?:there\ (?:are|is|were)\ )?(?:no|nothing)\ (?:(?:new|updated|extractable|additional|other|novel|clear|further|or)\ )*
        (?:preferences?|facts?|opinions?|beliefs?|corrections?|information|to\ extract|to\ add)
        (?:(?:,|\ or|\ and)\ (?:(?:new|updated|extractable)\ )*(?:preferences?|facts?|opinions?|beliefs?|corrections?|stances?))*
        (?:\ (?:were\ |was\ |are\ |to\ be\ |could\ be\ |can\ be\ )?
           (?:found|identified|detected|expressed|extracted|stated|present|here|mentioned|to\ extract|to\ report).*
          |\ (?:in|from)\ (?:this|the|these|your)\ (?:user[’']?s?\ )?(?:messages?|conversation|input|facts|session|prompts?))?[.!]?
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SAID = compile_lazily(r"^(?:output|answer|result|facts?)\s*:\s*", re.IGNORECASE)
_REFUSAL = compile_lazily(
    r"""(?:i[’']?m|i\ am)\ (?:really\ |very\ |so\ )?(?:sorry|afraid|unable|not\ able)\b
      | sorry\b.{0,12}\bi\b | i\ apologi[sz]e\b | as\ an\ ai(?:[,.:;-]|\ (?:large\ |language\ )*(?:model|assistant|agent|system|i)\b)
      | i\ (?:can(?:no|[’'])?t|can\ not|won[’']?t|do\ not|don[’']?t)\ (?:(?:help|assist|comply|fulfil|proceed)\b
          |(?:do|process|extract|provide|perform|access|see|find|identify|have|complete|answer|determine)\b
           [^\n]{0,40}\b(?:that|this|facts?|preferences?|opinions?|messages?|conversation|request|information|instructions?|anything|enough)\b)
      | (?:could|can|would)\ you\ (?:please\ )?(?:provide|share|clarify|send|paste)
      | please\ (?:provide|share|send|paste)\ (?:the|a|me|your)\ (?:message|text|facts|document|user)
      | i\ (?:need|would\ need|[’']d\ need)\ (?:more|the|to\ see)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


_OBJECT = compile_lazily(r"(?:^[ \t>*•`-]*|[\[,][ \t\n]*)(?=\{)", re.MULTILINE)
"""Where an object begins: on its line, or as an item of a list."""


def list_objects(answer: str) -> Iterator[Any]:
    """Yield the JSON objects of an answer, one a line, in a list or on several lines; None for one that is broken."""
    end = 0
    for found in _OBJECT.finditer(answer):
        if found.end() < end:
            continue
        try:
            value, end = json.JSONDecoder().raw_decode(answer, found.end())
        except (ValueError, RecursionError):
            value, end = None, found.end() + 1
        yield value


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
        if len(text) >= 2 and text[0] in _QUOTES and text[-1] in _QUOTES and _one_quotation(text):
            text = text[1:-1].strip()
    return text


def is_fence(line: str) -> bool:
    """Whether the line opens or closes a block of code."""
    return line.lstrip().startswith(("```", "~~~"))


def is_none(text: str) -> bool:
    """Whether the text is NONE in one of its spellings; "None of the tests may sleep" is not (SPEC S-03)."""
    lines = [
        _SAID.sub("", strip_marks(line).replace("*", "")) for line in text.splitlines() if not is_fence(line)
    ]
    said = [line for line in lines if line]
    return bool(said) and all(_NONE.fullmatch(line) for line in said)


def is_refusal(answer: str) -> bool:
    """Whether the answer begins by declining, or by asking back."""
    return _REFUSAL.match(answer.lstrip("\"'*_`> \n")) is not None


def flatten_text(text: str) -> str:
    """Given any text, return it as one folded line without bullets: what echoes are looked for in."""
    return " ".join(_BULLET.sub("", sanitize_line(line)).casefold() for line in text.splitlines()).strip()


def repeats_prompt(answer: str, sentences: Iterable[str], given: str = "") -> bool:
    """Whether the answer holds one of the prompt's own sentences that the data did not hold (SPEC S-35)."""
    said, data = " ".join(flatten_text(answer).split()), " ".join(flatten_text(given).split())
    return any(sentence in said and sentence not in data for sentence in sentences)


def shorten_to_sentence(text: str, limit: int) -> str:
    """Given one sanitised line, return at most `limit` characters of it, ended at a sentence, otherwise at a word."""
    # Imported here, because commands that only read import this module too.
    from tacitd.text.wording import shorten_line

    head = text[: limit - 1]
    sentence = max(head.rfind(end) for end in (". ", "! ", "? ", "; ", "。"))
    if len(text) > limit and sentence >= limit // 3:
        return head[: sentence + 1].rstrip(" ;")
    return shorten_line(text, limit)


def _one_quotation(text: str) -> bool:
    """`"a" and "b"` begins and ends with quotes too, but they are not around all of it."""
    inner = text[1:-1]
    return not any(quote in inner for quote in {text[0], text[-1]} - {"'", "’"})
