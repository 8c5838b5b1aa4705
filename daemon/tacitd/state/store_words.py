"""Removing words from the columns that may hold some, for `tacitd forget --purge`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacitd.contract import Tx

FORGOTTEN = "[forgotten]"
"""What stands in the place of the words."""
_SHORT = 4
"""Characters: a shorter text is removed only where no letter or digit goes on beside it."""
_BEGINNING = 12
"""Characters of a text that are enough to know it at a cut end."""


def make_blanker(texts: Collection[str], keep: Collection[str] = ()) -> Callable[[str | None], str | None]:
    """Given texts, return the function that replaces them in a value, also inside of JSON; other values stay as they are.

    `keep`: longer texts that stay whole although they contain one of them.
    """
    wanted = sorted({text for text in texts if text.strip()}, key=len, reverse=True)
    longer = sorted({one for one in keep if any(text != one and text in one for text in wanted)}, key=len)
    kept = "|".join(map(re.escape, reversed(longer)))
    pattern = re.compile(f"(?P<kept>{kept or '(?!)'})|" + ("|".join(map(_form, wanted)) or r"(?!)"))
    beginnings = {one[:_BEGINNING] for text in wanted for one in _spell(text)}

    def blank(value: str | None) -> str | None:
        if not isinstance(value, str) or not any(one in value for one in beginnings):
            return value
        blanked = _blank(value, pattern)
        return blanked if longer else _blank_cut_end(blanked, wanted)

    return blank


def blank_columns(tx: Tx, columns: Iterable[tuple[str, str]]) -> int:
    """Apply the SQL function `blank` to these (table, column), and return how many values changed. Rows that become equal in a
    unique column become one row."""
    update = "UPDATE OR REPLACE {0} SET {1}=blank({1}) WHERE {1} IS NOT blank({1})"
    return sum(tx.execute(update.format(*each)).changed for each in columns)


def _blank_cut_end(value: str, texts: Iterable[str]) -> str:
    """Remove the beginning of a text from the end of a value: a prompt that was handled is cut to 200 characters."""
    for text in texts:
        at = value.find(text[:_BEGINNING]) if len(text) > _BEGINNING else -1
        while at >= 0 and not text.startswith(value[at:]):
            at = value.find(text[:_BEGINNING], at + 1)
        if at >= 0:
            value = value[:at] + FORGOTTEN
    return value


def _forget(found: re.Match[str]) -> str:
    return found["kept"] or FORGOTTEN


def _form(text: str) -> str:
    form = re.escape(text)
    return form if len(text) >= _SHORT else rf"(?<!\w){form}(?!\w)"


def _spell(text: str) -> set[str]:
    """A text as it is, and as it is inside of JSON."""
    return {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}


def _blank(value: str, pattern: re.Pattern[str]) -> str:
    if value.startswith(("{", "[")):
        try:
            document = json.loads(value)
        except ValueError:
            document = None
        if document is not None:
            blanked = _blank_document(document, pattern)
            return value if blanked == document else json.dumps(blanked, ensure_ascii=False)
    return pattern.sub(_forget, value)


def _blank_document(document: Any, pattern: re.Pattern[str]) -> Any:
    match document:
        case str():
            return _blank(document, pattern)
        case list():
            return [_blank_document(each, pattern) for each in document]
        case dict():
            return {
                pattern.sub(_forget, key): _blank_document(each, pattern) for key, each in document.items()
            }
        case _:
            return document
