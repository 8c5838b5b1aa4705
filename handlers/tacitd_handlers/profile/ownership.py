"""The rule that distinguishes a person's values from learned ones (SPEC P-10, P-17). Pure.

A value is learned if its path is in profile-meta.json and it is the value that was written there last, by this tacitd or by
another writer of the same directory. Every other value is the person's, also one that tacitd had written earlier: setting
a value back is the commonest edit there is. In an array each element is judged alone; the confidence is the array's.

Elements that an entry of the changelog with the source `mcp/tool` names are the person's: it is a command, here or on another
machine. Other programs write this source for their models too. A path whose entry in profile-meta.json began with such a
write is learned, and so is a value that is not an array: tacitd's own commands take its entry away.

What was written last is known from the state beside the profile (`own_writes`), and from the changelog where another
machine or program wrote later. It is a digest, so the state contains no values.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from tacitd.clock import parse_utc
from tacitd.text.hashes import sha256
from tacitd_handlers.profile import dot_paths
from tacitd_handlers.profile.dot_paths import Json

COMMAND = "mcp/tool"
"""The source of commands in the changelog (SPEC P-19)."""
AGENT = "mcp/hook"
"""The source of what an agent set. It is learned: no person typed it."""
_NEAR = 5.0
"""Seconds. A changelog entry this near to `firstSeen` is the one that created the path."""
_AT_ONCE = 0.5
"""Seconds. The same for a command's entry: another program writes it together with the meta file."""


class LearnedValue(Struct, frozen=True):
    """What was written last into a learned path."""

    digests: tuple[str, ...]
    """Of the value; of each learned element if `is_list`."""
    is_list: bool = field(name="list")
    stamp: str = field(name="at")
    """The time of that write as in the changelog: ISO 8601; "" if it is not known."""
    sighting: str = field(name="seen")
    """The path's entry at that time, see `sighting_key`."""

    def matches(self, value: Any) -> bool:
        """Whether a value is what was written: for an array, whether it has no other element."""
        if self.is_list:
            return isinstance(value, list) and all(hash_value(one) in self.digests for one in value)
        return hash_value(value) in self.digests

    def without(self, elements: Iterable[Any]) -> LearnedValue:
        """Return it without these elements."""
        gone = set(map(hash_value, elements))
        return replace(self, digests=tuple(one for one in self.digests if one not in gone))


class Ownership(Struct, frozen=True):
    """Which values of a profile are the person's."""

    paths: frozenset[str] = frozenset()
    """Leaves that are the person's as a whole."""
    elements: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """The person's elements of arrays that have learned elements too."""
    learned: Mapping[str, LearnedValue] = field(default_factory=dict)
    """What was learned last, for each learned leaf of which it is known."""

    def is_own(self, path: str, element: Any) -> bool:
        """Whether an element of an array is the person's."""
        return path in self.paths or element in self.elements.get(path, ())


ReadChangelog = Callable[[], Sequence[Mapping[str, Any]]]


def judge_ownership(
    profile: Json,
    meta: Json,
    known: Mapping[str, LearnedValue],
    read_changelog: ReadChangelog,
    *,
    saved_last: bool = False,
) -> Ownership:
    """Return which values are the person's.

    `known`: what this tacitd wrote last, by path. `read_changelog` is called only if that does not decide. `saved_last`:
    whether profile.json was saved after profile-meta.json, so that a change of the value is not the entry's writer's.
    """
    entries = {str(one["path"]): one for one in meta.get("preferences", ())}
    pointed = find_elements(profile, entries)
    paths: set[str] = set()
    elements: dict[str, tuple[Any, ...]] = {}
    learned: dict[str, LearnedValue] = {}
    for path, value in dot_paths.list_leaves(profile).items():
        last: LearnedValue | None = None
        if path in entries:
            last = _find_last(path, value, entries[path], known.get(path), read_changelog, saved_last)
            if last is None:
                continue  # nothing is known but the entry, which names the whole path
            learned[path] = last
            if last.matches(value):
                continue
        own = _own_elements(value, last, pointed.get(path, ()))
        if own is None:
            paths.add(path)
        elif own:
            elements[path] = own
    return Ownership(frozenset(paths), elements, learned)


def find_elements(profile: Json, paths: Collection[str]) -> dict[str, dict[int, str]]:
    """Return the elements that have an entry of their own, as other programs wrote them: index and entry's path by array."""
    found: dict[str, dict[int, str]] = {}
    for path in paths:
        place = dot_paths.find_target(profile, path)
        if place is not None and place.element is not None:
            found.setdefault(".".join(place.keys), {})[place.element] = path
    return found


def _own_elements(value: Any, last: LearnedValue | None, pointed: Collection[int]) -> tuple[Any, ...] | None:
    """The person's elements; None if the whole value is the person's."""
    if not isinstance(value, list) or not (pointed or (last is not None and last.is_list)):
        return None
    digests = last.digests if last is not None and last.is_list else ()
    own = tuple(one for at, one in enumerate(value) if at not in pointed and hash_value(one) not in digests)
    return None if len(own) == len(value) else own


def _find_last(
    path: str,
    value: Any,
    entry: Mapping[str, Any],
    known: LearnedValue | None,
    read_changelog: ReadChangelog,
    saved_last: bool,
) -> LearnedValue | None:
    """What was written last into a learned path; None if only the entry is known."""
    same = known is not None and known.sighting == sighting_key(entry)
    later = _replay(path, value, entry, known, read_changelog())
    if later is not None or known is None:
        return later
    # Trigger: another program counted a sighting, and the changelog does not say what it wrote. Why: it may have changed
    # the value with the entry, or a person changed the value. Outcome: the file that was saved last decides. An element of
    # a list counts as the person's, because another machine's sighting leaves the entry of such a list.
    return known if same or saved_last or known.is_list or known.matches(value) else None


def _replay(
    path: str,
    value: Any,
    entry: Mapping[str, Any],
    known: LearnedValue | None,
    log: Sequence[Mapping[str, Any]],
) -> LearnedValue | None:
    """What the changelog says is learned of a path after `known`; None if it says nothing, or too little to be sure."""
    first = parse_utc(entry.get("firstSeen"))
    digests = list(known.digests) if known is not None and known.is_list else []
    is_list, stamp = known is not None and known.is_list, ""
    created = known is not None and (parse_utc(known.stamp) or 0.0) >= (first or 0.0) - _NEAR
    commanded: set[str] = set()
    for one in _after(log, known, first):
        given, at = dot_paths.get_value(one.get("changes") or {}, path), parse_utc(one.get("timestamp"))
        whole, elements = _removed(one, path)
        if given is None and not whole and not elements:
            continue
        stamp = str(one.get("timestamp", ""))
        if whole:
            digests, commanded = [], set()
        if given is not None:
            is_list = isinstance(given, list)
            new = list(map(hash_value, given)) if isinstance(given, list) else [hash_value(given)]
            near = _AT_ONCE if one.get("source") == COMMAND else _NEAR
            creates = not created and at is not None and first is not None and abs(at - first) <= near
            created = created or creates
            if creates or not is_list or one.get("source") != COMMAND:
                digests = [*digests, *new] if is_list else new
                commanded -= set(new)
            elif one.get("action") == "remove":  # what is left stays what it was
                digests = [it for it in digests if it in new]
            else:
                digests = [it for it in digests if it not in new]
                commanded |= set(new)
        digests = [it for it in digests if it not in elements]
        commanded -= elements
    # How the list began is not known, only the person's elements are.
    if known is None and is_list and not created:
        if not commanded or not isinstance(value, list):
            return None
        digests = [it for it in map(hash_value, value) if it not in commanded]
    return LearnedValue(tuple(dict.fromkeys(digests)), is_list, stamp, sighting_key(entry)) if stamp else None


def _removed(row: Mapping[str, Any], path: str) -> tuple[bool, set[str]]:
    """Whether an entry of the changelog removes a path as a whole, and the digests of the elements that it removes of it."""
    gone = row.get("removed")
    names = [str(name) for name in gone] if isinstance(gone, list) else []
    elements = {hash_value(name[len(path) + 1 :]) for name in names if name.startswith(f"{path}.")}
    return path in names, elements


def _after(
    log: Sequence[Mapping[str, Any]], known: LearnedValue | None, first: float | None
) -> Sequence[Mapping[str, Any]]:
    """The entries after this tacitd's last write of the path; those since the path's creation if there was none."""
    if known is not None and known.stamp:
        at = next((i for i, one in reversed(list(enumerate(log))) if one.get("timestamp") == known.stamp), -1)
        since = parse_utc(known.stamp) or 0.0
        # Later by its place, because clocks differ, or by its time, because a crash delays an entry.
        return [
            one
            for i, one in enumerate(log)
            if (at >= 0 and i > at) or (parse_utc(one.get("timestamp")) or 0.0) > since
        ]
    if known is not None:
        return ()
    return [one for one in log if first is None or (parse_utc(one.get("timestamp")) or 0.0) >= first - _NEAR]


def note_learned(
    owned: Ownership,
    before: Json,
    after: Json,
    meta: Json,
    written: Collection[str],
    stamp: str,
    given: Mapping[str, Collection[Any]] | None = None,
) -> dict[str, LearnedValue]:
    """Return what is known to be learned after a change of the profile from `before` to `after`.

    `written`: the paths whose values the change writes; `stamp`: its time as in the changelog. An element that is new in
    `after` is tacitd's, unless a person adds it in this change (`given`, by path); one of `before` stays what it was.
    """
    made: dict[str, LearnedValue] = {}
    for entry in meta.get("preferences", ()):
        path = str(entry["path"])
        value = dot_paths.get_value(after, path)
        last = owned.learned.get(path)
        if value is None:
            continue
        # Trigger: files of another machine are waited for. Why: until they come, it is not known what is learned of this value.
        # Outcome: what was known of it stays.
        if path in owned.paths:
            if last is not None:
                made[path] = last
            continue
        if isinstance(value, list):
            have = dot_paths.get_value(before, path)
            have = have if isinstance(have, list) else []
            mine = (given or {}).get(path, ())
            learned = [
                one for one in value if one not in mine and (one not in have or not owned.is_own(path, one))
            ]
            digests = tuple(dict.fromkeys(map(hash_value, learned)))
        else:
            digests = (hash_value(value),)
        at = stamp if path in written or last is None else last.stamp
        made[path] = LearnedValue(digests, isinstance(value, list), at, sighting_key(entry))
    return made


def sighting_key(entry: Mapping[str, Any]) -> str:
    """Return a text that differs after each sighting of a path."""
    return f"{parse_utc(entry.get('lastSeen'))} {entry.get('seenCount')}"


def hash_value(value: Any) -> str:
    """Return 16 hexadecimal digits that identify a JSON value, whatever its key order."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
