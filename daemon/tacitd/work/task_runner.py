"""The workers: each runs one task at a time, and commits its outcome in one transaction of its own.

The loop only decides which tasks begin. A worker may block on the model, on git and on files. If the disk refuses an outcome,
or one of its files is being edited, the outcome is kept and committed again later, so that nothing is done or paid for twice.
Its lane waits, and no worker does. While the disk refuses, no task begins: what it does could not be committed either.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from loguru import logger
from msgspec import Struct

from tacitd.clock import Clock
from tacitd.contract import Done, Later, Outcome, Task
from tacitd.errors import FileBusyError, StoreLostError, TacitdError, UnwritableError, describe_plugin_error
from tacitd.files.shared_files import SharedFiles
from tacitd.plugin import GatherRule
from tacitd.store import Store
from tacitd.work.task_rows import PAUSES, Pauses, ReadyTask, list_ready, load_task, store_outcome

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

    run: Callable[[Task], Outcome]
    rule: GatherRule | None = None
    has_one_lane: bool = False
    """Whether it runs for one project at a time."""


class _Kept(Struct):
    """The outcome of a task that is not committed yet."""

    name: str
    lane: str
    task: Task
    outcome: Outcome
    store: int
    """`Store.generation` when the task was read: its numbers mean nothing in another store."""
    tries: int = 0
    due: float = 0.0
    """When it is committed again: monotonic seconds."""
    waits: TacitdError | None = None
    """Why it could not be committed: the disk refused it, or one of its files is being edited."""


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
        files: SharedFiles | None = None,
        pool: Executor | None = None,
        pauses: Pauses = PAUSES,
    ) -> None:
        """`is_held`: whether a task must not begin now (a pause, the growth breaker). `on_done` wakes the loop."""
        self._store = store
        self._plugins = plugins
        self._clock = clock
        self._is_held = is_held
        self._on_done = on_done
        self._pauses = pauses
        self._files = files
        self._pool = pool or ThreadPoolExecutor(THREADS, thread_name_prefix="task")
        self._lock = threading.Lock()
        self._running: dict[tuple[str, str], float] = {}
        self._single = {name for name, one in plugins.items() if one.has_one_lane}
        self._stopping = threading.Event()
        self._futures = set[Future[None]]()
        self._kept: dict[tuple[str, str], _Kept] = {}
        self._put_off: dict[int, float] = {}
        """Tasks that ended without an outcome, by their numbers, and until when they wait: monotonic seconds."""
        self.asked = False
        """Whether a person waits for what is queued now (`Task.asked`)."""

    @property
    def running(self) -> dict[tuple[str, str], float]:
        """When each task that runs began, in monotonic seconds, by plugin and lane."""
        with self._lock:
            return dict(self._running)

    @property
    def refused(self) -> UnwritableError | None:
        """Why the disk refused an outcome that is kept; None if there is none."""
        with self._lock:
            found = (one.waits for one in self._kept.values() if isinstance(one.waits, UnwritableError))
            return next(found, None)

    def find_place(self, plugin: str, lane: str) -> tuple[str, str]:
        """Where tasks of this lane run: a plugin with one lane has one place."""
        return plugin, "" if plugin in self._single else lane

    def find_block(self, plugin: str, lane: str) -> TacitdError | None:
        """Why no task of a lane begins: what the outcome waits for that is kept before it. None: nothing blocks it."""
        with self._lock:
            kept = self._kept.get(self.find_place(plugin, lane))
        return kept.waits if kept is not None else self.refused

    def next_in(self) -> float:
        """Seconds until an outcome that is kept is committed again; infinity if there is none, or none may begin: the end of a task
        wakes the loop."""
        if self._count_room() <= 0:
            return math.inf
        with self._lock:
            due = [one.due for place, one in self._kept.items() if place not in self._running]
        return max(0.0, min(due, default=math.inf) - self._clock.monotonic())

    def start_ready(self) -> int:
        """Begin the tasks that are ready, at most one for each worker that is free; return how many."""
        begun, room, now = 0, self._count_room(), self._clock.monotonic()
        if room <= 0:
            return 0
        with self._lock:
            kept = [one for place, one in self._kept.items() if one.due <= now and place not in self._running]
        for one in kept[:room]:
            self._begin(one.name, one.lane, partial(self._end, one))
        for ready in self.list_ready()[: max(0, room - len(kept))]:
            self._begin(ready.plugin, ready.lane, partial(self._run, ready))
            begun += 1
        return begun

    def _count_room(self) -> int:
        """How many tasks may begin now."""
        if self._stopping.is_set():
            return 0
        running, now = self.running, self._clock.monotonic()
        return min(WORKERS - sum(now - since < STUCK for since in running.values()), THREADS - len(running))

    def _begin(self, plugin: str, lane: str, work: Callable[[], None]) -> None:
        with self._lock:
            self._running[plugin, lane] = self._clock.monotonic()
        future = self._pool.submit(self._work, _Place(plugin, lane), work)
        if future is not None:
            self._futures.add(future)
            future.add_done_callback(self._futures.discard)

    def list_ready(self) -> list[ReadyTask]:
        """The tasks that may begin now."""
        if self.refused is not None:
            return []
        rows, now = self._store.rows, self._clock.now()
        with self._lock:
            busy = {*self._running, *self._kept}
        return list_ready(rows, now, busy, self._single, self.is_held)

    def is_held(self, ready: ReadyTask) -> bool:
        """Whether a task must not begin now."""
        if ready.plugin not in self._plugins or self._is_held(ready):
            return True
        with self._lock:
            return self._put_off.get(ready.number, 0.0) > self._clock.monotonic()

    def hold(self) -> None:
        """Begin no further task."""
        self._stopping.set()

    def stop(self, grace: float = 0.0) -> bool:
        """Begin no further task, and give those that run `grace` seconds: after that, nothing of them is committed. Returns
        whether all have ended."""
        self._stopping.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
        _, late = wait(self._futures, grace)
        if late:
            logger.warning("stopped while tasks still ran")
        for place, one in list(self._kept.items()):
            if place not in self.running:
                with suppress(TacitdError):
                    self._end(one)
        return not late

    def _work(self, place: _Place, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            with self._lock:
                self._running.pop((place.plugin, place.lane), None)
            self._on_done()

    def _run(self, ready: ReadyTask) -> None:
        try:
            self._run_task(ready, self._store.generation)
        except BaseException as error:
            # Nothing was counted, because its outcome is not known. It is begun again, but not at once.
            with self._lock:
                self._put_off[ready.number] = self._clock.monotonic() + AGAIN[-1]
            if not isinstance(error, Exception):
                raise
            logger.opt(exception=error).error("a task of {} could not be ended", ready.plugin)

    def _run_task(self, ready: ReadyTask, store: int) -> None:
        plugin = self._plugins[ready.plugin]
        task = load_task(self._store.rows, ready.number, plugin.rule, asked=self.asked)
        if task is not None:
            self._end(_Kept(ready.plugin, ready.lane, task, self._call(plugin, ready.plugin, task), store))

    def _call(self, plugin: Runnable, name: str, task: Task) -> Outcome:
        if task.kind == "prompts" and not task.prompts:
            return Done()
        try:
            return plugin.run(task)
        except FileBusyError as busy:
            return Later(str(busy), busy.hint, self._clock.now() + busy.seconds)
        except TacitdError as error:
            return Later(error.what, error.hint, blame="work")
        except (Exception, SystemExit) as error:  # noqa: BLE001  one broken plugin stops no other
            logger.opt(exception=error).error("{} failed with a task of the kind {}", name, task.kind)
            return Later(f"{name} failed: {type(error).__name__}: {error}", "see the log", blame="work")

    def _end(self, kept: _Kept) -> None:
        """Commit an outcome, in a worker; keep it if that is not possible now. In a new store it is void: the task is in none."""
        try:
            self._commit(kept)
        except FileBusyError as busy:
            self._keep(kept, busy, busy.seconds)
            return
        except UnwritableError as error:
            self._keep(kept, error, AGAIN[min(kept.tries, len(AGAIN) - 1)])
            return
        except StoreLostError as error:
            self._forget(kept)
            logger.warning("the outcome of {} is void: {}", kept.name, error.what)
            return
        except Exception as error:
            self._forget(kept)
            if kept.tries < 0:
                raise
            logger.opt(exception=error).error("the outcome of {} cannot be stored", kept.name)
            hint = getattr(error, "hint", "") or "see the log"
            kept.outcome = Later(f"{kept.name} failed: {describe_plugin_error(error)}", hint, blame="work")
            kept.tries = -1
            self._end(kept)
            return
        self._forget(kept)
        self._follow(kept)

    def _commit(self, kept: _Kept) -> None:
        name, task, outcome = kept.name, kept.task, kept.outcome
        files = self._files if isinstance(outcome, Done) and _has_files(outcome) else None
        if files is not None and isinstance(outcome, Done):
            files.read(name, task, outcome)
        with self._store.write() as tx:
            if self._store.generation != kept.store:
                raise StoreLostError("the store is another one than when the task began", "")
            if files is not None and isinstance(outcome, Done):
                files.plan(tx, name, task, outcome)
            store_outcome(tx, name, task, outcome, self._clock.now(), self._pauses)

    def _follow(self, kept: _Kept) -> None:
        """Write the files, after the commit."""
        if isinstance(kept.outcome, Done) and self._files is not None and _has_files(kept.outcome):
            try:
                self._files.swap(kept.name, kept.task)
            except (UnwritableError, StoreLostError) as error:
                logger.warning("files of {} are written later: {}", kept.name, error)

    def _keep(self, kept: _Kept, error: TacitdError, seconds: float) -> None:
        is_new = not kept.tries
        with self._lock:
            kept.tries = max(kept.tries, 0) + 1
            kept.due = self._clock.monotonic() + max(0.05, seconds)
            kept.waits = error
            self._kept[kept.name, kept.lane] = kept
        if is_new:
            logger.info("the outcome of {} waits: {}", kept.name, error.what)
        if is_new and not isinstance(error, UnwritableError):
            with suppress(UnwritableError), self._store.write() as tx:
                tx.execute(
                    "UPDATE task SET reason = ?, hint = ? WHERE number = ?",
                    error.what,
                    error.hint,
                    kept.task.number,
                )

    def _forget(self, kept: _Kept) -> None:
        with self._lock:
            self._kept.pop((kept.name, kept.lane), None)


class _Place(NamedTuple):
    """Where work runs, for executors that look at what they get."""

    plugin: str
    lane: str


def _has_files(done: Done) -> bool:
    return bool(done.files or done.lines)


class InlineExecutor(Executor):
    """Runs work at once, in the caller's thread: for tests."""

    def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN201
        """Call it."""
        fn(*args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing runs."""
