"""Untrusted texts made safe to store and show: printable, without secrets, cut at the ends of sentences and lines. Pure.

A text is a stranger's and may have 100 KB without a full stop, so each function takes time in proportion to its length.
"""

from __future__ import annotations

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.redact import redact_secrets
from tacitd.text.sanitize import sanitize_line
from tacitd.text.wording import shorten_line
from tacitd_handlers.shared.model_text import SENTENCE_END, split_sentences

_FENCE = compile_lazily(r"\s*(```+|~~~+)")
_SKIPPED = compile_lazily(r"\s*(?:\|.*\||(?:[-*_=]\s*){3,})\s*$")
"""A row of a table, or a rule."""
_HEADING = compile_lazily(r"\A\s*#{1,6}\s+")
_WORD = 40
"""Characters. What is longer is not the rest of a word, but a text without spaces."""


def clean_text(text: object, limit: int) -> str:
    """Return a text as one line of at most `limit` characters, without control characters and with secrets blanked.

    "" for anything that is not a text.
    """
    if not isinstance(text, str):
        return ""
    return shorten_line(redact_secrets(sanitize_line(text[: 8 * limit]))[0], limit)


def clean_lines(text: object, *, is_blanked: bool = False) -> str:
    """Return a text of several lines, each without control characters, with secrets blanked; "" if it is not a text.

    The indentation of a line stays. The length is not limited. `is_blanked`: whether the secrets are blanked already, as in a prompt.
    """
    if not isinstance(text, str):
        return ""
    lines = (
        " " * (len(line) - len(line.lstrip(" "))) + sanitize_line(line)
        for line in (text if is_blanked else redact_secrets(text)[0]).splitlines()
    )
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def clean_prose(text: str) -> str:
    """Return the lines of a Markdown text without code blocks, tables, rules, empty lines and the marks of headings."""
    lines, fence = list[str](), ""
    for line in clean_lines(text).splitlines():
        mark = _FENCE.match(line)
        if mark:
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        elif not fence and line.strip() and not _SKIPPED.match(line):
            lines.append(_HEADING.sub("", line, count=1))
    return "\n".join(lines)


def take_end(text: str, limit: int) -> str:
    """Return the last whole sentences and lines of a text, at most `limit` characters; of a longer sentence its end, after `…`."""
    if len(text) <= limit:
        return text
    end = text[-limit:]
    boundary = SENTENCE_END.search(end)
    if boundary and end[boundary.end() :].strip():
        return end[boundary.end() :]
    word, space, rest = end[1:].partition(" ")
    return "…" + (rest if space and len(word) < _WORD else end[1:])


def clean_summary(text: object, limit: int, most: int) -> str:
    """Return the last `most` sentences of a text in one line, as many of them as have `limit` characters together."""
    if not isinstance(text, str):
        return ""
    kept = split_sentences(clean_prose(text[-20 * limit :]))[-most:]
    return take_end(sanitize_line(" ".join(kept)), limit)
