"""The sessions of a project, from which the one to resume is chosen. Without heavy imports, for a session's start."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tacitd.files import git
from tacitd_handlers.continuity.store import SessionFile


def select_sessions(found: Sequence[SessionFile], cwd: Path) -> list[SessionFile]:
    """Return those of the sessions that belong to the project of a directory, in the same order (SPEC P-26)."""
    root = _root(str(cwd))
    return [one for one in found if one.project and _root(one.project) == root]


@cache
def _root(cwd: str) -> str:
    """The root of the git repository's main work tree; the directory itself if there is none. It may be gone."""
    real = Path(os.path.realpath(cwd))
    # A removed directory still belongs to the repository of its nearest existing parent.
    standing = next((path for path in (real, *real.parents) if path.is_dir()), real)
    found = git.find_repository(standing)
    return str(found.top if found is not None else real)
