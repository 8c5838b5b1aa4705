"""Timed jobs: which of them are due now. The only module that uses APScheduler.

Its triggers compute when a job is due next. Its schedulers are not used: they compare with the system's clock, list every
missed run before they coalesce them (16 million for a job of one minute if the clock is set from 1970 to now), and do not run
while the clock is set back.

A due job only means that its interval has passed. What it does is a function of elapsed time, never of how often it ran. The
last success of each is a row of `job`, so a restart neither repeats nor forgets it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from apscheduler.triggers.interval import IntervalTrigger
from msgspec import Struct

from tacitd.clock import Clock
from tacitd.plugin import TimedJob

SOON = 1.0
"""Seconds after the start at which a job runs that never succeeded."""
_EPOCH = datetime.fromtimestamp(0, UTC)
_LONGEST = timedelta.max.total_seconds()


class PlannedJob(Struct):
    """A job, and when it is due next on each clock: as soon as its interval has passed on either. If the wall clock is set
    forward, the interval has passed for people; if it is set back, a job must not wait until the old time is reached again."""

    plugin: str
    name: str
    trigger: IntervalTrigger
    wall: float
    steady: float


class Schedule:
    """The jobs of all plugins. One thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._planned: list[PlannedJob] = []

    def add_job(self, plugin_name: str, job: TimedJob, last: float | None) -> None:
        """Plan a job. `last`: when it last succeeded. One with an infinite interval runs only when a person asks for it."""
        if job.every > _LONGEST:
            return
        trigger = IntervalTrigger(seconds=job.every, start_date=_EPOCH, timezone=UTC)  # pyright: ignore[reportArgumentType] # the type says int; it takes fractions
        now = self._clock.now()
        pause = first_pause(job.every, last, now)
        steady = self._clock.monotonic() + pause
        self._planned.append(PlannedJob(plugin_name, job.name, trigger, now + pause, steady))

    def take_due(self) -> list[tuple[str, str]]:
        """The jobs that are due now as (plugin, job). Their next interval begins now."""
        taken = [one for one in self._planned if self._time_left(one) <= 0]
        for one in taken:
            one.wall = _next_time(one.trigger, self._clock.now())
            one.steady = _next_time(one.trigger, self._clock.monotonic())
        return [(one.plugin, one.name) for one in taken]

    def next_in(self) -> float:
        """Seconds; infinite if there is none, below 0 if one is overdue."""
        return min(map(self._time_left, self._planned), default=float("inf"))

    def _time_left(self, one: PlannedJob) -> float:
        return min(one.wall - self._clock.now(), one.steady - self._clock.monotonic())


def first_pause(every: float, last: float | None, now: float) -> float:
    """Seconds until the first run: at most `every`, also if `last` is in the future because the clock was wrong then."""
    return SOON if last is None else min(every, max(SOON, last + every - now))


def _next_time(trigger: IntervalTrigger, last: float) -> float:
    """Infinite if `datetime` cannot express it, so that the other clock decides."""
    try:
        then = datetime.fromtimestamp(last, UTC)
        due: datetime | None = trigger.get_next_fire_time(then, then)
    except (OverflowError, OSError, ValueError):
        return float("inf")
    return float("inf") if due is None else due.timestamp()
