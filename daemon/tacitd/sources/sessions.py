"""When a session is live and when it has ended (S-20, S-52). No transcript is read here.

A session ends after `session.idle` seconds without growth of its own transcript or of its sub-agents' transcripts. It ends
sooner if the client that ran it is gone or runs another one, as after `/clear`, or says so itself (a hook). A client counts as gone only if it was seen alive here before,
because in a container or on a shared home every process looks dead. Growth after an end begins the session again.
The claims of clients are read when a session begins, because its client may be gone at the next check, and every few
seconds while a session is live.

Idle time is monotonic, so no clock jump ends a session.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tacitd.clock import Clock
from tacitd.sources.base import SessionClaim

GONE_FOR = 120.0
"""Seconds for which a process must be gone before its session counts as ended."""
LOOK_EVERY = 10.0
"""Seconds between two checks of the claims while a session is live."""
CHECK_AT_LEAST_EVERY = 1.0
"""Seconds after which `take_ended` looks at every session, whatever it expects."""
LOOK_AT_MOST_EVERY = 5.0
"""Minimum seconds between two checks, however often `take_ended` is called."""
LEFT_FOR = 1.0
"""Seconds without growth after which a session ends whose client said that it ended (a hook)."""
LAST_RECORDS = 10.0
"""Seconds after that message within which growth is the session's last records, not new work."""
FORGET = 3600.0
"""Seconds after which an ended session is forgotten."""


class EndedSession(Struct, frozen=True):
    """A session ended."""

    session: str
    path: Path
    """The transcript that grew last."""
    why: Literal["idle", "gone"]
    at: float
    """When it was last active: seconds since 1970, UTC."""


class SessionEnding(Struct, frozen=True):
    """When a live session will have ended, if nothing more happens."""

    session: str
    path: Path
    """The transcript that grew last."""
    cwd: str
    at: float
    """Seconds since 1970, UTC."""


class _Session(Struct):
    path: Path | None = None
    cwd: str = ""
    at: float = 0.0
    grown: float = -math.inf
    ended: bool = False
    left: float | None = None
    """When its client said that it ended (monotonic seconds); None: it did not, or work went on since."""


class _Client(Struct):
    """A process that was seen alive on this machine, running a session."""

    cwd: str
    gone_since: float | None = None


def process_is_alive(pid: int) -> bool:
    """Whether a process of any user has this id. It may be another one by now: then idle time ends the session."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


class Sessions:
    """All sessions that are live, or that ended within the hour.

    `read_claims` is that of a source; `is_alive` says whether a process id is in use.
    """

    def __init__(
        self,
        clock: Clock,
        idle: float,
        read_claims: Callable[[], Sequence[SessionClaim]],
        is_alive: Callable[[int], bool] = process_is_alive,
    ) -> None:
        self._clock = clock
        self.idle = idle
        self._read_claims = read_claims
        self._is_alive = is_alive
        self._sessions: dict[str, _Session] = {}
        self._clients: dict[str, dict[int, _Client]] = {}
        self._new_clients: dict[str, int] = {}
        self._looked = -math.inf
        self._next_check = -math.inf
        """When `take_ended` looks at every session again; before that none can end."""
        self._next_due = -math.inf
        """When `take_ended` may have a result, at the earliest; found anew once it has passed."""

    def note_growth(
        self, path: Path, session_id: str, cwd: str, last_time: float | None, *, mtime: float | None = None
    ) -> None:
        """A session's transcript grew. `last_time`: the time of its newest record, seconds since 1970.

        `mtime` (seconds since 1970) means that the growth was not observed but found when the daemon started. The idle time
        then counts from it; a time in the future counts as now.
        """
        session = self._get_or_begin(session_id, watched=mtime is None)
        session.path, session.cwd = path, cwd or session.cwd
        now = self._clock.now()
        session.at = max(session.at, min(now, last_time if last_time is not None else mtime or now))
        self._mark_alive(session, 0.0 if mtime is None else max(0.0, now - mtime))

    def note_subagent(self, session_id: str) -> None:
        """A sub-agent of this session worked: the session is live, although its own transcript did not grow."""
        session = self._get_or_begin(session_id, watched=True)
        session.at = max(session.at, self._clock.now())
        self._mark_alive(session, 0.0)

    def note_left(self, session_id: str) -> None:
        """The session's client said that it ended: it ends as soon as its transcript is quiet for a second."""
        # Its growth may be read later, so a session that is not known yet is kept too.
        now = self._clock.monotonic()
        self._sessions.setdefault(session_id, _Session(ended=True, grown=now)).left = now
        self._next_check, self._next_due = min(self._next_check, now + LEFT_FOR), -math.inf

    def note_returned(self, session_id: str) -> None:
        """The session's client said that it goes on, for example because a person resumed it."""
        if (session := self._sessions.get(session_id)) is not None:
            session.left = None

    def remember_client(self, session_id: str, pid: int, cwd: str) -> None:
        """A daemon before this one saw this process alive, running the session: if it is gone, the session has ended."""
        self._clients.setdefault(session_id, {}).setdefault(pid, _Client(cwd))

    def take_new_clients(self) -> dict[str, int]:
        """The processes that were seen alive since the last call, by the session that they run."""
        taken, self._new_clients = self._new_clients, {}
        return taken

    def list_endings(self) -> list[SessionEnding]:
        """When each live session with a transcript will have ended, soonest first."""
        wall, monotonic = self._clock.now(), self._clock.monotonic()
        found = [
            SessionEnding(name, one.path, one.cwd, wall + max(0.0, self._ends_at(name, one) - monotonic))
            for name, one in list(self._sessions.items())
            if one.path is not None and not one.ended
        ]
        return sorted(found, key=lambda ending: ending.at)

    def take_ended(self) -> list[EndedSession]:
        """The sessions that ended since the last call. Each is reported once until it grows again."""
        now = self._clock.monotonic()
        # Called in each pass of the engine, which is several hundred times a second while thousands of sessions grow.
        if now < self._next_check:
            return []
        if self._worth_a_look() and now - self._looked >= LOOK_AT_MOST_EVERY:
            self._check_clients(now)
        ended = [one for name, session in self._sessions.items() if (one := self._end(name, session, now))]
        self._forget(now)
        self._next_due = -math.inf
        until_look = max(0.0, self._looked + LOOK_AT_MOST_EVERY - now)
        self._next_check = now + min(self.next_in(), until_look, CHECK_AT_LEAST_EVERY)
        return ended

    def next_in(self) -> float:
        """Seconds until `take_ended` may have a result; infinity while no session is live."""
        now = self._clock.monotonic()
        # Called in each pass of the engine. Growth only makes an end later, so what was found is still not too late.
        if now >= self._next_due:
            self._next_due = self._find_next_due(now)
        return max(0.0, self._next_due - now)

    def _find_next_due(self, now: float) -> float:
        quiet = [
            session.grown + self.idle if session.left is None else _leaves_at(session)
            for session in self._live_ones()
        ]
        gone = [
            client.gone_since + GONE_FOR
            for clients in self._clients.values()
            for client in clients.values()
            if client.gone_since is not None
        ]
        if not quiet:
            return math.inf
        ahead = [at for at in gone if at > now]
        return min([*quiet, *ahead, max(self._looked, now - LOOK_EVERY) + LOOK_EVERY])

    def is_live(self, session_id: str) -> bool:
        """Whether the session grew within the idle time, or a client that was seen alive still runs it.

        A session that did not grow since the daemon started is not live, whatever a claim says: after a reboot its
        process id may belong to another program.
        """
        session = self._sessions.get(session_id)
        if session is None:
            return False
        quiet = math.inf if session.ended else self._clock.monotonic() - session.grown
        return quiet < self.idle or self._is_running(session_id)

    def is_live_in(self, within: Callable[[str], bool]) -> bool:
        """Whether any live session has a working directory for which `within` is true."""
        return any(
            self.is_live(name) and any(cwd and within(cwd) for cwd in self._places(name, session))
            for name, session in list(self._sessions.items())
        )

    def _get_or_begin(self, name: str, *, watched: bool) -> _Session:
        """The session; its client is searched if the session begins now.

        It is not searched for growth that was only found at the start, because there may be thousands of such sessions, and
        `take_ended` searches the clients of all of them at once.
        """
        session = self._sessions.setdefault(name, _Session(ended=True))
        now = self._clock.monotonic()
        if not (session.ended and watched):
            return session
        if now - self._looked >= LOOK_AT_MOST_EVERY:
            self._check_clients(now)
            return session
        for claim in self._read_claims():  # many may begin at once: do not check all processes for each
            if claim.session == name:
                self._remember_client(claim, self._is_alive(claim.pid))
        return session

    def _remember_client(self, claim: SessionClaim, is_alive: bool) -> None:
        """Record a client that is alive."""
        if is_alive:
            clients = self._clients.setdefault(claim.session, {})
            if claim.pid not in clients:
                clients[claim.pid] = _Client(claim.cwd)
                self._new_clients[claim.session] = claim.pid

    def _ends_at(self, name: str, session: _Session) -> float:
        """The monotonic time at which a session ends if nothing more happens."""
        idle, clients = session.grown + self.idle, list(self._get_clients(name).values())
        if session.left is not None:
            return min(idle, _leaves_at(session))
        if not clients or any(one.gone_since is None or session.grown > one.gone_since for one in clients):
            return idle
        return min(idle, max(one.gone_since or 0.0 for one in clients) + GONE_FOR)

    def quiet_at(self, within: Callable[[str], bool]) -> float | None:
        """When the last live session with a directory for which `within` is true ends, if nothing more happens in it: seconds
        since 1970, UTC. None if there is none.
        """
        ends = [
            self._ends_at(name, session)
            for name, session in list(self._sessions.items())
            if not session.ended and any(cwd and within(cwd) for cwd in self._places(name, session))
        ]
        return self._clock.now() + max(ends) - self._clock.monotonic() if ends else None

    def _mark_alive(self, session: _Session, quiet: float) -> None:
        session.grown = max(session.grown, self._clock.monotonic() - quiet)
        if session.ended:
            session.ended, self._next_due = False, -math.inf
        self._next_check = min(self._next_check, session.grown + self.idle)
        if session.left is not None and session.grown > session.left + LAST_RECORDS:
            session.left = None

    def _get_clients(self, name: str) -> dict[int, _Client]:
        return self._clients.get(name, {})

    def _is_running(self, name: str) -> bool:
        session = self._sessions.get(name)
        if session is not None and session.left is not None:
            return False  # the process may take a moment to end, or run another session by now
        return any(client.gone_since is None for client in list(self._get_clients(name).values()))

    def _places(self, name: str, session: _Session) -> set[str]:
        return {session.cwd, *(client.cwd for client in list(self._get_clients(name).values()))}

    def _worth_a_look(self) -> bool:
        """Whether a session is live, or a client of an ended one still runs."""
        return any(not session.ended or self._is_running(name) for name, session in self._sessions.items())

    def _live_ones(self) -> list[_Session]:
        return [session for session in self._sessions.values() if not session.ended]

    def _end(self, name: str, session: _Session, now: float) -> EndedSession | None:
        """Mark a session as ended if it is; return the end to report. One without a transcript of its own is not reported."""
        why = None if session.ended else self._why(name, session, now)
        if why is None:
            return None
        session.ended = True
        return EndedSession(name, session.path, why, session.at) if session.path is not None else None

    def _why(self, name: str, session: _Session, now: float) -> Literal["idle", "gone"] | None:
        clients = self._get_clients(name).values()
        if clients and all(_is_gone(client, session, now) for client in clients):
            return "gone"
        if session.left is not None and now >= _leaves_at(session):
            return "gone"
        return "idle" if now - session.grown >= self.idle else None

    def _check_clients(self, now: float) -> None:
        """Check which clients are alive, and record since when the others are not."""
        self._looked = now
        is_alive, claims = cache(self._is_alive), self._read_claims()
        for claim in claims:
            if claim.session in self._sessions:
                self._remember_client(claim, is_alive(claim.pid))
        runs = {claim.pid: claim.session for claim in claims}
        for name, clients in self._clients.items():
            for pid, client in clients.items():
                since = now if client.gone_since is None else client.gone_since
                client.gone_since = None if is_alive(pid) and runs.get(pid, name) == name else since

    def _forget(self, now: float) -> None:
        """Drop sessions that ended long ago and that no client runs."""
        for name, session in list(self._sessions.items()):
            if session.ended and now - session.grown > FORGET + self.idle and not self._is_running(name):
                del self._sessions[name]
                self._clients.pop(name, None)


def _leaves_at(session: _Session) -> float:
    """When a session ends whose client said that it ended: monotonic seconds."""
    return max(session.left or 0.0, session.grown) + LEFT_FOR


def _is_gone(client: _Client, session: _Session, now: float) -> bool:
    """Whether a client is gone for long enough, and the session did not grow since.

    Trigger: the session grew after its client was gone.
    Why: another process runs it, which was not found.
    Outcome: only idle time ends it.
    """
    since = client.gone_since
    return since is not None and now - since >= GONE_FOR and session.grown <= since
