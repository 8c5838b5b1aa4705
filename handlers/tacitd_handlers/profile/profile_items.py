"""The profile's values for `tacitd forget`, and its changes for `tacitd history`: the hooks `items`, `explain` and `changes`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tacitd.clock import parse_utc, utc_seconds
from tacitd.handler import StoredItem
from tacitd.text.hashes import sha256
from tacitd_handlers.profile import changelog, dot_paths
from tacitd_handlers.profile.fields import LABELS
from tacitd_handlers.profile.profile_reader import PROFILE, ProfileReader
from tacitd_handlers.profile.render import format_value

KIND = "profile value"


def list_items(environ: Mapping[str, str], root: Path | None) -> Iterator[StoredItem]:
    """An item for each value; its id is the dot path. They belong to the person, in every project. Raises OSError."""
    from tacitd_handlers.profile.agent_values import list_waiting

    store = ProfileReader.from_environ(environ)
    yield from list_waiting(store)
    profile = store.read_profile()
    owned = store.judge_documents(profile, store.read_metadata())
    for path, value in dot_paths.list_leaves(profile).items():
        text = f"{LABELS.get(path, path)}: {format_value(value)}"
        yield StoredItem(path, KIND, text, PROFILE, by_person=path in owned.paths)


def find_reasons(asked: str, cwd: Path) -> list[dict[str, Any]]:
    """The values that match a path or a part of a value, with who set them: the hook `explain`."""
    from tacitd_handlers.profile.agent_values import explain_values

    return list(explain_values(ProfileReader.from_environ(os.environ), asked))


def list_changes(environ: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The entries of the changelog in the form of `tacitd.files.change_view.describe_transaction`, oldest first."""
    store = ProfileReader.from_environ(environ)
    for entry in changelog.read_entries(store.log.path):
        at = parse_utc(entry.get("timestamp"))
        if at is None:
            continue
        changes, gone = entry.get("changes"), entry.get("removed")
        leaves = dot_paths.list_leaves(changes) if isinstance(changes, dict) else {}
        lines = [_line(added=f"{path}: {format_value(value)}") for path, value in leaves.items()]
        lines += [_line(removed=str(path)) for path in gone] if isinstance(gone, list) else []
        digest = sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()[:6]
        stamp = utc_seconds(at)
        yield {
            "id": f"{stamp[:19].replace('-', '').replace(':', '')}-{digest}",
            "at": stamp,
            "root": "",
            "state": "done",
            "by": "profile",
            "what": str(entry.get("action", "")),
            "undoes": "",
            "undone_by": "",
            "sessions": [],
            "prompts": [],
            "facts": [],
            "lines": lines,
            "files": [],
            "undo": "`tacitd profile set` or `tacitd profile remove` changes it back",
        }


def _line(added: str = "", removed: str = "") -> dict[str, str]:
    return {"file": PROFILE, "heading": "", "added": added, "removed": removed}
