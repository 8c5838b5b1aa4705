"""The confidence of a learned line: a fold over the times at which it was learned (SPEC S-54, P-11 to P-14).

It is kept in the daemon's state, never in the Markdown. A line under 0.1 is stale; no line is removed for that. The
stored confidence is as of `last_seen`, and the current one is computed from it on demand, so computing it often does not
change it. Pure: times are arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacitd_handlers.shared.decay import FULL, fade_confidence, is_forgotten, reinforce_confidence


@dataclass(frozen=True, slots=True)
class LineConfidence:
    """The confidence of one line and its sightings. Times are seconds since 1970, UTC."""

    first_seen: float
    last_seen: float
    confidence: float
    """0 to 1, as of `last_seen`; not rounded."""
    seen_count: int


def record_sighting(confidence: LineConfidence | None, now: float) -> LineConfidence:
    """Return the confidence after one more sighting at `now` (P-11, P-12). `standing` is None before the first.

    The confidence decays to `now` first, then 0.3 is added, up to 1.0. A clock that was set back does not lower it.
    """
    if confidence is None:
        return LineConfidence(now, now, FULL, 1)
    return LineConfidence(
        first_seen=min(confidence.first_seen, now),
        last_seen=max(confidence.last_seen, now),
        confidence=reinforce_confidence(confidence.confidence, confidence.last_seen, now),
        seen_count=confidence.seen_count + 1,
    )


def current_confidence(confidence: LineConfidence, now: float) -> float:
    """The line's confidence at `now`, 0 to 1: it halves every 30 days since the line was last seen (P-13)."""
    return fade_confidence(confidence.confidence, confidence.last_seen, now)


def is_stale(confidence: LineConfidence, now: float) -> bool:
    """Whether the confidence is under 0.1; from 1.0 that takes 99.66 days (P-14)."""
    return is_forgotten(current_confidence(confidence, now))


def as_data(confidence: LineConfidence) -> dict[str, Any]:
    """Return JSON with SPEC S-54's field names. Times are seconds since 1970, UTC."""
    return {
        "firstSeen": confidence.first_seen,
        "lastSeen": confidence.last_seen,
        "confidence": confidence.confidence,
        "seenCount": confidence.seen_count,
    }


def from_data(data: Mapping[str, Any]) -> LineConfidence | None:
    """The reverse of `as_data`; None if the data is invalid."""
    try:
        confidence = LineConfidence(
            first_seen=float(data["firstSeen"]),
            last_seen=float(data["lastSeen"]),
            confidence=float(data["confidence"]),
            seen_count=int(data["seenCount"]),
        )
    except (KeyError, TypeError, ValueError):
        return None
    return confidence if 0.0 <= confidence.confidence <= 1.0 else None
