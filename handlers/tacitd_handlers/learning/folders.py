"""The folders that a session's tools read and wrote (SPEC S-30), and the names of learning's files in them.

Paths are compared as text; `sources` reads the disk. Shell commands are not parsed for paths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING, Any

import msgspec

from tacitd_handlers.reach.client_rules import LEARNED, TEAM_RULE

if TYPE_CHECKING:
    from tacitd.contract import Batch, Rows, Tx
    from tacitd.events import ToolUse

ROOT_FILES = (LEARNED, TEAM_RULE)
"""The files whose lines apply in the whole project."""
TITLE = "Learned Preferences"
GENERAL = "General"
GROUPS = ("Coding", "Testing", "Communication", "Architecture", GENERAL)
"""The headings of lines, in the order in which a file gets them (seed 003)."""
_VENDORED = """
    node_modules bower_components jspm_packages vendor third_party third-party site-packages
    dist build __pycache__ .venv venv .tox .nox .eggs .gradle .next .nuxt .cache
    .mypy_cache .pytest_cache .ruff_cache .git .hg .svn .idea .vscode .claude tmp
"""
VENDORED = frozenset(_VENDORED.split())
"""Names of folders below which nothing is written, compared without case."""
INTERNAL = frozenset({".git", ".hg", ".svn", ".jj", ".claude"})
FOLDERS_LIMIT = 30


class _Named(msgspec.Struct):
    """What a tool's input may name: files, or in `path` a folder or a file."""

    file_path: Any = None
    notebook_path: Any = None
    path: Any = None


_READ_INPUT = msgspec.json.Decoder(_Named)


def observe(batch: Batch, tx: Tx, settings: Mapping[str, Any]) -> None:
    """Count the folders of the files that the records' tools read or wrote. They are stored as absolute paths."""
    if batch.passed or batch.project_number is None:
        return
    counts = Counter[tuple[str, str]]()
    cwd = batch.cwd
    for record in batch.records:
        cwd = record.cwd or cwd
        for use in record.tools:
            for path in _list_named_folders(use):
                place = normpath(path if path.startswith("/") else f"{cwd}/{path}")
                counts[cwd, place] += place.startswith("/")
    tx.executemany(
        "INSERT INTO learning_folder(session, cwd, folder, uses) VALUES(?, ?, ?, ?) "
        "ON CONFLICT(session, cwd, folder) DO UPDATE SET uses = uses + excluded.uses",
        [(batch.session, cwd, folder, uses) for (cwd, folder), uses in counts.items() if uses],
    )


def list_folders(rows: Rows, sessions: Collection[str], root: Path) -> tuple[str, ...]:
    """The folders that sessions worked in, relative to the project's root, the most used first, at most 30.

    Of a linked worktree, the folders are those of the project. Paths outside, the root itself and vendored folders are left out.
    """
    counts = Counter[str]()
    for session in dict.fromkeys(sessions):
        for cwd, folder, uses in rows(
            "SELECT cwd, folder, uses FROM learning_folder WHERE session = ?", session
        ):
            # Relative to the innermost root that contains it.
            roots = sorted([str(root), *_find_worktree(cwd, root)], key=len, reverse=True)
            above = next((one for one in roots if folder.startswith(one.rstrip("/") + "/")), "")
            name = folder[len(above.rstrip("/")) + 1 :] if above else ""
            if name and not any(part.casefold() in VENDORED for part in name.split("/")):
                counts[name] += uses
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(name for name, _ in ranked[:FOLDERS_LIMIT])


def is_internal(name: str) -> bool:
    """Whether this folder name is one of INTERNAL, where a file system may ignore case."""
    return name.casefold() in INTERNAL


def _list_named_folders(use: ToolUse) -> Iterator[str]:
    """The folders that the tool's input names. A `path` whose last part has a suffix counts as a file."""
    if b'path"' not in use.input:  # most calls are commands
        return
    try:
        given = _READ_INPUT.decode(use.input)
    except (ValueError, RecursionError):  # also UnicodeDecodeError
        return
    found = [
        f"{value}/.." for value in (given.file_path, given.notebook_path) if isinstance(value, str) and value
    ]
    either = given.path
    if isinstance(either, str) and either:
        found.append(f"{either}/.." if "." in either.rstrip("/").rsplit("/", 1)[-1].lstrip(".") else either)
    yield from (path for path in found if path.isprintable())


def _find_worktree(cwd: str, root: Path) -> list[str]:
    """The linked worktree of the project that a directory is in; none if it is in the project itself."""
    from tacitd.files import git  # a command that lists names needs no git

    is_outside = cwd.startswith("/") and not Path(cwd).is_relative_to(root)
    here = git.find_repository(Path(cwd)) if is_outside else None
    return [str(here.here)] if here is not None and here.top == root else []
