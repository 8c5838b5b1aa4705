"""The engine's own jobs, in the workers: what is due each minute, and the files that people edit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from loguru import logger

from tacitd import __version__
from tacitd.config.settings import list_settings, load_config
from tacitd.contract import Done, Later, Outcome, Task, Tx
from tacitd.engine import SYNC_JOB
from tacitd.errors import ConfigError, TacitdError
from tacitd.files.purge import blank_in_place
from tacitd.handler import Degradation, StoredItem
from tacitd.model.port import ModelHealth
from tacitd.session_context.plugin_view import list_items
from tacitd.state.paths import report_file
from tacitd.work.old_prompts import scan_transcript
from tacitd.work.task_rows import ENGINE, insert_task

if TYPE_CHECKING:
    from tacitd.app import App


def keep_house(app: App) -> None:
    app.editors.check_old_files()
    app.outdated = check_installed_version()
    save_budget(app)
    if isinstance(app.model, ModelHealth):
        app.model.look()


def run_own_job(app: App, task: Task) -> Outcome:
    if task.kind == "purge":  # `tacitd forget --purge` or the daemon was killed before its end
        others = "SELECT 1 FROM task WHERE kind = 'purge' AND key = ? AND plugin <> ?"
        if app.store.rows(others, task.key, ENGINE) or app.store.rows("SELECT 1 FROM plan LIMIT 1"):
            return Later("files that the words are in are changed first", not_before=app.clock.now() + 1.0)
        purge_own_files(app, task.key, list(task.data["texts"]), list_other_items(app, task.key))
        return Done()
    if task.kind == "command":
        data = task.data
        scan_transcripts(app, data["transcripts"], data["since"], data["projects"])
        # What was not read any more, because the daemon stops, is read after its next start.
        return Later("the daemon stopped meanwhile") if app.stopping.is_set() else Done()
    if task.key != SYNC_JOB:
        keep_house(app)
        with suppress(TacitdError):  # the loop meets it too, and says so
            app.store.check()
        return Done()
    for path in app.files.finish_all(app.stalls):  # also what a crash left
        logger.warning("{} cannot be changed now; tacitd tries again", path)
    app.engine.unfinished = {one for one in app.engine.unfinished if app.engine.is_stuck(one)}
    edited = app.plugins.list_edited(app.stalls)

    def queue(tx: Tx) -> None:
        waits = "SELECT 1 FROM task WHERE plugin = ? AND kind = ? AND key = ?"
        for new in edited:
            # An undo may have queued it with more meanwhile.
            if not tx.rows(waits, new.plugin, new.kind, new.key):
                insert_task(tx, new, app.clock.now())

    return Done(queue)


def scan_transcripts(app: App, transcripts: Sequence[str], since: float, roots: Collection[str]) -> int:
    """Read these transcripts again, until the daemon stops: prompts not older than `since` (seconds since 1970) of `roots` (none: all).
    Returns how many of the paths are transcripts. Raises UnwritableError."""
    source, known = app.engine.source, app.engine.follower.stamps
    parts = app.store, source, app.projects.find_project, list(app.plugins.rules)
    paths = [Path(one) for one in transcripts if one in known and not source.is_subagent(one)]
    for path in paths:
        if not app.stopping.is_set():
            scan_transcript(*parts, path, since, set(roots), app.clock.now())
    return len(paths)


def purge_own_files(app: App, id: str, texts: Sequence[str], keep: Collection[str]) -> list[Path]:
    """Blank the texts in the logs and in the store, remove the last report, and return the files that changed. `keep`: the
    texts of other stored items, by which tacitd knows its own lines. Raises OSError, TacitdError: then it is to be done
    again."""
    logs = sorted(app.paths.state_dir.glob("*.log"))
    purged = [path for path in logs if blank_in_place(path, texts, keep=keep)]
    report = report_file(app.environ)
    if report.is_file():
        report.unlink()
        purged.append(report)

    def end(tx: Tx) -> None:
        tx.execute("DELETE FROM task WHERE plugin = ? AND kind = 'purge' AND key = ?", ENGINE, id)

    # Last, with the end of the task by which all of this is done again: it has the words too.
    if app.store.purge_words([text for text in texts if text not in keep], keep, end):
        purged.append(app.store.path)
    return purged


def list_other_items(app: App, id: str) -> dict[str, StoredItem]:
    """By their texts. Raises OSError."""
    items = (item for plugin in app.found.plugins for item in list_items(plugin, app.environ, None))
    return {one.text: one for one in items if one.state == "stored" and one.id != id}


def save_budget(app: App) -> None:
    """Store the ends of calls that could not be stored before."""
    with suppress(TacitdError):
        app.budget.save_ends()


def check_installed_version(
    running: str = __version__, installed: Callable[[str], str] = version
) -> list[Degradation]:
    try:
        there = installed("tacitd")
    except (PackageNotFoundError, OSError):  # during an update there may be no package for a moment
        return []
    if there is None or there == running:
        return []
    what = f"version {there} is installed, but version {running} is still running"
    return [Degradation("daemon.outdated", what, "run `tacitd restart`; no work is lost")]


REFUSED = "config.refused"
"""The degradation of a configuration that could not be reloaded."""
IN_FORCE = 8.0
"""Seconds for which a caller waits until the new configuration is in force."""


def reload_config(app: App) -> list[str]:
    """Read the configuration again; if it changed, ask for another App. Returns the keys that changed. Any thread. Raises
    ConfigError if it is wrong: nothing has changed then, and it is a problem until a reload succeeds."""
    sections, broken = app.found.collect_sections(), bool(app.found.failed)
    try:
        new = load_config(app.paths.config_file, app.environ, sections, broken=broken)
    except ConfigError as error:
        what = f"the configuration was not reloaded, the old one is in force: {error.what}"
        hint = "; then ".join(filter(None, (error.hint, "run `tacitd reload`")))
        app.degraded[REFUSED] = Degradation(REFUSED, what, hint)
        raise
    before = {key: value for key, value, _ in list_settings(app.config)}
    changed = [key for key, value, _ in list_settings(new) if before.get(key) != value]
    app.degraded.pop(REFUSED, None)
    if changed or app.reloaded is not None:  # it may be the old one again, before another was in force
        app.request_reload(new)
    return changed
