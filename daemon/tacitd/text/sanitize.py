"""The sanitizer for every text that is stored or shown and was not written by tacitd itself (S-67). Pure.

A text from a model or a file can contain words that an agent reads and a person does not see: in tag characters, in runs
of variation selectors, in zero-width characters. It can also change what a terminal shows. Only characters that are
invisible by themselves are removed. Scripts and emoji that need a joiner or a selector keep exactly those. Everything
here is idempotent.

Which characters may stay belongs here. The meaning of words and limits of length do not.
"""

from __future__ import annotations

import re

from tacitd.text.characters import describe_emoji, describe_joiners, is_hidden, is_mark
from tacitd.text.lazy_pattern import compile_lazily

__all__ = ["escape_hidden", "find_control", "sanitize_line", "sanitize_text"]

MOST_MARKS = 8
"""Combining marks on one character. Burmese and Tibetan need up to seven."""
MOST_ACCENTS = 4
"""General accents on one character. Vietnamese needs two, phonetic notation and Hebrew need up to four."""

_ANSI = compile_lazily(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]{0,2000}+(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[#%(-/][0-~]"  # character sets; of shorter escapes only ESC is removed, because what follows may be a word
)
_LINE_END = compile_lazily(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_OTHER_SPACE = compile_lazily(r"[^\S\t\n]")
_CONTEXTUAL = compile_lazily("[\u200c\u200d\ufe0e\ufe0f\U000e0020-\U000e007f]")
_SEQUENCE = compile_lazily(lambda: f"{describe_emoji()}|{describe_joiners()}")
_ACCENT = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_ACCENTS = compile_lazily(f"({_ACCENT}{{{MOST_ACCENTS}}}){_ACCENT}+")
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
    """Given any text, return it for a terminal: one line in which hidden characters are shown as escapes.

    `\\n` becomes the two characters `\\` and `n`. Emoji and joiners that a script needs are kept. For names and words that
    a person must recognise exactly. A backslash is not escaped, so the result cannot be decoded.
    """
    if text.isprintable() and (text.isascii() or not any(map(is_hidden, set(text)))):
        return text
    parts: list[str] = []
    end = 0
    for found in _SEQUENCE.finditer(text):
        parts += (*map(_escaped, text[end : found.start()]), found[0])
        end = found.end()
    return "".join((*parts, *map(_escaped, text[end:])))


def find_control(text: str) -> int | None:
    """The offset of the first character that controls a terminal or the direction of writing, or is a lone surrogate.

    None if there is none. White space does not count.
    """
    found = _CONTROL.search(text)
    return found.start() if found else None


def _escaped(char: str) -> str:
    return ascii(char)[1:-1] if is_hidden(char) or (char.isspace() and char != " ") else char


def _strip_hidden(text: str) -> str:
    """Remove hidden characters and combining marks above the limits, until nothing changes.

    One removal can make another necessary: without a hidden character, the marks around it may exceed a limit, and
    without a mark, a joiner may have lost its place.
    """
    if text.isascii() and text.isprintable():
        return text
    for _ in range(4):
        before, text = text, _cut_marks(_remove_hidden(text))
        if text == before:
            return text
    # Only a text made for this purpose gets here. Without joiners and selectors, one more round is enough.
    return _cut_marks("".join(char for char in text if not is_hidden(char)))


def _remove_hidden(text: str) -> str:
    hidden = {char for char in set(text) if is_hidden(char) and char != "\t"}
    if not hidden:
        return text
    remove = dict.fromkeys(map(ord, hidden))
    if not _CONTEXTUAL.search(text):
        return text.translate(remove)
    parts: list[str] = []
    end = 0
    for found in _SEQUENCE.finditer(text):
        parts += (text[end : found.start()].translate(remove), found[0])
        end = found.end()
    return "".join((*parts, text[end:].translate(remove)))


def _cut_marks(text: str) -> str:
    """Shorten runs of combining marks, which can cover the lines above and below."""
    marks = "".join(filter(is_mark, set(text)))
    if not marks:
        return text
    text = _ACCENTS.sub(r"\1", text)
    one = f"[{re.escape(marks)}]"
    return re.sub(f"({one}{{{MOST_MARKS}}}){one}+", r"\1", text)


def escape_output(text: str) -> str:
    """Untrusted text for a terminal: one line, with control characters escaped."""
    return replace_surrogates(escape_hidden(text))


def escape_lines(text: str) -> str:
    """The same for a text of several lines, which stay lines."""
    return "\n".join(map(escape_output, text.split("\n")))


def replace_surrogates(text: str) -> str:
    """The text with `?` for what is not UTF-8 (half a character, bytes of a path), so that printing does not fail."""
    return text.encode("utf-8", "replace").decode("utf-8")
