"""Which session is the one to go on with: the newest of the same project that has something to say. Light."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tacitd import git
from tacitd_handlers.continuity.store import Session


def of_project(found: Sequence[Session], cwd: Path) -> list[Session]:
    """The sessions of the project that a directory belongs to, in the same order (SPEC P-26)."""
    root = _root(str(cwd))
    return [one for one in found if one.project and _root(one.project) == root]


@cache
def _root(cwd: str) -> str:
    """The top of its git work tree (the main one's), else the directory itself; also where it is gone."""
    real = Path(os.path.realpath(cwd))
    standing = next((path for path in (real, *real.parents) if path.is_dir()), real)
    found = git.find(standing)
    return str(found.top if found is not None else real)
