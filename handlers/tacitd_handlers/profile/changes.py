"""The changes of a profile, planned before anything is written: learn, set, add, remove, clear, fade, tidy. Pure.

A plan is data: the new documents, the leaves that a person puts, and the changelog's entry.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from tacitd.clock import utc_millis
from tacitd.contract import Cause, Edits, FileChange, Leaf, NewLine
from tacitd_handlers.profile import dot_paths, profile_confidence
from tacitd_handlers.profile.document_check import UserProfile, check_document
from tacitd_handlers.profile.dot_paths import Json, fold_spelling
from tacitd_handlers.profile.fields import HEAD_FIELDS
from tacitd_handlers.profile.profile_files import (
    AGENT,
    CHANGELOG,
    COMMAND,
    LEAVES,
    META,
    PROFILE,
    SYSTEM,
    ProfileState,
    list_leaves,
    list_values,
)
from tacitd_handlers.profile.profile_finding import Finding

STAMPS = frozenset(json.dumps([key]) for key in HEAD_FIELDS)
"""The leaves of the head: no part of the history."""
META_LEAVES = frozenset(json.dumps([key]) for key in ("userId", "schemaVersion", "lastDecay", "preferences"))


class ProfilePlan(Struct, frozen=True):
    """What a change writes."""

    profile: Json
    meta: Json
    entry: Mapping[str, Any] | None = None
    """The changelog's entry; None: no value changed, so there is none."""
    given: frozenset[Leaf] = frozenset()
    """The leaves that a person puts: they are the person's from then on, also those that were learned."""
    removed: tuple[str, ...] = ()
    """Paths of which the learned values leave the profile."""

    @property
    def paths(self) -> list[str]:
        """The paths that get a value."""
        return list(dot_paths.list_leaves(self.entry["changes"])) if self.entry is not None else []


def make_changes(
    state: ProfileState, plan: ProfilePlan, cause: Cause, now: float
) -> tuple[list[FileChange], list[NewLine]]:
    """What the engine writes of a plan: profile.json, profile-meta.json, changelog.jsonl, in this order."""
    files, lines = list[FileChange](), list[NewLine]()
    there = state.on_disk[PROFILE]
    put: dict[Leaf, str | None] = {leaf: there[leaf] for leaf in state.adopted if not plan.given}
    if plan.entry is not None:
        made = check_document(plan.profile, UserProfile, PROFILE) | {"lastUpdated": utc_millis(now)}
        after = list_leaves(made)
        put |= _compare(there, after) | {leaf: after[leaf] for leaf in plan.given}
        text = json.dumps(plan.entry, ensure_ascii=False, separators=(",", ":"))
        lines.append(NewLine(state.directory / CHANGELOG, text))
    if put:
        theirs = bool(plan.given)
        files.append(
            FileChange(state.directory / PROFILE, LEAVES, _decide(there, put), cause, theirs, True, STAMPS)
        )
    there = state.on_disk[META]
    if plan.meta != state.meta or (there and len(there) < len(META_LEAVES)):
        put = _compare(there, list_leaves(plan.meta))
        files.append(
            FileChange(state.directory / META, LEAVES, _decide(there, put), cause, unlisted=META_LEAVES)
        )
    return files, lines


def _compare(before: Mapping[Leaf, str], after: Mapping[Leaf, str]) -> dict[Leaf, str | None]:
    """The changes that make one of the other. What goes comes first: a value may take the place of an object."""
    gone: dict[Leaf, str | None] = {leaf: None for leaf in before if leaf not in after}
    return gone | {leaf: value for leaf, value in after.items() if before.get(leaf) != value}


def _decide(
    before: Mapping[Leaf, str], put: Mapping[Leaf, str | None]
) -> Callable[[Mapping[Leaf, str], Edits], Mapping[Leaf, str | None]]:
    """A leaf that somebody changed since is theirs. Not so the stamp, which is the newest one's."""

    def decide(now: Mapping[Leaf, str], edits: Edits) -> Mapping[Leaf, str | None]:
        return {
            leaf: value for leaf, value in put.items() if leaf in STAMPS or now.get(leaf) == before.get(leaf)
        }

    return decide


# --- what is learned


def plan_learning(state: ProfileState, said: Finding, session: str, at: float, source: str) -> ProfilePlan:
    """Return the plan for a finding of `session`. `source`: of the changelog's entry."""
    profile = state.profile
    added, removed, taken, seen = dict[str, Any](), list[str](), list[str](), list[str]()
    for path, values in said.gone.items():
        learned = state.list_learned(path)
        gone = [one for one in learned if not values or _is_named(one, values)]
        if not gone:
            continue
        left = [one for one in learned if one not in gone]
        if left:
            added[path] = left
            taken += _name_elements(path, gone)
        else:
            removed.append(path)
        profile = take_values(profile, path, gone)
    for path, value in said.values.items():
        have = dot_paths.get_value(profile, path)
        if isinstance(value, str):
            if have is not None and state.is_own(path):
                continue
            seen.append(path)
            if not (isinstance(have, str) and fold_spelling(have) == fold_spelling(value)):
                profile = dot_paths.put_value(profile, path, value)
                added[path] = value
        else:
            before = have if isinstance(have, list) else []
            new = _union(before, value)[len(before) :]
            again = [one for one in state.list_learned(path) if _is_named(one, value)]
            named = [
                one for one in _list_element_entries(state, path) if _is_named(one.rpartition(".")[2], value)
            ]
            seen += named
            if new or len(again) > len(named):
                seen.append(path)
            if new:
                profile = dot_paths.put_value(profile, path, [*before, *new])
                added[path] = [*added.get(path, ()), *new]
    removed = [path for path in removed if path not in added]
    meta = profile_confidence.add_sightings(_tidy(state, profile, gone=removed), seen, at)
    if not added and not removed:
        return ProfilePlan(profile, meta)
    action = "update" if source == AGENT else "extract"
    entry = _make_entry(at, action, source, dot_paths.nest_values(added), [*removed, *taken], session)
    return ProfilePlan(profile, meta, entry, removed=tuple(removed))


def plan_decay(state: ProfileState, at: float) -> ProfilePlan:
    """Return the plan that lets confidences fade to `at`, and removes the learned values of those under 0.1 (SPEC P-13, P-14)."""
    done = profile_confidence.decay_metadata(_tidy(state, state.profile), at)
    profile, kept = state.profile, profile_confidence.read_confidences(done.meta)
    for path in done.forgotten:
        # An element with an entry of its own does not fade with its list.
        stay = [one for name in kept if name.startswith(f"{path}.") for one in state.list_learned(name)]
        profile = take_values(profile, path, [one for one in state.list_learned(path) if one not in stay])
    entry = _make_entry(at, "decay", SYSTEM, {}, done.forgotten) if done.forgotten else None
    return ProfilePlan(profile, done.meta, entry, removed=done.forgotten)


def plan_tidying(state: ProfileState) -> ProfilePlan:
    """Return the plan that drops the entries of values that a person changed or removed."""
    return ProfilePlan(state.profile, _tidy(state, state.profile))


# --- what a person sets


def plan_update(state: ProfileState, path: str, value: Any, at: float) -> ProfilePlan:
    """Return the plan for a value that a person sets. It is theirs and does not fade (SPEC P-17). Raises ValueError if the path
    leads below a leaf, or nothing is left to write."""
    profile = dot_paths.put_value(state.profile, path, value)
    given = [leaf for leaf, _ in list_values(profile, path)]
    if not given:
        raise ValueError("it is empty")
    if profile == state.profile and not state.learned.intersection(given):
        return ProfilePlan(state.profile, state.meta)
    entry = _make_entry(at, "update", COMMAND, dot_paths.nest_values({path: value}))
    return ProfilePlan(profile, _tidy(state, profile, given), entry, frozenset(given))


def plan_additions(state: ProfileState, path: str, elements: Sequence[str], at: float) -> ProfilePlan:
    """Return the plan for elements that a person adds to an array. They are theirs, also if they were learned before; the others
    stay what they were. Raises ValueError if there is something else than an array."""
    have = dot_paths.get_value(state.profile, path)
    if have is not None and not isinstance(have, list):
        raise ValueError("it is not a list")
    profile = dot_paths.put_value(state.profile, path, _union(have or [], elements))
    mine = {leaf: one for leaf, one in list_values(profile, path) if _is_named(one, elements)}
    if profile == state.profile and not state.learned.intersection(mine):
        return ProfilePlan(state.profile, state.meta)
    entry = _make_entry(at, "update", COMMAND, dot_paths.nest_values({path: list(mine.values())}))
    return ProfilePlan(profile, _tidy(state, profile, mine), entry, frozenset(mine))


def plan_removal(state: ProfileState, path: str, element: str | None, at: float) -> ProfilePlan:
    """Return the plan for a person's removal of a leaf, of everything below a path, or of one element of an array."""
    have = dot_paths.get_value(state.profile, path)
    if have is None or path in HEAD_FIELDS:
        return ProfilePlan(state.profile, state.meta)
    if element is None:
        profile = dot_paths.drop_value(state.profile, path)
    else:
        profile = take_values(state.profile, path, [one for one in have if _is_named(one, [element])])
    before, after = dot_paths.list_leaves(state.profile), dot_paths.list_leaves(profile)
    if before == after:
        return ProfilePlan(state.profile, state.meta)
    gone = [one for one in before if one not in after]
    changed = {one: value for one, value in after.items() if value != before[one]}
    taken = [
        name
        for one, value in changed.items()
        for name in _name_elements(one, [each for each in before[one] if each not in value])
    ]
    entry = _make_entry(at, "remove", COMMAND, dot_paths.nest_values(changed), [*gone, *taken])
    return ProfilePlan(profile, _tidy(state, profile), entry, removed=tuple(gone))


def plan_clearing(state: ProfileState, at: float) -> ProfilePlan:
    """Return the plan that removes every value."""
    gone = list(dot_paths.list_leaves(state.profile))
    if not gone:
        return ProfilePlan(state.profile, state.meta)
    profile = {key: value for key, value in state.profile.items() if key in HEAD_FIELDS}
    entry = _make_entry(at, "clear", COMMAND, {}, gone)
    return ProfilePlan(profile, _tidy(state, profile), entry, removed=tuple(gone))


# --- parts


def _tidy(state: ProfileState, after: Json, given: Collection[Leaf] = (), gone: Collection[str] = ()) -> Json:
    """The meta document without entries of paths that have no learned value any more in the profile `after`."""
    learned = state.learned.difference(given)
    empty = {
        path
        for path in profile_confidence.read_confidences(state.meta)
        if path in gone or not any(leaf in learned for leaf, _ in list_values(after, path))
    }
    return profile_confidence.remove_paths(state.meta, empty) if empty else state.meta


def _list_element_entries(state: ProfileState, path: str) -> list[str]:
    """The entries of single elements of a list, as other programs wrote them."""
    return [name for name in profile_confidence.read_confidences(state.meta) if name.startswith(f"{path}.")]


def take_values(document: Json, path: str, values: Sequence[Any]) -> Json:
    """The document without these elements of an array, or without the value at the path."""
    have = dot_paths.get_value(document, path)
    if not values or have is None:
        return document
    left = [one for one in have if one not in values] if isinstance(have, list) else []
    return dot_paths.put_value(document, path, left) if left else dot_paths.drop_value(document, path)


def _union(have: Sequence[Any], more: Iterable[Any]) -> list[Any]:
    """Both arrays as one, in first-seen order. Texts that differ only in case and spaces are one (SPEC P-07)."""
    made = list(have)
    for one in more:
        if not _is_named(one, made):
            made.append(one)
    return made


def _is_named(element: Any, values: Iterable[Any]) -> bool:
    return fold_spelling(str(element)) in [fold_spelling(str(one)) for one in values]


def _name_elements(path: str, elements: Iterable[Any]) -> list[str]:
    """The paths of elements of an array, as the changelog names them; those that are not texts have none."""
    return [f"{path}.{one}" for one in elements if isinstance(one, str)]


def _make_entry(
    at: float, action: str, source: str, changes: Json, gone: Iterable[str] = (), session: str = ""
) -> dict[str, Any]:
    """An entry of the changelog: keys in the seed's order, absent ones left out (SPEC P-18, P-19)."""
    made: dict[str, Any] = {"timestamp": utc_millis(at)}
    if session:
        made["session_id"] = session
    removed = list(gone)
    return (
        made
        | {"action": action, "source": source, "changes": changes}
        | ({"removed": removed} if removed else {})
    )
