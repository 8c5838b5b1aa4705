"""The plugins in a daemon: made at a start, and what the loop, the workers and the status need of all.

One that cannot be made is off and named in `status`; its records and prompts wait for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from loguru import logger

from tacitd.config.settings import Config
from tacitd.contract import Tx
from tacitd.errors import TacitdError, describe_failure, describe_plugin_error
from tacitd.handler import Degradation
from tacitd.model.budget import Budget
from tacitd.plugin import GatherRule, PluginSpec, TimedJob
from tacitd.state.paths import find_home
from tacitd.work.activities import Activities
from tacitd.work.plugin_tools import ToolServices
from tacitd.work.project_rows import read_choices
from tacitd.work.reader import Observer
from tacitd.work.running_plugin import RunningPlugin, make_waiting_observer
from tacitd.work.shared_edits import list_changed
from tacitd.work.task_rows import NewTask


class JobPlan(Protocol):
    """Where timed jobs are planned."""

    def add_job(self, plugin_name: str, job: TimedJob, last: float | None) -> None:
        """Plan a job, given when it last succeeded."""
        ...


class RunningPlugins:
    """Those that run, by name."""

    def __init__(
        self,
        specs: Sequence[PluginSpec],
        config: Config,
        services: ToolServices,
        budget: Budget,
        environ: Mapping[str, str],
        activities: Activities,
        degraded: dict[str, Degradation],
    ) -> None:
        """`degraded` gets a `handler.broken:NAME` for each plugin that cannot run."""
        self.by_name: dict[str, RunningPlugin] = {}
        self.observers = list[Observer]()
        """Those of all, also of the ones that are off."""
        self._services = services
        self._environ = environ
        services.directives = config.list_directives(find_home(environ))
        for spec in specs:
            off = services.store.off.get(spec.name, "")
            try:
                if not off:
                    settings = {name: config.get_section(name) for name in spec.settings}
                    one = self.by_name[spec.name] = RunningPlugin(
                        spec, settings, services, budget, activities.announce, activities.follow_change
                    )
                    self.observers.append(one.observer)
                    continue
                what = f"the plugin {spec.name} is off: {off}"
                logger.error("{}", what)
                problem = Degradation("handler.broken", what, "install the version of it that wrote them")
            except Exception as error:  # noqa: BLE001  a third-party plugin may raise anything
                off, problem = describe_plugin_error(error), describe_broken(spec.name, error)
            degraded[f"handler.broken:{spec.name}"] = problem
            self.observers.append(make_waiting_observer(spec, off))

    def open(self, schedule: JobPlan) -> None:
        """Plan the timed jobs. One that never succeeded is due at once."""
        for name, one in self.by_name.items():
            found = self._services.store.rows("SELECT name, succeeded FROM job WHERE plugin = ?", name)
            ran: dict[str, float] = dict(found)
            for each in one.spec.jobs:
                schedule.add_job(name, each, ran.get(each.name))

    @property
    def rules(self) -> dict[str, GatherRule]:
        """When the prompts of each are due."""
        return {one.name: one.rule for one in self.by_name.values() if one.rule is not None}

    def list_wanting(self, event: str) -> list[str]:
        """The names of those that want tasks of this kind."""
        return [name for name, one in self.by_name.items() if event in one.spec.events]

    def queue_job(self, tx: Tx, plugin: str, job: str) -> None:
        """Queue a job of one of them."""
        self.by_name[plugin].queue_job(tx, job)

    def set_config(self, config: Config) -> None:
        """Other settings are in force for the tasks from now on."""
        self._services.directives = config.list_directives(find_home(self._environ))
        for one in self.by_name.values():
            one.settings = {name: config.get_section(name) for name in one.spec.settings}

    # --- files, in a worker

    def list_edited(self, default_mode: str) -> list[NewTask]:
        """A task for each shared file that changed. In a worker."""
        if not any(one.kinds for one in self.by_name.values()):
            return []
        store = self._services.store
        modes = read_choices(store.rows, default_mode, self._services.clock.now()).modes
        places = [
            (number, root)
            for number, root in store.rows("SELECT number, root FROM project ORDER BY number")
            if modes.get(root, default_mode) != "off"
        ]
        return list_changed(self.by_name.values(), store.rows, places, self._environ, self._services.files)

    def finish_files(self) -> None:
        """Write what is planned and not written, also what a crash left. In a worker."""
        for path in self._services.files.finish_all():
            logger.warning("{} cannot be changed now; tacitd tries again", path)


def describe_broken(name: str, error: Exception) -> Degradation:
    """What is wrong with a plugin that cannot begin."""
    if isinstance(error, OSError | TacitdError):
        why, hint = describe_failure(error)
        what = f"the handler {name} cannot begin: {why}"
        logger.error("{}", what)
        return Degradation("handler.broken", what, f"{hint}; then `tacitd restart`; everything else goes on")
    logger.opt(exception=error).error("the handler {} cannot begin", name)
    what = f"the handler {name} cannot begin: {type(error).__name__}: {error}"
    return Degradation("handler.broken", what, "the log says more; everything else goes on")
