"""Which folders a session worked in (SPEC S-30)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support_learning import git
from tacitd.contract import Batch, Executed
from tacitd.events import NoProject, Project, Record, ToolUse
from tacitd_handlers.learning.folders import FOLDERS_LIMIT, list_folders, observe


class Table:
    """The table of folders in memory."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.execute(
            "CREATE TABLE learning_folder(session TEXT, cwd TEXT, folder TEXT, uses INTEGER, PRIMARY KEY(session, cwd, folder))"
        )

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """As `Tx.rows`."""
        return self._db.execute(sql, values).fetchall()

    def execute(self, sql: str, *values: Any) -> Executed:
        """As `Tx.execute`."""
        return Executed(self._db.execute(sql, values).rowcount, 0)

    def executemany(self, sql: str, rows: Any) -> None:
        """As `Tx.executemany`."""
        self._db.executemany(sql, rows)


@pytest.fixture
def table() -> Iterator[Table]:
    yield Table()


def use(*given: object, cwd: str = "/p", passed: Any = "", project: bool = True) -> Batch:
    """A batch with calls of tools that have these inputs."""
    tools = tuple(
        ToolUse("t", "Edit", one if isinstance(one, bytes) else json.dumps(one).encode()) for one in given
    )
    place = Project(Path("/p"), True) if project else NoProject(cwd, "")
    record = Record(0, 1, "assistant", tools=tools)
    number = 1 if project else None
    return Batch(Path("/t.jsonl"), "claude-code", "s1", place, number, cwd, (record,), 0, 1, passed=passed)


@pytest.mark.parametrize(
    ("given", "folder"),
    [
        ({"file_path": "/p/src/auth/login.py"}, "src/auth"),
        ({"file_path": "src/login.py"}, "src"),
        ({"notebook_path": "/p/notes/a.ipynb"}, "notes"),
        ({"path": "/p/src/auth"}, "src/auth"),
        ({"path": "/p/src/auth/login.py"}, "src/auth"),
        ({"path": "/p/src/.hidden"}, "src/.hidden"),
        ({"file_path": "/p/src/../lib/a.py"}, "lib"),
    ],
)
def test_the_folder_of_a_tool(table: Table, given: dict[str, str], folder: str) -> None:
    """S-30: relative to the project; a path without a suffix is a folder."""
    observe(use(given), table, {})
    assert list_folders(table.rows, ["s1"], Path("/p")) == (folder,)


@pytest.mark.parametrize(
    "given",
    [
        {"file_path": "/p/a.py"},
        {"file_path": "/elsewhere/a.py"},
        {"file_path": "/p/node_modules/x/a.js"},
        {"file_path": "/p/src/Vendor/a.py"},
        {"command": "cat src/a.py"},
        {"file_path": "/p/src/\x07/a.py"},
        [1],
        b"{",
        b"[" * 100_000,
        b'{"file_path": "/p/caf\xe9/a.py"}',
    ],
)
def test_what_names_no_folder(table: Table, given: object) -> None:
    """S-30: the root, folders outside, vendored ones, shell commands, and input that is none."""
    observe(use(given), table, {})
    assert list_folders(table.rows, ["s1"], Path("/p")) == ()


def test_the_most_used_first(table: Table) -> None:
    """S-30: at most 30, over several batches of several sessions."""
    for n in range(FOLDERS_LIMIT + 5):
        observe(use(*[{"file_path": f"/p/f{n:02}/a.py"}] * (n + 1)), table, {})
    observe(use({"file_path": "/p/f00/a.py"}), table, {})
    found = list_folders(table.rows, ["s1", "s1", "none"], Path("/p"))
    assert len(found) == FOLDERS_LIMIT and found[:2] == ("f34", "f33") and "f00" not in found


def test_what_is_passed_over_leaves_nothing(table: Table) -> None:
    """A pause, an excluded directory, no project: no path is stored."""
    observe(use({"file_path": "/p/src/a.py"}, passed="paused"), table, {})
    observe(use({"file_path": "/p/src/a.py"}, project=False), table, {})
    assert table.rows("SELECT * FROM learning_folder") == []


def test_a_linked_worktree_is_the_project(table: Table, tmp_path: Path) -> None:
    """A file in a linked work tree is in the project's folder of that name."""
    root, tree = tmp_path / "app", tmp_path / "tree"
    root.mkdir()
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", "a")
    git(root, "worktree", "add", "-q", str(tree))
    observe(use({"file_path": f"{tree}/src/a.py"}, {"file_path": "lib/b.py"}, cwd=str(tree)), table, {})
    assert list_folders(table.rows, ["s1"], root) == ("lib", "src")
