"""A command's output as the bounded answer of a tool. Pure.

JSON is written without spaces, and of a list that is too long the first elements are kept whole, so that it stays valid.
"""

from __future__ import annotations

import json
from typing import Any

from tacitd.mcp.agent_tools import LARGEST_RESULT


def bound_output(text: str, limit: int = LARGEST_RESULT) -> str:
    """Return the text with at most `limit` characters (200 at least); what is left out is named."""
    text = text.encode("utf-8", "replace").decode("utf-8").strip()
    if text.startswith(("[", "{")):
        try:
            return _bound_document(json.loads(text), limit)
        except (ValueError, RecursionError):
            pass
    return _bound_text(text, limit)


def _bound_document(document: Any, limit: int) -> str:
    whole = _write(document)
    if len(whole) <= limit:
        return whole
    name = _find_longest_list(document)
    rows: list[Any] = document[name] if name is not None else document if isinstance(document, list) else []
    for count in _count_down(len(rows)):
        kept: Any = {**dict(document), name: rows[:count]} if name is not None else rows[:count]
        note = f"\n{len(rows) - count} of {len(rows)} are left out; ask for less"
        said = _write(kept) + note
        if len(said) <= limit:
            return said
    return _bound_text(whole, limit)


def _find_longest_list(document: Any) -> str | None:
    """The key of the list that takes the most room; None if the document is a list or has none."""
    lists = (
        {key: value for key, value in document.items() if isinstance(value, list)}
        if isinstance(document, dict)
        else {}
    )
    return max(lists, key=lambda key: len(_write(lists[key]))) if lists else None


def _count_down(count: int) -> list[int]:
    """Ever smaller counts below `count`, by a tenth each, down to 1."""
    found = []
    while count > 1:
        count = min(count - 1, count * 9 // 10)
        found.append(count)
    return found


def _bound_text(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    note = f"\n[… {len(text):,} characters; ask for less]"
    return text[: limit - len(note)] + note


def _write(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
