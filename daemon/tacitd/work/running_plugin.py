"""A plugin as the daemon runs it: its observer, its tasks, its edits of shared files, and decisions.

Everything that it does outside of its functions is rows: what it is asked is a row of `task`, and what it did is committed by
the workers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
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
from tacitd.handler import Decision, Degradation, Notice, load_hook
from tacitd.model.budget import mark_used
from tacitd.plugin import GatherRule, PluginSpec, SharedFileKind, TimedJob
from tacitd.work.activities import follow_decision
from tacitd.work.messages import read_message
from tacitd.work.plugin_tools import PluginTools, ToolServices
from tacitd.work.project_rows import ASKED, read_choices
from tacitd.work.reader import Observer
from tacitd.work.shared_edits import EDITS, FileKind, FoundEdits, find_new_edits, list_changed, store_look
from tacitd.work.task_rows import ENGINE, NewTask, insert_task
from tacitd.work.task_runner import Runnable

PURGE_AFTER = 600.0
"""Seconds after which the daemon purges by itself what a person decided to purge."""
FILE_AGAIN = 60.0
"""Seconds until a job is done again whose file was refused."""
KEPT = 50
"""How many results are kept for persons who wait for them."""
RunTask = Callable[[Task, Tools], Outcome]
Observe = Callable[[Batch, Tx], None]


class RunningPlugin:
    """One plugin. Its hooks are imported when it is made."""

    def __init__(
        self,
        spec: PluginSpec,
        settings: Mapping[str, Any],
        services: ToolServices,
    ) -> None:
        """`settings`: the plugin's sections of the configuration. Raises what the plugin's modules raise, and TypeError."""
        self.name = spec.name
        self.spec = spec
        self.settings = settings
        self._services = services
        self._refused = f"{spec.name}.files"
        """The problem that a file of a person cannot be read or written."""
        self.asked: dict[int, Done | TacitdError] = {}
        """By task that a person waits for, what it did or why it was refused."""
        self.observer = make_observer(spec, self._load_observer())
        """What the reader needs."""
        self._run: RunTask | None = load_hook(spec.run) if spec.run else None
        self._items: Any = load_hook(spec.items) if spec.items else None
        self.kinds = tuple(map(_load_kind, spec.files))
        self.rule = self._load_rule()
        self.runnable = Runnable(self.run, self.rule, spec.one_lane)
        """What the workers need."""
        if self._run is None and (spec.gather or spec.events or spec.jobs):
            raise TypeError("it wants tasks and has no `run`")

    def _load_observer(self) -> Observe | None:
        if not self.spec.observe:
            return None
        observe, settings = load_hook(self.spec.observe), self.settings
        return lambda batch, tx: observe(batch, tx, settings)

    def _load_rule(self) -> GatherRule | None:
        if not self.spec.gather:
            return None
        found = load_hook(self.spec.gather)(self.settings)
        if not isinstance(found, GatherRule):
            raise TypeError(f"its gathering is {type(found).__name__}, not GatherRule")
        return found

    def make_tools(self, task: Task) -> PluginTools:
        """The tools of a task."""
        return PluginTools(self.name, task, self.settings, self._services)

    # --- in a worker

    def run(self, task: Task) -> Outcome:
        """Do a task. What the model answered is used with its commit."""
        tools = self.make_tools(task)
        try:
            outcome = self._do(task, tools)
        except FileBusyError:
            raise
        except (OSError, FileRefusedError) as error:
            return self._wait_for_file(error, task, tools)
        waits = (
            "SELECT 1 FROM degradation d JOIN task t ON t.plugin = d.owner AND t.reason = d.what "
            "WHERE d.owner = ? AND d.id = ? AND t.number <> ?"
        )
        if not self._services.store.rows(waits, self.name, self._refused, task.number):
            tools.clear(self._refused)
        if not isinstance(outcome, Done | Later | Rejected):
            raise TypeError(f"it returned {type(outcome).__name__}, which is not an outcome")
        numbers = tuple(tools.answered)
        if isinstance(outcome, Done):
            use = partial(mark_used, numbers=numbers)
            return replace(outcome, apply=_join(outcome.apply, use)) if numbers else outcome
        if numbers and (isinstance(outcome, Rejected) or outcome.blame == "work"):
            self._services.budget.settle(numbers, used=False)
        return outcome

    def _wait_for_file(self, error: OSError | FileRefusedError, task: Task, tools: PluginTools) -> Later:
        """A file of a person cannot be read or written. It is a problem until the task is done; a job, which would come again anyway,
        looks at it every minute. Raises an OSError that is about no file."""
        if isinstance(error, OSError) and error.filename is None:
            raise error
        what, hint = describe_failure(error)
        if task.kind == "file-changed":  # a task that writes the file says it
            path = str(task.data["path"])
            return Later(what if path in what else f"{path}: {what}", hint)
        tools.degrade(Degradation(self._refused, what, hint))
        return Later(what, hint, tools.clock.now() + FILE_AGAIN if task.kind == "job" else None)

    def _do(self, task: Task, tools: Any) -> Outcome:
        if task.kind == "file-changed" and task.key.startswith(EDITS):
            return self._report_edits(task, tools)
        if task.kind in ASKED:
            return self._do_asked(task, tools)
        return self._call(read_message(task) if task.kind == "message" else task, tools)

    def _call(self, task: Task, tools: Tools) -> Outcome:
        if self._run is None:
            raise TypeError(f"it got a task of the kind {task.kind} and has no `run`")
        return self._run(task, tools)

    def _do_asked(self, task: Task, tools: Tools) -> Outcome:
        """A person waits for it, and is told why it is refused; it is not tried again then. A file that cannot be read or written now is
        no refusal, and a purge is never refused: the words would stay."""
        try:
            match task.kind:
                case "decision":
                    done = self._decide(task, tools)
                case "undo":
                    done = self._undo(task)
                case _:
                    done = self._call(task, tools)
        except (FileBusyError, UnwritableError, StoreLostError):
            raise
        except TacitdError as error:
            if task.kind == "purge":
                raise
            done = Rejected(error.what)
            self._keep(task, error)
        if isinstance(done, Done):
            self._keep(task, done)
        return done

    def _keep(self, task: Task, result: Done | TacitdError) -> None:
        self.asked[task.number] = result
        while len(self.asked) > KEPT:
            self.asked.pop(next(iter(self.asked)), None)

    def _report_edits(self, task: Task, tools: PluginTools) -> Outcome:
        """Pass a person's edits of a file on, each once: they are noted with what the plugin makes of them."""
        path = Path(str(task.data["path"]))
        kind = next((one for one in self.kinds if one.name == task.data["kind"]), None)
        if kind is None:
            return Done()
        undone = task.data.get("undone", ())
        found = find_new_edits(self._services.files, self._services.store.rows, path, kind.format, undone)
        is_due = any(found.edits) or (kind.always and found.again is None)
        done = kind.on_edits(path, found.edits, tools) if is_due else Done()
        if not isinstance(done, Done):
            raise TypeError(f"on_edits returned {type(done).__name__}, not Done")
        return replace(done, apply=self._note(task, path, kind, found, done))

    def name_kind(self, path: Path, root: str) -> str:
        """The kind of a shared file of a project; "" if it is of none."""
        rows, place = self._services.store.rows, Path(root) if root else None
        return next((one.name for one in self.kinds if path in one.list_paths(rows, os.environ, place)), "")

    def _note(
        self, task: Task, path: Path, kind: FileKind, found: FoundEdits, done: Done
    ) -> Callable[[Tx], None]:
        def apply(tx: Tx) -> None:
            done.apply(tx)
            store_look(tx, self._services.files, path, self.name, kind.format, task.project_number, found)
            if found.again is not None:
                lane = str(task.project.root) if isinstance(task.project, Project) else ""
                new = NewTask(self.name, lane, task.kind, task.key, task.project_number, "", task.data)
                now = self._services.clock.now()
                insert_task(tx, new, now, now + found.again)

        return apply

    def _decide(self, task: Task, tools: Tools) -> Outcome:
        data, root = task.data, str(task.data.get("root", ""))
        decision = Decision(
            str(data["id"]), data["choice"], Path(root) if root else None, str(data.get("text", ""))
        )
        done: Done = self._items.decide(decision, tools)
        if decision.choice not in ("drop", "restore"):
            return done
        now, given = self._services.clock.now(), {"texts": list(data.get("texts", ()))}

        def follow(tx: Tx) -> None:
            follow_decision(tx, self.name, decision.id, is_gone=decision.choice == "drop")
            for name in data.get("purge", ()):
                # Who asked does it at once; a start does what is left.
                insert_task(tx, NewTask(name, "", "purge", decision.id, data=given), now, now + PURGE_AFTER)

        return replace(done, apply=_join(done.apply, follow))

    def _undo(self, task: Task) -> Done:
        """Take a change of this plugin's back, as far as nobody changed its lines since; the notices name the others. What that changes
        in a file counts as the person's edit. Raises FileRefusedError, or UsageError, if there is nothing to take back."""
        rows, number = self._services.store.rows, int(task.data["change"])
        by_path = dict[Path, list[ChangedLine]]()
        for line in list_lines(rows, number):
            by_path.setdefault(line.path, []).append(line)
        changes, left = list[FileChange](), list[Notice]()
        for path, lines in by_path.items():
            ((name,),) = rows("SELECT format FROM shared_file WHERE path = ?", str(path))
            format = find_format(name)
            self._services.files.settle(path)
            back, changed = plan_row_undo(lines, self._services.files.look(path, format).now)
            left += [Notice("not undone", text, path.name) for text in changed]
            if not back:
                continue
            cause = Cause(f"undo {number} {self._services.clock.now()}", "person", "undo", undoes=number)
            changes.append(FileChange(path, format, _decide_always(back), cause))
        if not changes and left:
            what = f"{left[0].where} no longer has “{left[0].text}”: somebody removed or changed it since"
            raise FileRefusedError(what)
        if not changes:
            raise UsageError("what it removed is there again: there is nothing to undo")
        return Done(files=tuple(changes), notices=left)

    # --- what is queued

    def queue_job(self, tx: Tx, name: str, project: Project | None = None) -> None:
        """Queue a job: one task, or one for each project in which tacitd may write. What waits for something goes on waiting."""
        job = next(one for one in self.spec.jobs if one.name == name)
        places: list[tuple[int | None, str]] = [(None, "")]
        if project is not None or job.each_project:
            modes = read_choices(tx.rows, "local", self._services.clock.now()).modes
            found = tx.rows("SELECT number, root FROM project")
            wanted = None if project is None else str(project.root)
            places = [
                (number, root)
                for number, root in found
                if (root == wanted if wanted is not None else self._writes(root, modes))
            ]
        for number, root in places:
            key = f"{name} {root}".strip()
            waits = "SELECT 1 FROM task WHERE plugin = ? AND kind = 'job' AND key = ? AND reason <> ''"
            if not tx.rows(waits, self.name, key):
                insert_task(
                    tx,
                    NewTask(self.name, root, "job", key, number, "", {"job": name}),
                    self._services.clock.now(),
                )

    def _writes(self, root: str, modes: Mapping[str, str]) -> bool:
        if root in modes:
            return modes[root] != "off"
        return self._services.write_mode(Project(Path(root), False)) != "off"


def make_observer(spec: PluginSpec, observe: Observe | None) -> Observer:
    """What the reader needs of a plugin."""
    return Observer(spec.name, observe, bool(spec.gather), "session-started" in spec.events)


def make_waiting_observer(spec: PluginSpec, why: str) -> Observer:
    """The observer of a plugin that is off: it gets its records when it runs again."""

    def wait(batch: Batch, tx: Tx) -> NoReturn:
        raise UnavailableError(f"{spec.name} is off: {why}")

    return make_observer(spec, wait if spec.observe else None)


def _load_kind(kind: SharedFileKind) -> FileKind:
    hooks = load_hook(kind.list_paths), load_hook(kind.on_edits)
    return FileKind(kind.name, find_format(kind.format), *hooks, always=kind.always)


def _decide_always(changes: Mapping[Leaf, str | None]) -> Decide:
    return lambda now, edits: changes


def _join(apply: Callable[[Tx], None], after: Callable[[Tx], None]) -> Callable[[Tx], None]:
    def both(tx: Tx) -> None:
        apply(tx)
        after(tx)

    return both


class RunningPlugins:
    """Those that run, by name."""

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
            off = services.store.off.get(spec.name, "")
            try:
                if not off:
                    settings = {name: config.get_section(name) for name in spec.settings}
                    one = self.by_name[spec.name] = RunningPlugin(spec, settings, services)
                    self.observers.append(one.observer)
                    continue
                what = f"the plugin {spec.name} is off: {off}"
                logger.error("{}", what)
                problem = Degradation("handler.broken", what, "install the version of it that wrote them")
            except Exception as error:  # noqa: BLE001  a third-party plugin may raise anything
                off, problem = describe_plugin_error(error), describe_broken(spec.name, error)
            degraded[f"handler.broken:{spec.name}"] = problem
            self.observers.append(make_waiting_observer(spec, off))

    def list_jobs(self) -> Iterator[tuple[str, TimedJob]]:
        """The timed jobs, each with its plugin's name."""
        for name, one in self.by_name.items():
            yield from ((name, job) for job in one.spec.jobs)

    @property
    def rules(self) -> dict[str, GatherRule]:
        """When the prompts of each are due."""
        return {one.name: one.rule for one in self.by_name.values() if one.rule is not None}

    def list_wanting(self, event: str) -> list[str]:
        """The names of those that want tasks of this kind."""
        return [name for name, one in self.by_name.items() if event in one.spec.events]

    def queue_job(self, tx: Tx, plugin: str, job: str) -> None:
        """Queue a job of one of them, or of the engine."""
        if plugin == ENGINE:
            insert_task(tx, NewTask(ENGINE, "", "job", job), self._services.clock.now())
        else:
            self.by_name[plugin].queue_job(tx, job)

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
