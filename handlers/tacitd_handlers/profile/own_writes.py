"""The state that tacitd keeps beside a profile: what it wrote, the change in progress, the handled findings. Pure.

It has four uses:
- A person's edit is distinguished from tacitd's own: its value is not one that tacitd wrote, but its sighting is (P-17).
- A change that a crash interrupted is finished.
- A finding that is delivered twice counts once (P-30).
- A save from an editor's buffer that is older than a change does not undo the change.

Where this state is stored, and when, belongs to `store`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from tacitd.clock import parse_utc
from tacitd_handlers.profile import dot_paths
from tacitd_handlers.profile.dot_paths import Json
from tacitd_handlers.profile.profile_operations import Op, apply_ops, is_applied

IDS = 500
"""The number of handled findings whose ids are kept."""
VALUES = 8
"""Digests that are kept for each path. A value from before a crash is also tacitd's own."""
MOMENT = 5.0
"""Seconds. A save this soon after a change, and without the change, comes from an older buffer."""
RECENT = 200
"""The number of recent changes that are kept."""


@dataclass(frozen=True, slots=True)
class RecentChange:
    """A change within the last `MOMENT` seconds."""

    at: float
    """Seconds since 1970, UTC."""
    ops: tuple[Op, ...]


@dataclass(frozen=True, slots=True)
class ProfileMemory:
    """The state. Every change makes a new one."""

    ids: tuple[str, ...] = ()
    """Ids of handled findings, the newest last."""
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each learned path the digests of the values that tacitd wrote, the newest last."""
    seen: Mapping[str, str] = field(default_factory=dict)
    """For each learned path the `lastSeen` and `seenCount` that tacitd wrote, see `sighting_key`."""
    recent: tuple[RecentChange, ...] = ()
    left: str = ""
    """The digest of the profile that tacitd wrote last."""
    intent: Mapping[str, Any] | None = None
    """The change in progress (ops, meta, entry, at); None if none was interrupted."""


def find_own_paths(profile: Json, meta: Json, beside: ProfileMemory) -> frozenset[str]:
    """Return the person's own paths: written by hand, or edited by hand since they were learned (SPEC P-17)."""
    learned = {str(one["path"]): one for one in meta.get("preferences", ())}
    found = dot_paths.list_leaves(profile)
    return frozenset(
        path
        for path, value in found.items()
        if path not in learned or _edited(path, value, learned[path], beside)
    )


def _edited(path: str, value: Any, entry: Mapping[str, Any], beside: ProfileMemory) -> bool:
    known = beside.values.get(path)
    # A changed value with a changed sighting is another program's: it writes both, so its value decays as ours do.
    return (
        known is not None and beside.seen.get(path) == sighting_key(entry) and hash_value(value) not in known
    )


def find_overwritten(
    profile: Json, beside: ProfileMemory, saved: float | None, profile_digest: str
) -> list[Op]:
    """Return the operations of the last seconds that another program's save undid, because its buffer was older.

    `saved`: the file's modification time (None: no file), seconds since 1970.
    """
    if saved is None or profile_digest == beside.left:
        return []
    near = [op for one in beside.recent if abs(saved - one.at) < MOMENT for op in one.ops]
    missing: list[Op] = []
    for op in _lasting(near):
        if not is_applied(apply_ops(profile, missing), op):
            missing.append(op)
    return missing


def _lasting(ops: list[Op]) -> list[Op]:
    """The operations that add something and were not undone by a later one."""
    kept: list[Op] = []
    for op in ops:
        path = str(op["path"])
        if op["op"] != "union":
            kept = [
                one for one in kept if one["path"] != path and not str(one["path"]).startswith(f"{path}.")
            ]
        if op["op"] in ("put", "union"):
            kept.append(op)
    return kept


def remember_write(
    beside: ProfileMemory, before: Json, after: Json, meta: Json, ops: tuple[Op, ...], now: float
) -> ProfileMemory:
    """Return the state after a change of the profile from `before` to `after` at `now` (seconds since 1970, UTC)."""
    entries = {str(one["path"]): one for one in meta.get("preferences", ())}
    values: dict[str, tuple[str, ...]] = {}
    for path in entries:
        known = beside.values.get(path, ())
        # The value from before is kept too: after a crash the file may still contain it, and it is not a person's.
        new = [hash_value(dot_paths.get_value(document, path)) for document in (before, after)]
        values[path] = tuple(dict.fromkeys([*known, *new]))[-VALUES:]
    recent = tuple(one for one in beside.recent if abs(now - one.at) < MOMENT)
    return replace(
        beside,
        values=values,
        seen={path: sighting_key(entry) for path, entry in entries.items()},
        recent=(*recent, RecentChange(now, ops))[-RECENT:] if ops else recent,
        left=hash_value(after),
    )


def sighting_key(entry: Mapping[str, Any]) -> str:
    """Return a text that differs after each sighting of a path."""
    return f"{parse_utc(entry.get('lastSeen'))} {entry.get('seenCount')}"


def hash_value(value: Any) -> str:
    """Return 16 hexadecimal digits that identify a JSON value, whatever its key order."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def as_data(beside: ProfileMemory) -> Json:
    """Return the state as a JSON object."""
    return {
        "ids": list(beside.ids),
        "values": {path: list(known) for path, known in beside.values.items()},
        "seen": dict(beside.seen),
        "recent": [{"at": one.at, "ops": [dict(op) for op in one.ops]} for one in beside.recent],
        "left": beside.left,
        "intent": beside.intent,
    }


def from_data(data: Mapping[str, Any]) -> ProfileMemory:
    """Return the state from its JSON object; an empty state if the object is not one."""
    try:
        return ProfileMemory(
            ids=tuple(map(str, data["ids"])),
            values={str(path): tuple(map(str, known)) for path, known in data["values"].items()},
            seen={str(path): str(mark) for path, mark in data["seen"].items()},
            recent=tuple(RecentChange(float(one["at"]), tuple(one["ops"])) for one in data["recent"]),
            left=str(data["left"]),
            intent=data["intent"] if isinstance(data["intent"], dict) else None,
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return ProfileMemory()
