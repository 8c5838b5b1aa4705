"""What tacitd remembers about a profile, apart from it: what it wrote itself, what it is just doing, what it has done. Pure.

By it a person's edit is told from tacitd's own (a value that tacitd did not write, under a sighting that it did), a
change that a crash cut in two is finished, a finding that is told twice counts once, and a save that came from before a
change does not undo it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from tacitd.clock import parse_utc
from tacitd_handlers.profile import paths
from tacitd_handlers.profile.ops import Op, apply, done
from tacitd_handlers.profile.paths import Json

IDS = 500
"""Findings that are remembered as handled."""
VALUES = 8
"""Values that are remembered for each path: what stood there before a crash is ours, too."""
MOMENT = 5.0
"""Seconds: a save so soon after a change, in which the change is missing, came from before it."""
RECENT = 200


@dataclass(frozen=True, slots=True)
class Recent:
    """A change of the last seconds."""

    at: float
    """Seconds since 1970, UTC."""
    ops: tuple[Op, ...]


@dataclass(frozen=True, slots=True)
class Beside:
    """The memory, as it stands."""

    ids: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each learned path the digests of what tacitd wrote there."""
    seen: Mapping[str, str] = field(default_factory=dict)
    """For each learned path the `lastSeen` and `seenCount` that tacitd wrote."""
    recent: tuple[Recent, ...] = ()
    left: str = ""
    """The digest of the profile as tacitd left it."""
    intent: Mapping[str, Any] | None = None
    """A change that was begun."""


def own(profile: Json, meta: Json, beside: Beside) -> frozenset[str]:
    """The paths that are a person's own: written by hand, or edited by hand since they were learned (SPEC P-17)."""
    learned = {str(one["path"]): one for one in meta.get("preferences", ())}
    found = paths.leaves(profile)
    return frozenset(
        path
        for path, value in found.items()
        if path not in learned or _edited(path, value, learned[path], beside)
    )


def _edited(path: str, value: Any, entry: Mapping[str, Any], beside: Beside) -> bool:
    known = beside.values.get(path)
    return known is not None and beside.seen.get(path) == sighting(entry) and digest(value) not in known


def overwritten(profile: Json, beside: Beside, saved: float | None, profile_digest: str) -> list[Op]:
    """The operations of the last moment that a save of somebody else's left out, because it did not know of them.

    `saved`: when the file was last written, seconds since 1970.
    """
    if saved is None or profile_digest == beside.left:
        return []
    near = [op for one in beside.recent if abs(saved - one.at) < MOMENT for op in one.ops]
    missing: list[Op] = []
    for op in _lasting(near):
        if not done(apply(profile, missing), op):
            missing.append(op)
    return missing


def _lasting(ops: list[Op]) -> list[Op]:
    """Those that add something, and that no later one took back."""
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


def wrote(beside: Beside, before: Json, after: Json, meta: Json, ops: tuple[Op, ...], now: float) -> Beside:
    """The memory after a change that makes `after` of the profile `before`."""
    entries = {str(one["path"]): one for one in meta.get("preferences", ())}
    values: dict[str, tuple[str, ...]] = {}
    for path in entries:
        known = beside.values.get(path, ())
        new = [digest(paths.get(document, path)) for document in (before, after)]
        values[path] = tuple(dict.fromkeys([*known, *new]))[-VALUES:]
    recent = tuple(one for one in beside.recent if abs(now - one.at) < MOMENT)
    return replace(
        beside,
        values=values,
        seen={path: sighting(entry) for path, entry in entries.items()},
        recent=(*recent, Recent(now, ops))[-RECENT:] if ops else recent,
        left=digest(after),
    )


def sighting(entry: Mapping[str, Any]) -> str:
    """What changes whenever a path is said again."""
    return f"{parse_utc(entry.get('lastSeen'))} {entry.get('seenCount')}"


def digest(value: Any) -> str:
    """What tells one value from another."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def as_data(beside: Beside) -> Json:
    """The memory as JSON."""
    return {
        "ids": list(beside.ids),
        "values": {path: list(known) for path, known in beside.values.items()},
        "seen": dict(beside.seen),
        "recent": [{"at": one.at, "ops": [dict(op) for op in one.ops]} for one in beside.recent],
        "left": beside.left,
        "intent": beside.intent,
    }


def from_data(data: Mapping[str, Any]) -> Beside:
    """The reverse; an empty memory for what is none."""
    try:
        return Beside(
            ids=tuple(map(str, data["ids"])),
            values={str(path): tuple(map(str, known)) for path, known in data["values"].items()},
            seen={str(path): str(mark) for path, mark in data["seen"].items()},
            recent=tuple(Recent(float(one["at"]), tuple(one["ops"])) for one in data["recent"]),
            left=str(data["left"]),
            intent=data["intent"] if isinstance(data["intent"], dict) else None,
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return Beside()
