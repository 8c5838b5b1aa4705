"""The growth breaker: sessions that come faster than a person can start them are a program's, maybe our own.

It is the last of several guards against the daemon learning from itself, and the only one that knows nothing
of how the others fail (DESIGN "The model"). Pure but for the clock. A directory that is closed is not paid for;
what waits there is not lost.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from tacitd.handler import Degradation

HOUR = 3600.0
LIMIT = 30
"""New sessions from one working directory within an hour that a person may still start."""


@dataclass(slots=True)
class _Place:
    known: dict[str, float] = field(default_factory=dict)
    """Session to the time of its first record; times of the last hour and of catching up."""
    times: list[float] = field(default_factory=list)
    """The same times, sorted."""
    seen: deque[float] = field(default_factory=deque)
    """When we came to know of each, monotonic: what reopening goes by."""
    closed: bool = False


class Breaker:
    """Counts new sessions for each working directory. `monotonic` is a clock's `monotonic`."""

    def __init__(self, monotonic: Callable[[], float], limit: int = LIMIT) -> None:
        self._monotonic = monotonic
        self._limit = limit
        self._places: dict[str, _Place] = {}

    def note(self, cwd: str, session: str, at: float) -> None:
        """A session has a record in this directory; `at`: of its first one, seconds since 1970. May be repeated.

        Closing goes by the records' own times, so that a week of ordinary work read in one go closes nothing.
        """
        self._forget()
        place = self._places.setdefault(cwd, _Place())
        if session in place.known:
            return
        place.known[session] = at
        insort(place.times, at)
        place.seen.append(self._monotonic())
        place.closed = place.closed or _busiest_hour(place.times, at) > self._limit

    def closed(self, cwd: str) -> bool:
        """Whether this directory is closed. It opens when under half of the limit came to be known in an hour."""
        self._forget()
        place = self._places.get(cwd)
        return place is not None and place.closed

    def degradations(self) -> list[Degradation]:
        """One that names the directories that are closed, or none."""
        self._forget()
        shut = [f"{cwd} ({len(place.seen)})" for cwd, place in self._places.items() if place.closed]
        if not shut:
            return []
        what = (
            f"more new sessions within an hour than a person starts ({self._limit}): closed {', '.join(shut)}"
        )
        hint = (
            "Find the program that starts them; a directory opens by itself when they stop. Nothing is lost."
        )
        return [Degradation("breaker.closed", what, hint)]

    def _forget(self) -> None:
        """Drop what came to be known more than an hour ago, and open what is quiet."""
        since = self._monotonic() - HOUR
        for cwd, place in list(self._places.items()):
            while place.seen and place.seen[0] <= since:
                place.seen.popleft()
                oldest = next(iter(place.known))
                del place.times[bisect_left(place.times, place.known.pop(oldest))]
            place.closed = place.closed and 2 * len(place.seen) >= self._limit
            if not place.seen:
                del self._places[cwd]


def _busiest_hour(times: list[float], at: float) -> int:
    """Given sorted times that hold `at`, return the most of them that lie in any one hour with `at` in it."""
    first, last = bisect_right(times, at - HOUR), bisect_left(times, at + HOUR)
    return max(bisect_left(times, times[i] + HOUR) - i for i in range(first, last) if times[i] <= at)
