"""The plans of all changes to a profile, made before anything is written: learn, set, remove, clear, claim, decay. Pure.

A plan is data: operations on the profile, the new meta document, and the changelog's entry. Writing it belongs to
`store`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from tacitd.clock import utc_millis
from tacitd_handlers.profile import dot_paths
from tacitd_handlers.profile import profile_confidence as metas
from tacitd_handlers.profile.dot_paths import Json, fold_spelling
from tacitd_handlers.profile.merge import PartialProfile, merge_partial, name_elements
from tacitd_handlers.profile.own_writes import ProfileMemory
from tacitd_handlers.profile.ownership import AGENT, COMMAND, Ownership, find_elements
from tacitd_handlers.profile.profile_operations import Op, apply_ops, subtract_values


class ProfileSnapshot(Struct, frozen=True):
    """The current documents, and the time."""

    profile: Json
    meta: Json
    beside: ProfileMemory
    owned: Ownership
    """Which values are the person's (SPEC P-17)."""
    at: float
    """The clock's time: seconds since 1970, UTC."""
    credible: float
    """The same, or the newest known time if the clock is not trusted: nothing decays then."""
    awaited: str = ""
    """`lastUpdated` of another machine's change of which nothing else is known yet, see `arrivals`; "": none. All values then
    count as the person's."""
    waits: bool = False
    """Whether files of another machine's change are waited for."""


class ProfilePlan(Struct, frozen=True):
    """The changes to write."""

    ops: tuple[Op, ...]
    meta: Json
    """The new profile-meta.json."""
    entry: Mapping[str, Any] | None
    """The changelog's entry; None: no value changed, so there is none."""
    id: str = ""
    """The id of the finding, which must not be applied twice; "" for other changes."""
    removed: tuple[str, ...] = ()
    """Paths that leave the profile; of an array with elements of the person only the learned ones leave."""
    given: Mapping[str, Collection[Any]] = field(default_factory=dict)
    """Elements that a person adds to arrays, by path."""

    def writes_to(self, now: ProfileSnapshot) -> bool:
        """Whether there is something to write."""
        return bool(self.ops or self.entry or self.id or self.meta != now.meta)


def plan_learning(
    now: ProfileSnapshot, said: PartialProfile, session: str, id: str, source: str = "minimal/hook"
) -> ProfilePlan:
    """Return the plan for a finding of `session`. `id` is the event's, which makes it idempotent (SPEC P-30). `source`: of the
    changelog's entry."""
    elements = find_elements(now.profile, metas.read_confidences(now.meta))
    made = merge_partial(now.profile, said, now.owned, elements)
    left = _tidied(now, apply_ops(now.profile, made.ops), made.removed)
    meta = metas.add_sightings(left, made.seen, now.credible)
    entry = None
    if made.added or made.removed:
        gone = [*made.removed, *made.taken]
        action = "update" if source == AGENT else "extract"
        entry = _entry(now.at, action, source, made.changes, gone, session)
    return ProfilePlan(tuple(made.ops), meta, entry, id, tuple(made.removed))


def plan_update(now: ProfileSnapshot, path: str, value: Any) -> ProfilePlan:
    """Return the plan for a value that a person sets. It becomes their own and does not decay (SPEC P-17)."""
    ops: tuple[Op, ...] = ({"op": "put", "path": path, "value": value},)
    after = apply_ops(now.profile, ops)
    # There may be learned leaves below the path; the new value replaces them.
    theirs = {one for one in metas.read_confidences(now.meta) if one == path or one.startswith(f"{path}.")}
    meta = metas.remove_paths(_tidied(now, after), theirs)
    if after == now.profile and meta == now.meta and not now.awaited:
        return ProfilePlan((), now.meta, None)
    return ProfilePlan(ops, meta, _entry(now.at, "update", COMMAND, dot_paths.nest_values({path: value})))


def plan_addition(now: ProfileSnapshot, path: str, element: str) -> ProfilePlan:
    """Return the plan for an element that a person adds to an array. It is their own, also if it was learned before; the
    others stay what they were.

    Raises ValueError if there is something else than an array.
    """
    have = dot_paths.get_value(now.profile, path)
    if have is not None and not isinstance(have, list):
        raise ValueError("it is not a list")
    ops: tuple[Op, ...] = ({"op": "union", "path": path, "values": [element]},)
    after = apply_ops(now.profile, ops)
    there = dot_paths.get_value(after, path)
    mine = [one for one in there if fold_spelling(str(one)) == fold_spelling(element)]
    # What is awaited may be the other machine's finding of the same.
    if after == now.profile and not now.awaited and all(now.owned.is_own(path, one) for one in mine):
        return ProfilePlan((), now.meta, None)
    entry = _entry(now.at, "update", COMMAND, dot_paths.nest_values({path: mine}))
    return ProfilePlan(ops, _tidied(now, after), entry, given={path: mine})


def plan_removal(now: ProfileSnapshot, path: str, element: str | None = None) -> ProfilePlan:
    """Return the plan for a person's removal of a leaf, of everything below a path, or of one element of an array."""
    have = dot_paths.get_value(now.profile, path)
    ops: tuple[Op, ...] = ({"op": "drop", "path": path},)
    if element is not None:
        ops = ({"op": "take", "path": path, "values": [element]},)
    after = apply_ops(now.profile, ops)
    if have is None or after == now.profile:
        return ProfilePlan((), now.meta, None)
    gone = [one for one in dot_paths.list_leaves(now.profile) if one not in dot_paths.list_leaves(after)]
    changes = {
        one: value
        for one, value in dot_paths.list_leaves(after).items()
        if value != dot_paths.get_value(now.profile, one)
    }
    left = dot_paths.get_value(after, path) if element is not None else None
    taken = name_elements(path, [one for one in have if one not in left]) if isinstance(left, list) else []
    entry = _entry(now.at, "remove", COMMAND, dot_paths.nest_values(changes), [*gone, *taken])
    return ProfilePlan(ops, _tidied(now, after), entry, removed=tuple(gone))


def plan_clearing(now: ProfileSnapshot) -> ProfilePlan:
    """Return the plan that removes every value."""
    gone = list(dot_paths.list_leaves(now.profile))
    if not gone:
        return ProfilePlan((), now.meta, None)
    ops: tuple[Op, ...] = tuple({"op": "drop", "path": path} for path in gone)
    meta = metas.remove_paths(now.meta, set(metas.read_confidences(now.meta)))
    return ProfilePlan(ops, meta, _entry(now.at, "clear", COMMAND, {}, gone), removed=tuple(gone))


def plan_claims(now: ProfileSnapshot) -> ProfilePlan:
    """Return the plan that drops the entries of values which a person edited or removed; an empty plan if there are none, or
    another machine's files are waited for."""
    return ProfilePlan((), _tidied(now, now.profile), None)


def plan_decay(now: ProfileSnapshot) -> ProfilePlan:
    """Return the changes that decay makes now; an empty plan if no time has passed (SPEC P-13, P-14), or another machine's
    files are waited for."""
    if now.waits:
        return ProfilePlan((), now.meta, None)
    meta = metas.clamp_future(_tidied(now, now.profile), now.at) if now.credible == now.at else now.meta
    done = metas.decay_metadata(meta, now.credible)
    if done.meta == now.meta:
        return ProfilePlan((), now.meta, None)
    ops = tuple(op for path in done.forgotten for op in _forget(now, path))
    entry = _entry(now.at, "decay", "system", {}, done.forgotten) if done.forgotten else None
    return ProfilePlan(ops, done.meta, entry, removed=done.forgotten)


def _forget(now: ProfileSnapshot, path: str) -> list[Op]:
    """The operations that remove a path whose confidence is used up. Of an array, elements of the person stay, and so do
    those with an entry of their own."""
    place, value = dot_paths.find_target(now.profile, path), dot_paths.get_value(now.profile, path)
    # By its value: an index changes when another element goes.
    if place is not None and place.element is not None:
        return [{"op": "take", "path": ".".join(place.keys), "values": [value]}]
    pointed = find_elements(now.profile, metas.read_confidences(now.meta)).get(path, {})
    if not isinstance(value, list) or not (pointed or path in now.owned.elements):
        return [{"op": "drop", "path": path}]
    learned = [one for at, one in enumerate(value) if at not in pointed and not now.owned.is_own(path, one)]
    if not subtract_values(value, learned):
        return [{"op": "drop", "path": path}]
    return [{"op": "take", "path": path, "values": learned}] if learned else []


def _tidied(now: ProfileSnapshot, after: Json, gone: Iterable[str] = ()) -> Json:
    """The meta document without paths that a person edited since, and without those that have no learned value any more:
    `gone`, and what is not in the profile `after`. While files of another machine are waited for, only without the paths
    that this change removes."""
    out = {
        one
        for one in metas.read_confidences(now.meta)
        if (one in now.owned.paths and not now.waits)
        or (
            dot_paths.find_target(after, one) is None
            and not (now.waits and dot_paths.find_target(now.profile, one) is None)
        )
    }
    return metas.remove_paths(now.meta, out | set(gone))


def _entry(
    at: float, action: str, source: str, changes: Json, gone: Iterable[str] = (), session: str = ""
) -> dict[str, Any]:
    """An entry of the changelog: keys in the seed's order, absent ones left out (SPEC P-18, P-19)."""
    made: dict[str, Any] = {"timestamp": utc_millis(at)}
    if session:
        made["session_id"] = session
    made |= {"action": action, "source": source, "changes": changes}
    return made | ({"removed": list(gone)} if gone else {})
