"""A change of the profile in progress: what is written, and what it was decided on (SPEC P-17, P-30). Pure.

An intent is stored before anything is written, and carried out after a crash too. Meanwhile a person may save the profile:
before our write, after it, or with a program in between. A path that no longer has the value on which the change was decided
is the person's: it is left alone, and nothing is noted as learned of it. That our write happened is known by its
`lastUpdated`, which differs from the one before.

A change that is finished late is older than what was written meanwhile, also where that is the value of before: the newer
value stays. It is known by its entry in the changelog, or by the path's entry in profile-meta.json. If another program wrote
the profile since, it is not known whether our write came before: then nothing is replaced or removed, because a person may
have undone what we wrote. The writing itself belongs to `store`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from tacitd.clock import parse_utc, utc_millis
from tacitd.text.converter import Converter
from tacitd_handlers.profile import dot_paths
from tacitd_handlers.profile.dot_paths import Json, fold_spelling
from tacitd_handlers.profile.ownership import LearnedValue, hash_value, note_learned, sighting_key
from tacitd_handlers.profile.profile_changes import ProfilePlan, ProfileSnapshot
from tacitd_handlers.profile.profile_operations import Op


class ProfileIntent(Struct, frozen=True):
    """A change, and the values before it."""

    ops: Sequence[Op]
    meta: Json
    """The new profile-meta.json."""
    entry: Mapping[str, Any] | None
    """The changelog's entry; None: there is none."""
    at: str
    """`lastUpdated` after the change: ISO 8601 UTC with milliseconds."""
    since: Any
    """`lastUpdated` before the change; None if there was no file, or none in it."""
    base: Mapping[str, Any]
    """The values before the change by the operations' paths, without those that had none."""
    meta_before: Mapping[str, str] = field(name="metaBefore")
    """Of profile-meta.json before the change: the digest of each entry by its path, and of `lastDecay` by ""."""
    learned: Mapping[str, LearnedValue]
    """What is learned after the change."""
    planned: float | None = None
    """When it was planned, if it is finished late: seconds since 1970, UTC."""

    @classmethod
    def from_plan(cls, now: ProfileSnapshot, plan: ProfilePlan, after: Json, exists: bool) -> ProfileIntent:
        """Return the intent of a plan. `after`: the profile with it; `exists`: whether there is a profile.json."""
        since = now.profile.get("lastUpdated") if exists else None
        at = choose_stamp(now.at, since)
        paths = {str(op["path"]) for op in plan.ops}
        learned = note_learned(
            now.owned, now.profile, after, plan.meta, paths, utc_millis(now.at), plan.given
        )
        base = _values(now.profile, plan.ops)
        return cls(plan.ops, plan.meta, plan.entry, at, since, base, _digests(now.meta), learned)

    def move_to(self, at: str) -> ProfileIntent:
        """Return the intent as one that is carried out now: `lastUpdated`, the changelog's entry, and the entries of new paths in
        profile-meta.json have the time `at`."""
        old = (self.entry or {}).get("timestamp")
        moved = {
            str(one["path"]): {**one, "firstSeen": at, "lastSeen": at}
            for one in self.meta["preferences"]
            if one["path"] not in self.meta_before and one["firstSeen"] == old
        }
        learned = {
            path: replace(
                one,
                stamp=at if one.stamp and one.stamp == old else one.stamp,
                sighting=sighting_key(moved[path]) if path in moved else one.sighting,
            )
            for path, one in self.learned.items()
        }
        meta = self.meta | {
            "preferences": [moved.get(str(one["path"]), one) for one in self.meta["preferences"]]
        }
        entry = {**self.entry, "timestamp": at} if self.entry is not None else None
        return replace(self, at=at, meta=meta, entry=entry, learned=learned, planned=self.planned_at)

    @property
    def planned_at(self) -> float:
        """When it was planned: seconds since 1970, UTC."""
        if self.planned is not None:
            return self.planned
        return parse_utc((self.entry or {}).get("timestamp")) or parse_utc(self.at) or 0.0

    def join_meta(self, current: Json | None) -> Json:
        """Return the new profile-meta.json. An entry that another program changed, added or removed since stays so."""
        if current is None:
            return self.meta
        mine = {str(one["path"]): one for one in self.meta["preferences"]}
        theirs = {str(one["path"]): one for one in current.get("preferences", [])}
        now = _digests(current)
        kept = [
            mine[path] if now[path] == self.meta_before.get(path) else one
            for path, one in theirs.items()
            if path in mine or now[path] != self.meta_before.get(path)
        ]
        new = [one for path, one in mine.items() if path not in theirs and path not in self.meta_before]
        decayed = {"lastDecay": self.meta["lastDecay"]} if now.get("") == self.meta_before.get("") else {}
        return self.meta | current | decayed | {"preferences": [*kept, *new]}

    def as_data(self) -> Json:
        """Return the intent as a JSON object."""
        data: Json = msgspec.to_builtins(self)
        return data

    @classmethod
    def from_data(cls, data: Mapping[str, Any] | None) -> ProfileIntent | None:
        """Return the intent from its JSON object; None if there is none, or the object is not one."""
        try:
            found: ProfileIntent | None = _INTENT.convert(data)
            return found
        except msgspec.ValidationError:
            return None


_INTENT = Converter(ProfileIntent | None)


def choose_stamp(now: float, since: Any) -> str:
    """Return `lastUpdated` for a change at `now` (seconds since 1970, UTC), which differs from the one before (`since`)."""
    at = utc_millis(now)
    return at if at != since else utc_millis((parse_utc(at) or now) + 0.001)


class NewerWrites(Struct, frozen=True):
    """What was written after an intent."""

    is_done: bool = False
    """Whether profile.json and profile-meta.json were written, and only the changelog may be missing."""
    put: frozenset[str] = frozenset()
    """Paths of which another program wrote a value, or noted it again."""
    dropped: frozenset[str] = frozenset()
    """Paths that were removed as a whole."""
    added: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Elements of arrays that were named as there, folded, by path."""
    taken: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Elements of arrays that were removed, folded, by path."""

    def reduce_op(self, op: Op) -> Op | None:
        """Return what is left of an operation; None if nothing is."""
        path = str(op["path"])
        match op["op"]:
            case "union" if path not in self.dropped:
                out = self.taken.get(path, frozenset())
            case "take":
                out = self.added.get(path, frozenset())
            case "put" | "drop" if path not in self.put and path not in self.dropped:
                return op
            case _:
                return None
        left = [one for one in op["values"] if fold_spelling(str(one)) not in out]
        return {**op, "values": left} if left else None


def find_newer(intent: ProfileIntent, meta: Json, log: Sequence[Mapping[str, Any]]) -> NewerWrites:
    """Return what was written after an intent, given profile-meta.json and the changelog's entries of now."""
    paths, now, mine = {str(op["path"]) for op in intent.ops}, _digests(meta), _digests(intent.meta)
    changed = {path for path, one in now.items() if path and one != intent.meta_before.get(path)}
    is_done = intent.entry in log or any(now[path] == mine.get(path) for path in changed)
    before = intent.meta_before
    put = {path for path in paths & set(before) if now.get(path) not in (before[path], mine.get(path))}
    dropped: set[str] = set()
    added: dict[str, frozenset[str]] = {}
    taken: dict[str, frozenset[str]] = {}
    for row in log:
        if (parse_utc(row.get("timestamp")) or 0.0) <= intent.planned_at:
            continue
        gone = row.get("removed")
        names = [str(one) for one in gone] if isinstance(gone, list) else []
        for path in paths:
            value = dot_paths.get_value(row.get("changes") or {}, path)
            if value is not None:
                put.add(path)
            if path in names:
                dropped.add(path)
            out = {fold_spelling(one[len(path) + 1 :]) for one in names if one.startswith(f"{path}.")}
            # The entry of a removal names what is left of the array.
            listed = value if isinstance(value, list) and not out and row.get("action") != "remove" else ()
            added[path] = (added.get(path, frozenset()) | {fold_spelling(str(one)) for one in listed}) - out
            taken[path] = (taken.get(path, frozenset()) | out) - added[path]
    return NewerWrites(is_done, frozenset(put), frozenset(dropped), added, taken)


def settle_intent(
    intent: ProfileIntent, current: Json, newer: NewerWrites | None = None, *, exists: bool
) -> ProfileIntent:
    """Given the profile as it is now, return what is left to do of an intent, without the paths that a person changed.

    `exists`: whether there is a profile.json. Nothing is left of the operations if they were written already. `newer`: what
    other programs wrote since, for an intent that is finished late.
    """
    if newer is not None and newer.is_done:
        return _leave_newer(intent, newer)
    if exists and current.get("lastUpdated") == intent.at:
        return replace(intent, ops=())
    is_unsure = newer is not None and exists and current.get("lastUpdated") != intent.since
    # The file may have been saved since the plan was made, from a buffer with an older `lastUpdated`.
    intent = replace(intent, since=current.get("lastUpdated") if exists else None)
    ops: list[Op] = []
    theirs: set[str] = set()
    outdated: set[str] = set()
    learned, entry = dict(intent.learned), intent.entry
    for op in intent.ops:
        path, have = str(op["path"]), dot_paths.get_value(current, str(op["path"]))
        was, left = intent.base.get(path), newer.reduce_op(op) if newer is not None else op
        if left is None or (
            is_unsure and op["op"] != "put" and op["op"] != "union" and isinstance(was, list)
        ):
            outdated.add(path)
            continue
        if is_unsure and op["op"] != "union" and was is not None and have == was:
            theirs.add(path)
            continue
        if left != op:
            lost = [one for one in op["values"] if one not in left["values"]]
            entry = _without_elements(entry, path, lost)
            if op["op"] == "union" and path in learned:
                learned[path] = learned[path].without(lost)
            op = left
        if have == was:
            ops.append(op)
        elif isinstance(have, list):
            ops += _for_changed_array(op, have, was if isinstance(was, list) else [])
            if op["op"] == "union":
                added = [one for one in have if was is None or one not in was]
                entry = _without_elements(entry, path, added)
                if path in learned:
                    learned[path] = learned[path].without(added)
                    # The changelog tells which of them are learned.
                    if newer is not None and path in newer.put:
                        learned[path] = replace(learned[path], stamp=utc_millis(intent.planned_at))
        else:
            theirs.add(path)
    gone = theirs | outdated
    return replace(
        intent,
        ops=ops,
        meta=intent.meta
        | {"preferences": [one for one in intent.meta["preferences"] if one["path"] not in gone]},
        # An entry that is newer stays, also if it is the one of before.
        meta_before={path: one for path, one in intent.meta_before.items() if path not in outdated},
        entry=_without_paths(entry, gone),
        learned={path: one for path, one in learned.items() if path not in gone},
    )


def _leave_newer(intent: ProfileIntent, newer: NewerWrites) -> ProfileIntent:
    """A written intent, of which nothing is logged or noted as learned that another program wrote again since."""
    learned, entry = dict(intent.learned), intent.entry
    for op in intent.ops:
        path = str(op["path"])
        if newer.reduce_op(op) is None:
            entry = _without_paths(entry, {path})
            learned.pop(path, None)
        elif op["op"] == "union":
            again = newer.added.get(path, frozenset()) | newer.taken.get(path, frozenset())
            lost = [one for one in op["values"] if fold_spelling(str(one)) in again]
            entry = _without_elements(entry, path, lost)
            if path in learned:
                learned[path] = learned[path].without(lost)
    return replace(intent, ops=(), entry=entry, learned=learned)


def list_removed(intent: ProfileIntent, path: str) -> list[Any]:
    """Return the elements that an intent was to remove of an array."""
    base = intent.base.get(path)
    gone = [
        op["values"] if op["op"] == "take" else base
        for op in intent.ops
        if op["path"] == path and op["op"] in ("take", "drop") and isinstance(base, list)
    ]
    return [one for values in gone for one in values or ()]


def _for_changed_array(op: Op, have: list[Any], was: list[Any]) -> list[Op]:
    """The operation for an array that a person changed meanwhile: it adds what it would, and removes nothing of theirs."""
    match op["op"]:
        case "union":
            return [op]
        case "take":
            gone = {fold_spelling(str(one)) for one in op["values"]}
            taken = [one for one in have if one in was and fold_spelling(str(one)) in gone]
        case "drop":
            taken = [one for one in have if one in was]
        case _:
            return []
    return [{"op": "take", "path": op["path"], "values": taken}] if taken else []


def _digests(meta: Json) -> dict[str, str]:
    entries = meta.get("preferences", ())
    return {"": str(meta.get("lastDecay"))} | {str(one["path"]): hash_value(one) for one in entries}


def _values(profile: Json, ops: Sequence[Op]) -> dict[str, Any]:
    found = {str(op["path"]): dot_paths.get_value(profile, str(op["path"])) for op in ops}
    return {path: value for path, value in found.items() if value is not None}


def _without_paths(entry: Mapping[str, Any] | None, paths: set[str]) -> Mapping[str, Any] | None:
    """A changelog's entry without these paths; None if nothing is left of it."""
    if entry is None:
        return None
    changes: Json = dict(entry["changes"])
    for path in paths:
        changes = dot_paths.drop_value(changes, path)
    made = {key: value for key, value in entry.items() if key != "removed"} | {"changes": changes}
    removed = [
        name
        for name in entry.get("removed", ())
        if name not in paths and not any(name.startswith(f"{path}.") for path in paths)
    ]
    return made | ({"removed": removed} if removed else {}) if changes or removed else None


def _without_elements(
    entry: Mapping[str, Any] | None, path: str, elements: Sequence[Any]
) -> Mapping[str, Any] | None:
    """A changelog's entry without elements of an array that are neither added nor removed after all."""
    if entry is None:
        return None
    changes: Json = dict(entry["changes"])
    if isinstance(have := dot_paths.get_value(changes, path), list):
        left = [one for one in have if one not in elements]
        changes = dot_paths.put_value(changes, path, left) if left else dot_paths.drop_value(changes, path)
    names = {f"{path}.{one}" for one in elements}
    removed = [name for name in entry.get("removed", ()) if name not in names]
    made = {key: value for key, value in entry.items() if key != "removed"} | {"changes": changes}
    return made | ({"removed": removed} if removed else {}) if changes or removed else None
