"""Decay and reinforcement of a confidence between 0 and 1 (SPEC P-11 to P-14, P-32). Pure; times are seconds since
1970, UTC.

A stored confidence is "as of" the later of the last sighting and the last decay. So decay depends on the time that
passed and not on how often it ran: two runs equal one. A clock that goes back changes no confidence.
"""

from __future__ import annotations

import math

DAY = 86_400.0
"""Seconds."""
HALF_LIFE_DAYS = 30.0
MIN_CONFIDENCE = 0.1
REINFORCE_BOOST = 0.3
FULL = 1.0
"""The confidence after a first sighting."""


def anchor_time(last_seen: float, last_decay: float | None) -> float:
    """Return the time that a stored confidence is "as of"."""
    return last_seen if last_decay is None else max(last_seen, last_decay)


def fade_confidence(confidence: float, since: float, now: float) -> float:
    """Given a confidence as of `since`, return it as of `now`: halved every 30 days, never raised (SPEC P-13)."""
    passed = max(0.0, now - since)
    return float(confidence * 0.5 ** (passed / (HALF_LIFE_DAYS * DAY)))


def reinforce_confidence(confidence: float, since: float, now: float) -> float:
    """Given a confidence as of `since`, return it after a sighting: decay first, then add 0.3, at most 1 (P-12)."""
    return min(1.0, fade_confidence(confidence, since, now) + REINFORCE_BOOST)


def is_forgotten(confidence: float) -> bool:
    """Whether the confidence is so low that its value is removed: strictly under 0.1 (SPEC P-14)."""
    return confidence < MIN_CONFIDENCE


def days_left(confidence: float, since: float, now: float) -> float:
    """Return the days from `now` until the value is removed without a further sighting.

    99.66 for a confidence of 1 as of now, 0 for one that is under 0.1 already.
    """
    left = fade_confidence(confidence, since, now)
    if left < MIN_CONFIDENCE:
        return 0.0
    return HALF_LIFE_DAYS * math.log2(left / MIN_CONFIDENCE) + max(0.0, since - now) / DAY
