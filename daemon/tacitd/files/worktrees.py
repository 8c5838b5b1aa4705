"""The linked work trees of a repository, read from its git directory without a process.

A repository lists them in `.git/worktrees/<id>/gitdir` (gitrepository-layout(5)). An unpacked archive may list any
directory there, so an entry counts only if that directory's `.git` file names the entry too.
"""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path

from tacitd.files.git import find_repository, git_dir, read_small_file

LIMIT = 200
"""Maximum number of entries that are read."""
_PATH_LIMIT = 8192


def worktree_list(root: Path) -> Path:
    """The directory that changes when a linked work tree of this project is added or removed."""
    return (git_dir(root) or root / ".git") / "worktrees"


def list_linked_worktrees(root: Path) -> list[Path]:
    """Given a project's root, return those of its linked work trees that exist, sorted.

    [] for a linked work tree, and without git. A work tree that cannot be read is left out.
    """
    directory = worktree_list(root)
    if (root / ".git").is_symlink() or directory.is_symlink():
        return []
    try:
        entries = sorted(islice(directory.iterdir(), LIMIT))
    except OSError:
        return []
    tops = (_top_of(entry) for entry in entries)
    return sorted({top for top in tops if top is not None and _is_linked_to(top, root)})


def list_work_trees(root: Path) -> list[Path]:
    """The linked work trees of a project, behind its root; without it if its repository is bare, which has no files of its own there."""
    directory = git_dir(root) or root
    settings = read_small_file((root if (root / "HEAD").is_file() else directory) / "config")
    is_bare = re.search(r"^\s*bare\s*=\s*true\s*$", settings, re.I | re.M) is not None
    return [*([] if is_bare else [root]), *list_linked_worktrees(root)]


def _top_of(entry: Path) -> Path | None:
    """The top level that an entry names; None if it cannot be read."""
    named = read_small_file(entry / "gitdir", _PATH_LIMIT).strip()
    try:
        # It may be relative (worktree.useRelativePaths).
        return Path(os.path.realpath(entry / named)).parent if named else None
    except (OSError, ValueError):
        return None


def _is_linked_to(top: Path, root: Path) -> bool:
    if top == root or not top.is_dir():
        return False
    found = find_repository(top)
    return found is not None and found.here == top and found.top == Path(os.path.realpath(root))
