"""The rules of profile-meta.json: sightings, decay and removal (SPEC P-09 to P-17). Pure.

The functions take and return the document as it is on disk, so unknown keys and the order stay. Times are seconds since
1970, UTC. They are cut to whole milliseconds, the precision of the file, so that a written confidence is exact. The
formula of decay belongs to `shared.decay`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from tacitd.clock import parse_utc, utc_millis
from tacitd_handlers.profile.fields import Json
from tacitd_handlers.shared import decay


class PathConfidence(Struct, frozen=True):
    """The confidence of a learned path."""

    path: str
    confidence: float
    """As of `since`."""
    first_seen: float
    """Seconds since 1970, UTC, as are the next two."""
    last_seen: float
    since: float
    seen_count: int

    def confidence_at(self, now: float) -> float:
        """Return the confidence as of `now`."""
        return decay.fade_confidence(self.confidence, self.since, now)

    def days_left(self, now: float) -> float:
        """Return the days until the path is removed; 0 if it is due."""
        return decay.days_left(self.confidence, self.since, now)


def new_metadata(user: str, now: float) -> Json:
    """Return a document without preferences. Its `lastDecay` is now (SPEC P-15)."""
    return {"userId": user, "schemaVersion": 1, "lastDecay": utc_millis(now), "preferences": []}


def round_to_millis(now: float) -> float:
    """Return the time in whole milliseconds, as in the file."""
    return parse_utc(utc_millis(now)) or now


def last_decay(meta: Json) -> float | None:
    """Return when decay was last written; None if the document has no readable `lastDecay`."""
    return parse_utc(meta.get("lastDecay"))


def read_confidences(meta: Json) -> dict[str, PathConfidence]:
    """Return every preference by its path. Raises KeyError, TypeError or AttributeError for a malformed document."""
    decayed = last_decay(meta)
    found = (_standing(one, decayed) for one in meta.get("preferences", ()))
    return {one.path: one for one in found}


def _standing(raw: Mapping[str, object], decayed: float | None) -> PathConfidence:
    last = parse_utc(raw.get("lastSeen")) or 0.0
    first = parse_utc(raw.get("firstSeen")) or last
    confidence, count = raw.get("confidence"), raw.get("seenCount")
    return PathConfidence(
        str(raw["path"]),
        float(confidence) if isinstance(confidence, int | float) else 0.0,
        first,
        last,
        decay.anchor_time(last, decayed),
        count if isinstance(count, int) else 1,
    )


def newest_moment(meta: Json) -> float | None:
    """Return the newest time in the document; None if there is none. With it, a wrong clock is recognised."""
    times = [one.since for one in read_confidences(meta).values()]
    return max([*times, *filter(None, [last_decay(meta)])], default=None)


def add_sightings(meta: Json, paths: Iterable[str], now: float) -> Json:
    """Return a copy with one more sighting of each of these paths (SPEC P-11, P-12)."""
    made, now = _copy_document(meta), round_to_millis(now)
    known = {one["path"]: one for one in made["preferences"]}
    decayed = last_decay(made)
    for path in dict.fromkeys(paths):
        if path in known:
            _again(known[path], decayed, now)
        else:
            stamp = utc_millis(now)
            entry = {
                "path": path,
                "firstSeen": stamp,
                "lastSeen": stamp,
                "confidence": decay.FULL,
                "seenCount": 1,
            }
            made["preferences"].append(entry)
    return made


def _again(raw: Json, decayed: float | None, now: float) -> None:
    before = _standing(raw, decayed)
    raw["confidence"] = decay.reinforce_confidence(before.confidence, before.since, now)
    # Not before `since`: if the clock went back, the same days would be subtracted twice.
    raw["lastSeen"] = utc_millis(max(before.since, now))
    raw["seenCount"] = before.seen_count + 1


class DecayResult(Struct, frozen=True):
    """The result of decay: the new document, and the paths that were removed."""

    meta: Json
    forgotten: tuple[str, ...]


def decay_metadata(meta: Json, now: float) -> DecayResult:
    """Return the document as of `now`, without paths under 0.1 (SPEC P-13, P-14). `lastDecay` never goes back."""
    made, now = _copy_document(meta), round_to_millis(now)
    decayed = last_decay(made)
    kept, gone = [], []
    for raw in made["preferences"]:
        before = _standing(raw, decayed)
        left = before.confidence_at(now)
        if decay.is_forgotten(left):
            gone.append(before.path)
        else:
            raw["confidence"] = left
            kept.append(raw)
    made["preferences"] = kept
    made["lastDecay"] = utc_millis(max(now, decayed if decayed is not None else now))
    return DecayResult(made, tuple(gone))


def remove_paths(meta: Json, paths: Collection[str]) -> Json:
    """Return a copy without entries for these paths. A path without an entry is a person's own (SPEC P-17)."""
    made = _copy_document(meta)
    made["preferences"] = [one for one in made["preferences"] if one["path"] not in paths]
    return made


def is_due(meta: Json, now: float) -> bool:
    """Whether decay must be written: a day has passed, or a confidence fell under 0.1 (SPEC P-14, P-16).

    Call it with a trusted clock only.
    """
    decayed = last_decay(meta)
    if decayed is None or now - decayed >= decay.DAY:
        return True
    return any(decay.is_forgotten(one.confidence_at(now)) for one in read_confidences(meta).values())


def _copy_document(meta: Json) -> Json:
    from copy import deepcopy  # only a change needs it, and the commands that read do not

    return deepcopy(meta)
