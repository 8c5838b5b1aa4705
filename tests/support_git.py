"""Answers of git without its process, where they are known: a unit test asks some of them hundreds of times.

Known is what git says of a work tree whose git directory it refuses (`support_engine.Scene.project` makes only a HEAD), and of one
that `init` made and to which nothing was added. Everything else is put to git.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tacitd.files import git

MADE = frozenset({"HEAD", "config", "objects", "refs"})
"""What is in a git directory that `init` made. Git adds `index` with the first file."""
NEEDED = frozenset({"HEAD", "objects", "refs"})
"""Without them, git does not take a directory for a git directory (`is_git_directory` in its setup.c)."""
REFUSED = 128
CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"

_PROGRAM = shutil.which("git")
_PATHS = {os.environ.get("PATH"), "/usr/bin:/bin"}
"""Where a test has put no other git."""
ask_git = git._execute  # pyright: ignore[reportPrivateUsage]


def init(root: Path) -> None:
    """Create what `git init --template=` creates, in a hundredth of its time."""
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
        (root / ".git" / name).mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git/config").write_text(CONFIG)


def run_git(directory: Path, *arguments: str) -> str:
    """Run real git, as a person named Dev."""
    who = ["-c", "user.name=Dev", "-c", "user.email=dev@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *who, *arguments], cwd=directory, capture_output=True, text=True, check=True
    )
    return done.stdout


def answer_without_process(arguments: Sequence[str], directory: Path) -> tuple[int, bytes] | None:
    """The result of `git._execute`, without a process if it is known."""
    known = None
    if _PROGRAM is not None and os.environ.get("PATH") in _PATHS:
        known = _find_answer(tuple(arguments), directory / ".git")
    return known if known is not None else ask_git(arguments, directory)


def _find_answer(arguments: tuple[str, ...], own: Path) -> tuple[int, bytes] | None:
    try:
        names = set(os.listdir(own))
    except OSError:
        return None
    if not names >= NEEDED:
        return REFUSED, b""
    if not MADE <= names <= MADE | {"info"} or not _is_empty(own):
        return None
    match arguments:
        case ("ls-files", "-s", "-z", "--", _):
            return 0, b""
        case _:
            return None


def _is_empty(own: Path) -> bool:
    """Whether it contains no object and no ref."""
    return (
        set(os.listdir(own / "objects")) == {"info", "pack"}
        and set(os.listdir(own / "refs")) == {"heads", "tags"}
        and not any(
            os.listdir(own / name) for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags")
        )
    )
