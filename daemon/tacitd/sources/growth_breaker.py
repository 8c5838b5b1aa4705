"""The growth breaker: if sessions begin faster than a person can start them, a program starts them, possibly tacitd itself.

It is the last of several guards against tacitd reading its own model calls (DESIGN "Model"), and the only one that does
not depend on how the others work. Pure except for the clock. It decides which work may use the model; reading continues,
and so does everything that costs nothing. Waiting work is not lost.

Two rates are counted over an hour: new sessions in one working directory, and new sessions in all directories whose own
rate is not exceeded. A session that a running interactive client vouches for counts only for that client, because a
person with many terminals starts many sessions. One client vouches for as many sessions as one directory may have.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Sequence

from msgspec import Struct, field

from tacitd.handler import Degradation

HOUR = 3600.0
LIMIT = 30
"""How many new sessions an hour from one working directory a person may still start."""
LIMIT_OF_ALL = 90
"""The same for all working directories together: three in two minutes, for an hour."""
SHOWN = 3
"""How many directories a degradation names; the others are counted."""


class _Rate(Struct):
    """The sessions that were counted within the last hour, and whether they are too many."""

    limit: int
    known: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By session, oldest first: the time of its newest record (seconds since 1970), and the monotonic time of counting it."""
    times: list[float] = field(default_factory=list)
    """The times of the records, sorted. They may be in the past, when the daemon reads old transcripts."""
    closed: bool = False
    held: dict[str, str] = field(default_factory=dict)
    """While it is closed, the waiting sessions with their directories: those that closed it and those counted since."""

    def count_session(self, session: str, cwd: str, at: float, now: float) -> None:
        """Count a session once. Closing depends on the records' own times."""
        if session not in self.known:
            self.known[session] = at, now
            insort(self.times, at)
            self.held[session] = cwd
            self.closed = self.closed or _busiest_hour(self.times, at) > self.limit

    def drop_session(self, session: str) -> None:
        """No longer count a session."""
        self.held.pop(session, None)
        if session in self.known:
            del self.times[bisect_left(self.times, self.known.pop(session)[0])]

    def forget_before(self, since: float) -> None:
        """Drop what was counted before `since` (monotonic), and open if fewer than half of the limit are left."""
        for session, (at, seen) in list(self.known.items()):
            if seen > since:
                break
            del self.known[session]
            del self.times[bisect_left(self.times, at)]
            if not self.closed:
                del self.held[session]
        if self.closed and 2 * len(self.known) < self.limit:
            self.closed = False
            self.held = {session: cwd for session, cwd in self.held.items() if session in self.known}

    def opens_at(self) -> float:
        """The monotonic time at which it opens if no further session is counted."""
        # It opens when fewer than half of the limit are left (`forget_before`). So the oldest session that must expire for that
        # decides.
        kept = math.ceil(self.limit / 2) - 1
        seen = [seen for _, seen in self.known.values()]
        return seen[len(seen) - kept - 1] + HOUR


class GrowthBreaker:
    """Counts new sessions by working directory and in total. `monotonic` is a clock's `monotonic`, in seconds."""

    def __init__(
        self,
        monotonic: Callable[[], float],
        limit: int = LIMIT,
        limit_of_all: int = LIMIT_OF_ALL,
        *,
        resumed: Collection[str] = (),
        on_open: Callable[[Sequence[str]], None] = lambda sessions: None,
    ) -> None:
        """`resumed` are sessions that a person let go on before this start. `on_open` is called with the sessions that a
        person lets go on, before anything changes."""
        self._monotonic = monotonic
        self._resumed = frozenset(resumed)
        self._on_open = on_open
        self._limit = limit
        self._all = _Rate(limit_of_all)
        self._places: dict[str, _Rate] = {}
        self._clients: dict[str, _Rate] = {}
        self._excused: dict[str, float] = {}
        """Sessions that a person allowed, with the monotonic time of that."""

    def note_session(self, cwd: str, session: str, at: float, client: str = "") -> None:
        """Count a new session in this directory; may be repeated.

        `at`: the time of its newest record, seconds since 1970. Because it decides, a week of ordinary work that is read at
        once closes nothing. `client` identifies the running interactive client that vouches for the session; "" if none.
        """
        self._forget()
        now = self._monotonic()
        if self._let_go(session):
            return
        if client:
            vouched = self._clients.setdefault(client, _Rate(self._limit))
            vouched.count_session(session, cwd, at, now)
            if not vouched.closed:
                return
        place = self._places.setdefault(cwd, _Rate(self._limit))
        place.count_session(session, cwd, at, now)
        if not place.closed:
            self._all.count_session(session, cwd, at, now)
            return
        # The directory's own rate is exceeded, so its sessions do not count towards the total that would close others.
        for one in place.held:
            self._all.drop_session(one)

    def is_closed(self, cwd: str, session: str = "", client: str = "") -> bool:
        """Whether the model must not be used for work of this session in this directory.

        Without a session: for work in this directory that belongs to no session.
        """
        return self._closed_by(cwd, session, client) is not None

    def get_reason(self, cwd: str, session: str = "", client: str = "") -> tuple[str, float] | None:
        """Why it is closed, as text that follows "more new sessions an hour than a person starts", and in how many seconds it
        opens if no more sessions begin. None if it is open.
        """
        rate = self._closed_by(cwd, session, client)
        if rate is None:
            return None
        where = f"in all directories together (limit {rate.limit})" if rate is self._all else f"in {cwd}"
        return where, max(0.0, rate.opens_at() - self._monotonic())

    def closed_places(self) -> list[str]:
        """The directories in which work that belongs to no session waits."""
        self._forget()
        shut = [cwd for cwd, place in self._places.items() if place.closed]
        return [*shut, *(dict.fromkeys(self._all.held.values()) if self._all.closed else ())]

    def release_sessions(self, within: Callable[[str, str], bool]) -> bool:
        """Allow the waiting sessions for which `within(cwd, session)` is true, because a person asked for it.

        They are no longer counted; new ones are counted from zero. Returns whether anything was closed.
        Raises what `on_open` raises; then nothing changes.
        """
        self._forget()
        now = self._monotonic()
        held = [
            (rate, session)
            for rate in (self._all, *self._places.values())
            for session, cwd in rate.held.items()
            if within(cwd, session)
        ]
        changed = any(rate.closed for rate, _ in held)
        if changed:
            self._on_open(list(dict.fromkeys(session for _, session in held)))
        for rate, session in held:
            self._excused.pop(session, None)
            self._excused[session] = now
            for each in (rate, *self._clients.values()):
                each.drop_session(session)
        self._forget()
        return changed

    def list_degradations(self) -> list[Degradation]:
        """The degradations for the closed directories and for the total; [] if nothing is closed."""
        self._forget()
        shut = [f"{cwd} ({len(place.known)})" for cwd, place in self._places.items() if place.closed]
        if len(shut) > SHOWN:
            shut[SHOWN:] = [f"{len(shut) - SHOWN} more directories"]
        where = [f"in {', '.join(shut)} (limit {self._limit} in each)"] if shut else []
        if self._all.closed:
            places = len(set(self._all.held.values()))
            where.append(
                f"in {places} directories together ({len(self._all.known)}, limit {self._all.limit})"
            )
        hint = (
            "`tacitd resume` asks the model about them now; the work also continues by itself when no more begin. "
            "If a program starts them, stop it, or `tacitd exclude` the directory. Nothing is lost"
        )
        return [
            Degradation("breaker.closed", f"more new sessions an hour than a person starts {one}", hint)
            for one in where
        ]

    def _closed_by(self, cwd: str, session: str, client: str) -> _Rate | None:
        self._forget()
        vouched = self._clients.get(client)
        if self._let_go(session) or (client and (vouched is None or not vouched.closed)):
            return None
        place = self._places.get(cwd)
        if place is not None and place.closed:
            return place
        held = session in self._all.held if session else cwd in self._all.held.values()
        return self._all if self._all.closed and held else None

    def _let_go(self, session: str) -> bool:
        return session in self._excused or session in self._resumed

    def _forget(self) -> None:
        """Drop what was counted more than an hour ago, and open what is below half of its limit."""
        since = self._monotonic() - HOUR
        self._all.forget_before(since)
        for rates in (self._places, self._clients):
            for name, rate in list(rates.items()):
                rate.forget_before(since)
                if not rate.known:
                    del rates[name]
        for session, at in list(self._excused.items()):
            if at > since:
                break
            del self._excused[session]


def _busiest_hour(times: list[float], at: float) -> int:
    """Given sorted times that include `at`, return the highest number of them within any one hour that includes `at`."""
    first, last = bisect_right(times, at - HOUR), bisect_left(times, at + HOUR)
    return max(bisect_left(times, times[i] + HOUR) - i for i in range(first, last) if times[i] <= at)
