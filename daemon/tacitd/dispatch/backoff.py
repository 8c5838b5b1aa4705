"""When work that did not go through is tried again, and when it is given up. Pure rules: no clock, no disk.

The pauses grow fourfold from `first` to `longest`. What waits for the world (no model, no budget) waits as long
as it takes. What may be to blame itself is tried three times whole, then halved, and the one record that
still fails alone is rejected: a dead letter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from tacitd.handler import Later

TRIES = 3
"""How often a batch is offered whole before it is halved, or rejected when it is a single record."""
TRIES_HALVED = 2
"""The same for a part of a batch that was halved: each try may be paid for."""


FURTHEST = 40 * 86400.0
"""Seconds. A `not_before` further off is taken as this, so that a clock that was wrong for a minute does not park work
for a century."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait between tries, in seconds."""

    first: float = 30.0
    longest: float = 21600.0

    def get_delay(self, attempts: int) -> float:
        """Given how often it failed (1 or more), return the pause before the next try."""
        return min(self.longest, self.first * 4.0 ** min(attempts - 1, 20))


@dataclass(frozen=True, slots=True)
class Parked:
    """Work that waits, and why."""

    reason: str
    hint: str
    since: float
    """Seconds since 1970, UTC: when it was first parked."""
    attempts: int
    due: float
    """Monotonic seconds: not offered before."""
    not_before: float | None = None
    """Seconds since 1970, UTC, where the reason names a time."""
    blame: Literal["world", "work"] = "world"


@dataclass(frozen=True, slots=True)
class Halve:
    """Offer less of it: at most `limit` records."""

    limit: int


@dataclass(frozen=True, slots=True)
class GiveUp:
    """It failed alone and often enough: a dead letter."""

    reason: str


def decide_retry(
    before: Parked | None,
    later: Later,
    records: int,
    now: float,
    monotonic: float,
    pauses: Backoff,
    *,
    halved: bool = False,
) -> Parked | Halve | GiveUp:
    """Given what the handler said of a batch of `records` (0: an event without records), decide what becomes of it.

    `now` is wall time, `monotonic` the other.
    """
    failures = before.attempts if before is not None and before.blame == later.blame else 0
    attempts = failures + 1
    if later.blame == "work" and records > 0 and attempts >= (TRIES_HALVED if halved else TRIES):
        return Halve(records // 2) if records > 1 else GiveUp(later.reason)
    pause = _choose_delay(later.not_before, now, pauses, attempts)
    since = before.since if before is not None else now
    return Parked(later.reason, later.hint, since, attempts, monotonic + pause, later.not_before, later.blame)


def replan_parked(parked: Parked, now: float, monotonic: float, jump: float) -> Parked:
    """Given that the wall clock jumped by `jump` seconds, return when parked work is due now.

    What waits for a time that a clock named which was set back is tried at once: the reason is found anew then.
    """
    if parked.not_before is None:
        return parked
    pause = min(max(0.0, parked.not_before - now), FURTHEST) if jump > 0 else 0.0
    return replace(parked, due=min(parked.due, monotonic + pause))


def _choose_delay(not_before: float | None, now: float, pauses: Backoff, attempts: int) -> float:
    """A time that is past, or only seconds away, must not make a loop of tries: then the pauses grow as always."""
    grown = pauses.get_delay(attempts)
    ahead = not_before - now if not_before is not None else 0.0
    if ahead >= pauses.first:
        return min(ahead, FURTHEST)
    return max(grown, ahead)
