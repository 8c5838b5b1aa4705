"""When a session is live and when it has ended (S-20, S-52). No transcript is read here.

A session ends after `session.idle` seconds without growth of its own transcript or of its sub-agents' transcripts: monotonic seconds,
so no clock jump ends it. It ends sooner if the client that ran it is gone or runs another one, as after `/clear`, or says so itself
(a hook). A client counts as gone only if it was seen alive here before, because in a container or on a shared home every process
looks dead; or if it ended while no daemon ran: then no claim names the session, which its client would have made. Growth after an
end begins the session again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from tacitd.clock import Clock
from tacitd.files.locks import process_exists
from tacitd.sources.source import SessionClaim

GONE_FOR = 120.0
"""Seconds for which a process must be gone before its session counts as ended."""
LOOK_EVERY = 10.0
"""Seconds between two checks of the claims while a session is live."""
LEFT_FOR = 1.0
"""Seconds without growth after which a session ends whose client said that it ended (a hook)."""
LAST_RECORDS = 10.0
"""Seconds after that message within which growth is the session's last records, not new work."""
FORGET = 3600.0
"""Seconds after which an ended session is forgotten."""
UNSEEN = 0
"""In place of the process id of a client that was never seen alive. No process has it."""


class EndedSession(Struct, frozen=True):
    session: str
    path: Path
    """The transcript that grew last."""
    why: Literal["idle", "gone"]


class _Client(Struct):
    """A process that was seen alive on this machine, running a session."""

    cwd: str
    gone_since: float | None = None


class _Session(Struct):
    path: Path | None = None
    cwd: str = ""
    grown: float = -math.inf
    ended: bool = True
    left: float | None = None
    """When its client said that it ended (monotonic seconds); None: it did not, or work went on since."""
    found: bool = False
    """It grew while no daemon ran, and its claim was not looked for yet."""
    clients: dict[int, _Client] = field(default_factory=dict)
    """By process id."""

    @property
    def is_running(self) -> bool:
        """Whether a client runs it. The process of one that left may take a moment to end, or run another session by now."""
        return self.left is None and any(one.gone_since is None for one in list(self.clients.values()))


class Sessions:
    """All sessions that are live, or that ended within the hour.

    `read_claims` and `makes_claims` are those of a source; `is_alive` says whether a process has an id; it may be
    another one by now: then idle time ends the session.
    """

    def __init__(
        self,
        clock: Clock,
        idle: float,
        read_claims: Callable[[], Sequence[SessionClaim]],
        is_alive: Callable[[int], bool] = process_exists,
        makes_claims: Callable[[Path], bool] = lambda path: False,
    ) -> None:
        self._clock = clock
        self.idle = idle
        self._read_claims = read_claims
        self._is_alive = is_alive
        self._makes_claims = makes_claims
        self._sessions: dict[str, _Session] = {}
        self._next_look = math.inf
        """When `take_ended` looks at every session again (monotonic seconds); before that none can end."""
        self._new_clients: dict[str, int] = {}

    def note_growth(self, path: Path, session_id: str, cwd: str, *, mtime: float | None = None) -> None:
        """A session's transcript grew. `mtime` (seconds since 1970) means that the growth was not observed but found when the daemon
        started. The idle time then counts from it; a time in the future counts as now."""
        session = self._get_or_begin(session_id, watched=mtime is None)
        session.path, session.cwd, session.found = path, cwd or session.cwd, mtime is not None
        self._mark_alive(session, 0.0 if mtime is None else max(0.0, self._clock.now() - mtime))
        if mtime is not None:
            self._look_by(self._clock.monotonic())

    def note_subagent(self, session_id: str) -> None:
        """A sub-agent of this session worked: the session is live, although its own transcript did not grow."""
        self._mark_alive(self._get_or_begin(session_id, watched=True), 0.0)

    def note_left(self, session_id: str) -> None:
        """The session's client said that it ended: it ends as soon as its transcript is quiet for a second."""
        # Its growth may be read later, so a session that is not known yet is kept too.
        now = self._clock.monotonic()
        self._sessions.setdefault(session_id, _Session(grown=now)).left = now
        self._look_by(now + LEFT_FOR)

    def note_returned(self, session_id: str) -> None:
        """The session's client said that it goes on, for example because a person resumed it."""
        if (session := self._sessions.get(session_id)) is not None:
            session.left = None

    def remember_client(self, session_id: str, pid: int, cwd: str) -> None:
        """A daemon before this one saw this process alive, running the session: if it is gone, the session has ended."""
        self._sessions.setdefault(session_id, _Session()).clients.setdefault(pid, _Client(cwd))

    def take_new_clients(self) -> dict[str, int]:
        """The processes that were seen alive since the last call, by the session that they run."""
        taken, self._new_clients = self._new_clients, {}
        return taken

    def list_leaving(self) -> dict[str, float]:
        """The live sessions whose client has ended, with the time at which each will have ended: seconds since 1970, UTC."""
        wall, monotonic = self._clock.now(), self._clock.monotonic()
        # Called after each pass, with thousands of open sessions: only those with a client, or that one left, end sooner.
        known = [one for one in list(self._sessions.items()) if one[1].clients or one[1].left is not None]
        return {
            name: wall + max(0.0, at - monotonic)
            for name, one in known
            if not one.ended and one.path is not None and (at := self._ends_at(one)) < one.grown + self.idle
        }

    def take_ended(self) -> list[EndedSession]:
        """The sessions that ended since the last call. Each is reported once until it grows again."""
        now = self._clock.monotonic()
        # Called in each pass of the engine, which is several hundred times a second while thousands of sessions grow.
        if now < self._next_look:
            return []
        is_alive, claims = cache(self._is_alive), self._read_claims()
        for claim in claims:
            claimed = self._sessions.get(claim.session)
            if claimed is not None and is_alive(claim.pid):
                self._note_client(claimed, claim)
        runs = {claim.pid: claim.session for claim in claims}
        self._find_left(set(runs.values()), now)
        for name, session in self._sessions.items():
            for pid, client in session.clients.items():
                since = now if client.gone_since is None else client.gone_since
                client.gone_since = None if is_alive(pid) and runs.get(pid, name) == name else since
        ended: list[EndedSession] = []
        for name, session in list(self._sessions.items()):
            if not session.ended and now >= self._ends_at(session):
                session.ended = True
                why: Literal["idle", "gone"] = "idle" if now - session.grown >= self.idle else "gone"
                if session.path is not None:
                    ended.append(EndedSession(name, session.path, why))
            elif session.ended and now - session.grown > FORGET + self.idle and not session.is_running:
                del self._sessions[name]
        ends = [self._ends_at(one) for one in self._sessions.values() if not one.ended]
        # A client of an ended session may still run it. Later the others are forgotten.
        watched = ends or any(one.is_running for one in self._sessions.values())
        self._next_look = min([*ends, now + (LOOK_EVERY if watched else FORGET)])
        return ended

    def _find_left(self, claimed: Container[str], now: float) -> None:
        """A session that grew while no daemon ran, and that its client does not run any more, has lost a client that nobody saw."""
        for name, session in self._sessions.items():
            is_left = session.found and not session.clients and name not in claimed
            session.found = False
            if (
                is_left
                and now < session.grown + self.idle
                and session.path
                and self._makes_claims(session.path)
            ):
                session.clients[UNSEEN] = _Client(session.cwd, now)

    def next_in(self) -> float:
        """Seconds until `take_ended` may have a result; infinity while no session is live."""
        if not any(not one.ended for one in self._sessions.values()):
            return math.inf
        return max(0.0, self._next_look - self._clock.monotonic())

    def is_live(self, session_id: str) -> bool:
        """Whether the session grew within the idle time, or a client that was seen alive still runs it.

        A session that did not grow since the daemon started is not live, whatever a claim says: after a reboot its
        process id may belong to another program.
        """
        session = self._sessions.get(session_id)
        if session is None:
            return False
        quiet = math.inf if session.ended else self._clock.monotonic() - session.grown
        return quiet < self.idle or session.is_running

    def is_live_in(self, within: Callable[[str], bool]) -> bool:
        """Whether any live session has a working directory for which `within` is true."""
        for name, one in list(self._sessions.items()):
            places = {one.cwd, *(client.cwd for client in list(one.clients.values()))}
            if self.is_live(name) and any(cwd and within(cwd) for cwd in places):
                return True
        return False

    def _get_or_begin(self, name: str, *, watched: bool) -> _Session:
        """The session; its client is searched if the session begins now, because it may be gone at the next look. Not for growth that
        was only found at the start: `take_ended` searches the clients of thousands of such sessions at once."""
        session = self._sessions.setdefault(name, _Session())
        if session.ended and watched:
            for claim in self._read_claims():
                if claim.session == name and self._is_alive(claim.pid):
                    self._note_client(session, claim)
        return session

    def _note_client(self, session: _Session, claim: SessionClaim) -> None:
        if claim.pid not in session.clients:
            session.clients[claim.pid] = _Client(claim.cwd)
            self._new_clients[claim.session] = claim.pid

    def _mark_alive(self, session: _Session, quiet: float) -> None:
        session.grown = max(session.grown, self._clock.monotonic() - quiet)
        if session.left is not None and session.grown > session.left + LAST_RECORDS:
            session.left = None
        if session.ended:
            session.ended = False
            self._look_by(min(self._ends_at(session), self._clock.monotonic() + LOOK_EVERY))

    def _look_by(self, at: float) -> None:
        self._next_look = min(self._next_look, at)

    def _ends_at(self, session: _Session) -> float:
        """The monotonic time at which a session ends if nothing more happens."""
        ends = session.grown + self.idle
        if session.left is not None:
            ends = min(ends, max(session.left, session.grown) + LEFT_FOR)
        gone = [client.gone_since for client in session.clients.values()]
        last = max((since or 0.0 for since in gone), default=0.0)
        # After growth since then, another process runs it, which was not found: only idle time ends it.
        if gone and None not in gone and session.grown <= last:
            ends = min(ends, last + GONE_FOR)
        return ends
