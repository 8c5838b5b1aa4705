"""A plugin as the daemon runs it: its observer, its tasks, its edits of shared files, and decisions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from loguru import logger
from msgspec.structs import replace

from tacitd.config.settings import Config
from tacitd.contract import (
    Batch,
    Cause,
    Decide,
    Done,
    FileChange,
    Later,
    Leaf,
    Outcome,
    Rejected,
    Task,
    Tools,
    Tx,
)
from tacitd.errors import (
    FileBusyError,
    FileRefusedError,
    StoreLostError,
    TacitdError,
    UnavailableError,
    UnwritableError,
    UsageError,
    describe_failure,
    describe_plugin_error,
)
from tacitd.events import Project
from tacitd.files.formats import find_format
from tacitd.files.row_history import ChangedLine, list_lines, plan_row_undo
from tacitd.files.shared_files import TWO_LOOKS
from tacitd.files.stalls import Stalls
from tacitd.handler import Decision, Degradation, Notice, load_hook
from tacitd.model.budget import mark_used
from tacitd.plugin import GatherRule, PluginSpec, SharedFileKind
from tacitd.work.activities import follow_decision
from tacitd.work.plugin_tools import PluginTools, ToolServices
from tacitd.work.project_rows import ASKED, store_project
from tacitd.work.reader import Observer
from tacitd.work.shared_edits import EDITS, find_new_edits, queue_undone, store_look
from tacitd.work.task_rows import ENGINE, NewTask, insert_task
from tacitd.work.task_runner import Runnable

PURGE_AFTER = 600.0
"""Seconds after which the daemon purges by itself what a person decided to purge."""
FILE_AGAIN = 60.0
"""Seconds until a job is done again whose file was refused."""
KEPT = 50
"""How many results are kept for persons who wait for them."""


class RunningPlugin:
    """One plugin. Its hooks are imported when it is made."""

    def __init__(self, spec: PluginSpec, settings: Mapping[str, Any], services: ToolServices) -> None:
        """`settings`: the plugin's sections of the configuration. Raises what its modules raise, and TypeError."""
        self.name = spec.name
        self.spec = spec
        self.settings = settings
        self._services = services
        self._refused = f"{spec.name}.files"
        self.asked: dict[int, Done | TacitdError] = {}
        """By task that a person waits for, what it did or why it was refused."""
        observe = load_hook(spec.observe) if spec.observe else None
        self.observer = _make_observer(spec, observe and (lambda batch, tx: observe(batch, tx, settings)))
        self._run: Any = load_hook(spec.run) if spec.run else None
        self._items: Any = load_hook(spec.items) if spec.items else None
        for one in spec.files:
            find_format(one.format)
            load_hook(one.list_paths)
            load_hook(one.on_edits)
        self.rule: GatherRule | None = load_hook(spec.gather)(settings) if spec.gather else None
        if not isinstance(self.rule, GatherRule | None):
            raise TypeError(f"its gathering is {type(self.rule).__name__}, not GatherRule")
        self.runnable = Runnable(self.run, self.rule, spec.one_lane)
        if self._run is None and (spec.gather or spec.events or spec.jobs):
            raise TypeError("it wants tasks and has no `run`")

    def make_tools(self, task: Task) -> PluginTools:
        return PluginTools(self.name, task, self.settings, self._services)

    # --- in a worker

    def run(self, task: Task) -> Outcome:
        tools = self.make_tools(task)
        try:
            outcome = self._do(task, tools)
        except FileBusyError:
            raise
        except (OSError, FileRefusedError) as error:
            return self._wait_for_file(error, task, tools)
        waits = (
            # Problems are few and tasks many, which SQLite cannot know.
            "SELECT 1 FROM degradation d CROSS JOIN task t ON t.plugin = d.owner AND t.reason = d.what "
            "WHERE d.owner = ? AND d.id = ? AND t.number <> ?"
        )
        if not tools.rows(waits, self.name, self._refused, task.number):
            tools.clear(self._refused)
        numbers = tuple(tools.answered)
        match outcome:
            case Done():
                use = partial(mark_used, numbers=numbers)
                return replace(outcome, apply=_join(outcome.apply, use)) if numbers else outcome
            case Rejected() | Later():
                if numbers and (isinstance(outcome, Rejected) or outcome.blame == "work"):
                    self._services.budget.settle(numbers, used=False)
                return outcome
            case _:
                raise TypeError(f"it returned {type(outcome).__name__}, which is not an outcome")

    def _wait_for_file(self, error: OSError | FileRefusedError, task: Task, tools: PluginTools) -> Later:
        """A problem until the task is done; a job looks every minute. Raises an OSError that is about no file."""
        if isinstance(error, OSError) and error.filename is None:
            raise error
        what, hint = describe_failure(error)
        if task.kind == "file-changed":  # a task that writes the file says it
            path = str(task.data["path"])
            return Later(what if path in what else f"{path}: {what}", hint)
        tools.degrade(Degradation(self._refused, what, hint))
        return Later(what, hint, tools.clock.now() + FILE_AGAIN if task.kind == "job" else None)

    def _do(self, task: Task, tools: Any) -> Any:
        """Where a person waits for it, they are told why it is refused; it is not tried again. A file that is busy is no refusal, and a
        purge is never refused: the words would stay."""
        if task.kind == "file-changed" and task.key.startswith(EDITS):
            return self._report_edits(task, tools)
        if task.kind not in ASKED:
            return self._run(task, tools)
        try:
            match task.kind:
                case "decision":
                    done = self._decide(task, tools)
                case "undo":
                    done = self._undo(task)
                case _:
                    done = self._run(task, tools)
        except (FileBusyError, UnwritableError, StoreLostError):
            raise
        except TacitdError as error:
            if task.kind == "purge":
                raise
            done = Rejected(error.what)
            self.asked[task.number] = error
        if isinstance(done, Done):
            self.asked[task.number] = done
        while len(self.asked) > KEPT:
            self.asked.pop(next(iter(self.asked)), None)
        return done

    def _report_edits(self, task: Task, tools: PluginTools) -> Outcome:
        """Pass a person's edits of a file on, each once: they are noted with what the plugin makes of them."""
        path, files, clock = Path(str(task.data["path"])), self._services.files, self._services.clock
        kind = next((one for one in self.spec.files if one.name == task.data["kind"]), None)
        if kind is None:
            return Done()
        format = find_format(kind.format)
        files.settle(path)  # an undo that is passed on may wait for an editor
        look, stamp = find_new_edits(files, tools.rows, path, format, task.data.get("undone", ()))
        edits, again = look.view.edits, look.view.doubt == "removed once"
        done = Done()
        if any(edits) or (kind.always and not again):
            done = load_hook(kind.on_edits)(path, edits, tools)
        if not isinstance(done, Done):
            raise TypeError(f"on_edits returned {type(done).__name__}, not Done")

        def note(tx: Tx) -> None:
            store_look(tx, files, path, self.name, format, task.project_number, look, stamp)
            if again:
                new = NewTask(self.name, task.lane, task.kind, task.key, task.project_number, "", task.data)
                insert_task(tx, new, clock.now(), clock.now() + TWO_LOOKS)

        return replace(done, apply=_join(done.apply, note))

    def _decide(self, task: Task, tools: Tools) -> Outcome:
        data, root, now = task.data, task.data["root"], self._services.clock.now()
        decision = Decision(data["id"], data["choice"], Path(root) if root else None, data["text"])
        done: Done = self._items.decide(decision, tools)

        def follow(tx: Tx) -> None:
            if decision.choice in ("drop", "restore"):
                follow_decision(tx, self.name, decision.id, is_gone=decision.choice == "drop")
            for name in data["purge"]:
                # Who asked does it at once; a start does what is left.
                new = NewTask(name, "", "purge", decision.id, data={"texts": data["texts"]})
                insert_task(tx, new, now, now + PURGE_AFTER)

        return replace(done, apply=_join(done.apply, follow))

    def _undo(self, task: Task) -> Done:
        """Take a change back, as far as nobody changed its lines since; the notices name the others. What that changes counts as the
        person's edit, and is passed on as one by the task that follows. Raises FileRefusedError, UsageError if there is nothing to
        take back."""
        rows, number, files = self._services.store.rows, int(task.data["change"]), self._services.files
        cause = Cause(
            f"undo {number} {self._services.clock.now()}", "person", "undo", undoes=number, joins=True
        )
        by_path = dict[Path, list[ChangedLine]]()
        for line in list_lines(rows, number):
            by_path.setdefault(line.path, []).append(line)
        changes, left, edited = list[FileChange](), list[Notice](), list[NewTask]()
        place = Path(task.lane) if task.lane else None
        for path, lines in by_path.items():
            ((name, root),) = rows(
                "SELECT format, root FROM shared_file LEFT JOIN project ON number = project WHERE path = ?",
                str(path),
            )
            format, places = find_format(name), (place, Path(root) if root else None)
            files.settle(path)
            back, changed = plan_row_undo(lines, files.look(path, format).now)
            left += [Notice("not undone", text, path.name) for text in changed]
            if back:
                changes.append(FileChange(path, format, _decide_always(back), cause))
                removed = [leaf for leaf, value in back.items() if value is None]
                edited += [
                    self.make_edited(kind, path, task.lane, task.project_number, removed)
                    for kind in self.spec.files
                    if any(path in load_hook(kind.list_paths)(rows, os.environ, one) for one in places)
                ][:1]
        if left and (not changes or len(by_path) > 1):  # half of it would be something else
            what = f"{left[0].where} no longer has “{left[0].text}”: somebody removed or changed it since"
            raise FileRefusedError(what)
        if not changes:
            raise UsageError("what it removed is there again: there is nothing to undo")
        return Done(partial(queue_undone, edited, self._services.clock.now()), tuple(changes), notices=left)

    def make_edited(
        self, kind: SharedFileKind, path: Path, root: str, project: int | None, undone: Sequence[Leaf] = ()
    ) -> NewTask:
        """A task that passes edits of a shared file on. `undone`: leaves that a person took back by name."""
        data = {"path": str(path), "kind": kind.name, "undone": list(undone)}
        return NewTask(self.name, root, "file-changed", f"{EDITS}{path}", project, "", data)

    # --- what is queued

    def queue_job(self, tx: Tx, name: str, project: Project | None = None) -> None:
        """One task, or one for each project in which tacitd may write. What waits for something goes on waiting."""
        job = next(one for one in self.spec.jobs if one.name == name)
        places: list[tuple[int | None, str]] = [(None, "")]
        if project is not None:
            places = [(store_project(tx, project, self._services.clock.now()), str(project.root))]
        elif job.each_project:
            places = list_writable(self._services)
        for number, root in places:
            new = NewTask(self.name, root, "job", f"{name} {root}".strip(), number, "", {"job": name})
            waits = "SELECT 1 FROM task WHERE plugin = ? AND kind = 'job' AND key = ? AND reason <> ''"
            if not tx.rows(waits, self.name, new.key):
                insert_task(tx, new, self._services.clock.now())


def list_writable(services: ToolServices) -> list[tuple[int | None, str]]:
    """The number and root of each project in which tacitd may write."""
    found = services.store.rows("SELECT number, root FROM project ORDER BY number")
    return [one for one in found if services.write_mode(Project(Path(one[1]), False)) != "off"]


def _make_observer(spec: PluginSpec, observe: Callable[[Batch, Tx], None] | None) -> Observer:
    return Observer(spec.name, observe, bool(spec.gather), "session-started" in spec.events)


def _wait_until_on(spec: PluginSpec, why: str, batch: Batch, tx: Tx) -> NoReturn:
    """The observer of a plugin that is off: it gets its records when it runs again."""
    raise UnavailableError(f"{spec.name} is off: {why}")


def _decide_always(changes: Mapping[Leaf, str | None]) -> Decide:
    return lambda now, edits: changes


def _join(apply: Callable[[Tx], None], after: Callable[[Tx], None]) -> Callable[[Tx], None]:
    def both(tx: Tx) -> None:
        apply(tx)
        after(tx)

    return both


class RunningPlugins:
    def __init__(
        self,
        specs: Sequence[PluginSpec],
        config: Config,
        services: ToolServices,
        environ: Mapping[str, str],
        degraded: dict[str, Degradation],
    ) -> None:
        """`degraded` gets a `handler.broken:NAME` for each plugin that cannot run."""
        self.by_name: dict[str, RunningPlugin] = {}
        self.observers = list[Observer]()
        """Those of all, also of the ones that are off."""
        self._services = services
        self._environ = environ
        for spec in specs:
            off, hint = services.store.off.get(spec.name, ""), "install the version of it that wrote them"
            try:
                if not off:
                    settings = {name: config.get_section(name) for name in spec.settings}
                    one = self.by_name[spec.name] = RunningPlugin(spec, settings, services)
                    self.observers.append(one.observer)
                    continue
            except Exception as error:  # noqa: BLE001  a third-party plugin may raise anything
                logger.opt(exception=error).error("the plugin {} cannot begin", spec.name)
                off = describe_plugin_error(error)
                hint = "the log says more; correct it, then `tacitd restart`; everything else goes on"
            what = f"the plugin {spec.name} is off: {off}"
            logger.error("{}", what)
            degraded[f"handler.broken:{spec.name}"] = Degradation("handler.broken", what, hint)
            waits = partial(_wait_until_on, spec, off) if spec.observe else None
            self.observers.append(_make_observer(spec, waits))

    @property
    def rules(self) -> dict[str, GatherRule]:
        return {one.name: one.rule for one in self.by_name.values() if one.rule is not None}

    def list_wanting(self, event: str) -> list[str]:
        return [name for name, one in self.by_name.items() if event in one.spec.events]

    def queue_job(self, tx: Tx, plugin: str, job: str) -> None:
        """Of one of them, or of the engine."""
        if plugin == ENGINE:
            insert_task(tx, NewTask(ENGINE, "", "job", job), self._services.clock.now())
        else:
            self.by_name[plugin].queue_job(tx, job)

    def queue_jobs(self, tx: Tx, job: str, project: Project | None = None) -> bool:
        """Of all that have one of this name; return whether any has."""
        owners = [one for one in self.by_name.values() if any(each.name == job for each in one.spec.jobs)]
        for one in owners:
            one.queue_job(tx, job, project)
        return bool(owners)

    def list_edited(self, stalls: Stalls) -> list[NewTask]:
        """A task for each shared file that changed since it was looked at last; none of a project whose disk does not answer. In a
        worker."""
        rows = self._services.store.rows
        known = {
            (plugin, path): stamp
            for plugin, path, stamp in rows("SELECT plugin, path, stamp FROM shared_file")
        }
        waiting = set(rows("SELECT plugin, key FROM task WHERE kind = 'file-changed'"))

        def list_of_project(number: int | None, root: str) -> list[NewTask]:
            return [
                plugin.make_edited(kind, path, root, number)
                for plugin in self.by_name.values()
                for kind in plugin.spec.files
                for path in self._list_paths(plugin.name, kind, root)
                if (plugin.name, f"{EDITS}{path}") not in waiting
                and self._is_edited(path, known.get((plugin.name, str(path))))
            ]

        places = list_writable(self._services)
        asked = stalls.ask_each((root, partial(list_of_project, number, root)) for number, root in places)
        answers = [one.result() for one in asked if one is not None and one.done()]
        return [*list_of_project(None, ""), *chain.from_iterable(answers)]

    def _is_edited(self, path: Path, before: str | None) -> bool:
        stamp = self._services.files.read_stamp(path)
        return stamp != before and (bool(stamp) or before is not None)

    def _list_paths(self, plugin: str, kind: SharedFileKind, root: str) -> list[Path]:
        try:
            place = Path(root) if root else None
            found = load_hook(kind.list_paths)(self._services.store.rows, self._environ, place)
            return [Path(one) for one in found]
        except Exception as error:  # noqa: BLE001  one plugin's fault affects no other
            logger.warning("{} cannot name its files: {}", plugin, describe_plugin_error(error))
            return []
