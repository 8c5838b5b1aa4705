"""Why work must wait although its handler could begin: a person paused it, or the growth breaker is closed.

Nothing here offers or parks work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tacitd.clock import Clock
from tacitd.dispatch.pauses import PausedScopes
from tacitd.dispatch.work_item import WorkItem
from tacitd.events import NoProject, Project
from tacitd.handler import Later
from tacitd.model.port import NoAnswer, Why
from tacitd.sources.growth_breaker import GrowthBreaker
from tacitd.sources.sessions import Sessions

PAUSED = "paused"
"""How the reason of work that a person paused begins."""
BREAKER_HINT = "`tacitd resume` asks the model about them now; it also goes on by itself when no more begin"
BREAKER_PAUSE = 60.0
"""Minimum seconds until work that the growth breaker stopped is tried again."""


@dataclass(frozen=True, slots=True)
class Refusals:
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
