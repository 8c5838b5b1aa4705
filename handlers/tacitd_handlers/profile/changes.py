"""The changes of a profile, planned before anything is written: learn, set, add, remove, clear, fade, tidy. Pure.

A plan is data: the leaves to put or remove, the new metadata, and the changelog's entry.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from tacitd.clock import utc_millis
from tacitd.contract import Cause, Edits, FileChange, Leaf, NewLine
from tacitd.errors import UsageError
from tacitd_handlers.profile import profile_confidence
from tacitd_handlers.profile.fields import HEAD_FIELDS, Json, check_profile, fold_spelling, nest_values
from tacitd_handlers.profile.profile_files import (
    AGENT,
    CHANGELOG,
    COMMAND,
    LEAVES,
    META,
    PROFILE,
    SYSTEM,
    ProfileState,
    find_path,
    is_element,
    is_same,
    list_leaves,
    list_values,
)

if TYPE_CHECKING:
    from tacitd_handlers.profile.profile_finding import Finding

STAMPS = frozenset(json.dumps([key]) for key in HEAD_FIELDS)
"""The leaves of the head: no part of the history."""
META_LEAVES = frozenset(json.dumps([key]) for key in ("userId", "schemaVersion", "lastDecay", "preferences"))
Put = Mapping[Leaf, str | None]


class ProfilePlan(Struct, frozen=True):
    meta: Json
    put: Put = {}
    """Values as JSON by leaf; None removes one."""
    entry: Mapping[str, Any] | None = None
    """The changelog's entry; None: no value changed, so there is none."""
    given: frozenset[Leaf] = frozenset()
    """The leaves that a person puts: they are the person's from then on, also those that were learned."""


def make_changes(
    state: ProfileState, plan: ProfilePlan, cause: Cause, now: float
) -> tuple[list[FileChange], list[NewLine]]:
    """What the engine writes of a plan: profile.json, profile-meta.json, changelog.jsonl, in this order. Raises NotUnderstoodError for
    a value that the seed does not allow."""
    files, lines = list[FileChange](), list[NewLine]()
    there = state.on_disk[PROFILE]
    put: dict[Leaf, str | None] = {leaf: there[leaf] for leaf in state.adopted if not plan.given}
    if plan.entry is not None:
        after = {leaf: value for leaf, value in {**state.values, **plan.put}.items() if value is not None}
        check_profile(json.loads(LEAVES.splice(None, after)), PROFILE)
        put |= {leaf: value for leaf, value in state.values.items() if leaf not in there}
        # What goes comes first: a value may take the place of an object.
        put |= dict(sorted(plan.put.items(), key=lambda one: one[1] is not None))
        put[json.dumps(["lastUpdated"])] = json.dumps(utc_millis(now))
        text = json.dumps(plan.entry, ensure_ascii=False, separators=(",", ":"))
        lines.append(NewLine(state.directory / CHANGELOG, text))
    if put:
        theirs, decide = bool(plan.given), _decide(there, put)
        files.append(FileChange(state.directory / PROFILE, LEAVES, decide, cause, theirs, True, STAMPS))
    there, wanted = state.on_disk[META], list_leaves(plan.meta)
    if plan.meta != state.meta or (there and len(there) < len(META_LEAVES)):
        put = {leaf: value for leaf, value in wanted.items() if there.get(leaf) != value}
        put |= {leaf: None for leaf in there if leaf not in wanted}
        decide = _decide(there, put)
        files.append(FileChange(state.directory / META, LEAVES, decide, cause, unlisted=META_LEAVES))
    return files, lines


def _decide(before: Mapping[Leaf, str], put: Put) -> Callable[[Mapping[Leaf, str], Edits], Put]:
    """A leaf that somebody changed since is theirs. Not so the stamp, which is the newest one's."""

    def decide(now: Mapping[Leaf, str], edits: Edits) -> Put:
        kept = [leaf for leaf in put if leaf in STAMPS or now.get(leaf) == before.get(leaf)]
        return {leaf: put[leaf] for leaf in kept}

    return decide


# --- what is learned


def plan_learning(state: ProfileState, said: Finding, session: str, at: float, source: str) -> ProfilePlan:
    """The plan for a finding of `session`. `source`: of the changelog's entry. Raises UsageError as `plan_update`."""
    put, seen = dict[Leaf, str | None](), list[str]()
    for path, values in said.gone.items():
        learned = [leaf for leaf in state.find_leaves(path) if leaf in state.learned]
        put |= {leaf: None for leaf in learned if not values or is_same(_read(state, leaf), values)}
    for path, value in said.values.items():
        have = [leaf for leaf in state.find_leaves(path) if leaf not in put]
        others = [leaf for leaf in have if isinstance(value, str) or not is_element(leaf)]
        if any(leaf not in state.learned and state.values[leaf] != "[]" for leaf in others):
            continue  # the person's stays
        if isinstance(value, str):
            seen.append(path)
            if [fold_spelling(str(_read(state, leaf))) for leaf in have] != [fold_spelling(value)]:
                put |= dict.fromkeys(have) | _make_leaves(state, path, value)
            continue
        before = [_read(state, leaf) for leaf in have if leaf not in others]
        new = _union(before, value)[len(before) :]
        if new or any(is_same(one, value) for one in state.list_learned(path)):
            seen.append(path)
        if new:
            put |= dict.fromkeys(others) | _make_leaves(state, path, new)
    action = "update" if source == AGENT else "extract"
    plan = _make_plan(state, put, at, action, source, session=session)
    return structs.replace(plan, meta=profile_confidence.add_sightings(plan.meta, seen, at))


def plan_decay(state: ProfileState, at: float) -> ProfilePlan:
    """Lets confidences fade to `at`, and removes the learned values of those under 0.1 (SPEC P-13, P-14)."""
    meta, gone = profile_confidence.decay_metadata(plan_tidying(state).meta, at)
    put: Put = {leaf: None for path in gone for leaf in state.find_leaves(path) if leaf in state.learned}
    plan = _make_plan(state, put, at, "decay", SYSTEM)
    entry = plan.entry and {
        **plan.entry,
        "removed": [*gone],
    }  # also of a list of which the person's elements stay
    return structs.replace(plan, meta=meta, entry=entry)


def plan_tidying(state: ProfileState) -> ProfilePlan:
    """Drops the entries of values that a person changed or removed."""
    return ProfilePlan(_tidy(state, {}, ()))


# --- what a person sets


def plan_update(state: ProfileState, path: str, value: Any, at: float) -> ProfilePlan:
    """A person sets a value. It is theirs and does not fade (SPEC P-17). Raises UsageError if the path leads below a leaf, or nothing
    is left to write."""
    new = _make_leaves(state, path, value)
    if not new:
        raise _refuse(path, "it is empty")
    put = {leaf: None for leaf in state.find_leaves(path) if leaf not in new} | new
    return _make_plan(state, put, at, "update", COMMAND, given=new)


def plan_additions(state: ProfileState, path: str, elements: Sequence[str], at: float) -> ProfilePlan:
    """A person adds elements to an array. They are theirs, also if they were learned before; the others stay what they were. Raises
    UsageError if there is something else than an array."""
    have = state.find_leaves(path)
    empty = [leaf for leaf in have if state.values[leaf] == "[]" and find_path(leaf) == path]
    if have != empty and any(not is_element(leaf) or find_path(leaf) != path for leaf in have):
        raise _refuse(path, "it is not a list")
    before = [_read(state, leaf) for leaf in have if leaf not in empty]
    all_of_it = _make_leaves(state, path, _union(before, elements))
    mine = {leaf: value for leaf, value in all_of_it.items() if is_same(json.loads(value), elements)}
    return _make_plan(state, dict.fromkeys(empty) | mine, at, "update", COMMAND, given=mine)


def plan_removal(state: ProfileState, path: str | None, element: str | None, at: float) -> ProfilePlan:
    """A person removes everything at and below a path, or one element of an array. No path: everything."""
    there = state.find_leaves(path)
    gone = [leaf for leaf in there if element is None or is_same(_read(state, leaf), [element])]
    action = "clear" if path is None else "remove"
    return _make_plan(state, dict.fromkeys(gone), at, action, COMMAND)


# --- parts


def _make_plan(
    state: ProfileState,
    put: Put,
    at: float,
    action: str,
    source: str,
    *,
    given: Collection[Leaf] = (),
    session: str = "",
) -> ProfilePlan:
    """The plan that puts and removes these leaves, with the changelog's entry, keys in the seed's order (SPEC P-18, P-19): what is put,
    what stays of a list that lost elements (but for the person's, if it is no command), and the paths and elements that go."""
    meta = _tidy(state, put, given)
    if not is_changed(state, put) and state.learned.isdisjoint(given):
        return ProfilePlan(meta)
    after = {leaf: value for leaf, value in {**state.values, **put}.items() if value is not None}
    gone = {leaf: find_path(leaf) for leaf, value in put.items() if value is None and leaf in state.values}
    left = set(map(find_path, after)) & set(gone.values())
    removed = [*dict.fromkeys(path for path in gone.values() if path not in left)]
    removed += [f"{path}.{_read(state, leaf)}" for leaf, path in gone.items() if path in left]
    rest = {
        leaf for leaf in after if find_path(leaf) in left and (source == COMMAND or leaf in state.learned)
    }
    changed = {leaf: value for leaf, value in after.items() if leaf in rest or put.get(leaf) is not None}
    paths = [*dict.fromkeys(map(find_path, put))]
    changes = dict(sorted(list_values(changed).items(), key=lambda one: paths.index(one[0])))
    entry: dict[str, Any] = {"timestamp": utc_millis(at)} | ({"session_id": session} if session else {})
    entry |= {"action": action, "source": source, "changes": nest_values(changes)}
    return ProfilePlan(meta, put, entry | ({"removed": removed} if removed else {}), frozenset(given))


def _read(state: ProfileState, leaf: Leaf) -> Any:
    return json.loads(state.values[leaf])


def _make_leaves(state: ProfileState, path: str, value: Any) -> dict[Leaf, str]:
    """The leaves of a value at a path. A key may have dots, so that of a value that is there is used. Raises UsageError if a value
    on the way is not an object."""
    for leaf in state.values:
        if path.startswith(f"{find_path(leaf)}."):
            raise _refuse(path, f"{find_path(leaf)} is not an object")
    there = next((json.loads(leaf) for leaf in state.values if find_path(leaf) == path), path.split("."))
    made: Any = value
    for key in reversed([key for key in there if isinstance(key, str)]):
        made = {key: made}
    return list_leaves(made)


def _refuse(path: str, why: str) -> UsageError:
    return UsageError(f"{path} cannot be set: {why}", "tacitd profile show --json")


def is_changed(state: ProfileState, put: Put) -> bool:
    """Whether a value changes, and not only whose it is."""
    return any(state.values.get(leaf) != value for leaf, value in put.items())


def _tidy(state: ProfileState, put: Put, given: Collection[Leaf]) -> Json:
    """The meta document without entries of paths that have no learned value any more after this change."""
    left = {find_path(leaf) for leaf in state.learned.difference(given) if put.get(leaf, "") is not None}
    return state.meta | {"preferences": [one for one in state.meta["preferences"] if one["path"] in left]}


def _union(have: Sequence[Any], more: Iterable[Any]) -> list[Any]:
    """Both arrays as one, in first-seen order. Texts that differ only in case and spaces are one (SPEC P-07)."""
    made = list(have)
    for one in more:
        if not is_same(one, made):
            made.append(one)
    return made
