"""Removing words from the columns that may hold some, for `tacitd forget --purge`."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from typing import Any

from tacitd.contract import Tx

FORGOTTEN = "[forgotten]"
"""What stands in the place of the words."""
_SHORT = 4
"""Characters: a shorter text is removed only where no letter or digit goes on beside it."""


def blank_words(tx: Tx, columns: Iterable[tuple[str, str]], texts: Collection[str]) -> int:
    """Replace the texts in these (table, column), also inside of JSON, and return in how many values. Rows that become equal in a
    unique column are one row."""
    wanted = sorted({text for text in texts if text.strip()}, key=len, reverse=True)
    if not wanted:
        return 0
    pattern, changed = re.compile("|".join(map(_form, wanted))), 0
    spellings = [one for text in wanted for one in _spell(text)]
    for table, column in columns:
        select = f"SELECT DISTINCT {column} FROM {table} WHERE instr({column}, ?)"
        values = {row[0] for one in spellings for row in tx.rows(select, one)}
        for value in values:
            blanked = _blank(value, pattern)
            if blanked != value:
                sql = f"UPDATE OR REPLACE {table} SET {column}=? WHERE {column}=?"
                changed += tx.execute(sql, blanked, value).changed
    return changed


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
            return json.dumps(_blank_document(document, pattern), ensure_ascii=False)
    return pattern.sub(FORGOTTEN, value)


def _blank_document(document: Any, pattern: re.Pattern[str]) -> Any:
    match document:
        case str():
            return _blank(document, pattern)
        case list():
            return [_blank_document(each, pattern) for each in document]
        case dict():
            return {
                pattern.sub(FORGOTTEN, key): _blank_document(each, pattern) for key, each in document.items()
            }
        case _:
            return document
