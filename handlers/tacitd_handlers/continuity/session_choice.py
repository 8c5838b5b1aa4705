"""The sessions of a project, from which the one to resume is chosen. Without heavy imports, for a session's start."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from tacitd.files import git
from tacitd_handlers.continuity.store import SessionFile, SessionStore, UnreadableSession

_Session = TypeVar("_Session", SessionFile, UnreadableSession)


def select_sessions(found: Sequence[_Session], cwd: Path) -> list[_Session]:
    """Return those of the sessions that belong to the project of a directory, in the same order (SPEC P-26)."""
    _root.cache_clear()  # a repository may have been made or moved since the daemon asked last
    root = _root(str(cwd))
    return [one for one in found if one.project and _root(one.project) == root]


def find_unreadable_last(
    store: SessionStore, found: Sequence[SessionFile], unreadable: Sequence[UnreadableSession], cwd: Path
) -> UnreadableSession | None:
    """Return the newest session of the project of a directory if its file cannot be read, otherwise None.

    `found`: the readable sessions of the project, the newest first.
    """
    here = select_sessions(unreadable, cwd)
    last = max(here, key=store.order_of, default=None)
    is_newest = last is not None and (not found or store.order_of(last) > store.order_of(found[0]))
    return last if is_newest else None


@cache
def _root(cwd: str) -> str:
    """The root of the git repository's main work tree; the directory itself if there is none. It may be gone."""
    real = Path(os.path.realpath(cwd))
    # A removed directory still belongs to the repository of its nearest existing parent.
    existing = next((path for path in (real, *real.parents) if path.is_dir()), real)
    found = git.find_repository(existing)
    return str(found.top if found is not None else real)
