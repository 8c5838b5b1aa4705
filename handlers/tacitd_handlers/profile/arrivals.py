"""Whether another machine's change of the profile has arrived in all of its files (SPEC P-17). Pure.

A synchronised directory gets profile.json, profile-meta.json and changelog.jsonl one by one, in any order, and a machine may
crash between two of them. Until all are there, a learned value has no entry, or an entry has another value, as after an
edit by hand. So nothing is tidied in profile-meta.json and nothing decays for as long; and if nothing is known of how the
values came, none of them is replaced or removed. Every change of the profile sets `lastUpdated` and has an entry of the
changelog with the same time, by which the files are compared. A hand edit leaves `lastUpdated` as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacitd.clock import parse_utc
from tacitd_handlers.profile.dot_paths import Json
from tacitd_handlers.shared.decay import DAY

NEAR = 0.5
"""Seconds. Times of one change in several files differ by less."""
PATIENCE = DAY
"""Seconds for which files that belong together are waited for."""


def find_unexplained(
    profile: Json, log: Sequence[Mapping[str, Any]], written: str, awaited: str, now: float
) -> str:
    """Return `lastUpdated` (ISO 8601) of a change of which the changelog has no entry yet; "" if there is none.

    `log`: the changelog's entries. `written`: `lastUpdated` of this machine's last write. `awaited`: what an earlier call
    returned, if this machine wrote the profile since. `now`: seconds since 1970, UTC.
    """
    logged, stamp = _logged(log), str(profile.get("lastUpdated"))
    for one in (awaited, stamp if stamp != written else ""):
        at = parse_utc(one)
        if at is not None and abs(now - at) < PATIENCE and not any(_is_same(at, other) for other in logged):
            return one
    return ""


def _is_same(at: float, logged: float) -> bool:
    """Whether an entry's time can be that of a change at `at`. Some programs write whole seconds."""
    return abs(at - logged) <= NEAR or (logged % 1 == 0 and 0 <= at - logged < 1)


def is_profile_older(profile: Json, meta: Json, log: Sequence[Mapping[str, Any]], now: float) -> bool:
    """Whether the changelog or the meta file knows of a change that is not in profile.json yet.

    `now`: seconds since 1970, UTC.
    """
    updated = parse_utc(profile.get("lastUpdated"))
    # An entry is created together with its value; it is sighted later without a change of the profile.
    created = [parse_utc(one.get("firstSeen")) or 0.0 for one in meta.get("preferences", ())]
    newest = max([*_logged(log), *created], default=0.0)
    return updated is not None and newest > updated + NEAR and abs(now - newest) < PATIENCE


def _logged(log: Sequence[Mapping[str, Any]]) -> list[float]:
    return [at for one in log if (at := parse_utc(one.get("timestamp"))) is not None]
