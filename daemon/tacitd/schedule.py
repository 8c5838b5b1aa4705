"""What happens by the clock. APScheduler lives here and nowhere else.

A job here only says that something is due; what it does is a function of elapsed time, never of how often it ran.
Each job's last success is kept in its handler's log, so a restart neither repeats nor forgets it.
APScheduler 3 goes by the wall clock alone and does not run at all while that is set back: `wake` is called when a jump
was seen, and no job then waits longer than what is left of its interval.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from apscheduler.executors.debug import DebugExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from tacitd.clock import Clock
from tacitd.handler import Job

SOON = 1.0
"""Seconds until a job runs that is due at the start."""


class Schedule:
    """Calls `due(slice, job)` from its own thread whenever a job's interval has passed."""

    def __init__(self, clock: Clock, due: Callable[[str, str], None]) -> None:
        self._clock = clock
        self._due = due
        self._every: dict[str, float] = {}
        self._ran: dict[str, float] = {}
        """Monotonic seconds: what the interval of each job is counted from."""
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": DebugExecutor()},  # a job only posts an event: no pool is needed
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )

    def add(self, slice_name: str, job: Job, last: float | None) -> None:
        """Plan a job. `last` is when it last succeeded (seconds since 1970, UTC), None if never."""
        if job.every == float("inf"):
            return
        id, pause = f"{slice_name}.{job.name}", first_pause(job, last, self._clock.now())
        self._every[id], self._ran[id] = job.every, self._clock.monotonic() + pause - job.every
        self._scheduler.add_job(
            self._fire,
            "interval",
            seconds=job.every,
            args=(id, slice_name, job.name),
            id=id,
            next_run_time=self._in(pause),
        )

    def _fire(self, id: str, slice_name: str, job: str) -> None:
        self._ran[id] = self._clock.monotonic()
        self._due(slice_name, job)

    def start(self) -> None:
        """Begin."""
        self._scheduler.start()

    def wake(self) -> None:
        """The wall clock jumped, or the machine slept: nothing waits longer than the time that is left, then look."""
        for job in self._scheduler.get_jobs():
            left = self._ran[job.id] + self._every[job.id] - self._clock.monotonic()
            latest = self._in(max(SOON, left))
            if job.next_run_time is None or job.next_run_time > latest:
                job.modify(next_run_time=latest)
        if self._scheduler.running:
            self._scheduler.wakeup()

    def next_in(self) -> dict[str, float]:
        """Seconds until each job runs, below 0 where it is overdue."""
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        return {job.id: (job.next_run_time - now).total_seconds() for job in self._scheduler.get_jobs()}

    def _in(self, seconds: float) -> datetime:
        return datetime.fromtimestamp(self._clock.now() + seconds, UTC)

    def stop(self) -> None:
        """End, without waiting."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)


def first_pause(job: Job, last: float | None, now: float) -> float:
    """Given when a job last succeeded (None: never), return the seconds until its first run.

    At most its interval, also where `last` is in the future because the clock was wrong then.
    """
    if job.at_start:
        return SOON
    if last is None:
        return job.every
    return min(job.every, max(SOON, last + job.every - now))
