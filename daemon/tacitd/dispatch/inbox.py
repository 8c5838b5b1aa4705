"""What other threads want done in the engine's thread. They put a function in; the engine runs it in its next turn.

When the engine has ended, nobody is left waiting: calls fail, and what nobody waits for is dropped.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from tacitd.errors import UnavailableError

T = TypeVar("T")
Work = Callable[[], None]


class Inbox:
    """Functions that wait to be run, in order. `post` and `call` may be used from any thread but the engine's."""

    def __init__(self, wake: threading.Event) -> None:
        self._wake = wake
        self._works: deque[tuple[Work, Future[Any] | None]] = deque()
        self._lock = threading.Lock()
        self._closed = False

    def __bool__(self) -> bool:
        return bool(self._works)

    def call_soon(self, work: Work) -> None:
        """Run this soon. Dropped when the engine has ended."""
        self._put(work, None)

    def call(self, work: Callable[[], T], timeout: float | None = 30.0) -> T:
        """Run this and return what it returns, or raise what it raises.

        Raises TimeoutError after `timeout` seconds, UnavailableError when the engine has ended or ends meanwhile.
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
            future.cancel()  # nobody waits for it any more
            raise

    def run_pending(self) -> None:
        """Run what waits now. Engine thread. What a posted function raises comes out here; those after it wait."""
        for _ in range(len(self._works)):
            self._works.popleft()[0]()

    def close(self) -> None:
        """The engine has ended."""
        with self._lock:
            self._closed = True
        while self._works:
            _, future = self._works.popleft()
            if future is not None and future.set_running_or_notify_cancel():
                future.set_exception(make_stopped_error())

    def _put(self, work: Work, future: Future[Any] | None) -> bool:
        with self._lock:
            if self._closed:
                return False
            self._works.append((work, future))
        self._wake.set()
        return True


def make_stopped_error() -> UnavailableError:
    """What those are told who wait for an engine that has ended."""
    return UnavailableError("the daemon is leaving", "start it again")
