"""Untrusted texts made safe to store and show: printable, without secrets, of limited length. Pure."""

from __future__ import annotations

from tacitd.text.redact import redact_secrets
from tacitd.text.sanitize import sanitize_line
from tacitd.text.shorten import shorten_line
from tacitd_handlers.continuity import sentences


def clean_text(text: object, limit: int) -> str:
    """Return a text as one line of at most `limit` characters, without control characters and with secrets blanked.

    "" for anything that is not a text.
    """
    if not isinstance(text, str):
        return ""
    return shorten_line(redact_secrets(sanitize_line(text[: 8 * limit]))[0], limit)


def clean_lines(text: object) -> str:
    """Return a text of several lines, each without control characters, with secrets blanked; "" if it is not a text.

    The indentation of a line stays. The length is not limited.
    """
    if not isinstance(text, str):
        return ""
    made = (
        " " * (len(line) - len(line.lstrip(" "))) + sanitize_line(line)
        for line in redact_secrets(text)[0].splitlines()
    )
    return "\n".join(line.rstrip() for line in made).strip("\n")


def clean_summary(text: object, limit: int, most: int) -> str:
    """Return the last `most` sentences of a text, as many of them as have `limit` characters together, in one line.

    No sentence is cut, unless the last one alone has more than twice as many: of it the end is kept, marked as cut.
    """
    if not isinstance(text, str):
        return ""
    units = sentences.split_units(clean_lines(text))
    units = [one for one in units if not one.is_heading] or units
    said = sanitize_line(sentences.join_units(sentences.take_last(units, limit, most)))
    return said if len(said) <= 2 * limit else sentences.cut_sentence(said, limit)
