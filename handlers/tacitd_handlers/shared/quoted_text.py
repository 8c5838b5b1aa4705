"""Which parts of a typed text were quoted: fences and lines that begin with `>`. Pure.

A person who pastes a document did not give the orders in it.
"""

from __future__ import annotations

import re

_QUOTED_LINE = re.compile(r"^[ \t]*>.*", re.MULTILINE)
_FENCE = re.compile(
    r"(?P<inline>`{3,})(?!`)[^\n]*?(?P=inline)`*"
    r"|(?:(?P<ticks>`{3,})|^[ \t]*(?P<tildes>~{3,})).*?(?:^[ \t]*(?:(?P=ticks)`*|(?P=tildes)~*)[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
"""A fence that is not closed extends to the end."""


def drop_quotes(text: str) -> str:
    """Return a text with its quoted parts replaced by line breaks."""
    return _FENCE.sub("\n", _blank_lines(text))


def shorten_middle(text: str, limit: int) -> str:
    """Return the text, or its first two thirds and last third of `limit` characters with a note between them.

    What was quoted in the text is also quoted in the result.
    """
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    closing, opening = _mark_at(text, head).strip("> "), _mark_at(text, len(text) - tail)
    parts = (
        text[:head] + (f"\n{closing}" if closing else ""),
        f"[… {len(text) - head - tail} characters left out …]",
        opening + ("\n" if opening.strip("> ") else "") + text[-tail:],
    )
    return "\n".join(parts)


def _mark_at(text: str, at: int) -> str:
    """Return what begins the quoted part around an offset: `> `, the fence, or "" if it is not quoted."""
    if any(found.start() < at < found.end() for found in _QUOTED_LINE.finditer(text)):
        return "> "
    for found in _FENCE.finditer(_blank_lines(text)):
        if found.start() < at < found.end():
            return found["inline"] or found["ticks"] or found["tildes"]
    return ""


def _blank_lines(text: str) -> str:
    """Replace quoted lines by spaces: a fence in a quoted line ends there."""
    return _QUOTED_LINE.sub(lambda found: " " * len(found[0]), text)
