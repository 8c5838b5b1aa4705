"""Threads for handlers.

`concurrent.futures` is not used: the interpreter joins its threads at exit, however long a handler hangs, and the daemon
must end when it is stopped. These threads are daemon threads.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

from tacitd.clock import SystemClock

Work = Callable[[], None]


class WorkerPool(Protocol):
    """Runs the handlers of one plugin. The tests' pool runs them when the test says so."""

    def submit(self, work: Work) -> None:
        """Run this soon. `work` must not raise."""
        ...

    def stop(self, grace: float) -> bool:
        """Start nothing more, and wait up to `grace` seconds for running work. Return False if some still runs."""
        ...


class ThreadPool:
    """At most `count` threads, each started when it is needed. They do not keep the process alive."""

    def __init__(self, name: str, count: int) -> None:
        self._name = f"tacitd-{name}"
        self._count = max(1, count)
        self._work: deque[Work] = deque()
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._stopped = False

    def submit(self, work: Work) -> None:
        """Run this soon, in order if all threads are busy. Raises RuntimeError if no thread can be started."""
        with self._changed:
            self._work.append(work)
            # A notified thread counts as idle until it runs, so the idle ones are compared with all the work that
            # waits.
            if self._idle < len(self._work) and len(self._threads) < self._count:
                self._start_thread()
            self._changed.notify()

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # The limit of threads or memory is reached. With at least one thread, the work is only delayed.
            if not self._threads:
                self._work.pop()
                raise
            return
        self._threads.append(thread)

    def stop(self, grace: float) -> bool:
        """See `WorkerPool.stop`."""
        with self._changed:
            self._stopped = True
            self._work.clear()
            self._changed.notify_all()
        clock = SystemClock()
        deadline = clock.monotonic() + grace
        for thread in self._threads:
            thread.join(max(0.0, deadline - clock.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self) -> None:
        while (work := self._next()) is not None:
            work()

    def _next(self) -> Work | None:
        with self._changed:
            self._idle += 1
            while not self._work and not self._stopped:
                self._changed.wait()
            self._idle -= 1
            return self._work.popleft() if self._work and not self._stopped else None
