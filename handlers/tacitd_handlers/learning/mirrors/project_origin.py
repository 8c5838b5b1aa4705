"""What tells a project from another one that is at the same path later: its repository.

The name of an origin is `remote:` and a hash of the URL of its remote (the URL may contain a password), or `commit:` and
its first commit if it has no remote. `none:` is a repository without either, `path:` a project without git.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from tacitd.events import Project
from tacitd.files import git
from tacitd.files.git_remotes import list_urls
from tacitd_handlers.learning.safe_read import read_plain_bytes

_LARGEST = 1 << 20


def name_origin(project: Project) -> str:
    """Return the name of a project's origin, for later comparison with `has_origin`. Raises OSError and FileRefusedError."""
    if not project.git:
        return "path:"
    if url := _read_remote(project.root):
        return f"remote:{_hash(url)}"
    said = git.read_git(["rev-list", "--max-parents=0", "HEAD"], project.root)
    # In a very long history the search takes too long. Then the newest commit is as good: it will stay known.
    first = (
        said.split()[-1].decode("ascii", "replace") if said and said.split() else git.read_head(project.root)
    )
    return f"commit:{first}" if first else "none:"


def has_origin(project: Project, name: str) -> bool:
    """Whether a project still has the origin of this name. It asks `git` only for a `commit:`. Raises OSError and
    FileRefusedError."""
    kind, _, value = name.partition(":")
    match kind:
        case "path":
            return not project.git
        case "remote":
            return project.git and _hash(_read_remote(project.root)) == value
        case "commit" if re.fullmatch(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", value):
            return project.git and git.run_git(["cat-file", "-e", value], project.root) == 0
        case "none":
            return project.git and not _read_remote(project.root) and not git.read_head(project.root)
        case _:
            return False


def _read_remote(root: Path) -> str:
    """The URL of the remote `origin`, or of the first other one; "" without a remote."""
    home = git.git_dir(root)
    data = read_plain_bytes(home / "config", _LARGEST) if home is not None else None
    urls = list_urls((data or b"").decode("utf-8", "surrogateescape"))
    return urls.get("origin") or next(iter(urls.values()), "")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
