"""The merge of a finding into the profile (SPEC P-07, P-17). Pure.

A value that a person wrote into profile.json by hand is authoritative: a finding never replaces or removes it, and it
does not decay. Values are added to arrays. "No longer" removes values, and only learned ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacitd_handlers.profile import dot_paths
from tacitd_handlers.profile.dot_paths import Json, fold_spelling
from tacitd_handlers.profile.profile_operations import Op, subtract_values, union_values


@dataclass(frozen=True, slots=True)
class PartialProfile:
    """A finding: a partial profile by path."""

    values: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    """Values by path: a string for a scalar, a sequence for an array."""
    gone: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What is no longer true: for each path the values to remove. An empty sequence removes whatever is there."""

    def __bool__(self) -> bool:
        return bool(self.values or self.gone)


@dataclass(frozen=True, slots=True)
class MergeResult:
    """The changes that a finding makes."""

    ops: tuple[Op, ...]
    changes: Json
    """What is added or replaced, nested as in the changelog (SPEC P-18)."""
    removed: tuple[str, ...]
    """Paths that are removed."""
    seen: tuple[str, ...]
    """Learned paths in the finding, whose confidence rises."""
    kept: tuple[str, ...]
    """Paths where a person's own value was kept against the finding."""


def merge_partial(profile: Json, said: PartialProfile, own: Collection[str]) -> MergeResult:
    """Given the profile, a finding and the person's own paths, return the changes to make."""
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
                added[path] = subtract_values(dot_paths.get_value(profile, path), op["values"])
    for path, value in said.values.items():
        if isinstance(value, str):
            _scalar(profile, path, value, own, ops, added, seen, kept)
        else:
            _array(profile, path, value, own, ops, added, seen)
    # A path may be removed and set by the same finding: "no longer vim, now helix".
    still = [path for path in removed if path not in added]
    return MergeResult(tuple(ops), dot_paths.nest_values(added), tuple(still), tuple(seen), tuple(kept))


def _taken(profile: Json, path: str, values: Sequence[str]) -> Op | None:
    have = dot_paths.get_value(profile, path)
    if isinstance(have, list) and values:
        left = subtract_values(have, values)
        if len(left) == len(have):
            return None
        return {"op": "take", "path": path, "values": list(values)} if left else {"op": "drop", "path": path}
    if have is None or (values and fold_spelling(str(have)) not in map(fold_spelling, values)):
        return None
    return {"op": "drop", "path": path}


def _scalar(
    profile: Json, path: str, value: str, own: Collection[str],
    ops: list[Op], added: dict[str, Any], seen: list[str], kept: list[str],
) -> None:  # fmt: skip
    have = dot_paths.get_value(profile, path)
    equal = isinstance(have, str) and fold_spelling(have) == fold_spelling(value)
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
    have = dot_paths.get_value(profile, path)
    before = have if isinstance(have, list) else []
    new = union_values(before, values)[len(before) :]
    if path not in own:
        seen.append(path)
    if new:
        ops.append({"op": "union", "path": path, "values": new})
        added[path] = new
