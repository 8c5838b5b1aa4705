"""Why work must wait although its handler could begin: a person paused it, or the growth breaker is closed.

What a person paused (everything, a project, or a session) and until when, the prompts that were passed over meanwhile, and the
sessions for which a person opened the growth breaker are kept in a log, so that a restart changes nothing. What was typed while
a pause was in force is passed over, now and when it is read again; only a later `scan` may take it. Nothing here offers or
parks work. Retry delays after failures are in `backoff.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import floor, inf
from pathlib import Path
from typing import Any, Literal

from loguru import logger
from msgspec import Struct

from tacitd.clock import Clock
from tacitd.dispatch.work_item import WorkItem
from tacitd.errors import LogDamagedError
from tacitd.events import NoProject, Project, Prompt
from tacitd.files.log import Log
from tacitd.handler import Later
from tacitd.model.port import NoAnswer, Why
from tacitd.sources.dedupe import SeenPrompts
from tacitd.sources.growth_breaker import GrowthBreaker
from tacitd.sources.sessions import Sessions

Scope = Literal["all", "project", "session"]
BREAKER = "breaker"
"""The scope of a record about the growth breaker. A version that does not know it reads it as a pause that ended."""
PASSED, SCAN = "passed", "scan"
"""The scopes of records about prompts that were passed over, and about a `scan`."""
KEPT = 30 * 86_400.0
"""Seconds after which a released session is forgotten: Claude Code has deleted its transcript by then."""
PAUSED = "paused"
"""How the reason of work that a person paused begins."""
BREAKER_HINT = "`tacitd resume` asks the model about them now; it also goes on by itself when no more begin"
BREAKER_PAUSE = 60.0
"""Minimum seconds until work that the growth breaker stopped is tried again."""


class Pause(Struct, frozen=True):
    """One thing that is paused."""

    scope: Scope
    name: str = ""
    """The project's root, or the session's id; "" for all."""


class PausedScopes:
    """The set of what is paused.

    Records: `{"at","scope","name","held":true|false}`, `at` in seconds since 1970. What was typed between a record that holds
    and the next one of its scope and name that does not is passed over. The end of `all` with `"alone":true` leaves the other
    pauses; without it, as earlier versions wrote it, it ends them.
    A record with scope "breaker" also has `sessions`: those for which a person opened the growth breaker. One with scope
    "passed" has the `keys` of prompts (`SeenPrompts`) that were passed over because of the pause `by` (scope and name).
    """

    def __init__(self, log: Log, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._paused: dict[Pause, None] = {}
        self._spans: dict[Pause, list[tuple[float, float]]] = {}
        """When each was paused, from and until, in whole milliseconds as transcripts have them; infinite: still."""
        self._passed = SeenPrompts()
        self._counts: Counter[Pause] = Counter()
        """How many prompts were passed over since each pause began."""
        self.scanned_at = -inf
        """When a person last asked for a `scan`: seconds since 1970, UTC."""
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
        if record.get("scope") == PASSED:
            keys, by = record.get("keys"), record.get("by")
            if isinstance(keys, list) and isinstance(by, list) and len(by) == 2:
                self._passed.load_keys(map(str, keys))
                self._counts[Pause(*by)] += 1
            return
        at = float(record.get("at") or 0.0)
        if record.get("scope") == SCAN:
            self.scanned_at = at
            return
        pause = Pause(record.get("scope", "all"), str(record.get("name", "")))
        at = floor(at * 1000.0) / 1000.0
        if record.get("held"):
            if pause not in self._paused:
                self._spans.setdefault(pause, []).append((at, inf))
                self._counts[pause] = 0
            self._paused[pause] = None
            return
        ends_all = pause.scope == "all" and not record.get("alone")
        for one in list(self._paused) if ends_all else [pause]:
            if one in self._paused:
                del self._paused[one]
                self._spans[one][-1] = (self._spans[one][-1][0], at)

    def set_paused(self, pause: Pause, held: bool) -> None:
        """Pause or resume. Other pauses stay. Durable when it returns."""
        record = {"at": self._clock.now(), "scope": pause.scope, "name": pause.name, "held": held}
        record |= {"alone": True} if pause.scope == "all" and not held else {}
        self._log.append(record)
        self._log.flush()
        self._fold(record)

    def would_change(self, pause: Pause, held: bool) -> bool:
        """Whether `set_paused` would change anything."""
        return (pause in self._paused) is not held

    def find_pause(self, root: Path | None, session: str) -> Pause | None:
        """The pause that applies to work of this project (its root, if known) and session; None if none does."""
        return next((pause for pause in list_scopes(root, session) if pause in self._paused), None)

    @property
    def is_unused(self) -> bool:
        """Whether nothing was ever paused."""
        return not self._spans

    def find_span(self, root: Path | None, session: str, time: float | None) -> Pause | None:
        """The pause that was in force when a record of this project and session was written; None if none was. `time`: seconds
        since 1970, UTC; None, if it is not known, means now."""
        if time is None:
            return self.find_pause(root, session)
        for pause in list_scopes(root, session):
            if any(start <= time < end for start, end in self._spans.get(pause, ())):
                return pause
        return None

    def was_passed(self, prompt: Prompt) -> bool:
        """Whether a prompt, or another copy of it, was passed over."""
        return self._passed.has_prompt(prompt)

    def note_passed(self, prompts: Sequence[Prompt], pause: Pause) -> None:
        """Prompts were passed over because of this pause. Each counts once."""
        for prompt in prompts:
            if self._passed.has_id(prompt.id):
                continue
            keys = SeenPrompts.encode_prompts([prompt])
            record: dict[str, Any] = {"at": self._clock.now(), "scope": PASSED, "name": "", "held": False}
            record |= {"by": [pause.scope, pause.name], "keys": keys}
            self._fold(record)
            try:
                self._log.append(record)
            except (OSError, LogDamagedError) as error:  # it is passed over all the same, because of its time
                logger.warning("{} cannot be written: {}", self._log.path, error)

    def count_passed(self, pause: Pause) -> int:
        """How many prompts were passed over since this pause began last."""
        return self._counts[pause]

    def note_scan(self) -> None:
        """A person asks for a `scan`, which may take what was passed over before. Durable when it returns."""
        record = {"at": self._clock.now(), "scope": SCAN, "name": "", "held": False}
        self._log.append(record)
        self._log.flush()
        self._fold(record)

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


def list_scopes(root: Path | None, session: str) -> list[Pause]:
    """The pauses that can apply to work of a project and session."""
    of_project = [Pause("project", str(root))] if root is not None else []
    return [Pause("all"), Pause("session", session), *of_project]


class Refusals(Struct, frozen=True):
    """Checks work items before they are offered. Engine thread only."""

    pauses: PausedScopes
    breaker: GrowthBreaker
    sessions: Sessions
    project_of: Callable[[str], Project | NoProject]
    clock: Clock

    def get_refusal(self, item: WorkItem, cwd: str) -> Later | None:
        """Why work from this directory must wait, whatever its handler would answer; None if it need not.

        Work about a transcript also waits while the growth breaker is closed, if its handler may ask the model: a refused
        call would only be retried. Other work begins, and gets a refusal if it asks (`get_model_refusal`).
        """
        cursor = item.cursor
        cwd = cwd or (cursor.cwd if cursor is not None else "")
        project = getattr(item.event, "project", None) if item.event is not None else self.project_of(cwd)
        session = getattr(item.event, "session", "") or (cursor.session if cursor is not None else "")
        pause = self.pauses.find_pause(project.root if isinstance(project, Project) else None, session)
        if pause is not None:
            scope = f"{pause.scope} {pause.name}" if pause.name else pause.scope
            return Later(f"{PAUSED} by you ({scope})", "`tacitd resume` goes on")
        if not item.consumer.plugin.uses_model or cursor is None:
            return None
        refused = self.get_model_refusal(item, cwd)
        return Later(refused.reason, refused.hint, refused.retry_at) if refused is not None else None

    def get_model_refusal(self, item: WorkItem, cwd: str) -> NoAnswer | None:
        """Why the model is not called for work from this directory (the growth breaker); None if it is.

        Work that belongs to no session (a job, a changed file) waits if any directory of its project is closed.
        """
        cursor, project = item.cursor, getattr(item.event, "project", None)
        if cursor is not None:
            client = self.sessions.get_client(cursor.session)
            reason = self.breaker.get_reason(cwd or cursor.cwd, cursor.session, client)
        elif isinstance(project, Project):
            closed = (one for one in self.breaker.closed_places() if self.project_of(one) == project)
            reason = next((found for one in closed if (found := self.breaker.get_reason(one))), None)
        else:
            return None
        if reason is None:
            return None
        text, seconds = reason
        retry_at = self.clock.now() + max(BREAKER_PAUSE, seconds)
        return NoAnswer(Why.MANY_SESSIONS, text, BREAKER_HINT, retry_at)
