"""The rules of profile-meta.json: sightings, decay and removal (SPEC P-09 to P-17, P-32). Pure.

A stored confidence is "as of" the later of the last sighting and the last decay. So decay depends on the time that passed and
not on how often it ran, and a clock that goes back changes no confidence. The functions take and return the document as it is on
disk, so unknown keys and the order stay. Times are seconds since 1970, UTC, cut to whole milliseconds, the precision of the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec import Struct

from tacitd.clock import parse_utc, utc_millis
from tacitd_handlers.profile.fields import Json

DAY = 86_400.0
"""Seconds."""
HALF_LIFE_DAYS, MIN_CONFIDENCE, REINFORCE_BOOST = 30.0, 0.1, 0.3
FULL = 1.0
"""The confidence after a first sighting."""


class PathConfidence(Struct, frozen=True):
    path: str
    confidence: float
    """As of `since`."""
    since: float
    last_seen: float
    seen_count: int

    def confidence_at(self, now: float) -> float:
        """Halved every 30 days, never raised (SPEC P-13)."""
        return float(self.confidence * 0.5 ** (max(0.0, now - self.since) / (HALF_LIFE_DAYS * DAY)))

    def days_left(self, now: float) -> float:
        """The days until the path is removed; 0 if it is due. 99.66 for a confidence of 1 as of now."""
        left = self.confidence_at(now)
        if left < MIN_CONFIDENCE:
            return 0.0
        return HALF_LIFE_DAYS * math.log2(left / MIN_CONFIDENCE) + max(0.0, self.since - now) / DAY


def new_metadata(user: str, now: float) -> Json:
    """A document without preferences. Its `lastDecay` is now (SPEC P-15)."""
    return {"userId": user, "schemaVersion": 1, "lastDecay": utc_millis(now), "preferences": []}


def last_decay(meta: Json) -> float | None:
    """When decay was last written; None if the document has no readable `lastDecay`."""
    return parse_utc(meta.get("lastDecay"))


def read_confidences(meta: Json) -> dict[str, PathConfidence]:
    """Every preference of a document that was checked, by its path."""
    found, decayed = dict[str, PathConfidence](), last_decay(meta) or 0.0
    for one in meta.get("preferences", ()):
        path, last = one["path"], parse_utc(one["lastSeen"]) or 0.0
        found[path] = PathConfidence(path, one["confidence"], max(last, decayed), last, one["seenCount"])
    return found


def newest_moment(meta: Json) -> float | None:
    """The newest time in the document; None if there is none. With it, a wrong clock is recognised."""
    times = [one.since for one in read_confidences(meta).values()]
    return max([*times, *filter(None, [last_decay(meta)])], default=None)


def add_sightings(meta: Json, paths: Iterable[str], now: float) -> Json:
    """A copy with one more sighting of each of these paths: decay first, then 0.3 more, at most 1 (SPEC P-11, P-12)."""
    stamp = utc_millis(now)
    now, known = parse_utc(stamp) or now, read_confidences(meta)
    entries = {one["path"]: dict(one) for one in meta["preferences"]}
    for path in dict.fromkeys(paths):
        new = {"path": path, "firstSeen": stamp, "lastSeen": stamp, "confidence": FULL, "seenCount": 1}
        entry = entries.setdefault(path, new)
        if (before := known.get(path)) is not None:
            entry["confidence"] = min(FULL, before.confidence_at(now) + REINFORCE_BOOST)
            # Not before `since`: if the clock went back, the same days would be subtracted twice.
            entry["lastSeen"] = utc_millis(max(before.since, now))
            entry["seenCount"] = before.seen_count + 1
    return meta | {"preferences": list(entries.values())}


def decay_metadata(meta: Json, now: float) -> tuple[Json, tuple[str, ...]]:
    """The document as of `now` without paths under 0.1, and those paths (SPEC P-13, P-14). `lastDecay` never goes back."""
    now = parse_utc(utc_millis(now)) or now
    left = {path: one.confidence_at(now) for path, one in read_confidences(meta).items()}
    gone = tuple(path for path, confidence in left.items() if confidence < MIN_CONFIDENCE)
    kept = [one | {"confidence": left[one["path"]]} for one in meta["preferences"] if one["path"] not in gone]
    return meta | {"preferences": kept, "lastDecay": utc_millis(max(now, last_decay(meta) or now))}, gone


def is_due(meta: Json, now: float) -> bool:
    """Whether decay must be written: a day has passed, or a confidence fell under 0.1 (SPEC P-14, P-16). The clock must be believed."""
    decayed = last_decay(meta)
    if decayed is None or now - decayed >= DAY:
        return True
    return any(one.confidence_at(now) < MIN_CONFIDENCE for one in read_confidences(meta).values())
