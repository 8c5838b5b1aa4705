"""What a person paused: everything, a project, or a session; and the sessions for which a person opened the growth breaker.

It is kept in a log, so that a restart changes neither. Retry delays after failures do not belong here: they are in `backoff.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tacitd.clock import Clock
from tacitd.files.log import Log

Scope = Literal["all", "project", "session"]
BREAKER = "breaker"
"""The scope of a record about the growth breaker. A version that does not know it reads it as a pause that ended."""
KEPT = 30 * 86_400.0
"""Seconds after which a released session is forgotten: Claude Code has deleted its transcript by then."""


@dataclass(frozen=True, slots=True)
class Pause:
    """One thing that is paused."""

    scope: Scope
    name: str = ""
    """The project's root, or the session's id; "" for all."""


class PausedScopes:
    """The set of what is paused.

    Records: `{"at","scope","name","held":true|false}`, `at` in seconds since 1970. The last record of a scope and name counts.
    A record with scope "breaker" also has `sessions`: those for which a person opened the growth breaker.
    """

    def __init__(self, log: Log, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._paused: dict[Pause, None] = {}
        self._let_go: dict[str, float] = {}
        """When each session was released: seconds since 1970, UTC."""
        for record in log.read():
            self._fold(record)

    def _fold(self, record: Mapping[str, Any]) -> None:
        if record.get("scope") == BREAKER:
            sessions, at = record.get("sessions"), record.get("at")
            if isinstance(sessions, list) and isinstance(at, int | float):
                self._let_go.update(dict.fromkeys(map(str, sessions), float(at)))
            return
        pause = Pause(record.get("scope", "all"), str(record.get("name", "")))
        if record.get("held"):
            self._paused[pause] = None
        elif pause.scope == "all":
            self._paused.clear()
        else:
            self._paused.pop(pause, None)

    def set_paused(self, pause: Pause, held: bool) -> None:
        """Pause or resume. Resuming all resumes everything. Durable when it returns."""
        record = {"at": self._clock.now(), "scope": pause.scope, "name": pause.name, "held": held}
        self._log.append(record)
        self._log.flush()
        self._fold(record)

    def would_change(self, pause: Pause, held: bool) -> bool:
        """Whether `set_paused` would change anything."""
        if pause.scope == "all" and not held:
            return bool(self._paused)
        return (pause in self._paused) is not held

    def find_pause(self, root: Path | None, session: str) -> Pause | None:
        """The pause that applies to work of this project (its root, if known) and session; None if none does."""
        candidates = [Pause("all"), Pause("session", session)]
        if root is not None:
            candidates.append(Pause("project", str(root)))
        return next((pause for pause in candidates if pause in self._paused), None)

    def let_go(self, sessions: Sequence[str]) -> None:
        """A person opened the growth breaker for these sessions. Durable when it returns."""
        record = {"at": self._clock.now(), "scope": BREAKER, "name": "", "held": False}
        self._log.append(record | {"sessions": list(sessions)})
        self._log.flush()

    def list_let_go(self) -> list[str]:
        """The sessions for which a person opened the growth breaker before this start, 30 days ago at most."""
        since = self._clock.now() - KEPT
        return [session for session, at in self._let_go.items() if at > since]

    def list_pauses(self) -> list[Pause]:
        """Everything that is paused."""
        return list(self._paused)
