"""The state that tacitd keeps beside a profile: what it wrote, the change in progress, the handled findings. Pure.

It has five uses:
- A person's edit is distinguished from what was written last (SPEC P-17); the rule belongs to `ownership`.
- A change that a crash interrupted is finished.
- A finding that is delivered twice counts once (P-30).
- A save from an editor's buffer that is older than a change does not undo the change.
- What this machine wrote last is told from another machine's change, of which other files may not have arrived yet.

Where this state is stored, and when, belongs to `store`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from tacitd.text.converter import Converter
from tacitd_handlers.profile import dot_paths
from tacitd_handlers.profile.dot_paths import Json
from tacitd_handlers.profile.ownership import LearnedValue
from tacitd_handlers.profile.profile_operations import Op, apply_ops, is_applied

IDS = 500
"""The number of handled findings whose ids are kept."""
MOMENT = 5.0
"""Seconds. A save this soon after a change, and without the change, comes from an older buffer."""
RECENT = 200
"""The number of recent changes that are kept."""


class RecentChange(Struct, frozen=True):
    """A change within the last `MOMENT` seconds."""

    at: float
    """Seconds since 1970, UTC."""
    ops: tuple[Op, ...]
    since: Any = None
    """`lastUpdated` of the profile before the change: a buffer with it does not contain the change."""
    base: Mapping[str, Any] = field(default_factory=dict)
    """The values before the change, by the operations' paths."""


class ProfileMemory(Struct, frozen=True):
    """The state. Every change makes a new one."""

    ids: tuple[str, ...] = ()
    """Ids of handled findings, the newest last."""
    learned: Mapping[str, LearnedValue] = field(default_factory=dict)
    """For each learned path what was written last."""
    recent: tuple[RecentChange, ...] = ()
    written: str = ""
    """`lastUpdated` of the profile after the last write: ISO 8601; "" if it is not known."""
    awaited: str = ""
    """What `arrivals.find_unexplained` returned at the last change; "" if nothing is waited for."""
    intent: Mapping[str, Any] | None = None
    """The change in progress, see `intents`; None if none was interrupted."""


def find_overwritten(profile: Json, beside: ProfileMemory, saved: float | None) -> list[Op]:
    """Return the operations of the last seconds that another program's save undid, because its buffer was older.

    `saved`: the file's modification time (None: no file), seconds since 1970. A buffer is older if it has the
    `lastUpdated` of before the change. A path that the save changed itself is not touched: that is a person's edit.
    """
    if saved is None:
        return []
    stamp = profile.get("lastUpdated")
    first = next((i for i, one in enumerate(beside.recent) if one.since == stamp), None)
    if first is None:
        return []
    near = [one for one in beside.recent[first:] if abs(saved - one.at) < MOMENT]
    base: dict[str, Any] = {}
    for one in near:
        for path, value in one.base.items():
            base.setdefault(path, value)
    missing: list[Op] = []
    for op in _lasting(op for one in near for op in one.ops):
        path = str(op["path"])
        if op["op"] == "put" and dot_paths.get_value(profile, path) != base.get(path):
            continue
        if not is_applied(apply_ops(profile, missing), op):
            missing.append(op)
    return missing


def _lasting(ops: Iterable[Op]) -> list[Op]:
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


def remember_change(beside: ProfileMemory, change: RecentChange) -> ProfileMemory:
    """Return the state with one more recent change; older ones than `MOMENT` are dropped."""
    recent = (one for one in beside.recent if abs(change.at - one.at) < MOMENT)
    return replace(beside, recent=(*recent, *((change,) if change.ops else ()))[-RECENT:])


def as_data(beside: ProfileMemory) -> Json:
    """Return the state as a JSON object."""
    data: Json = msgspec.to_builtins(beside)
    return data


_MEMORY = Converter(ProfileMemory)


def from_data(data: Mapping[str, Any]) -> ProfileMemory:
    """Return the state from its JSON object; an empty state if the object is not one."""
    try:
        found: ProfileMemory = _MEMORY.convert(data)
        if "learned" in data:
            return found
        # Earlier versions kept the digests of several whole values. Any of them counts until the next write.
        seen, values = data["seen"], data["values"]
        learned = {
            path: LearnedValue(tuple(known), False, "", seen.get(path, "")) for path, known in values.items()
        }
        return replace(found, learned=learned)
    except (msgspec.ValidationError, KeyError, TypeError, AttributeError):
        return ProfileMemory()
