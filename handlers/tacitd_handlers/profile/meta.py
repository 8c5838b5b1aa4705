"""profile-meta.json as rules: sightings, fading, what is forgotten (SPEC P-09 to P-17). Pure.

Works on the document as it is on disk, so unknown keys and the order stay. Times come in as seconds since 1970, UTC, and
are cut to whole milliseconds, which is what the file can hold: nothing is lost by writing a confidence down.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from tacitd.clock import parse_utc, utc_millis
from tacitd_handlers.profile.paths import Json
from tacitd_handlers.rules import decay


@dataclass(frozen=True, slots=True)
class Standing:
    """How sure a learned path is."""

    path: str
    confidence: float
    """As of `since`."""
    first_seen: float
    last_seen: float
    since: float
    seen_count: int

    def now(self, now: float) -> float:
        """What is left of it."""
        return decay.faded(self.confidence, self.since, now)

    def days_left(self, now: float) -> float:
        """Days until it is forgotten."""
        return decay.days_left(self.confidence, self.since, now)


def fresh(user: str, now: float) -> Json:
    """A document without any preference (SPEC P-15: a missing lastDecay is now)."""
    return {"userId": user, "schemaVersion": 1, "lastDecay": utc_millis(now), "preferences": []}


def exact(now: float) -> float:
    """The moment as the file can hold it."""
    return parse_utc(utc_millis(now)) or now


def last_decay(meta: Json) -> float | None:
    """When decay was last written, None if the document does not say."""
    return parse_utc(meta.get("lastDecay"))


def standings(meta: Json) -> dict[str, Standing]:
    """Every preference by its path."""
    decayed = last_decay(meta)
    found = (_standing(one, decayed) for one in meta.get("preferences", ()))
    return {one.path: one for one in found}


def _standing(raw: Mapping[str, object], decayed: float | None) -> Standing:
    last = parse_utc(raw.get("lastSeen")) or 0.0
    first = parse_utc(raw.get("firstSeen")) or last
    confidence, count = raw.get("confidence"), raw.get("seenCount")
    return Standing(
        str(raw["path"]),
        float(confidence) if isinstance(confidence, int | float) else 0.0,
        first,
        last,
        decay.anchor(last, decayed),
        count if isinstance(count, int) else 1,
    )


def newest(meta: Json) -> float | None:
    """The newest moment that the document vouches for."""
    times = [one.since for one in standings(meta).values()]
    return max([*times, *filter(None, [last_decay(meta)])], default=None)


def sighted(meta: Json, paths: Iterable[str], now: float) -> Json:
    """A copy in which these paths were said once more (SPEC P-11, P-12)."""
    made, now = copy.deepcopy(meta), exact(now)
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
    raw["confidence"] = decay.reinforced(before.confidence, before.since, now)
    # Not before `since`: a clock that is back would have the same days taken away twice.
    raw["lastSeen"] = utc_millis(max(before.since, now))
    raw["seenCount"] = before.seen_count + 1


@dataclass(frozen=True, slots=True)
class Faded:
    """A decay: the new document, and what it made forgotten."""

    meta: Json
    forgotten: tuple[str, ...]


def faded(meta: Json, now: float) -> Faded:
    """Given the document, return it as of now (SPEC P-13, P-14). `lastDecay` never goes back."""
    made, now = copy.deepcopy(meta), exact(now)
    decayed = last_decay(made)
    kept, gone = [], []
    for raw in made["preferences"]:
        before = _standing(raw, decayed)
        left = before.now(now)
        if decay.forgotten(left):
            gone.append(before.path)
        else:
            raw["confidence"] = left
            kept.append(raw)
    made["preferences"] = kept
    made["lastDecay"] = utc_millis(max(now, decayed if decayed is not None else now))
    return Faded(made, tuple(gone))


def without(meta: Json, paths: Collection[str]) -> Json:
    """A copy in which these paths are a person's own."""
    made = copy.deepcopy(meta)
    made["preferences"] = [one for one in made["preferences"] if one["path"] not in paths]
    return made


def believed(meta: Json, now: float) -> Json:
    """A copy in which no time lies more than 400 days ahead of a clock that is believed: another one wrote them.

    They become now; no confidence is raised by that.
    """
    limit, stamp, made = now + decay.LATEST_AFTER, utc_millis(now), copy.deepcopy(meta)
    for holder, keys in [
        (made, ("lastDecay",)),
        *((one, ("firstSeen", "lastSeen")) for one in made["preferences"]),
    ]:
        for key in keys:
            if (parse_utc(holder.get(key)) or 0.0) > limit:
                holder[key] = stamp
    return made


def is_due(meta: Json, now: float) -> bool:
    """Whether decay is to be written: a day has passed, or something has fallen under 0.1 (SPEC P-14, P-16)."""
    decayed = last_decay(meta)
    if decayed is None or now - decayed >= decay.DAY:
        return True
    return any(decay.forgotten(one.now(now)) for one in standings(meta).values())
