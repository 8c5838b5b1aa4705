"""The workers: each runs one task at a time, and commits its outcome in one transaction of its own.

The loop only decides which tasks begin. A worker may block on the model, on git and on files. If the disk is full, it keeps
the outcome and commits it again later, so that nothing is done or paid for twice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Protocol

from loguru import logger
from msgspec import Struct

from tacitd.clock import Clock
from tacitd.contract import Done, Later, Outcome, Task, Tools, Tx
from tacitd.errors import FileBusyError, TacitdError, UnwritableError
from tacitd.plugin import GatherRule
from tacitd.store import Store
from tacitd.work.task_rows import ReadyTask, list_ready, load_task, store_outcome

WORKERS = 3
AGAIN = (1.0, 5.0, 20.0, 60.0)
"""Seconds between tries to commit an outcome; the last one is repeated."""


class Runnable(Struct, frozen=True):
    """What the workers need of a plugin."""

    run: Callable[[Task, Tools], Outcome]
    make_tools: Callable[[Task], Tools]
    rule: GatherRule | None = None


class FileSteps(Protocol):
    """The part that changes files that people edit too."""

    def plan(self, tx: Tx, plugin: str, task: Task, done: Done) -> object:
        """Decide the changes of `done.files` and store them as plans. Called again, with a new transaction, if the commit failed."""
        ...

    def read(self, plugin: str, task: Task, done: Done) -> None:
        """Read the files and decide, before the transaction."""
        ...

    def swap(self, plugin: str, task: Task) -> None:
        """Write what was planned. Nothing that a task did is lost if this fails: plans are finished later."""
        ...


class TaskRunner:
    """Begins tasks and commits their outcomes. `start_ready` is called by one thread."""

    def __init__(
        self,
        store: Store,
        plugins: Mapping[str, Runnable],
        clock: Clock,
        *,
        is_held: Callable[[ReadyTask], bool] = lambda task: False,
        on_done: Callable[[], None] = lambda: None,
        files: FileSteps | None = None,
        pool: Executor | None = None,
    ) -> None:
        """`is_held`: whether a task must not begin now (a pause, the growth breaker). `on_done` wakes the loop."""
        self._store = store
        self._plugins = plugins
        self._clock = clock
        self._is_held = is_held
        self._on_done = on_done
        self._files = files
        self._pool = pool or ThreadPoolExecutor(WORKERS, thread_name_prefix="task")
        self._lock = threading.Lock()
        self._running: dict[tuple[str, str], int] = {}
        self._stopping = threading.Event()
        self.asked = False
        """Whether a person waits for what is queued now (`Task.asked`)."""

    @property
    def running(self) -> dict[tuple[str, str], int]:
        """The tasks that run, by plugin and lane."""
        with self._lock:
            return dict(self._running)

    def start_ready(self) -> int:
        """Begin the tasks that are ready, at most one for each worker that is free; return how many."""
        begun = 0
        room = WORKERS - len(self.running)
        if room <= 0 or self._stopping.is_set():
            return 0
        for ready in list_ready(self._store.rows, self._clock.now(), set(self.running)):
            if begun == room:
                break
            if ready.plugin not in self._plugins or self._is_held(ready):
                continue
            with self._lock:
                self._running[ready.plugin, ready.lane] = ready.number
            begun += 1
            self._pool.submit(self._run, ready)
        return begun

    def stop(self, *, wait: bool = True) -> None:
        """Begin no further task. A task that runs ends by itself: its call is cut by who stops the model."""
        self._stopping.set()
        self._pool.shutdown(wait=wait)

    def _run(self, ready: ReadyTask) -> None:
        try:
            plugin = self._plugins[ready.plugin]
            task = load_task(self._store.rows, ready.number, plugin.rule, asked=self.asked)
            if task is not None:
                self.run_task(ready.plugin, task)
        except Exception as error:  # noqa: BLE001  a worker must go on; the task stays as it was
            logger.opt(exception=error).error("a task of {} failed", ready.plugin)
        finally:
            with self._lock:
                self._running.pop((ready.plugin, ready.lane), None)
            self._on_done()

    def run_task(self, name: str, task: Task) -> Outcome:
        """Run a task in this thread and commit its outcome. Raises UnwritableError if that is given up because of a stop."""
        plugin = self._plugins[name]
        if task.kind == "prompts" and not task.prompts:
            outcome: Outcome = Done()
        else:
            outcome = self._call(plugin, name, task)
        self._commit(name, task, outcome)
        return outcome

    def _call(self, plugin: Runnable, name: str, task: Task) -> Outcome:
        try:
            outcome = plugin.run(task, plugin.make_tools(task))
            if isinstance(outcome, Done) and outcome.files and self._files is not None:
                self._files.read(name, task, outcome)
        except FileBusyError as busy:
            return Later(str(busy), busy.hint, self._clock.now() + 60.0)
        except TacitdError as error:
            return Later(error.what, error.hint, blame="work")
        except Exception as error:  # noqa: BLE001  one broken plugin stops no other
            logger.opt(exception=error).error("{} failed with a task of the kind {}", name, task.kind)
            return Later(f"{name} failed: {type(error).__name__}: {error}", "see the log", blame="work")
        return outcome

    def _commit(self, name: str, task: Task, outcome: Outcome) -> None:
        tried = 0
        while True:
            try:
                with self._store.write() as tx:
                    if self._files is not None and isinstance(outcome, Done) and outcome.files:
                        self._files.plan(tx, name, task, outcome)
                    store_outcome(tx, name, task, outcome, self._clock.now())
                break
            except UnwritableError:
                pause = AGAIN[min(tried, len(AGAIN) - 1)]
                tried += 1
                if self._stopping.wait(pause):
                    raise
        if self._files is not None and isinstance(outcome, Done) and outcome.files:
            self._files.swap(name, task)


class InlineExecutor(Executor):
    """Runs work at once, in the caller's thread: for tests."""

    def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN201
        """Call it."""
        fn(*args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing runs."""
