"""The confidence of a learned line: a fold over the times at which it was learned (SPEC S-54, P-11 to P-14).

It is kept in the daemon's state, never in the Markdown. A line that was not said for long is stale; no line is removed for
that. The stored confidence is as of `last_seen`, and the current one is computed from it on demand, so computing it often does not
change it. Pure: times are arguments.
"""

from __future__ import annotations

from msgspec import Struct

from tacitd_handlers.shared.decay import DAY, FULL, fade_confidence, reinforce_confidence


class LineConfidence(Struct, frozen=True):
    """The confidence of one line and its sightings. Times are seconds since 1970, UTC."""

    first_seen: float
    last_seen: float
    confidence: float
    """0 to 1, as of `last_seen`; not rounded."""
    seen_count: int
    corrections: int = 0
    """How many of the sightings corrected the assistant."""
    sessions: tuple[str, ...] = ()
    """Ids of the sessions of the sightings, the newest SESSIONS_LIMIT."""


SESSIONS_LIMIT = 20
STALE_DAYS = 100
"""Days after which a line that was said once is stale."""


def record_sighting(
    confidence: LineConfidence | None, now: float, session: str = "", *, corrected: bool = False
) -> LineConfidence:
    """Return the confidence after one more sighting at `now` (P-11, P-12). `confidence` is None before the first.

    The confidence decays to `now` first, then 0.3 is added, up to 1.0. A clock that was set back does not lower it.
    """
    if confidence is None:
        return LineConfidence(now, now, FULL, 1, int(corrected), (session,) if session else ())
    sessions = (*(one for one in confidence.sessions if one != session), *((session,) if session else ()))
    return LineConfidence(
        first_seen=min(confidence.first_seen, now),
        last_seen=max(confidence.last_seen, now),
        confidence=reinforce_confidence(confidence.confidence, confidence.last_seen, now),
        seen_count=confidence.seen_count + 1,
        corrections=confidence.corrections + corrected,
        sessions=sessions[-SESSIONS_LIMIT:],
    )


def add_confidence(confidence: LineConfidence, other: LineConfidence) -> LineConfidence:
    """Return the confidence of a line that takes the place of another one as well."""
    sessions = tuple(dict.fromkeys((*other.sessions, *confidence.sessions)))
    return LineConfidence(
        min(confidence.first_seen, other.first_seen),
        max(confidence.last_seen, other.last_seen),
        max(confidence.confidence, other.confidence),
        confidence.seen_count + other.seen_count,
        confidence.corrections + other.corrections,
        sessions[-SESSIONS_LIMIT:],
    )


def describe_count(said: int, sessions: int, corrections: int = 0) -> str:
    """Return `said 3 times in 2 sessions, 1 of them a correction`."""
    text = f"said {said} time{'' if said == 1 else 's'}"
    if sessions:
        text += f" in {sessions} session{'' if sessions == 1 else 's'}"
    if corrections:
        text += f", {corrections} of them {'a correction' if corrections == 1 else 'corrections'}"
    return text


def current_confidence(confidence: LineConfidence, now: float) -> float:
    """The line's confidence at `now`, 0 to 1: it halves every 30 days since the line was last seen (P-13)."""
    return fade_confidence(confidence.confidence, confidence.last_seen, now)


def is_stale(confidence: LineConfidence, now: float) -> bool:
    """Whether it was not said for 100 days times the number of times it was said (S-54)."""
    return now - confidence.last_seen > STALE_DAYS * DAY * confidence.seen_count
