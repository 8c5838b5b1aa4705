"""The tools of handlers of the first contract."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tacitd.contract import Task
from tacitd.errors import TacitdError
from tacitd.events import Project
from tacitd.handler import Degradation, Tools
from tacitd.model.budget import Budget
from tacitd.model.port import Answer, Model, ModelRequest, NoAnswer
from tacitd.state.layout import StateLayout
from tacitd.work.handler_adapter import AdaptedHandler

if TYPE_CHECKING:
    from tacitd.app import App


class _NamedModel:
    """The model as one plugin asks it."""

    def __init__(self, model: Model, plugin: str) -> None:
        self._model = model
        self._plugin = plugin

    def ask(self, ask: ModelRequest) -> Answer | NoAnswer:
        """Ask in the plugin's name."""
        return self._model.ask(replace(ask, plugin=self._plugin))


def make_tools(adapted: AdaptedHandler, app: App, layout: StateLayout) -> Tools:
    """Join them from the parts of a daemon."""
    one, projects, reader = adapted.plugin, app.projects, app.services.reader

    def degrade(what: Degradation) -> None:
        app.degraded[f"{one.name} {what.id}"] = (
            what  # the key has its name: no handler clears the degradation of another
        )

    def clear(id: str) -> None:
        app.degraded.pop(f"{one.name} {id}", None)

    return Tools(
        clock=app.clock,
        model=_NamedModel(app.model, one.name),
        history=app.history,
        settings={name: app.config.get_section(name) for name in one.settings},
        home=layout.make_handler_dir(one.name),
        project_of=projects.find_project,
        has_live_session=lambda project: app.engine.sessions.is_live_in(
            lambda cwd: projects.find_project(cwd) == project
        ),
        degrade=degrade,
        clear=clear,
        directives=app.config.list_directives(app.paths.home),
        guards=app.guards,
        write=app.config.projects.write,
        write_mode_of=app.write_modes.get_mode,
        list_sessions=app.engine.source.list_sessions,
        list_positions=adapted.list_positions,
        read_records=reader.read_unpaused,
        announce=partial(app.activities.announce_unstored, one.name),
        prompt_extensions=app.found.collect_prompt_extensions(),
        person_rules=app.found.collect_person_rules(),
        client_home=app.paths.config_dir,
        post=adapted.post,
    )


def discard_calls(budget: Budget, calls: Sequence[str]) -> None:
    """Note the answers that were of no use: their parts may be asked for again. If that cannot be stored, they count as lost."""
    with suppress(TacitdError):
        budget.settle([int(call) for call in calls], used=False)


def root_of(task: Task) -> str:
    """The root of a task's project; "" if it belongs to none."""
    return str(task.project.root) if isinstance(task.project, Project) else ""
