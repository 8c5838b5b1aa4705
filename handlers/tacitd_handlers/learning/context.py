"""What learning says at the start of a session: LEARNED.md and the AGENTS.md files on the way (SPEC S-37). Light."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tacitd.errors import FileRefusedError
from tacitd.files.git import find_repository
from tacitd_handlers.learning.safe_read import leads_out, read_plain_bytes

LIMIT = 200_000
CUT = "\n[… cut: the rest stands in the file]\n"


def build_section(cwd: Path, budget: int) -> str:
    """Given a working directory, return its text, at most `budget` characters; "" where nothing was learned."""
    said: list[str] = []
    left = budget
    for path, text in read_context_files(cwd):
        part = f"=== {path} ===\n{text.rstrip()}\n"
        if len(part) > left:
            room = left - len(CUT)
            if room > 200:
                said.append(part[:room].rsplit("\n", 1)[0] + CUT)
            break
        said.append(part)
        left -= len(part) + 1
    return "\n".join(said)


def read_context_files(cwd: Path) -> Iterator[tuple[Path, str]]:
    """LEARNED.md of the project, then AGENTS.md from the root down to the directory.

    In a linked work tree LEARNED.md is the main one's; of an AGENTS.md the work tree's own counts, where it has one.
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
    """The git top level (the main worktree's), else the directory itself. Also where it does not exist."""
    here = _existing_directory(cwd)
    found = find_repository(Path(os.path.realpath(here)))
    return found.top if found is not None else Path(os.path.realpath(cwd))


def _worktree_of(cwd: Path) -> Path | None:
    """The top level of the work tree itself, a linked one's too."""
    found = find_repository(_existing_directory(cwd))
    return found.here if found is not None else None


def _existing_directory(cwd: Path) -> Path:
    """The nearest directory on the way up that is there."""
    return next((p for p in (cwd, *cwd.parents) if p.is_dir()), cwd)


def _text(path: Path, *roots: Path) -> Iterator[tuple[Path, str]]:
    """The file's path and text, where it is in one of these directories behind every link."""
    if all(leads_out(path, root) for root in roots):
        return
    try:
        text = (read_plain_bytes(path, LIMIT) or b"").decode("utf-8", "replace").removeprefix("\ufeff")
    except (OSError, FileRefusedError):
        return
    if text.strip():
        yield path, text
