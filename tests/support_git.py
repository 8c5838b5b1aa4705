"""Repositories of git: one that `init` made, and a real git, as a person."""

from __future__ import annotations

import subprocess
from pathlib import Path

CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"


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
