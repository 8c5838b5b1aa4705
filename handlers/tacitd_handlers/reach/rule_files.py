"""Rule and instruction files as a survey sees them. They may be anything: nothing here raises or blocks."""

from __future__ import annotations

import os
from pathlib import Path

from tacitd.errors import FileRefusedError
from tacitd.files.git import find_repository
from tacitd_handlers.shared.rule_names import PROJECT_RULE

USER_RULES = Path("rules/tacitd.md")
"""The file of what is known of the person, relative to Claude Code's directory."""
MOST = 500
"""Rules of one directory that are looked at."""


def locate_directory(directory: Path) -> tuple[Path, Path, Path]:
    """The real path of a directory, the top of the tree that it is in, and that of the main work tree.

    Without git the tree is the nearest directory with a project's rules, otherwise the directory itself, which need not
    exist.
    """
    here = Path(os.path.realpath(directory))
    found = find_repository(next(one for one in (here, *here.parents) if one.is_dir()))
    if found is not None:
        return here, found.here, found.top
    tree = next((one for one in (here, *here.parents) if (one / PROJECT_RULE).is_file()), here)
    return here, tree, tree


def find_link(path: Path, root: Path) -> Path | None:
    """The first link on the way from the work tree to a file, such as `.claude`; None if there is none."""
    names = path.relative_to(root).parts
    places = (root.joinpath(*names[:n]) for n in range(1, len(names) + 1))
    return next((place for place in places if place.is_symlink()), None)


def find_defect(path: Path) -> str:
    """Why a path that exists has no lines for the client."""
    if not path.is_file():
        return "is a link to nothing" if not path.exists() else "is not an ordinary file"
    return "has no line" if os.access(path, os.R_OK) else "cannot be read"


def list_rules(directory: Path) -> list[Path]:
    """The rules below a directory, by name."""
    found = sorted(directory.rglob("*.md")) if directory.is_dir() else []
    return found[:MOST]


def split_matter(text: str) -> tuple[str, str]:
    """The front matter, and the rest of a text."""
    head, mark, rest = text.partition("\n---\n") if text.startswith("---\n") else ("", "", "")
    return (head, rest) if mark and head else ("", text)


def count_items(text: str) -> int:
    """The number of list items of a text, without those in comments, code and front matter."""
    from tacitd.text.markdown import lines_of  # a session's start counts none

    try:
        return len(lines_of(text.encode("utf-8", "replace")))
    except FileRefusedError:
        return 0
