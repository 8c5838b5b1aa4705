"""What the pure rules know of a project: the names of its files, and what a folder of it is.

The disk and git are read by `project_files`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from tacitd.text.lazy_pattern import compile_lazily

LEARNED = "LEARNED.md"
AGENTS = "AGENTS.md"
RULES = ".claude/rules/tacitd/AGENTS.md"
"""The rule file that has the lines of a project whose LEARNED.md git tracks. The client loads it at start."""
ROOT_FILES = (LEARNED, RULES)
"""The files whose lines apply in the whole project."""
_VENDORED = """
    node_modules bower_components jspm_packages vendor third_party third-party site-packages
    dist build __pycache__ .venv venv .tox .nox .eggs .gradle .next .nuxt .cache
    .mypy_cache .pytest_cache .ruff_cache .git .hg .svn .idea .vscode .claude tmp
"""
VENDORED = frozenset(_VENDORED.split())
"""Names of folders below which nothing is written, compared without case."""

INTERNAL = frozenset({".git", ".hg", ".svn", ".jj", ".claude"})
"""Folders that belong to version control or to Claude Code. A line for one is refused, not moved to LEARNED.md."""
_SHORT_NAME = compile_lazily(r"(?:git|claude)~\d+")

FolderKind = Literal[
    "folder", "missing", "ignored", "vendored", "submodule", "internal", "outside", "tracked"
]


class ProjectView(Struct, frozen=True):
    """Access to what the disk and git report about a project."""

    kind: Callable[[str], FolderKind]
    """Given a relative folder such as `src/auth`, return what it is. `missing`: it does not exist or is a file.
    `outside`: it, or a folder above it, is a symlink that leads out of the project. `internal`: it leads into one of
    INTERNAL. `ignored`: git ignores it. `tracked`: git tracks its AGENTS.md, and the project is not shared."""
    root_file: str = LEARNED
    """The file for lines of the whole project, one of ROOT_FILES."""


def is_internal(name: str) -> bool:
    """Whether a file system may treat this folder name as one of INTERNAL.

    Some file systems ignore case, trailing dots and spaces, and `:stream` suffixes, and have short names such as `GIT~1`.
    """
    plain = unicodedata.normalize("NFKC", name).casefold().partition(":")[0].rstrip(". ")
    return plain in INTERNAL or _SHORT_NAME.fullmatch(plain) is not None
