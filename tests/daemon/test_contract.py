"""The contract of the second design: its tables can be made, and each column that holds words is marked."""

from __future__ import annotations

import re
import sqlite3
from importlib.resources import files

import msgspec

from tacitd.plugin import PluginSpec

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


def test_the_tables_can_be_made_with_foreign_keys() -> None:
    """DESIGN "The store": the engine's tables are one script, and each reference leads to a table."""
    with sqlite3.connect(":memory:") as db:
        db.execute("PRAGMA foreign_keys=ON")
        db.executescript(SCHEMA)
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        targets = {row[2] for table in tables for row in db.execute(f"PRAGMA foreign_key_list({table})")}
        assert targets and targets <= set(tables)
        assert db.execute("SELECT owner, version FROM schema_version").fetchall() == [("engine", 1)]
    db.close()


def test_each_column_with_words_is_marked() -> None:
    """DESIGN "The store": `forget --purge` goes through the columns that are marked `-- text`."""
    columns = re.findall(r"^  (\w+) TEXT\b[^\n]*?(-- text)?(?::[^\n]*)?$", SCHEMA, re.M)
    unmarked = {name for name, mark in columns if name in WORDS and not mark}
    assert unmarked == {"reason"}  # why work waits: the engine's sentences
    assert {name for name, mark in columns if mark} >= WORDS - {"reason"}


def test_a_plugin_has_about_eighteen_optional_fields() -> None:
    """DESIGN "Plugins": one declaration of about 18 optional fields."""
    fields = msgspec.structs.fields(PluginSpec)
    assert [field.name for field in fields if field.required] == ["name"]
    assert len(fields) - 1 <= 20
