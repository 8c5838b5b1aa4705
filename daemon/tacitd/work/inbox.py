"""Functions that other threads queue for the engine's thread. The engine runs them in the next pass of its loop.

When the engine has stopped, waiting calls fail, and functions without a waiting caller are dropped.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from tacitd.errors import UnavailableError
from tacitd.sources.follow import Follower
from tacitd.sources.sessions import Sessions
from tacitd.sources.source import Source
from tacitd.store import Store
from tacitd.work.task_rows import queue_session_task

T = TypeVar("T")
Work = Callable[[], None]


class Inbox:
    """Functions to run, in order. `call_soon` may be used from any thread, `call` from any but the engine's."""

    def __init__(self, wake: threading.Event) -> None:
        self._wake = wake
        self._works: deque[tuple[Work, Future[Any] | None]] = deque()
        self._lock = threading.Lock()
        self._closed = False

    def __bool__(self) -> bool:
        return bool(self._works)

    def call_soon(self, work: Work) -> None:
        """Run this soon. Dropped if the engine has stopped."""
        self._put(work, None)

    def call(self, work: Callable[[], T], timeout: float | None = 30.0) -> T:
        """Run this and return what it returns, or raise what it raises.

        Raises TimeoutError after `timeout` seconds, UnavailableError if the engine has stopped or stops meanwhile.
        """
        future: Future[T] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(work())
            except Exception as error:  # noqa: BLE001  it is raised again in the caller's thread
                future.set_exception(error)

        if not self._put(run, future):
            raise make_stopped_error()
        try:
            return future.result(timeout)
        except TimeoutError:
            future.cancel()  # it is not run if it has not begun: its caller would not see the result
            raise

    def run_pending(self) -> None:
        """Run what is queued now; functions that these queue run in the next pass. Engine thread.

        If one raises, the exception is raised here, and the functions after it stay queued.
        """
        for _ in range(len(self._works)):
            self._works.popleft()[0]()

    def close(self) -> None:
        """The engine has stopped."""
        with self._lock:
            self._closed = True
        while self._works:
            _, future = self._works.popleft()
            if future is not None and future.set_running_or_notify_cancel():
                future.set_exception(make_stopped_error())

    def _put(self, work: Work, future: Future[Any] | None) -> bool:
        # With the lock, so that nothing is added after `close` has emptied the queue.
        with self._lock:
            if self._closed:
                return False
            self._works.append((work, future))
        self._wake.set()
        return True


def make_stopped_error() -> UnavailableError:
    """The error for callers that wait for an engine that has stopped."""
    return UnavailableError("the daemon is leaving", "start it again")


# --- What hooks of the client tell: a transcript is read now, a session ends soon, or is about to be compacted.


class ClientHints:
    """Passes hints on. Loop's thread only."""

    def __init__(
        self,
        store: Store,
        follower: Follower,
        sessions: Sessions,
        source: Source,
        wants_compactions: Sequence[str] = (),
    ) -> None:
        """`wants_compactions`: the plugins that want a task before a compaction."""
        self._store = store
        self._follower = follower
        self._sessions = sessions
        self._source = source
        self._wants_compactions = wants_compactions
        self.compacting: dict[Path, str] = {}
        """The sessions that a client is about to compact, by transcript."""

    def take_inputs(self, inputs: Iterable[Mapping[str, object]]) -> None:
        """An input that is not understood, and a path that is not a transcript of the source, have no effect."""
        for hook in map(self._source.read_hook, inputs):
            if hook is None:
                continue
            if hook.ended:
                self._sessions.note_left(hook.session)
            else:
                self._sessions.note_returned(hook.session)
            path = self._follower.note_hint(hook.transcript)
            if hook.compacts and path is not None:
                self.compacting[path] = hook.session

    def post_compactions(self, is_unread: Callable[[Path], bool], now: float) -> None:
        """Queue the work before a compaction, once its transcript is read. Raises UnwritableError, StoreLostError."""
        for path in [one for one in self.compacting if not is_unread(one)]:
            session = self.compacting.pop(path)
            with self._store.write() as tx:
                for project, root in tx.rows(
                    "SELECT s.project, r.root FROM session s JOIN project r ON r.number = s.project WHERE s.id = ?",
                    session,
                ):
                    queue_session_task(tx, self._wants_compactions, "compaction", session, project, root, now)
