"""The tools of a plugin's task: `tacitd.contract.Tools`, joined from the parts of a daemon."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from tacitd.clock import Clock
from tacitd.contract import Part, Task, Tx, WriteMode
from tacitd.errors import UnwritableError
from tacitd.events import NoProject, Project
from tacitd.files.shared_files import SharedFiles
from tacitd.handler import Degradation, load_hook
from tacitd.model.budget import Budget
from tacitd.model.port import Answer, Model, ModelRequest, NoAnswer
from tacitd.store import Store


class ToolServices(Struct):
    store: Store
    clock: Clock
    client_home: Path
    files: SharedFiles
    model: Model
    budget: Budget
    find_project: Callable[[str], Project | NoProject]
    write_mode: Callable[[Project], WriteMode]
    has_live_session: Callable[[Project], bool]
    refuse_model: Callable[[Task], NoAnswer | None]
    """The model's answer to every request of a task; None if the model is called."""
    prompt_parts: Mapping[str, Sequence[str]]
    """Hooks by the prompt's name."""
    directives: Sequence[Path] = ()


class PluginTools:
    """The tools of one task: see `tacitd.contract.Tools`."""

    def __init__(self, plugin: str, task: Task, settings: Mapping[str, Any], services: ToolServices) -> None:
        self._plugin, self._task, self._services = plugin, task, services
        self.settings = settings
        self.clock = services.clock
        self.client_home = services.client_home
        self.directives = services.directives
        self.rows = services.store.rows
        self.look = services.files.look
        self.find_project = services.find_project
        self.write_mode = services.write_mode
        self.has_live_session = services.has_live_session
        self.answered: list[int] = []
        """The calls whose answers the task got."""

    def ask(self, request: ModelRequest, parts: Sequence[Part] = ()) -> Answer | NoAnswer:
        task, services = self._task, self._services
        refused = services.refuse_model(task)
        if refused is not None:
            return refused
        answer: Answer | NoAnswer | None = services.budget.find_answer(self._plugin, request.purpose, parts)
        if answer is None:
            about = replace(request, plugin=self._plugin, about=tuple(parts), priority=task.priority)
            answer = services.model.ask(replace(about, project=request.project or task.lane))
        if isinstance(answer, Answer) and answer.call:
            self.answered.append(int(answer.call))
        return answer

    def degrade(self, degradation: Degradation) -> None:
        key, what, hint, now = (
            (self._plugin, degradation.id),
            degradation.what,
            degradation.hint,
            self.clock.now(),
        )

        def store(tx: Tx) -> None:
            tx.execute("DELETE FROM degradation WHERE owner = ? AND id = ?", *key)
            tx.execute("INSERT INTO degradation VALUES(?, ?, ?, ?, ?)", *key, what, hint, now)

        self._write(store)

    def clear(self, id: str) -> None:
        if self.rows("SELECT 1 FROM degradation WHERE owner = ? AND id = ?", self._plugin, id):
            sql = "DELETE FROM degradation WHERE owner = ? AND id = ?"
            self._write(lambda tx: tx.execute(sql, self._plugin, id))

    def list_prompt_parts(self, prompt: str) -> Sequence[Any]:
        """One that cannot be imported is logged and left out."""
        found = list[Any]()
        for hook in self._services.prompt_parts.get(prompt, ()):
            try:
                found.append(load_hook(hook))
            except Exception as error:  # noqa: BLE001  another plugin's module may raise anything
                logger.warning("a part of the prompt {} is left out: {} of {}", prompt, error, hook)
        return found

    def _write(self, change: Callable[[Tx], object]) -> None:
        try:
            with self._services.store.write() as tx:
                change(tx)
        except UnwritableError as error:  # the loop reports it; the next task says it again
            logger.warning("a problem of {} cannot be stored: {}", self._plugin, error.what)
