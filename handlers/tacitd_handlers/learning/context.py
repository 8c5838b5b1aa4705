"""Learning's part of `tacitd context`: LEARNED.md, and the AGENTS.md files from the root to the directory (SPEC S-37).

It runs at each session's start, so this module imports little.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tacitd.errors import FileRefusedError
from tacitd.files.git import find_repository
from tacitd_handlers.learning.safe_read import leads_out, read_plain_bytes

LIMIT = 200_000
"""Bytes that are read of a file."""
CUT = "\n[… cut: the rest is in the file]\n"


def build_section(cwd: Path, budget: int) -> str:
    """Return the text for a working directory, at most `budget` characters; "" if there is none."""
    parts: list[str] = []
    left = budget
    for path, text in read_context_files(cwd):
        part = f"=== {path} ===\n{text.rstrip()}\n"
        if len(part) > left:
            room = left - len(CUT)
            if room > 200:
                parts.append(part[:room].rsplit("\n", 1)[0] + CUT)
            break
        parts.append(part)
        left -= len(part) + 1
    return "\n".join(parts)


def read_context_files(cwd: Path) -> Iterator[tuple[Path, str]]:
    """Yield path and text of the project's LEARNED.md, then of each AGENTS.md from the root down to the directory.

    In a linked worktree LEARNED.md is the main worktree's. An AGENTS.md is the linked worktree's own if it has one,
    otherwise the main worktree's.
    """
    here = Path(os.path.realpath(cwd))
    root = root_of(here)
    yield from _text(root / "LEARNED.md", root)
    tree = _worktree_of(here) or root
    folders = here.relative_to(tree).parts if here.is_relative_to(tree) else ()
    for depth in range(len(folders) + 1):
        below = Path(*folders[:depth])
        own = list(_text(tree / below / "AGENTS.md", tree, root))
        yield from own or (_text(root / below / "AGENTS.md", root) if tree != root else ())


def root_of(cwd: Path) -> Path:
    """The git top level (the main worktree's), otherwise the directory itself. The directory need not exist."""
    here = _existing_directory(cwd)
    found = find_repository(Path(os.path.realpath(here)))
    return found.top if found is not None else Path(os.path.realpath(cwd))


def _worktree_of(cwd: Path) -> Path | None:
    """The top level of the worktree that contains the directory, main or linked; None outside git."""
    found = find_repository(_existing_directory(cwd))
    return found.here if found is not None else None


def _existing_directory(cwd: Path) -> Path:
    """The directory, or its nearest parent that exists."""
    return next((p for p in (cwd, *cwd.parents) if p.is_dir()), cwd)


def _text(path: Path, *roots: Path) -> Iterator[tuple[Path, str]]:
    """Yield the file's path and text if its real path is in one of `roots`, and it is readable and not empty."""
    if all(leads_out(path, root) for root in roots):
        return
    try:
        text = (read_plain_bytes(path, LIMIT) or b"").decode("utf-8", "replace").removeprefix("\ufeff")
    except (OSError, FileRefusedError):
        return
    if text.strip():
        yield path, text
