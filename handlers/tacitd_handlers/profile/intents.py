"""A change of the profile in progress: what is written, and what it was decided on (SPEC P-17, P-30). Pure.

An intent is stored before anything is written, and carried out after a crash too. Meanwhile a person may save the profile:
before our write, after it, or with a program in between. A path that no longer has the value on which the change was decided
is the person's: it is left alone, and nothing is noted as learned of it. That our write happened is known by its
`lastUpdated`, which differs from the one before. The writing itself belongs to `store`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tacitd.clock import parse_utc, utc_millis
from tacitd_handlers.profile import dot_paths
from tacitd_handlers.profile.dot_paths import Json, fold_spelling
from tacitd_handlers.profile.ownership import LearnedValue, hash_value, note_learned
from tacitd_handlers.profile.profile_changes import ProfilePlan, ProfileSnapshot
from tacitd_handlers.profile.profile_operations import Op


@dataclass(frozen=True, slots=True)
class ProfileIntent:
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
    meta_before: str
    """The digest of the entries of profile-meta.json before the change."""
    learned: Mapping[str, LearnedValue]
    """What is learned after the change."""

    @classmethod
    def from_plan(cls, now: ProfileSnapshot, plan: ProfilePlan, after: Json, exists: bool) -> ProfileIntent:
        """Return the intent of a plan. `after`: the profile with it; `exists`: whether there is a profile.json."""
        since = now.profile.get("lastUpdated") if exists else None
        at = utc_millis(now.at)
        if at == since:  # a second change in one millisecond
            at = utc_millis((parse_utc(at) or now.at) + 0.001)
        paths = {str(op["path"]) for op in plan.ops}
        learned = note_learned(
            now.owned, now.profile, after, plan.meta, paths, utc_millis(now.at), plan.given
        )
        base = _values(now.profile, plan.ops)
        return cls(
            plan.ops, plan.meta, plan.entry, at, since, base, hash_value(now.meta["preferences"]), learned
        )

    @classmethod
    def again(
        cls, profile: Json, meta: Json, learned: Mapping[str, LearnedValue], ops: Sequence[Op], at: float
    ) -> ProfileIntent:
        """Return the intent that repeats operations which a save from an older buffer undid. `at`: seconds since 1970."""
        base, since = _values(profile, ops), profile.get("lastUpdated")
        return cls(ops, meta, None, utc_millis(at), since, base, hash_value(meta["preferences"]), learned)

    def join_meta(self, current: Json | None) -> Json:
        """Return the new profile-meta.json. If another program changed the file since the intent, its entries stay."""
        if current is None or hash_value(current.get("preferences", [])) == self.meta_before:
            return self.meta
        theirs = current.get("preferences", [])
        known = {one["path"] for one in theirs}
        new = [one for one in self.meta["preferences"] if one["path"] not in known]
        return self.meta | current | {"preferences": [*theirs, *new]}

    def as_data(self) -> Json:
        """Return the intent as a JSON object."""
        return {
            "ops": [dict(op) for op in self.ops],
            "meta": self.meta,
            "entry": self.entry,
            "at": self.at,
            "since": self.since,
            "base": dict(self.base),
            "metaBefore": self.meta_before,
            "learned": {path: one.as_data() for path, one in self.learned.items()},
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any] | None) -> ProfileIntent | None:
        """Return the intent from its JSON object; None if there is none, or the object is not one."""
        if data is None:
            return None
        try:
            learned = {
                str(path): LearnedValue.from_data(one) for path, one in data.get("learned", {}).items()
            }
            return cls(
                tuple(data["ops"]),
                data["meta"],
                data["entry"],
                str(data["at"]),
                data.get("since"),
                data.get("base", {}),
                str(data.get("metaBefore", "")),
                learned,
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            return None


def settle_intent(intent: ProfileIntent, current: Json, *, exists: bool) -> ProfileIntent:
    """Given the profile as it is now, return what is left to do of an intent, without the paths that a person changed.

    `exists`: whether there is a profile.json. Nothing is left of the operations if they were written already.
    """
    if exists and current.get("lastUpdated") == intent.at:
        return replace(intent, ops=())
    # The file may have been saved since the plan was made, from a buffer with an older `lastUpdated`.
    intent = replace(intent, since=current.get("lastUpdated") if exists else None)
    ops: list[Op] = []
    theirs: set[str] = set()
    learned = dict(intent.learned)
    for op in intent.ops:
        path, have = str(op["path"]), dot_paths.get_value(current, str(op["path"]))
        was = intent.base.get(path)
        if have == was:
            ops.append(op)
        elif isinstance(have, list):
            ops += _for_changed_array(op, have, was if isinstance(was, list) else [])
            if op["op"] == "union" and path in learned:
                learned[path] = learned[path].without(one for one in have if was is None or one not in was)
        else:
            theirs.add(path)
    if not theirs:
        return replace(intent, ops=ops, learned=learned)
    preferences = [one for one in intent.meta["preferences"] if one["path"] not in theirs]
    return replace(
        intent,
        ops=ops,
        meta=intent.meta | {"preferences": preferences},
        entry=_without_paths(intent.entry, theirs),
        learned={path: one for path, one in learned.items() if path not in theirs},
    )


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
    removed = [path for path in entry.get("removed", ()) if path not in paths]
    return made | ({"removed": removed} if removed else {}) if changes or removed else None
