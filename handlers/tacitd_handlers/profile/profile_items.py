"""The profile's values for `tacitd learned`, `forget`, `accept`, `review` and `why`: commands that read need none of the modules that
plan a change.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacitd.clock import utc_seconds
from tacitd.handler import StoredItem
from tacitd_handlers.profile import profile_files
from tacitd_handlers.profile.profile_files import PROFILE
from tacitd_handlers.profile.profile_texts import format_values
from tacitd_handlers.shared.places import memory_dir

if TYPE_CHECKING:
    from tacitd.contract import Done, Rows, Tools
    from tacitd.handler import Decision

KIND = "profile value"


def list_items(rows: Rows, environ: Mapping[str, str], root: Path | None) -> Iterator[StoredItem]:
    """What waits, and an item for each value; its id is the dot path. They belong to the person, in every project. Raises OSError,
    NotUnderstoodError."""
    for id, path, value, reason in rows("SELECT id, path, value, reason FROM profile_waiting ORDER BY at"):
        why = f"an agent wants to set it, and it waits for you: {reason}"
        yield StoredItem(id, KIND, _describe(path, json.loads(value)), PROFILE, None, "proposed", review=why)
    if not (memory_dir(environ) / PROFILE).exists():
        return

    state = profile_files.read_state(rows, environ)
    for path, each in profile_files.list_values(state.values).items():
        yield StoredItem(path, KIND, _describe(path, each), PROFILE, by_person=state.is_own(path))


def _describe(path: str, value: Any) -> str:
    return format_values({path: value}).get(path, path)


def decide(decision: Decision, tools: Tools) -> Done:
    """Remove a value, or decide about one that waits: see `handler.decide_about_value`."""
    from tacitd_handlers.profile.handler import decide_about_value

    return decide_about_value(decision, tools)


def explain(rows: Rows, asked: str, root: Path | None) -> Iterator[dict[str, Any]]:
    """The values that match a path or a part of a value, with who set them last: the hook `why`."""
    if not (memory_dir(os.environ) / PROFILE).exists():
        return

    state, wanted = profile_files.read_state(rows), asked.strip().casefold()
    for path, value in profile_files.list_values(state.values).items():
        text = _describe(path, value)
        if len(wanted) < 3 or (wanted != path.casefold() and wanted not in text.casefold()):
            continue
        leaves = state.find_leaves(path)
        found = rows(
            "SELECT c.at, c.by, c.session FROM change_line l JOIN change c ON c.number = l.change "
            f"WHERE l.path = ? AND l.put IS NOT NULL AND l.leaf IN ({', '.join('?' * len(leaves))}) ORDER BY c.number DESC LIMIT 1",
            str(state.directory / PROFILE),
            *leaves,
        )
        at, by, session = found[0] if found else (None, "", "")
        who = "an agent set it: you did not type it" if by == "agent" else "learned"
        yield {
            "id": path,
            "what": text,
            "where": f"{PROFILE}, {'yours' if state.is_own(path) else who}",
            "at": utc_seconds(at) if at is not None else "",
            "sessions": [session] if session else [],
            "words": [],
        }
