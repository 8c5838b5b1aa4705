"""The merge of a finding into the profile (SPEC P-07, P-17). Pure.

A person's value is authoritative: a finding never replaces or removes it, and it does not decay. To an array a finding adds
values. "No longer" removes learned values only. Which values are the person's belongs to `ownership`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from tacitd_handlers.profile import dot_paths
from tacitd_handlers.profile.dot_paths import Json, fold_spelling
from tacitd_handlers.profile.ownership import Ownership
from tacitd_handlers.profile.profile_operations import Op, subtract_values, union_values


class PartialProfile(Struct, frozen=True):
    """A finding: a partial profile by path."""

    values: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    """Values by path: a string for a scalar, a sequence for an array."""
    gone: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What is no longer true: for each path the values to remove. An empty sequence removes whatever is there."""

    def __bool__(self) -> bool:
        return bool(self.values or self.gone)


class MergeResult(Struct):
    """The changes that a finding makes."""

    ops: list[Op] = field(default_factory=list)
    added: dict[str, Any] = field(default_factory=dict)
    """What is added or replaced, by path. Of an array only its learned elements."""
    removed: list[str] = field(default_factory=list)
    """Paths whose learned values are removed."""
    taken: list[str] = field(default_factory=list)
    """Elements that are removed of arrays of which others stay learned: `path.element`."""
    seen: list[str] = field(default_factory=list)
    """Learned paths in the finding, whose confidence rises."""

    @property
    def changes(self) -> Json:
        """What is added or replaced, nested as in the changelog (SPEC P-18)."""
        return dot_paths.nest_values(self.added)


def merge_partial(
    profile: Json, said: PartialProfile, owned: Ownership, elements: Mapping[str, Mapping[int, str]]
) -> MergeResult:
    """Given the profile, a finding and what is the person's, return the changes to make.

    `elements`: the elements with an entry of their own, see `ownership.find_elements`.
    """
    made = MergeResult()
    for path, values in said.gone.items():
        _remove_gone(profile, path, values, owned, made)
    for path, value in said.values.items():
        if isinstance(value, str):
            _put_scalar(profile, path, value, owned, made)
        else:
            _add_elements(profile, path, value, owned, elements.get(path, {}), made)
    # A path may be removed and set by the same finding: "no longer vim, now helix".
    made.removed = [path for path in made.removed if path not in made.added]
    return made


def _remove_gone(
    profile: Json, path: str, values: Sequence[str], owned: Ownership, made: MergeResult
) -> None:
    have = dot_paths.get_value(profile, path)
    if have is None:
        return
    elements = have if isinstance(have, list) else [have]
    named = [one for one in elements if not values or _is_named(one, values)]
    taken = [one for one in named if not owned.is_own(path, one)]
    if not taken:
        return
    left = subtract_values(elements, taken) if isinstance(have, list) else []
    made.ops.append({"op": "take", "path": path, "values": taken} if left else {"op": "drop", "path": path})
    if learned := [one for one in left if not owned.is_own(path, one)]:
        made.added[path] = learned
        made.taken += name_elements(path, taken)
    else:
        made.removed.append(path)


def name_elements(path: str, elements: Sequence[Any]) -> list[str]:
    """Return the paths of elements of an array, as the changelog names them; those that are not texts have none."""
    return [f"{path}.{one}" for one in elements if isinstance(one, str)]


def _is_named(element: Any, values: Sequence[str]) -> bool:
    return fold_spelling(str(element)) in map(fold_spelling, values)


def _put_scalar(profile: Json, path: str, value: str, owned: Ownership, made: MergeResult) -> None:
    have = dot_paths.get_value(profile, path)
    equal = isinstance(have, str) and fold_spelling(have) == fold_spelling(value)
    if path in owned.paths:
        return
    made.seen.append(path)
    if not equal:
        made.ops.append({"op": "put", "path": path, "value": value})
        made.added[path] = value


def _add_elements(
    profile: Json,
    path: str,
    values: Sequence[str],
    owned: Ownership,
    elements: Mapping[int, str],
    made: MergeResult,
) -> None:
    have = dot_paths.get_value(profile, path)
    before = have if isinstance(have, list) else []
    new = union_values(before, values)[len(before) :]
    again = [at for at, one in enumerate(before) if _is_named(one, values) and not owned.is_own(path, one)]
    made.seen += [elements[at] for at in again if at in elements]
    # A list that a person began keeps what is added to it, so it gets no entry.
    if path not in owned.paths and (new or any(at not in elements for at in again)):
        made.seen.append(path)
    if new:
        made.ops.append({"op": "union", "path": path, "values": new})
        made.added[path] = [*made.added.get(path, ()), *new]
