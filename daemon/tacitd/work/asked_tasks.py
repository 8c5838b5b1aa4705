"""Tasks that a person waits for: decisions about items, and commands that change files."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import asdict

from tacitd.contract import Done, Rows, Tx
from tacitd.errors import ParkedError, TacitdError, UnavailableError
from tacitd.events import Project
from tacitd.files.row_history import find_row_change, name_change, require_undoable
from tacitd.handler import Decided, Decision, StoredItem
from tacitd.store import Store
from tacitd.work.inbox import make_stopped_error
from tacitd.work.project_rows import read_choices, store_project
from tacitd.work.running_plugin import RunningPlugin
from tacitd.work.task_rows import NewTask, insert_task
from tacitd.work.task_runner import TaskRunner

PATIENCE = 5.0
"""Seconds for which a command waits for a file that cannot be changed now."""
LONGEST = 600.0
"""Seconds for which a command waits for its task, which may call the model."""
POLL = 0.02
_DID = {
    "keep": "stored",
    "drop": "removed, and never learned again",
    "edit": "stored with your words",
    "restore": "not forgotten any more",
}


def make_command(tx: Tx, asked: Mapping[str, Any], project: Project | None, now: float) -> NewTask:
    """The task of a person's command. `asked`: the parameters of the method `task`."""
    number, root = None, ""
    if project is not None:
        number, root = store_project(tx, project, now), str(project.root)
    data = dict(asked.get("data", {}))
    return NewTask(str(asked["plugin"]), root, "command", str(asked["key"]), number, "", data)


def make_decision(
    rows: Rows, plugin: str, decision: Decision, purge: Sequence[str] = (), texts: Sequence[str] = ()
) -> NewTask:
    """The task of a person's decision. `purge`: the plugins that are to purge these texts then."""
    root = str(decision.root or "")
    data = asdict(decision) | {"root": root, "purge": list(purge), "texts": list(texts)}
    projects: dict[str, int] = dict(rows("SELECT root, number FROM project"))
    return NewTask(plugin, root, "decision", decision.id, projects.get(root), "", data)


@dataclass(eq=False)
class AskedTasks:
    """Queues a task and waits for it. Not for the loop's thread."""

    store: Store
    runner: TaskRunner
    now: Callable[[], float]
    wake: Callable[[], None]
    is_stopping: Callable[[], bool] = lambda: False

    def run(self, plugin: RunningPlugin, new: NewTask) -> Done:
        """Have a task done, and return what it did. Raises ParkedError if it or one of its files waits, UnavailableError if the
        engine stops before, and what the plugin raised."""
        with self.store.write() as tx:
            number = insert_task(tx, new, self.now())
        self.wake()
        self._wait(new, number)
        done = plugin.asked.pop(number, Done())
        if isinstance(done, TacitdError):
            raise done
        self._require_written(done)
        return done

    def _require_written(self, done: Done) -> None:
        """Raises ParkedError if what was decided is not in a file yet, as on a full disk: it is written when that is over."""
        planned = (
            "SELECT d.what, d.hint FROM (SELECT path, change FROM plan UNION SELECT path, NULL FROM line_plan) p "
            "LEFT JOIN change c ON c.number = p.change LEFT JOIN degradation d ON d.owner = 'plan' AND d.id = p.path "
            "WHERE p.path = ? AND coalesce(c.key, ?) = ?"
        )
        asked = [(str(one.path), name_change(one)) for one in done.files]
        asked += [(str(one.path), "") for one in done.lines]
        for path, key in asked:
            for what, hint in self.store.rows(planned, path, key, key):
                why = f"{path} waits to be written" + (f": {what}" if what else "")
                raise ParkedError(f"{why}; it is done as soon as that is over", hint or "")

    def _wait(self, new: NewTask, number: int) -> None:
        begun, stopped = time.monotonic(), math.inf
        while time.monotonic() - begun < LONGEST:
            try:
                waits = self.store.rows("SELECT reason, hint FROM task WHERE number = ?", number)
            except RuntimeError:
                # The store was closed: an end does not wait for a task that hangs in a file system.
                raise make_stopped_error() from None
            runs = self.runner.is_running(new.plugin, new.lane)
            if not waits and not runs:
                return
            if self.is_stopping():
                stopped = min(stopped, time.monotonic())
                if not runs or time.monotonic() - stopped > PATIENCE:
                    raise make_stopped_error()
            if time.monotonic() - begun > PATIENCE:
                refused = self.runner.refused
                waits += [(refused.what, refused.hint)] if refused is not None else []
                for reason, hint in (one for one in waits if one[0]):
                    raise ParkedError(f"{reason}; it is done as soon as that is over", hint)
            time.sleep(POLL)
        what, hint = "it is not done yet; the daemon goes on with it", "`tacitd status` shows what it does"
        raise ParkedError(what, hint)

    def undo(
        self, plugins: Mapping[str, RunningPlugin], change: dict[str, Any], *, dry_run: bool
    ) -> dict[str, Any]:
        """Have a change taken back; one that was undone already returns what undid it. `change` and the result: as
        `row_history` describes them; `id` is "" in a dry run, `left` are lines that were changed since. Raises as `run`."""
        rows = self.store.rows
        require_undoable(rows, change)
        if change["undone_by"]:
            return find_row_change(rows, change["undone_by"]) or change
        plugin = plugins.get(change["by"])
        if plugin is None:
            raise UnavailableError(f"the plugin {change['by']} does not run", "`tacitd status` says why")
        if dry_run:
            lines = [{**each, "added": each["removed"], "removed": each["added"]} for each in change["lines"]]
            about = {"id": "", "undoes": change["id"], "what": "", "prompts": []}
            return change | about | {"lines": lines[::-1]}
        ((number, project),) = rows("SELECT number, project FROM change WHERE id = ?", change["id"])
        new = NewTask(plugin.name, change["root"], "undo", change["id"], project, "", {"change": number})
        done = self.run(plugin, new)
        ((made,),) = rows("SELECT max(id) FROM change WHERE undoes = ?", number)
        self._wait_for_messages(plugin.name, change["root"])
        left = [one.text for one in done.notices]
        return {**(find_row_change(rows, made) or change), "left": left}

    def _wait_for_messages(self, plugin: str, lane: str) -> None:
        """Wait until what follows is done, such as the copies that sessions load. A pause holds that."""
        waits = "SELECT 1 FROM task WHERE plugin = ? AND lane = ? AND kind IN ('message', 'file-changed') AND reason = '' AND due <= ?"
        begun, follows = time.monotonic(), False
        while time.monotonic() - begun < PATIENCE:
            is_paused = read_choices(self.store.rows, "local", self.now()).find_pause(lane, "")
            is_queued = bool(self.store.rows(waits, plugin, lane, self.now()))
            follows = follows or is_queued
            # The end of what followed, too: then its files are written.
            if is_paused or not (is_queued or (follows and self.runner.is_running(plugin, lane))):
                return
            time.sleep(POLL)

    def decide(
        self, plugin: RunningPlugin, decision: Decision, items: list[StoredItem], purge: Sequence[str] = ()
    ) -> Decided:
        """Have a person's decision carried out. `items`: those that the plugin lists. `purge`: the plugins that are to purge
        its words then. Raises as `run`."""
        known = [one for one in items if one.id == decision.id]
        every = (text for one in known for text in (one.text, *one.earlier, *one.words) if text)
        texts = list(dict.fromkeys(every))
        new = make_decision(self.store.rows, plugin.name, decision, purge, texts if purge else ())
        done = self.run(plugin, new)
        self._wait_for_messages(plugin.name, new.lane)
        said = [f"{one.did}: {one.text}" + (f" ({one.where})" if one.where else "") for one in done.notices]
        return Decided("; ".join(said) or _DID[decision.choice], tuple(texts))
