"""What a person said about themselves, merged into the profile (SPEC P-07, P-17). Pure.

What a person wrote into profile.json by hand is authoritative: it is never replaced or taken out by what was overheard,
and it does not fade. Arrays only ever gain by a merge; what is "no longer" so is taken out of what was learned.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacitd_handlers.profile import paths
from tacitd_handlers.profile.ops import Op, union, without
from tacitd_handlers.profile.paths import Json, same


@dataclass(frozen=True, slots=True)
class Said:
    """A partial profile, by path."""

    values: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    gone: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What is no longer so: for each path the values that are meant; none: whatever stands there."""

    def __bool__(self) -> bool:
        return bool(self.values or self.gone)


@dataclass(frozen=True, slots=True)
class Merged:
    """What is to be done about it."""

    ops: tuple[Op, ...]
    changes: Json
    """As the changelog has it: what was added or replaced."""
    removed: tuple[str, ...]
    """Paths that are not there any more."""
    seen: tuple[str, ...]
    """Paths that were said, and are learned: their confidence rises."""
    kept: tuple[str, ...]
    """Paths where a person's own words stand, and stay."""


def merge(profile: Json, said: Said, own: Collection[str]) -> Merged:
    """Given the profile, what was said, and the paths that are a person's own, return what is to be done."""
    ops: list[Op] = []
    added: dict[str, Any] = {}
    seen: list[str] = []
    kept: list[str] = []
    removed: list[str] = []
    for path, values in said.gone.items():
        if path in own:
            kept.append(path)
        elif op := _taken(profile, path, values):
            ops.append(op)
            if op["op"] == "drop":
                removed.append(path)
            else:
                added[path] = without(paths.get(profile, path), op["values"])
    for path, value in said.values.items():
        if isinstance(value, str):
            _scalar(profile, path, value, own, ops, added, seen, kept)
        else:
            _array(profile, path, value, own, ops, added, seen)
    still = [path for path in removed if path not in added]
    return Merged(tuple(ops), paths.nested(added), tuple(still), tuple(seen), tuple(kept))


def _taken(profile: Json, path: str, values: Sequence[str]) -> Op | None:
    have = paths.get(profile, path)
    if isinstance(have, list) and values:
        left = without(have, values)
        if len(left) == len(have):
            return None
        return {"op": "take", "path": path, "values": list(values)} if left else {"op": "drop", "path": path}
    if have is None or (values and same(str(have)) not in map(same, values)):
        return None
    return {"op": "drop", "path": path}


def _scalar(
    profile: Json, path: str, value: str, own: Collection[str],
    ops: list[Op], added: dict[str, Any], seen: list[str], kept: list[str],
) -> None:  # fmt: skip
    have = paths.get(profile, path)
    equal = isinstance(have, str) and same(have) == same(value)
    if path in own:
        if not equal:
            kept.append(path)
        return
    seen.append(path)
    if not equal:
        ops.append({"op": "put", "path": path, "value": value})
        added[path] = value


def _array(
    profile: Json, path: str, values: Sequence[str], own: Collection[str],
    ops: list[Op], added: dict[str, Any], seen: list[str],
) -> None:  # fmt: skip
    have = paths.get(profile, path)
    before = have if isinstance(have, list) else []
    new = union(before, values)[len(before) :]
    if path not in own:
        seen.append(path)
    if new:
        ops.append({"op": "union", "path": path, "values": new})
        added[path] = new
