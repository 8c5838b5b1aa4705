"""Every change to a profile, decided before anything is written: what is said, set, removed, cleared, forgotten. Pure.

A plan is data: operations on the profile, the new meta document, the line for the changelog.
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
    """The files as they stand, and the moment."""

    profile: Json
    meta: Json
    beside: Beside
    at: float
    """What the clock says: seconds since 1970, UTC."""
    credible: float
    """The same, or the newest moment that is known where the clock is not believed: nothing fades then."""

    @property
    def own(self) -> frozenset[str]:
        """The paths that are a person's."""
        return besides.own(self.profile, self.meta, self.beside)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written."""

    ops: tuple[Op, ...]
    meta: Json
    entry: Mapping[str, Any] | None
    """The line of the changelog; None: nothing that is worth one."""
    id: str = ""
    """What must not be done twice."""
    kept: tuple[str, ...] = ()
    """Paths where a person's own words stayed."""
    removed: tuple[str, ...] = ()


def learned(now: Now, said: Said, session: str, id: str) -> Plan:
    """What a person said about themselves."""
    made = merge(now.profile, said, now.own)
    meta = metas.sighted(_tidied(now, apply(now.profile, made.ops)), made.seen, now.credible)
    entry = None
    if made.changes or made.removed:
        entry = _entry(now.at, "extract", "minimal/hook", made.changes, made.removed, session)
    return Plan(made.ops, meta, entry, id, made.kept, made.removed)


def updated(now: Now, path: str, value: Any) -> Plan:
    """A person set this: it is theirs, and does not fade."""
    ops: tuple[Op, ...] = ({"op": "put", "path": path, "value": value},)
    after = apply(now.profile, ops)
    # Below the path may be learned leaves, which the new value replaces.
    theirs = {one for one in metas.standings(now.meta) if one == path or one.startswith(f"{path}.")}
    meta = metas.without(_tidied(now, after), theirs)
    if after == now.profile and meta == now.meta:
        return Plan((), now.meta, None)
    return Plan(ops, meta, _entry(now.at, "update", "mcp/tool", paths.nested({path: value})))


def removed(now: Now, path: str, element: str | None = None) -> Plan:
    """A person removed this: a leaf, all below a path, or one element of an array."""
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
    """A person wants nothing of it kept."""
    gone = list(paths.leaves(now.profile))
    if not gone:
        return Plan((), now.meta, None)
    ops: tuple[Op, ...] = tuple({"op": "drop", "path": path} for path in gone)
    meta = metas.without(now.meta, set(metas.standings(now.meta)))
    return Plan(ops, meta, _entry(now.at, "clear", "mcp/tool", {}, gone), removed=tuple(gone))


def faded(now: Now) -> Plan:
    """What time takes away. Nothing where no time has passed."""
    meta = metas.believed(_tidied(now, now.profile), now.at) if now.credible == now.at else now.meta
    done = metas.faded(meta, now.credible)
    if done.meta == now.meta:
        return Plan((), now.meta, None)
    ops: tuple[Op, ...] = tuple({"op": "drop", "path": path} for path in done.forgotten)
    entry = _entry(now.at, "decay", "system", {}, done.forgotten) if done.forgotten else None
    return Plan(ops, done.meta, entry, removed=done.forgotten)


def _tidied(now: Now, after: Json) -> Json:
    """The meta without what a person took over, and without what is not in the profile any more."""
    own = now.own
    gone = {one for one in metas.standings(now.meta) if one in own or paths.find(after, one) is None}
    return metas.without(now.meta, gone)


def _entry(
    at: float, action: str, source: str, changes: Json, gone: Iterable[str] = (), session: str = ""
) -> dict[str, Any]:
    """A line of the changelog, its keys in the seed's order, absent ones left out (SPEC P-18, P-19)."""
    made: dict[str, Any] = {"timestamp": utc_millis(at)}
    if session:
        made["session_id"] = session
    made |= {"action": action, "source": source, "changes": changes}
    return made | ({"removed": list(gone)} if gone else {})
