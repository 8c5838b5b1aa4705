"""How much a learned line still counts: a fold over the times it was said (SPEC S-54, P-11 to P-14).

Kept in the daemon's own state, never in the Markdown, and nothing is removed by it: a line under 0.1 is listed
as stale by `tacitd review`. The stored confidence is as of `last_seen`; what it is now is worked out when asked,
so how often that is asked changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacitd_handlers.shared.decay import FULL, fade_confidence, is_forgotten, reinforce_confidence


@dataclass(frozen=True, slots=True)
class LineConfidence:
    """What is known about one line's strength. Times are seconds since 1970, UTC."""

    first_seen: float
    last_seen: float
    confidence: float
    """0 to 1, as of `last_seen`; not rounded."""
    seen_count: int


def record_sighting(standing: LineConfidence | None, now: float) -> LineConfidence:
    """Given what is known (None: nothing yet), return it after one more sighting (P-11, P-12).

    Decays to now first, then adds 0.3, at most 1.0. A clock that went back takes nothing away.
    """
    if standing is None:
        return LineConfidence(now, now, FULL, 1)
    return LineConfidence(
        first_seen=min(standing.first_seen, now),
        last_seen=max(standing.last_seen, now),
        confidence=reinforce_confidence(standing.confidence, standing.last_seen, now),
        seen_count=standing.seen_count + 1,
    )


def current_confidence(standing: LineConfidence, now: float) -> float:
    """The line's confidence now: halved every 30 days since it was last seen (P-13)."""
    return fade_confidence(standing.confidence, standing.last_seen, now)


def is_stale(standing: LineConfidence, now: float) -> bool:
    """Whether the line is to be listed as stale: strictly under 0.1, from 1.0 first after 99.66 days (P-14)."""
    return is_forgotten(current_confidence(standing, now))


def as_data(standing: LineConfidence) -> dict[str, Any]:
    """The standing as JSON, under the field's own names."""
    return {
        "firstSeen": standing.first_seen,
        "lastSeen": standing.last_seen,
        "confidence": standing.confidence,
        "seenCount": standing.seen_count,
    }


def from_data(data: Mapping[str, Any]) -> LineConfidence | None:
    """The reverse of `as_data`; None where the data is not one."""
    try:
        standing = LineConfidence(
            first_seen=float(data["firstSeen"]),
            last_seen=float(data["lastSeen"]),
            confidence=float(data["confidence"]),
            seen_count=int(data["seenCount"]),
        )
    except (KeyError, TypeError, ValueError):
        return None
    return standing if 0.0 <= standing.confidence <= 1.0 else None
