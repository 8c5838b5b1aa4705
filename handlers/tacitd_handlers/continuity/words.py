"""Texts of others made fit to be kept and shown: one line, printable, no secrets, not too long. Pure."""

from __future__ import annotations

import re
import unicodedata

from tacitd.redact import redact

_SENTENCE = re.compile(r"(?<=[.!?。])\s+")


def plain(text: object, limit: int) -> str:
    """One line of at most `limit` characters without control characters; secrets are blanked. "" for what is no text."""
    if not isinstance(text, str):
        return ""
    kept = "".join(" " if c.isspace() else c for c in text[: 8 * limit] if c.isspace() or _shown(c))
    return shortened(redact(" ".join(kept.split()))[0], limit)


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters, ended at a word."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    word = head.rfind(" ")
    return (head[:word] if word > limit // 2 else head).rstrip(" ,;:") + "…"


def sentences(text: str, most: int) -> str:
    """The first sentences."""
    return " ".join(_SENTENCE.split(text.strip())[:most])


def fence(data: str) -> str:
    """Given any text, return it between two lines of backticks that nothing in it can close."""
    longest = max((len(run) for run in re.findall(r"`+", data)), default=0)
    bar = "`" * max(3, longest + 1)
    return f"{bar}\n{data}\n{bar}"


def _shown(char: str) -> bool:
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn")
