"""The workers: each runs one task at a time, and commits its outcome in one transaction of its own. It may block on the model,
on git and on files.

If the disk refuses an outcome, it is dropped as if the process had ended: the task is still a row, and is done again without
another call of the model, once the store can be written. If a file of an outcome is being edited, the outcome is kept and its
lane waits: what a person changes meanwhile may make the model's answer useless for a second run.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, wait
from contextlib import suppress
from dataclasses import dataclass

from loguru import logger
from msgspec import Struct

from tacitd.clock import Clock
from tacitd.contract import Done, Later, Outcome, Task
from tacitd.errors import (
    FileBusyError,
    StoreLostError,
    TacitdError,
    UnwritableError,
    describe_os_error,
    describe_plugin_error,
)
from tacitd.files.shared_files import SharedFiles
from tacitd.plugin import GatherRule
from tacitd.store import Store
from tacitd.work.project_rows import ASKED
from tacitd.work.task_rows import Pauses, ReadyTask, list_ready, load_task, put_off_task, store_outcome

WORKERS = 3
STUCK = 60.0
"""Seconds after which a task that still runs takes no worker's place: a project's file system may hang for hours."""
PAUSE = 60.0
"""Seconds before a task that raised what is no Exception is begun again."""
CANCELLED = "CancelledError"
"""That of asyncio is no Exception. By name, because asyncio takes as much memory as thousands of transcripts."""
THREADS = 12
"""With those that are stuck."""
LISTED = 12
"""Ready tasks that are looked for at once."""


class Runnable(Struct, frozen=True):
    """What the workers need of a plugin."""

    run: Callable[[Task], Outcome]
    rule: GatherRule | None = None
    has_one_lane: bool = False


class _Kept(Struct, frozen=True):
    """The outcome of a task that waits for a file."""

    ready: ReadyTask
    task: Task
    outcome: Outcome
    store: int


@dataclass(eq=False)
class TaskRunner:
    """Begins tasks and commits their outcomes. `start_ready` is called by one thread."""

    store: Store
    plugins: Mapping[str, Runnable]
    clock: Clock
    files: SharedFiles
    is_held: Callable[[ReadyTask], bool]
    """Whether a task must not begin now."""
    on_done: Callable[[], None]
    """Wakes the loop."""
    pauses: Pauses
    pool: Executor

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[tuple[str, str], float] = {}
        self._single = {name for name, one in self.plugins.items() if one.has_one_lane}
        self._stopping = threading.Event()
        self._futures: dict[Future[None], str] = {}
        """With the lane of each."""
        self._kept: dict[tuple[str, str], _Kept] = {}
        """By plugin and lane, the outcome that is committed when its task begins again."""
        self._listed = deque[ReadyTask]()
        """Ready tasks that were not begun yet, each of another lane."""
        self._broken: dict[int, float] = {}
        """Until when tasks wait that raised what is no Exception: monotonic seconds."""
        self.refused: UnwritableError | None = None
        """Why the disk refused an outcome. The loop sets it to None once it has written the store again."""

    @property
    def running(self) -> dict[tuple[str, str], float]:
        """When each task that runs began, in monotonic seconds, by plugin and lane."""
        with self._lock:
            return dict(self._running)

    def is_running(self, plugin: str, lane: str) -> bool:
        """A plugin with one lane has one for all projects."""
        return (plugin, "" if plugin in self._single else lane) in self.running

    def start_ready(self, *, anew: bool = True) -> None:
        """Begin the tasks that are ready, at most one for each worker that is free. `anew` False: of those that were listed for the last
        pass, if some are left."""
        running, now = self.running, self.clock.monotonic()
        room = min(WORKERS - sum(now - since < STUCK for since in running.values()), THREADS - len(running))
        if room <= 0 or self._stopping.is_set():
            return
        if anew or not self._listed or self.refused is not None:
            self._listed = deque(self.list_ready(LISTED))
        while self._listed and room > 0:
            one = self._listed.popleft()
            if self.is_held(one):
                continue
            room -= 1
            with self._lock:
                self._running[one.plugin, one.lane] = now
            future = self.pool.submit(self._work, one)
            if future is not None:
                self._futures[future] = one.lane
                future.add_done_callback(lambda ended: self._futures.pop(ended, None))

    def list_ready(self, most: int = THREADS) -> list[ReadyTask]:
        if self.refused is not None:
            return []
        rows, number = self.store.rows, "SELECT 1 FROM task WHERE number = ?"
        with self._lock:
            kept = list(self._kept.items())
        # Others of the lane wait for a task whose outcome is kept, unless a person paused it.
        first = {
            place: one.task.number
            for place, one in kept
            if one.store == self.store.generation
            and rows(number, one.task.number)
            and not self.is_held(one.ready)
        }

        def is_held(ready: ReadyTask) -> bool:
            is_behind = first.get((ready.plugin, ready.lane), ready.number) != ready.number
            is_off = ready.plugin not in self.plugins
            is_broken = self._broken.get(ready.number, 0.0) > self.clock.monotonic()
            return is_off or is_broken or (is_behind and ready.kind not in ASKED) or self.is_held(ready)

        return list_ready(rows, self.clock.now(), self.running, self._single, is_held, most=most)

    def hold(self) -> None:
        self._stopping.set()

    def stop(self, grace: float = 0.0, is_stuck: Callable[[str], bool] = lambda lane: False) -> bool:
        """Give tasks that run `grace` seconds, and none to those of a lane that is stuck: after that, nothing of them is committed.
        Returns whether all have ended."""
        self._stopping.set()
        self.pool.shutdown(wait=False, cancel_futures=True)
        running = self._futures.copy()
        wait([one for one, lane in running.items() if not is_stuck(lane)], grace)
        late = [one for one in running if not one.done()]
        if late:
            logger.warning("stopped while tasks still ran")
        return not late

    def _work(self, ready: ReadyTask) -> None:
        store = self.store.generation
        try:
            self._run_task(ready, store)
        except UnwritableError as error:
            logger.info("the outcome of {} waits: {}", ready.plugin, error.what)
            self._put_off(ready, error, store)
        except StoreLostError as error:
            logger.warning("the outcome of {} is void: {}", ready.plugin, error.what)
        except (Exception, SystemExit) as error:  # noqa: BLE001  what a plugin does may raise anything
            logger.opt(exception=error).error("a task of {} could not be ended", ready.plugin)
            self._put_off(ready, error, store)
        except BaseException as error:  # such as the panic of an extension in Rust: nothing is stored, as after the end of the process
            self._broken[ready.number] = self.clock.monotonic() + PAUSE
            logger.opt(exception=error).error("a task of {} could not be ended", ready.plugin)
            raise
        finally:
            with self._lock:
                self._running.pop((ready.plugin, ready.lane), None)
            self.on_done()

    def _put_off(self, ready: ReadyTask, error: Exception | SystemExit, store: int) -> None:
        """If the store can be written, something else was refused, such as choices.jsonl: only this task waits."""
        what, hint = f"{ready.plugin} failed: {describe_plugin_error(error)}", "see the log"
        if isinstance(error, TacitdError):
            what, hint = error.what, error.hint
        try:
            with suppress(StoreLostError), self.store.write() as tx:
                if self.store.generation == store:
                    put_off_task(tx, ready.number, what, hint, self.clock.now())
        except UnwritableError as refused:
            self.refused = refused

    def _run_task(self, ready: ReadyTask, store: int) -> None:
        """`store`: `Store.generation` when it begins; in another store its numbers mean nothing. Raises UnwritableError,
        StoreLostError."""
        name, plugin, place = ready.plugin, self.plugins[ready.plugin], (ready.plugin, ready.lane)
        with self._lock:
            kept = self._kept.pop(place, None)  # void, if another task changes the lane's rows now
        task = load_task(self.store.rows, ready.number, plugin.rule)
        if task is None:
            return
        if kept is not None and (kept.task.number, kept.store) == (task.number, store):
            task, outcome = kept.task, kept.outcome
        else:
            outcome = self._call(plugin, name, task)
        try:
            self._commit(name, task, outcome, store)
        except (UnwritableError, StoreLostError):
            raise
        except FileBusyError as busy:
            with self._lock:
                self._kept[place] = _Kept(ready, task, outcome, store)
            wait_for_file = Later(busy.what, busy.hint, self.clock.now() + busy.seconds)
            self._commit(name, task, wait_for_file, store, max(0.05, busy.seconds))
        except Exception as error:  # noqa: BLE001  what `apply` does is the plugin's
            logger.opt(exception=error).error("the outcome of {} cannot be stored", name)
            hint = getattr(error, "hint", "") or "see the log"
            failed = Later(f"{name} failed: {describe_plugin_error(error)}", hint, blame="work")
            self._commit(name, task, failed, store)
        else:
            if isinstance(outcome, Done) and (outcome.files or outcome.lines):
                try:
                    self.files.swap(name, task)
                except (UnwritableError, StoreLostError) as error:
                    logger.warning("files of {} are written later: {}", name, error)

    def _call(self, plugin: Runnable, name: str, task: Task) -> Outcome:
        if task.kind == "prompts" and not task.prompts:
            return Done()
        try:
            return plugin.run(task)
        except FileBusyError as busy:
            return Later(busy.what, busy.hint, self.clock.now() + busy.seconds)
        except (UnwritableError, StoreLostError):
            raise
        except TacitdError as error:
            return Later(error.what, error.hint, blame="work")
        except BaseException as error:  # one broken plugin stops no other
            if not isinstance(error, Exception | SystemExit) and type(error).__name__ != CANCELLED:
                raise
            logger.opt(exception=error).error("{} failed with a task of the kind {}", name, task.kind)
            what, hint = f"{type(error).__name__}: {error}", "see the log"
            if isinstance(error, OSError) and error.errno:
                what, hint = describe_os_error(error)
            return Later(f"{name} failed: {what}", hint, blame="work")

    def _commit(
        self, name: str, task: Task, outcome: Outcome, store: int, again: float | None = None
    ) -> None:
        done = outcome if isinstance(outcome, Done) and (outcome.files or outcome.lines) else None
        if done is not None:
            self.files.read(name, task, done)
        with self.store.write() as tx:
            if self.store.generation != store:
                raise StoreLostError("the store is another one than when the task began", "")
            if done is not None:
                self.files.plan(tx, name, task, done)
            store_outcome(tx, name, task, outcome, self.clock.now(), self.pauses, again)
