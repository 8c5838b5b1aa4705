"""The plans of all changes to a profile, made before anything is written: learn, set, remove, clear, decay. Pure.

A plan is data: operations on the profile, the new meta document, and the changelog's entry. Writing it belongs to
`store`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tacitd.clock import utc_millis
from tacitd_handlers.profile import beside as besides
from tacitd_handlers.profile import meta as metas
from tacitd_handlers.profile import paths
from tacitd_handlers.profile.beside import Beside
from tacitd_handlers.profile.merge import Said, merge
from tacitd_handlers.profile.ops import Op, apply
from tacitd_handlers.profile.paths import Json


@dataclass(frozen=True, slots=True)
class Now:
    """The current documents, and the time."""

    profile: Json
    meta: Json
    beside: Beside
    at: float
    """The clock's time: seconds since 1970, UTC."""
    credible: float
    """The same, or the newest known time if the clock is not trusted: nothing decays then."""

    @property
    def own(self) -> frozenset[str]:
        """The person's own paths (SPEC P-17)."""
        return besides.own(self.profile, self.meta, self.beside)


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes to write."""

    ops: tuple[Op, ...]
    meta: Json
    """The new profile-meta.json."""
    entry: Mapping[str, Any] | None
    """The changelog's entry; None: no value changed, so there is none."""
    id: str = ""
    """The id of the finding, which must not be applied twice; "" for other changes."""
    kept: tuple[str, ...] = ()
    """Paths where a person's own value was kept against a finding."""
    removed: tuple[str, ...] = ()
    """Paths that leave the profile."""


def learned(now: Now, said: Said, session: str, id: str) -> Plan:
    """Return the plan for a finding of `session`. `id` is the event's, which makes it idempotent (SPEC P-30)."""
    made = merge(now.profile, said, now.own)
    meta = metas.sighted(_tidied(now, apply(now.profile, made.ops)), made.seen, now.credible)
    entry = None
    if made.changes or made.removed:
        entry = _entry(now.at, "extract", "minimal/hook", made.changes, made.removed, session)
    return Plan(made.ops, meta, entry, id, made.kept, made.removed)


def updated(now: Now, path: str, value: Any) -> Plan:
    """Return the plan for a value that a person sets. It becomes their own and does not decay (SPEC P-17)."""
    ops: tuple[Op, ...] = ({"op": "put", "path": path, "value": value},)
    after = apply(now.profile, ops)
    # There may be learned leaves below the path; the new value replaces them.
    theirs = {one for one in metas.standings(now.meta) if one == path or one.startswith(f"{path}.")}
    meta = metas.without(_tidied(now, after), theirs)
    if after == now.profile and meta == now.meta:
        return Plan((), now.meta, None)
    return Plan(ops, meta, _entry(now.at, "update", "mcp/tool", paths.nested({path: value})))


def removed(now: Now, path: str, element: str | None = None) -> Plan:
    """Return the plan for a person's removal of a leaf, of everything below a path, or of one element of an array."""
    have = paths.get(now.profile, path)
    ops: tuple[Op, ...] = ({"op": "drop", "path": path},)
    if element is not None:
        ops = ({"op": "take", "path": path, "values": [element]},)
    after = apply(now.profile, ops)
    if have is None or after == now.profile:
        return Plan((), now.meta, None)
    gone = [one for one in paths.leaves(now.profile) if one not in paths.leaves(after)]
    changes = {
        one: value for one, value in paths.leaves(after).items() if value != paths.get(now.profile, one)
    }
    entry = _entry(now.at, "remove", "mcp/tool", paths.nested(changes), gone)
    return Plan(ops, _tidied(now, after), entry, removed=tuple(gone))


def cleared(now: Now) -> Plan:
    """Return the plan that removes every value."""
    gone = list(paths.leaves(now.profile))
    if not gone:
        return Plan((), now.meta, None)
    ops: tuple[Op, ...] = tuple({"op": "drop", "path": path} for path in gone)
    meta = metas.without(now.meta, set(metas.standings(now.meta)))
    return Plan(ops, meta, _entry(now.at, "clear", "mcp/tool", {}, gone), removed=tuple(gone))


def faded(now: Now) -> Plan:
    """Return the changes that decay makes now; an empty plan if no time has passed (SPEC P-13, P-14)."""
    meta = metas.believed(_tidied(now, now.profile), now.at) if now.credible == now.at else now.meta
    done = metas.faded(meta, now.credible)
    if done.meta == now.meta:
        return Plan((), now.meta, None)
    ops: tuple[Op, ...] = tuple({"op": "drop", "path": path} for path in done.forgotten)
    entry = _entry(now.at, "decay", "system", {}, done.forgotten) if done.forgotten else None
    return Plan(ops, done.meta, entry, removed=done.forgotten)


def _tidied(now: Now, after: Json) -> Json:
    """The meta document without paths that a person edited since, and without those that are gone from the profile."""
    own = now.own
    gone = {one for one in metas.standings(now.meta) if one in own or paths.find(after, one) is None}
    return metas.without(now.meta, gone)


def _entry(
    at: float, action: str, source: str, changes: Json, gone: Iterable[str] = (), session: str = ""
) -> dict[str, Any]:
    """An entry of the changelog: keys in the seed's order, absent ones left out (SPEC P-18, P-19)."""
    made: dict[str, Any] = {"timestamp": utc_millis(at)}
    if session:
        made["session_id"] = session
    made |= {"action": action, "source": source, "changes": changes}
    return made | ({"removed": list(gone)} if gone else {})
