"""The engine's own jobs, in the workers: what is due each minute, and the files that people edit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from loguru import logger

from tacitd import __version__
from tacitd.contract import Done, Later, Outcome, Task, Tx
from tacitd.engine import SYNC_JOB
from tacitd.errors import TacitdError
from tacitd.files.purge import purge_texts
from tacitd.handler import Degradation, StoredItem
from tacitd.model.health import ModelHealth
from tacitd.reload import check_refused
from tacitd.session_context.plugin_view import list_items
from tacitd.state.paths import report_file
from tacitd.work.task_rows import ENGINE, insert_task

if TYPE_CHECKING:
    from tacitd.app import App


def keep_house(app: App) -> None:
    """Finish files that wait, check a refused configuration, look for the model's program, store ends of calls, check the store."""
    try:
        app.follow_up.run_once()
    except (OSError, TacitdError) as error:
        logger.warning("files that wait cannot be finished now: {}", error)
    check_refused(app)
    app.outdated = check_installed_version()
    save_budget(app)
    with suppress(TacitdError):  # the loop meets it too, and says so
        app.store.check()
    if isinstance(app.model, ModelHealth):
        app.model.look()


def run_own_job(app: App, task: Task, tools: object) -> Outcome:
    """A job of the engine itself."""
    if task.kind == "purge":
        return _finish_purge(app, task)
    if task.key != SYNC_JOB:
        keep_house(app)
        return Done()
    app.plugins.finish_files()
    edited = app.plugins.list_edited(app.config.projects.write)

    def queue(tx: Tx) -> None:
        for new in edited:
            insert_task(tx, new, app.clock.now())

    return Done(queue)


def _finish_purge(app: App, task: Task) -> Outcome:
    """Purge what `tacitd forget --purge` decided and did not end with, because it or the daemon was killed."""
    rows = app.store.rows
    others = "SELECT 1 FROM task WHERE kind = 'purge' AND key = ? AND plugin <> ?"
    if rows(others, task.key, ENGINE) or rows("SELECT 1 FROM plan LIMIT 1"):
        return Later("files that the words are in are changed first", not_before=app.clock.now() + 1.0)
    purge_own_files(app, list(task.data["texts"]), list_other_items(app, task.key))
    return Done()


def purge_own_files(app: App, texts: Sequence[str], keep: Collection[str]) -> list[Path]:
    """Blank the texts in the state directory, remove the last report, and return the files that changed.

    `keep`: the texts of other stored items. By them tacitd knows its own lines, so they stay whole. Raises OSError, TacitdError: then
    it is to be done again.
    """
    purged = purge_texts(app.paths.state_dir, texts, keep=keep)
    report = report_file(app.environ)
    if report.is_file():
        report.unlink()
        purged.append(report)
    # Last: it blanks the words of the task too, by which all of this is done again.
    if app.store.purge_words([text for text in texts if text not in keep], keep):
        purged.append(app.store.path)
    return purged


def list_other_items(app: App, id: str) -> dict[str, StoredItem]:
    """All stored items but one, by their texts. Raises OSError."""
    items = (item for plugin in app.found.plugins for item in list_items(plugin, app.environ, None))
    return {one.text: one for one in items if one.state == "stored" and one.id != id}


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
