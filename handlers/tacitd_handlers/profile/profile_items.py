"""The profile's values for `tacitd forget`, and its changes for `tacitd history`: the hooks `items`, `decide` and `changes`.

A value that is removed has no tombstone: a preference that the person states again is a preference again (SPEC P-10).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from tacitd.clock import parse_utc, utc_seconds
from tacitd.errors import UsageError
from tacitd.handler import Decided, Decision, Handler, StoredItem, Tools
from tacitd_handlers.profile import changelog, dot_paths
from tacitd_handlers.profile.fields import LABELS
from tacitd_handlers.profile.render import format_value
from tacitd_handlers.profile.store import PROFILE, ProfileStore

KIND = "profile value"


def list_items(environ: Mapping[str, str], root: Path | None) -> Iterator[StoredItem]:
    """An item for each value; its id is the dot path. They belong to the person, in every project. Raises OSError."""
    store = ProfileStore.from_environ(environ)
    profile, owned = store.read_profile(), store.find_ownership()
    for path, value in dot_paths.list_leaves(profile).items():
        text = f"{LABELS.get(path, path)}: {format_value(value)}"
        yield StoredItem(path, KIND, text, PROFILE, by_person=path in owned.paths)


def decide_value(handler: Handler, tools: Tools, decision: Decision) -> Decided:
    """Remove a value. Raises UsageError for another choice or an unknown path, OSError, FileRefusedError."""
    if decision.choice != "drop":
        raise UsageError(
            f"{decision.choice} does not apply to a profile value", "`tacitd profile set` sets values"
        )
    store = ProfileStore.from_environ(os.environ, tools.clock)
    store.by_person = True
    value = dot_paths.get_value(store.read_profile(), decision.id)
    with closing(store.log):
        plan = store.remove_value(decision.id)
    if plan.entry is None:
        raise UsageError(f"the profile has no {decision.id}", "`tacitd profile show` lists the values")
    return Decided(
        f"{decision.id} is removed from {PROFILE}; said again, it is learned again. Without --purge, changelog.jsonl keeps "
        "it for 90 days",
        tuple(_list_texts(value)),
    )


def _list_texts(value: Any) -> Iterator[str]:
    """The texts of a value."""
    return (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str))


def list_changes(environ: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The entries of the changelog in the form of `tacitd.files.change_view.describe_transaction`, oldest first."""
    store = ProfileStore.from_environ(environ)
    for entry in changelog.read_entries(store.log.path):
        at = parse_utc(entry.get("timestamp"))
        if at is None:
            continue
        changes, gone = entry.get("changes"), entry.get("removed")
        leaves = dot_paths.list_leaves(changes) if isinstance(changes, dict) else {}
        lines = [_line(added=f"{path}: {format_value(value)}") for path, value in leaves.items()]
        lines += [_line(removed=str(path)) for path in gone] if isinstance(gone, list) else []
        digest = hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()[:6]
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
