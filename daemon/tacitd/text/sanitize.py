"""The sanitizer for every text that is stored or shown and was not written by tacitd itself (S-67). Pure.

A text from a model or a file can contain words that an agent reads and a person does not see, and change what a terminal shows.
Only characters that are invisible by themselves are removed, and combining marks above a limit. A joiner or a style stays where a
script or an emoji can need one, one at a place. Everything here is idempotent, because a character is judged by what was kept
before it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from tacitd.text.lazy_pattern import compile_lazily

__all__ = ["escape_hidden", "find_control", "sanitize_line", "sanitize_text"]

MOST_MARKS = 8
"""Combining marks on one character. Burmese and Tibetan need up to seven."""
MOST_ACCENTS = 4
"""General accents in a row. Vietnamese needs two, phonetic notation and Hebrew need up to four."""
ZWNJ, ZWJ, KEYCAP = "\u200c", "\u200d", "\u20e3"
TEXT_STYLE, EMOJI_STYLE = "\ufe0e", "\ufe0f"
BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\ufffc\U00016fe4\U0001d159"
)
"""Drawn as nothing or as a space, although they are letters, marks or symbols."""
VISIBLE_FORMATS = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
"""Of category Cf, but visible, such as the sign of a verse's end in the Quran (Prepended_Concatenation_Mark)."""

_ANSI = compile_lazily(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]{0,2000}+(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[#%(-/][0-~]"  # character sets; of shorter escapes only ESC is removed, because what follows may be a word
)
_LINE_END = compile_lazily(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_OTHER_SPACE = compile_lazily(r"[^\S\t\n]")
_ACCENT = compile_lazily("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
_CONTROL = compile_lazily("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def sanitize_line(text: str) -> str:
    """Given any text, return it on one line, without hidden characters, with one space for each run of white space."""
    if not text.isascii() or not text.isprintable():
        text = _strip_hidden(" ".join(_ANSI.sub("", text).split()))
    return " ".join(text.split())


def sanitize_text(text: str) -> str:
    """Given any text, return its lines without hidden characters and without white space at their ends.

    Lines end with `\\n`. Tabs are kept; other white space becomes a space.
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return "\n".join(map(str.rstrip, text.split("\n")))
    lines = _LINE_END.split(_ANSI.sub("", text))
    return "\n".join(_strip_hidden(_OTHER_SPACE.sub(" ", line)).rstrip() for line in lines)


def escape_hidden(text: str) -> str:
    """Given any text, return it for a terminal: one line in which hidden characters are shown as escapes. A backslash is not escaped, so
    the result cannot be decoded."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if kept and (char == " " or not char.isspace()) else ascii(char)[1:-1]
        for char, kept in _judge_characters(text)
    )


def find_control(text: str) -> int | None:
    """The offset of the first character that controls a terminal or the direction of writing, or is a lone surrogate."""
    found = _CONTROL.search(text)
    return found.start() if found else None


@lru_cache(maxsize=4096)
def is_hidden(char: str) -> bool:
    """Whether a character is invisible, controls how others are shown, or has no agreed meaning. White space other than line and
    paragraph separators is not hidden."""
    if char in BLANK or "\ufe00" <= char <= "\ufe0f" or "\U000e0000" <= char <= "\U000e0fff":
        return True
    match unicodedata.category(char):
        case "Cc":
            return char not in "\t\n\r"
        case "Cs" | "Co" | "Zl" | "Zp":
            return True
        case "Cf":
            return char not in VISIBLE_FORMATS
        case "Cn":  # emoji and ideographs that are newer than `unicodedata` are visible
            return not (
                _is_pictograph(char)
                or "\U0002ebf0" <= char <= "\U0002ee5d"
                or "\U00031350" <= char <= "\U00033479"
            )
    return False


def _strip_hidden(text: str) -> str:
    if not any(is_hidden(char) or _is_mark(char) for char in set(text)):
        return text
    return "".join(char for char, kept in _judge_characters(text) if kept)


def _judge_characters(text: str) -> Iterator[tuple[str, bool]]:
    # The last character that was kept, and how many marks and general accents in a row were kept up to it.
    before, marks, accents = " ", 0, 0
    for at, char in enumerate(text):
        if is_hidden(char):
            kept = _is_needed(before, char, text[at + 1 : at + 2] or " ")
        elif _is_mark(char):
            accent = _ACCENT.match(char) is not None
            kept = marks < MOST_MARKS and not (accent and accents == MOST_ACCENTS)
            if kept:
                before, marks, accents = char, marks + 1, accents + 1 if accent else 0
            yield char, kept
            continue
        else:
            kept = True
        if kept:
            before, marks, accents = char, 0, 0
        yield char, kept


def _is_needed(before: str, char: str, after: str) -> bool:
    """Whether a joiner or a style may change how these two neighbours are drawn (RFC 5892, A.1 and A.2; UTS #51)."""
    match char:
        case "\u200d":
            in_emoji = (_is_symbol(before) or before in (TEXT_STYLE, EMOJI_STYLE)) and _is_symbol(after)
            # RA of Bengali and Kannada keeps its form before a virama
            return in_emoji or _is_virama(before) or (before in "\u09b0\u0cb0" and _is_virama(after))
        case "\u200c":
            in_arabic = (
                unicodedata.bidirectional(before) in ("AL", "NSM")
                and unicodedata.bidirectional(after) == "AL"
            )
            return in_arabic or _is_virama(before)
        case "\ufe0e" | "\ufe0f":
            return _is_symbol(before) or (
                char == EMOJI_STYLE and before in "0123456789#*" and after == KEYCAP
            )
    return False


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M"


def _is_virama(char: str) -> bool:
    return unicodedata.combining(char) == 9


def _is_pictograph(char: str) -> bool:
    return "\U0001f000" <= char <= "\U0001faff"


def _is_symbol(char: str) -> bool:
    """Whether a character is an emoji or a symbol that has an emoji's style."""
    return _is_pictograph(char) or unicodedata.category(char) in ("So", "Sm") or char in "‼⁉〰ℹ"


def escape_output(text: str) -> str:
    """Untrusted text for a terminal: one line, with control characters escaped."""
    return replace_surrogates(escape_hidden(text))


def escape_lines(text: str) -> str:
    """The same for a text of several lines, which stay lines."""
    return "\n".join(map(escape_output, text.split("\n")))


def replace_surrogates(text: str) -> str:
    """The text with `?` for what is not UTF-8 (half a character, bytes of a path), so that printing does not fail."""
    return text.encode("utf-8", "replace").decode("utf-8")
