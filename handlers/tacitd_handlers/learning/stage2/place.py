"""Where an item of the plan goes: which file, under which heading, as which line; or why nowhere (SPEC S-24).

The answer's `FILE:` is data from a stranger. Paths are judged here as text; what the project's folders are is
asked of a `ProjectView`, so that this module needs no disk.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.learning.headings import heading_for
from tacitd_handlers.learning.line_cleaning import Unfit, clean_fact
from tacitd_handlers.learning.stage2.parse import ProposedLine

LEARNED = "LEARNED.md"
AGENTS = "AGENTS.md"
_VENDORED = """
    node_modules bower_components jspm_packages vendor third_party third-party site-packages
    dist build __pycache__ .venv venv .tox .nox .eggs .gradle .next .nuxt .cache
    .mypy_cache .pytest_cache .ruff_cache .git .hg .svn .idea .vscode .claude tmp
"""
VENDORED = frozenset(_VENDORED.split())
"""Folder names, in any case, below which nothing is ever written."""

INTERNAL = frozenset({".git", ".hg", ".svn", ".jj", ".claude"})
"""Folders that version control and Claude Code keep for themselves. No fact is about one, so a line for one is refused."""
_SHORT_NAME = re.compile(r"(?:git|claude)~\d+")

FolderKind = Literal["folder", "missing", "ignored", "vendored", "submodule", "internal", "outside"]
_PATH_LIMIT = 300
_ROOT_NOTE = re.compile(r"\s*\((?:the )?(?:project )?root\)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ProjectView:
    """What the disk and git say about a project."""

    kind: Callable[[str], FolderKind]
    """Given a relative folder such as `src/auth`, what it is. `missing` also where it is a file; `outside`
    where it, or a folder above it, is a symlink that leads out of the project; `internal` where it leads into one of
    INTERNAL; `ignored` by git."""


@dataclass(frozen=True, slots=True)
class PlacedLine:
    """A line with its place."""

    item: ProposedLine
    path: str
    """Relative to the project: `LEARNED.md`, or `{folder}/AGENTS.md`."""
    heading: str
    """Without `##`."""
    line: str
    """Without `- `."""
    note: str = ""
    """Why it stands in LEARNED.md though the answer said otherwise."""


@dataclass(frozen=True, slots=True)
class RefusedItem:
    """An item of which nothing is stored, and why."""

    item: ProposedLine
    reason: str


def place_item(item: ProposedLine, view: ProjectView, *, is_typed: bool = False) -> PlacedLine | RefusedItem:
    """Given an item and what the project looks like, return its place or the reason for refusing it.

    `is_typed`: whether a person typed the words of the item's fact.
    """
    placed = _place(item, view)
    if isinstance(placed, RefusedItem):
        return placed
    line = clean_fact(item.fact, is_typed=is_typed)
    if isinstance(line, Unfit):
        return RefusedItem(item, line.reason)
    section = "" if isinstance(clean_fact(item.section), Unfit) else item.section
    path, note = placed
    return PlacedLine(item, path, heading_for(section, line), line, note)


def _place(item: ProposedLine, view: ProjectView) -> tuple[str, str] | RefusedItem:
    """The path of the file, and why it is another than the answer's."""
    parts = _parts(item.file)
    if isinstance(parts, str):
        return RefusedItem(item, parts)
    *folders, name = parts
    if name.casefold() == LEARNED.casefold():
        return RefusedItem(item, "LEARNED.md stands only in the project's root") if folders else (LEARNED, "")
    if name.casefold() != AGENTS.casefold():
        return RefusedItem(item, f"{sanitize_line(name)[:60]!r} is neither LEARNED.md nor AGENTS.md")
    if not folders:
        return LEARNED, "the root AGENTS.md belongs to the person"
    return _in_folder(item, folders, view)


def is_internal(name: str) -> bool:
    """Whether a file system may take a folder's name for one of INTERNAL: case, trailing dots, streams, short names."""
    plain = unicodedata.normalize("NFKC", name).casefold().partition(":")[0].rstrip(". ")
    return plain in INTERNAL or _SHORT_NAME.fullmatch(plain) is not None


def _in_folder(item: ProposedLine, folders: list[str], view: ProjectView) -> tuple[str, str] | RefusedItem:
    folder = "/".join(folders)
    if any(is_internal(part) for part in folders):
        return RefusedItem(item, f"{folder} belongs to version control or to Claude Code")
    vendored = any(part.casefold() in VENDORED for part in folders)
    match view.kind(folder):
        case "outside":
            return RefusedItem(item, f"{folder} leads out of the project")
        case "internal":
            return RefusedItem(item, f"{folder} leads into a directory of version control or of Claude Code")
        case "folder" if not vendored:
            return f"{folder}/{AGENTS}", ""
        case "folder":
            return LEARNED, f"{folder} is vendored"
        case kind:
            return LEARNED, f"{folder} is {kind}"


def _parts(file: str) -> list[str] | str:
    """The path's parts, without `.` and empty ones; or, as one string, why it is refused."""
    path = _ROOT_NOTE.sub("", file.strip())
    if not path or len(path) > _PATH_LIMIT:
        return "the path is empty or too long"
    if path != sanitize_line(path):
        return "the path holds control characters"
    if "\\" in path or "://" in path or re.match(r"[A-Za-z]:", path):
        return "the path is not a plain relative one"
    if path.startswith("/"):
        return "the path is absolute"
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        return "the path leads out of the project"
    if not parts or any(part.startswith("~") or "$" in part for part in parts):
        return "the path would be expanded"
    return parts
