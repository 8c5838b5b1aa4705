"""Untrusted texts made safe to store and show: one line, printable, without secrets, of limited length. Pure."""

from __future__ import annotations

import re

from tacitd.text.redact import redact_secrets
from tacitd.text.sanitize import sanitize_line
from tacitd.text.shorten import shorten_line

_SENTENCE = re.compile(r"(?<=[.!?。])\s+")


def clean_text(text: object, limit: int) -> str:
    """Return a text as one line of at most `limit` characters, without control characters and with secrets blanked.

    "" for anything that is not a text.
    """
    if not isinstance(text, str):
        return ""
    return shorten_line(redact_secrets(sanitize_line(text[: 8 * limit]))[0], limit)


def first_sentences(text: str, most: int) -> str:
    """Return the first `most` sentences."""
    return " ".join(_SENTENCE.split(text.strip())[:most])
