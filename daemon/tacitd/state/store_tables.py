"""The tables of the store: the numbered SQL steps of the engine and of the plugins, and the columns that hold words.

Given an open connection, nothing here opens or ends a transaction but `make_tables`. In a step, a column that is added to a
table is marked with `/* text */` where a table's own column has `-- text`: SQLite keeps both in the table's SQL.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tacitd.errors import ConfigError
from tacitd.files.purge import BLANK, list_spellings, spell_text
from tacitd.state.store_files import BUSY, DAMAGE, DISK, code_of
from tacitd.text.lazy_pattern import compile_lazily

if TYPE_CHECKING:
    from tacitd.contract import Tx

ENGINE = "engine"
ENGINE_STEPS = ("tacitd:schema.sql",)
"""The engine's steps, as those of a plugin: `"package:file.sql"`."""
_MARKED = compile_lazily(r"(\w+) TEXT\b(?:(?! TEXT\b)[^\n])*?(?:--|/\*) text\b")


def read_step(step: str) -> str:
    """The SQL of a step `"package:file.sql"`. Raises OSError, ImportError."""
    from importlib.resources import files  # with tempfile and random, for a command that makes no tables

    package, _, file = step.partition(":")
    return (files(package) / file).read_text("utf-8")


def split_statements(script: str) -> Iterator[str]:
    """The statements of a script. `executescript` is not used, because it commits what is open."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if re.sub(r"--[^\n]*|\s", "", statement):
        yield statement


def read_versions(db: sqlite3.Connection) -> dict[str, int]:
    """The version of each owner's tables; empty in a new store."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name='schema_version'").fetchone():
        return {}
    return dict(db.execute("SELECT owner, version FROM schema_version").fetchall())


def require_version(found: int) -> None:
    """Raises ConfigError if the engine's tables are from a newer version of tacitd."""
    if found > len(ENGINE_STEPS):
        raise ConfigError(
            f"the store is from a newer version of tacitd (its tables have version {found}, this one knows"
            f" {len(ENGINE_STEPS)})",
            "install the newer version again",
        )


def make_tables(db: sqlite3.Connection, plugins: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Run the steps that are missing, and return by plugin why its tables cannot be used. Raises ConfigError for the engine's."""
    versions = read_versions(db)
    require_version(versions.get(ENGINE, 0))
    _run_steps(db, ENGINE, ENGINE_STEPS[versions.get(ENGINE, 0) :], len(ENGINE_STEPS))
    off = {}
    for name, steps in plugins.items():
        found = versions.get(name, 0)
        if found > len(steps):
            off[name] = f"its tables are from a newer version of it ({found}, this one knows {len(steps)})"
            continue
        try:
            _run_steps(db, name, steps[found:], len(steps))
        except (ImportError, OSError, ValueError, sqlite3.Error) as error:
            if isinstance(error, sqlite3.Error) and code_of(error) in BUSY | DAMAGE | DISK:
                raise
            off[name] = f"its tables cannot be made: {error}"
    return off


def _run_steps(db: sqlite3.Connection, owner: str, steps: Sequence[str], version: int) -> None:
    for number, step in enumerate(steps, version - len(steps) + 1):
        script = read_step(step)
        db.execute("BEGIN IMMEDIATE")
        try:
            if read_versions(db).get(owner, 0) < number:  # another process may have done it meanwhile
                for statement in split_statements(script):
                    db.execute(statement)
                db.execute("INSERT OR REPLACE INTO schema_version VALUES(?, ?)", (owner, number))
            db.execute("COMMIT")
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")


def list_text_columns(tx: Tx) -> list[tuple[str, str]]:
    """(table, column) of each column that is marked as one that may hold words, of every owner, also of one that is not
    installed any more: SQLite keeps the comments of a table's SQL."""
    tables = tx.rows(
        "SELECT name, sql FROM sqlite_master WHERE type='table' AND sql IS NOT NULL ORDER BY name"
    )
    return [(name, column) for name, sql in tables for column in _MARKED.findall(sql)]


# --- Removing words from the columns that may hold some, for `tacitd forget --purge`.


FORGOTTEN = BLANK
"""What stands in the place of the words."""
_SHORT = 4
"""Characters: a shorter text is removed only where no letter or digit goes on beside it."""
_BEGINNING = 12
"""Characters of a text that are enough to know it at a cut end."""


def make_blanker(texts: Collection[str], keep: Collection[str] = ()) -> Callable[[str | None], str | None]:
    """The function that replaces these texts in a value, as they are and as they are in JSON. `keep`: longer texts that
    stay whole although they contain one."""
    wanted = sorted({text for text in texts if text.strip()}, key=len, reverse=True)
    longer = sorted({one for one in keep if any(text != one and text in one for text in wanted)}, key=len)
    kept = "|".join(map(spell_text, reversed(longer))) or "(?!)"
    pattern = re.compile(f"(?P<kept>{kept})|" + ("|".join(map(_form, wanted)) or "(?!)"))

    beginnings = {one[:_BEGINNING] for text in wanted for one in list_spellings(text)}

    def blank(value: str | None) -> str | None:
        if not isinstance(value, str) or not any(one in value for one in beginnings):
            return value
        blanked = pattern.sub(lambda found: found["kept"] or FORGOTTEN, value)
        return blanked if longer else _blank_cut_end(blanked, wanted)

    return blank


def _form(text: str) -> str:
    form = spell_text(text)
    return form if len(text) >= _SHORT else rf"(?:(?<!\w)|(?<=\\[nrt])){form}(?!\w)"


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
