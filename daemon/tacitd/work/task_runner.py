"""The workers: each runs one task at a time, and commits its outcome in one transaction of its own.

The loop only decides which tasks begin. A worker may block on the model, on git and on files. If the disk is full, it keeps
the outcome and commits it again later, so that nothing is done or paid for twice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from typing import Any, Protocol

from loguru import logger
from msgspec import Struct

from tacitd.clock import Clock
from tacitd.contract import Done, Later, Outcome, Task, Tx
from tacitd.errors import FileBusyError, StoreLostError, TacitdError, UnwritableError
from tacitd.plugin import GatherRule
from tacitd.store import Store
from tacitd.work.task_rows import ReadyTask, list_ready, load_task, store_outcome
from tacitd.work.tries import PAUSES, Pauses

WORKERS = 3
"""Tasks that run at once."""
STUCK = 60.0
"""Seconds after which a task that still runs takes no worker's place: a project's file system may hang for hours."""
THREADS = 12
"""Threads, with those that are stuck."""
AGAIN = (1.0, 5.0, 20.0, 60.0)
"""Seconds between tries to commit an outcome; the last one is repeated."""


class Runnable(Struct, frozen=True):
    """What the workers need of a plugin."""

    run: Callable[[Task, Any], Outcome]
    make_tools: Callable[[Task], Any]
    rule: GatherRule | None = None
    has_one_lane: bool = False
    """Whether it runs for one project at a time."""
    committed: Callable[[Task], None] | None = None
    """Called after the commit of a `Done`, in the worker."""


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
        pauses: Pauses = PAUSES,
    ) -> None:
        """`is_held`: whether a task must not begin now (a pause, the growth breaker). `on_done` wakes the loop."""
        self._store = store
        self._plugins = plugins
        self._clock = clock
        self._is_held = is_held
        self._on_done = on_done
        self.pauses = pauses
        self._files = files
        self._pool = pool or ThreadPoolExecutor(THREADS, thread_name_prefix="task")
        self._lock = threading.Lock()
        self._running: dict[tuple[str, str], float] = {}
        self._single = {name for name, one in plugins.items() if one.has_one_lane}
        self._stopping = threading.Event()
        self._futures = set[Future[None]]()
        self._put_off: dict[int, float] = {}
        """Tasks that ended without an outcome, by their numbers, and until when they wait: monotonic seconds."""
        self.asked = False
        """Whether a person waits for what is queued now (`Task.asked`)."""

    @property
    def running(self) -> dict[tuple[str, str], float]:
        """When each task that runs began, in monotonic seconds, by plugin and lane."""
        with self._lock:
            return dict(self._running)

    def start_ready(self) -> int:
        """Begin the tasks that are ready, at most one for each worker that is free; return how many."""
        begun, running, now = 0, self.running, self._clock.monotonic()
        room = min(WORKERS - sum(now - since < STUCK for since in running.values()), THREADS - len(running))
        if room <= 0 or self._stopping.is_set():
            return 0
        for ready in self.list_ready()[:room]:
            with self._lock:
                self._running[ready.plugin, ready.lane] = now
            begun += 1
            future = self._pool.submit(self._run, ready)
            if future is not None:
                self._futures.add(future)
                future.add_done_callback(self._futures.discard)
        return begun

    def list_ready(self) -> list[ReadyTask]:
        """The tasks that may begin now."""
        rows, now = self._store.rows, self._clock.now()
        return list_ready(rows, now, set(self.running), self._single, self.is_held)

    def is_held(self, ready: ReadyTask) -> bool:
        """Whether a task must not begin now."""
        if ready.plugin not in self._plugins or self._is_held(ready):
            return True
        with self._lock:
            return self._put_off.get(ready.number, 0.0) > self._clock.monotonic()

    def stop(self, grace: float = 0.0) -> bool:
        """Begin no further task, and give those that run `grace` seconds: after that, nothing of them is committed. Returns
        whether all have ended."""
        self._stopping.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
        _, late = wait(self._futures, grace)
        return not late

    def _run(self, ready: ReadyTask) -> None:
        try:
            plugin = self._plugins[ready.plugin]
            task = load_task(self._store.rows, ready.number, plugin.rule, asked=self.asked)
            if task is not None:
                self.run_task(ready.plugin, task)
        except BaseException as error:
            # Nothing was counted, because its outcome is not known. It is begun again, but not at once.
            with self._lock:
                self._put_off[ready.number] = self._clock.monotonic() + AGAIN[-1]
            if not isinstance(error, Exception):
                raise
            logger.opt(exception=error).error("a task of {} could not be ended", ready.plugin)
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
        try:
            self._commit(name, task, outcome)
        except (UnwritableError, StoreLostError):
            raise
        except Exception as error:  # noqa: BLE001  what a plugin changes may be wrong: it is tried again later, not at once
            logger.opt(exception=error).error("the outcome of {} cannot be stored", name)
            outcome = Later(f"{name} failed: {type(error).__name__}: {error}", "see the log", blame="work")
            self._commit(name, task, outcome)
        if plugin.committed is not None and isinstance(outcome, Done):
            plugin.committed(task)
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
        except (Exception, SystemExit) as error:  # noqa: BLE001  one broken plugin stops no other
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
                    store_outcome(tx, name, task, outcome, self._clock.now(), self.pauses)
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
