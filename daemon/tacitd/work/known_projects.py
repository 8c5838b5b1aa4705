"""The projects that the daemon knows."""

from __future__ import annotations

from pathlib import Path

from tacitd.errors import TacitdError
from tacitd.store import open_readonly


def list_known_projects(state_dir: Path) -> list[str]:
    """The roots of all projects in the store, sorted; [] if it cannot be read."""
    try:
        store = open_readonly(state_dir)
        if store is None:
            return []
        with store:
            return [root for (root,) in store.rows("SELECT root FROM project ORDER BY root")]
    except TacitdError:
        return []
