"""The tools of a plugin's task: `tacitd.contract.Tools`, joined from the parts of a daemon.

A call of the model has two rows of accounts until the store has all of them: today's budget decides whether it is made, and the
store keeps what it is about and its answer, until the task that asked is committed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from tacitd.clock import Clock
from tacitd.contract import Format, Part, Row, Task, Value, View, WriteMode
from tacitd.errors import UnwritableError
from tacitd.events import NoProject, Project
from tacitd.files.shared_files import SharedFiles
from tacitd.handler import Degradation, load_hook
from tacitd.model.budget import MinuteFull
from tacitd.model.call_caps import NewCall
from tacitd.model.calls import Calls
from tacitd.model.port import Answer, Model, ModelRequest, NoAnswer, Why
from tacitd.store import Store

NOT_MADE = {
    Why.ABSENT,
    Why.TOO_OLD,
    Why.LOGGED_OUT,
    Why.BUDGET,
    Why.REPEATED,
    Why.MANY_SESSIONS,
    Why.STOPPING,
    Why.CANCELLED,
}
"""Reasons with which nothing was lost: no call was made, or tacitd ended it itself."""


class NoCaps(Struct, frozen=True):
    """No limits: the budget behind the calls has them."""

    calls_per_minute: int = 1 << 30
    calls_per_day: int = 1 << 30
    usd_per_day: float = math.inf
    usd_per_month: float = math.inf


class ToolServices(Struct):
    """What the tools of all plugins use."""

    store: Store
    clock: Clock
    client_home: Path
    files: SharedFiles
    model: Model
    find_project: Callable[[str], Project | NoProject]
    write_mode: Callable[[Project], WriteMode]
    has_live_session: Callable[[Project], bool]
    refuse_model: Callable[[Task], NoAnswer | None]
    """The model's answer to every request of a task; None if the model is called."""
    prompt_parts: Mapping[str, Sequence[str]]
    """Hooks of the parts that plugins add to prompts, by the prompt's name."""


class PluginTools:
    """The tools of one task."""

    def __init__(
        self, plugin: str, task: Task, settings: Mapping[str, Any], services: ToolServices, calls: Calls
    ) -> None:
        self._plugin = plugin
        self._task = task
        self._settings = settings
        self._services = services
        self._calls = calls
        self.answered: list[int] = []
        """The numbers of the calls whose answers the task got."""

    @property
    def clock(self) -> Clock:
        """See `Tools`."""
        return self._services.clock

    @property
    def settings(self) -> Mapping[str, Any]:
        """See `Tools`."""
        return self._settings

    @property
    def client_home(self) -> Path:
        """See `Tools`."""
        return self._services.client_home

    def rows(self, sql: str, *values: Value) -> list[Row]:
        """See `Tools`."""
        return self._services.store.rows(sql, *values)

    def ask(self, request: ModelRequest, parts: Sequence[Part] = ()) -> Answer | NoAnswer:
        """See `Tools`."""
        refused = self._services.refuse_model(self._task)
        if refused is not None:
            return refused
        calls, task = self._calls, self._task
        known = calls.find_answer(self._plugin, request.purpose, parts)
        if known is not None:
            self.answered.append(int(known.call))
            return known
        number = calls.begin_call(
            NewCall(
                self._plugin,
                request.purpose,
                request.tier,
                str(uuid4()),
                parts,
                task.project_number,
                task.priority,
            )
        )
        if isinstance(number, NoAnswer):
            return number
        assert not isinstance(number, MinuteFull)  # these calls have no caps of their own
        root = str(task.project.root) if isinstance(task.project, Project) else ""
        key = f"{self._plugin} {number} {self.clock.now():.3f}"
        answer = self._services.model.ask(
            replace(request, key=key, parts=(), project=request.project or root)
        )
        if isinstance(answer, NoAnswer):
            made = answer.why not in NOT_MADE
            calls.end_call(
                number, "failed" if made else "stopped", usd=None if made else 0.0, reason=answer.reason
            )
            return answer
        calls.end_call(
            number,
            "answered",
            usd=answer.usd,
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
            model=answer.model,
            answer=answer.text,
        )
        self.answered.append(number)
        return answer

    def look(self, path: Path, format: Format) -> View:
        """See `Tools`."""
        return self._services.files.look(path, format)

    def find_project(self, cwd: str) -> Project | NoProject:
        """See `Tools`."""
        return self._services.find_project(cwd)

    def write_mode(self, project: Project) -> WriteMode:
        """See `Tools`."""
        return self._services.write_mode(project)

    def has_live_session(self, project: Project) -> bool:
        """See `Tools`."""
        return self._services.has_live_session(project)

    def degrade(self, degradation: Degradation) -> None:
        """See `Tools`."""
        self._write(
            "INSERT INTO degradation(owner, id, what, hint, since) VALUES(?, ?, ?, ?, ?) "
            "ON CONFLICT(owner, id) DO UPDATE SET what = excluded.what, hint = excluded.hint",
            self._plugin,
            degradation.id,
            degradation.what,
            degradation.hint,
            self.clock.now(),
        )

    def clear(self, id: str) -> None:
        """See `Tools`."""
        if self.rows("SELECT 1 FROM degradation WHERE owner = ? AND id = ?", self._plugin, id):
            self._write("DELETE FROM degradation WHERE owner = ? AND id = ?", self._plugin, id)

    def list_prompt_parts(self, prompt: str) -> Sequence[Any]:
        """See `Tools`. One that cannot be imported is logged and left out."""
        found = list[Any]()
        for hook in self._services.prompt_parts.get(prompt, ()):
            try:
                found.append(load_hook(hook))
            except Exception as error:  # noqa: BLE001  another plugin's module may raise anything
                logger.warning("a part of the prompt {} is left out: {} of {}", prompt, error, hook)
        return found

    def _write(self, sql: str, *values: Value) -> None:
        try:
            with self._services.store.write() as tx:
                tx.execute(sql, *values)
        except UnwritableError as error:  # the loop reports it; the next task says it again
            logger.warning("a problem of {} cannot be stored: {}", self._plugin, error.what)
