"""The projects that the daemon's last status snapshot names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tacitd.state.paths import SNAPSHOT


def list_known_projects(state_dir: Path) -> list[str]:
    """The roots named in the last status snapshot: those of the plugins and those with parked work, sorted."""
    snapshot = _snapshot(state_dir)
    slices, parked = snapshot.get("slices"), snapshot.get("parked")
    found = (
        [one.get("projects") for one in slices.values() if isinstance(one, dict)]
        if isinstance(slices, dict)
        else []
    )
    names = {str(name) for one in found if isinstance(one, dict) for name in one}
    rows = parked if isinstance(parked, list) else []
    names |= {str(row.get("project", "")) for row in rows if isinstance(row, dict)}
    return sorted(name for name in names if name.startswith("/"))


def _snapshot(state_dir: Path) -> dict[str, Any]:
    try:
        found = json.loads((state_dir / SNAPSHOT).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
