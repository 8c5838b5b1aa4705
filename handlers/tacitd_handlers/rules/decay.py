"""How confidence fades and comes back (SPEC P-11 to P-14, P-32). Pure: times come in as seconds since 1970, UTC.

What is stored is "as of" the later of the last sighting and the last decay, so a decay is a function of the time that
passed and never of how often it ran: two runs equal one. A clock that goes back takes nothing away and gives nothing.
"""

from __future__ import annotations

import math

DAY = 86_400.0
"""Seconds."""
HALF_LIFE_DAYS = 30.0
MIN_CONFIDENCE = 0.1
REINFORCE_BOOST = 0.3
FULL = 1.0
"""What a first sighting is worth."""

EARLIEST = 1_735_689_600.0
"""2025-01-01 UTC, when the format was made: a clock before that is wrong."""
LATEST_AFTER = 400 * DAY
"""A clock that is further than this after everything that is known is not believed."""
BACK = DAY
"""A clock that is further back than this is said; what is less is an ordinary correction."""


def anchor(last_seen: float, last_decay: float | None) -> float:
    """The moment that a stored confidence is "as of"."""
    return last_seen if last_decay is None else max(last_seen, last_decay)


def faded(confidence: float, since: float, now: float) -> float:
    """Given a confidence as of `since`, return what is left of it now: halved every 30 days, never raised."""
    passed = max(0.0, now - since)
    return float(confidence * 0.5 ** (passed / (HALF_LIFE_DAYS * DAY)))


def reinforced(confidence: float, since: float, now: float) -> float:
    """Given a confidence as of `since`, return it after one more sighting now: fade first, then add 0.3, at most 1."""
    return min(1.0, faded(confidence, since, now) + REINFORCE_BOOST)


def forgotten(confidence: float) -> bool:
    """Whether so little is left that it is removed: strictly under 0.1."""
    return confidence < MIN_CONFIDENCE


def days_left(confidence: float, since: float, now: float) -> float:
    """Days from now until it is forgotten, if nobody says it again; 99.66 for a fresh one, 0 for one that is due."""
    left = faded(confidence, since, now)
    if left < MIN_CONFIDENCE:
        return 0.0
    return HALF_LIFE_DAYS * math.log2(left / MIN_CONFIDENCE) + max(0.0, since - now) / DAY


def doubted(now: float, known: float | None) -> str:
    """Why this clock is not believed; "" where it is.

    `known` is the newest moment that something else vouches for (a record of a transcript, an earlier run), None if
    nothing does. One boot in the year 2100, or in 1970, must not empty a profile.
    """
    if now < EARLIEST:
        return "the clock says a time before 2025"
    if known is None:
        return ""
    if now > known + LATEST_AFTER:
        return "the clock is more than 400 days after everything that is known"
    return "the clock is more than a day before what is known already" if now < known - BACK else ""
