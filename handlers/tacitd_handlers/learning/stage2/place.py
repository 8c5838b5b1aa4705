"""Decide the file, heading and text of a proposed line, or why it is refused (SPEC S-24).

The answer's `FILE:` is untrusted. Paths are judged as text; `ProjectView` answers what a folder is. This module reads no
disk.
"""

from __future__ import annotations

import re

from msgspec import Struct

from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.learning.headings import heading_for
from tacitd_handlers.learning.stage2.parse import ProposedLine
from tacitd_handlers.learning.stage2.project_view import (
    AGENTS,
    LEARNED,
    RULES,
    VENDORED,
    ProjectView,
    is_internal,
)
from tacitd_handlers.shared.line_cleaning import Unfit, clean_fact

_PATH_LIMIT = 300
_ROOT_NOTE = re.compile(r"\s*\((?:the )?(?:project )?root\)$", re.IGNORECASE)


class PlacedLine(Struct, frozen=True):
    """A line with its file and heading."""

    item: ProposedLine
    path: str
    """Relative to the project: one of ROOT_FILES, or `{folder}/AGENTS.md`."""
    heading: str
    """Text of the heading without `##`."""
    line: str
    """Text of the bullet without `- `."""
    note: str = ""
    """Why the file is LEARNED.md although the answer names another."""


class RefusedItem(Struct, frozen=True):
    """An item that is not stored, and why."""

    item: ProposedLine
    reason: str


def place_item(item: ProposedLine, view: ProjectView) -> PlacedLine | RefusedItem:
    """Return the place of an item, or the reason for refusing it."""
    placed = _choose_file(item, view)
    if isinstance(placed, RefusedItem):
        return placed
    line = clean_fact(item.fact)
    if isinstance(line, Unfit):
        return RefusedItem(item, line.reason)
    section = "" if isinstance(clean_fact(item.section), Unfit) else item.section
    path, note = placed
    path = view.root_file if path == LEARNED else path
    return PlacedLine(item, path, heading_for(section, line), line, note)


def _choose_file(item: ProposedLine, view: ProjectView) -> tuple[str, str] | RefusedItem:
    """Return the path of the file, and why it differs from the answer's ("" if it does not)."""
    parts = _split_path(item.file)
    if isinstance(parts, str):
        return RefusedItem(item, parts)
    if "/".join(parts) == RULES:
        return LEARNED, ""
    *folders, name = parts
    if name.casefold() == LEARNED.casefold():
        return RefusedItem(item, "LEARNED.md is only in the project's root") if folders else (LEARNED, "")
    if name.casefold() != AGENTS.casefold():
        return RefusedItem(item, f"{sanitize_line(name)[:60]!r} is neither LEARNED.md nor AGENTS.md")
    if not folders:
        return LEARNED, "the root AGENTS.md belongs to the user"
    return _place_in_folder(item, folders, view)


def _place_in_folder(
    item: ProposedLine, folders: list[str], view: ProjectView
) -> tuple[str, str] | RefusedItem:
    folder = "/".join(folders)
    if any(is_internal(part) for part in folders):
        return RefusedItem(item, f"{folder} belongs to version control or to Claude Code")
    # `outside` and `internal` are refused even below a vendored folder. Any other folder that cannot have an AGENTS.md
    # is replaced by LEARNED.md, with a note.
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


def _split_path(file: str) -> list[str] | str:
    """Return the path's parts without `.` and empty ones; or, as a string, why the path is refused."""
    path = _ROOT_NOTE.sub("", file.strip())
    if not path or len(path) > _PATH_LIMIT:
        return "the path is empty or too long"
    if path != sanitize_line(path):
        return "the path contains control characters"
    if "\\" in path or "://" in path or re.match(r"[A-Za-z]:", path):
        return "the path is not a plain relative path"
    if path.startswith("/"):
        return "the path is absolute"
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        return "the path leads out of the project"
    if not parts or any(part.startswith("~") or "$" in part for part in parts):
        return "the path would be expanded"
    return parts
