"""Functions that other threads queue for the engine's thread, which runs them in the next pass of its loop."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from tacitd.errors import UnavailableError

T = TypeVar("T")
Work = Callable[[], object]


class Wake(threading.Event):
    """Wakes the loop for a pass or, if only a task has ended, for the next task to begin."""

    def __init__(self) -> None:
        super().__init__()
        self._is_full = False

    def set(self) -> None:
        self._is_full = True
        super().set()

    def note_end(self) -> None:
        """A task has ended. Any thread."""
        super().set()

    def take(self) -> bool:
        """Forget what it was woken for; return whether that wants a pass."""
        self.clear()
        is_full = self._is_full
        if is_full:  # what is set from here on is for the next time
            self._is_full = False
        return is_full


class Inbox:
    """`call_soon` may be used from any thread, `call` from any but the engine's."""

    def __init__(self, wake: threading.Event) -> None:
        self._wake = wake
        self._works: deque[tuple[Work, Future[Any] | None]] = deque()
        self._lock = threading.Lock()
        self._closed = False

    def __bool__(self) -> bool:
        return bool(self._works)

    def call_soon(self, work: Work) -> None:
        """Dropped if the engine has stopped."""
        self._put(work, None)

    def call(self, work: Callable[[], T], timeout: float | None = 30.0) -> T:
        """Run this and return what it returns, or raise what it raises. Raises TimeoutError after `timeout` seconds,
        UnavailableError if the engine has stopped."""
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
        """Functions that these queue run in the next pass. If one raises, the functions after it stay queued. Engine thread."""
        for _ in range(len(self._works)):
            self._works.popleft()[0]()

    def close(self) -> None:
        """Waiting calls fail, and other functions are dropped."""
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
    return UnavailableError("the daemon is leaving", "start it again")
