"""Text in comparable parts: folded, and split at separators, digits and capitals. Pure.

`userId`, `user_id`, `user-id` and "user id" have the same parts. The meaning of a part belongs to the callers.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from tacitd.text.lazy_pattern import compile_lazily

CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uff66-\uff9f"
"""Characters of scripts that put no spaces between words, as the inside of a regular expression's class. Hangul is
here because particles are appended to its words."""

_RUN = compile_lazily(rf"[{CJK}]+|(?:(?![{CJK}])[^\W\d_])+|\d+")
_HUMP = compile_lazily(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_QUOTES = {0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"', 0x2010: "-", 0x2011: "-", 0x2212: "-"}
_IS_CJK = compile_lazily(rf"[{CJK}]")


def list_words(text: str) -> list[str]:
    """Return the words of a table that is written as one text."""
    return text.split()


def compose_text(text: str) -> str:
    """Return the text in NFKC, with plain quotes and hyphens and without invisible characters."""
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    return "".join(char for char in plain if unicodedata.category(char) not in ("Cf", "Mn") or char == "\n")


def split_parts(text: str) -> list[str]:
    """Return the parts of a text in order, folded: runs of letters of one script, cut at humps, and runs of digits."""
    runs = (run for run in _RUN.findall(compose_text(text)))
    return [part.casefold() for run in runs for part in _HUMP.split(run) if part]


def split_words(text: str) -> list[str]:
    """Return the words of a text in order, folded. A hump does not divide a word; a run of CJK is one word."""
    return [run.casefold() for run in _RUN.findall(compose_text(text)) if not run[0].isdigit()]


def join_windows(parts: Sequence[str], width: int, longest: int) -> set[str]:
    """Return every concatenation of up to `width` consecutive parts that has at most `longest` characters."""
    found: set[str] = set()
    for start in range(len(parts)):
        joined = ""
        for part in parts[start : start + width]:
            joined += part
            if len(joined) > longest:
                break
            found.add(joined)
    return found


def is_cjk(text: str) -> bool:
    """Whether the text contains a character of a script without spaces between words."""
    return _IS_CJK.search(text) is not None


def pairs_of_characters(text: str) -> set[str]:
    """Return the pairs of adjacent CJK characters in a text. They replace words, which no space separates."""
    runs = [run for run in _RUN.findall(compose_text(text)) if is_cjk(run)]
    return {run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))}
