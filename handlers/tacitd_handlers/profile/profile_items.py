"""The profile's values for `tacitd forget`, and its changes for `tacitd history`: the hooks `items`, `explain` and `changes`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from tacitd.clock import parse_utc, utc_seconds
from tacitd.files.log import BLANK
from tacitd.handler import StoredItem
from tacitd.text.hashes import sha256
from tacitd_handlers.profile import changelog, dot_paths
from tacitd_handlers.profile.fields import LABELS
from tacitd_handlers.profile.ownership import AGENT
from tacitd_handlers.profile.profile_reader import PROFILE, ProfileReader
from tacitd_handlers.profile.render import format_value

KIND = "profile value"


def list_items(environ: Mapping[str, str], root: Path | None) -> Iterator[StoredItem]:
    """An item for each value; its id is the dot path. They belong to the person, in every project. Raises OSError."""
    store = ProfileReader.from_environ(environ)
    yield from list_waiting(store)
    profile = store.read_profile()
    owned = store.judge_documents(profile, store.read_metadata())
    for path, value in dot_paths.list_leaves(profile).items():
        text = f"{LABELS.get(path, path)}: {format_value(value)}"
        yield StoredItem(path, KIND, text, PROFILE, by_person=path in owned.paths)


def read_waiting(store: ProfileReader) -> dict[str, dict[str, Any]]:
    """The records of the values that wait, by id. Raises OSError."""
    found: dict[str, dict[str, Any]] = {}
    with closing(store.waiting_log) as log:
        for record in log.read():
            id, value = str(record.get("id", "")), record.get("value", "")
            found.pop(id, None)
            if "path" in record and BLANK not in ([value] if isinstance(value, str) else value):
                found[id] = dict(record)
    return found


def list_waiting(store: ProfileReader) -> Iterator[StoredItem]:
    """An item for each value that waits. Raises OSError."""
    for id, one in read_waiting(store).items():
        text = f"{LABELS.get(one['path'], one['path'])}: {format_value(one['value'])}"
        why = f"an agent wants to set it, and it waits for you: {one.get('reason', '')}"
        yield StoredItem(id, "profile value", text, PROFILE, None, "proposed", review=why)


def find_reasons(asked: str, cwd: Path) -> list[dict[str, Any]]:
    """The values that match a path or a part of a value, with who set them: the hook `explain`."""
    return list(_explain_values(ProfileReader.from_environ(os.environ), asked))


def _explain_values(store: ProfileReader, asked: str) -> Iterator[dict[str, Any]]:
    """The values whose path or text contains `asked`, and who set them last. Raises OSError, NotUnderstoodError."""
    profile, wanted = store.read_profile(), asked.strip().casefold()
    owned = store.judge_documents(profile, store.read_metadata())
    entries = changelog.read_entries(store.log.path)
    for path, value in dot_paths.list_leaves(profile).items():
        text = f"{LABELS.get(path, path)}: {format_value(value)}"
        if len(wanted) < 3 or (wanted != path.casefold() and wanted not in text.casefold()):
            continue
        last: Mapping[str, Any] = next(
            (e for e in reversed(entries) if dot_paths.get_value(e.get("changes") or {}, path)), {}
        )
        by_agent = path not in owned.paths and last.get("source") == AGENT
        who = "an agent set it: you did not type it" if by_agent else "learned"
        at, session = parse_utc(last.get("timestamp")), last.get("session_id")
        yield {
            "id": path,
            "what": text,
            "where": f"{PROFILE}, {'yours' if path in owned.paths else who}",
            "at": utc_seconds(at) if at is not None else "",
            "sessions": [session] if session else [],
            "words": [],
        }


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
