"""The engine's own jobs, in the workers: what is due each minute, and the files that people edit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from tacitd import __version__
from tacitd.contract import Done, Task, Tx
from tacitd.engine import SYNC_JOB
from tacitd.errors import TacitdError
from tacitd.handler import Degradation
from tacitd.model.health import ModelHealth
from tacitd.reload import check_refused
from tacitd.state.first_design import list_left
from tacitd.work.task_rows import insert_task

if TYPE_CHECKING:
    from tacitd.app import App


def keep_house(app: App) -> None:
    """Save what was written into files that were swapped out, check a refused configuration, look for the model's program, store ends of calls, check the store."""
    app.editors.check_old_files()
    check_refused(app)
    app.outdated = check_installed_version()
    save_budget(app)
    with suppress(TacitdError):  # the loop meets it too, and says so
        app.store.check()
    if isinstance(app.model, ModelHealth):
        app.model.look()
    app.left_files = list_left(app.paths.state_dir)


def run_own_job(app: App, task: Task, tools: object) -> Done:
    """A job of the engine itself."""
    if task.key != SYNC_JOB:
        keep_house(app)
        return Done()
    app.plugins.finish_files()
    edited = app.plugins.list_edited(app.config.projects.write)

    def queue(tx: Tx) -> None:
        for new in edited:
            insert_task(tx, new, app.clock.now())

    return Done(queue)


def save_budget(app: App) -> None:
    """Store the ends of calls that could not be stored before. If it fails again, work that needs a call is parked."""
    with suppress(TacitdError):
        app.budget.save_ends()


def check_installed_version(
    running: str = __version__, installed: Callable[[str], str] = version
) -> list[Degradation]:
    """A degradation if another version is installed than the running one; [] if the installed version is unknown."""
    try:
        there = installed("tacitd")
    except (PackageNotFoundError, OSError):  # during an update there may be no package for a moment
        return []
    if there is None or there == running:
        return []
    what = f"version {there} is installed, but version {running} is still running"
    return [Degradation("daemon.outdated", what, "run `tacitd restart`; no work is lost")]
