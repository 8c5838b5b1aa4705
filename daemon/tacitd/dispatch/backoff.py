"""When failed work is retried, and when it is given up. Pure rules: no clock, no disk.

The delays grow fourfold from `first` to `longest`. Work that waits for something outside (`blame` is "world": no model, no
budget) is retried without end. A batch that may itself be the cause ("work") is tried three times whole, then halved; a
record that still fails alone becomes a dead letter.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tacitd.handler import Later

TRIES = 3
"""How often a whole batch is tried before it is halved, or rejected if it is a single record."""
TRIES_HALVED = 2
"""The same for a part of a halved batch. Fewer, because each try may be paid for."""
FURTHEST = 40 * 86400.0
"""Maximum seconds until `not_before`, so that a clock that is wrong for a minute does not park work for a century."""


class Backoff(Struct, frozen=True):
    """The delays between tries, in seconds."""

    first: float = 30.0
    longest: float = 21600.0

    def get_delay(self, attempts: int) -> float:
        """Given how often it failed (1 or more), return the delay before the next try."""
        # The exponent is bounded because a float overflows after some 500 failures.
        return min(self.longest, self.first * 4.0 ** min(attempts - 1, 20))


class Parked(Struct, frozen=True):
    """Why work waits, and until when."""

    reason: str
    hint: str
    since: float
    """Seconds since 1970, UTC: when it was parked first."""
    attempts: int
    due: float
    """Monotonic seconds before which it is not offered."""
    not_before: float | None = None
    """Seconds since 1970, UTC, if the reason names a time."""
    blame: Literal["world", "work"] = "world"
    is_early: bool = False
    """The next try is before its time, because something happened or somebody asked."""


class Halve(Struct, frozen=True):
    """Offer at most `limit` records together."""

    limit: int


class GiveUp(Struct, frozen=True):
    """A single record failed often enough: write a dead letter."""

    reason: str


def decide_retry(
    before: Parked | None,
    later: Later,
    records: int,
    now: float,
    monotonic: float,
    backoff: Backoff,
    *,
    halved: bool = False,
) -> Parked | Halve | GiveUp:
    """Given the handler's `Later` for a batch of `records` (0: an event without records), return what follows.

    `now` is seconds since 1970; `monotonic` is the other clock. `halved`: the batch is part of one that was halved.
    """
    # Only failures of the same kind count: a batch that waited a week for the model has not failed three times.
    failures = before.attempts if before is not None and before.blame == later.blame else 0
    # Many sessions that begin within a minute are many tries, and say no more than one about what the work waits for.
    attempts = (
        max(failures, 1)
        if before is not None and before.is_early and later.blame == "world"
        else failures + 1
    )
    if later.blame == "work" and records > 0 and attempts >= (TRIES_HALVED if halved else TRIES):
        return Halve(records // 2) if records > 1 else GiveUp(later.reason)
    delay = _choose_delay(later.not_before, now, backoff, attempts)
    since = before.since if before is not None else now
    return Parked(later.reason, later.hint, since, attempts, monotonic + delay, later.not_before, later.blame)


def replan_parked(parked: Parked, now: float, monotonic: float, jump: float) -> Parked:
    """Given that the wall clock jumped by `jump` seconds, return the work with its new due time.

    If the clock was set back, the time in the reason came from a wrong clock, so the work is tried at once; if the reason
    still applies, it is parked again with a correct time.
    """
    if parked.not_before is None:
        return parked
    delay = min(max(0.0, parked.not_before - now), FURTHEST) if jump > 0 else 0.0
    return replace(parked, due=min(parked.due, monotonic + delay))


def _choose_delay(not_before: float | None, now: float, backoff: Backoff, attempts: int) -> float:
    """The seconds until `not_before`. If that is past or only seconds away, the growing delay, so that work with a wrong
    time is not tried in a loop."""
    ahead = not_before - now if not_before is not None else 0.0
    if ahead >= backoff.first:
        return min(ahead, FURTHEST)
    return max(backoff.get_delay(attempts), ahead)
