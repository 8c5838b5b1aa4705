"""The contract of the second design: its tables can be made, and each column that holds words is marked."""

from __future__ import annotations

import re
from importlib.resources import files

SCHEMA = (files("tacitd") / "schema.sql").read_text("utf-8")
WORDS = {
    "leaf",
    "heading",
    "text",
    "context",
    "answer",
    "reason",
    "written",
    "put",
    "taken",
    "expected",
    "cause",
}
"""Names of columns that may hold words of a person."""


def test_each_column_with_words_is_marked() -> None:
    """DESIGN "The store": `forget --purge` goes through the columns that are marked `-- text`."""
    columns = re.findall(r"^  (\w+) TEXT\b[^\n]*?(-- text)?(?::[^\n]*)?$", SCHEMA, re.M)
    unmarked = {name for name, mark in columns if name in WORDS and not mark}
    assert unmarked == {"reason"}  # why work waits: the engine's sentences
    assert {name for name, mark in columns if mark} >= WORDS - {"reason"}
