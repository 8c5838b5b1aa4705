"""Threads for handlers. Not concurrent.futures: its threads are waited for when the process ends, however long a
handler hangs, and a daemon that is told to leave must leave.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

from tacitd.clock import SystemClock

Work = Callable[[], None]


class WorkerPool(Protocol):
    """What the dispatcher needs of threads. Tests bring one that works when it is told to."""

    def submit(self, work: Work) -> None:
        """Have this done soon. `work` raises nothing."""
        ...

    def stop(self, grace: float) -> bool:
        """Begin nothing more, and wait up to `grace` seconds for what is being done. False: something still is."""
        ...


class ThreadPool:
    """Up to `count` threads, each made when it is needed. They never keep the process alive."""

    def __init__(self, name: str, count: int) -> None:
        self._name = f"tacitd-{name}"
        self._count = max(1, count)
        self._work: deque[Work] = deque()
        self._some = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._stopped = False

    def submit(self, work: Work) -> None:
        """Have this done soon; in order, where all threads are busy. Raises RuntimeError where no thread can be made."""
        with self._some:
            self._work.append(work)
            if self._idle < len(self._work) and len(self._threads) < self._count:
                self._start_thread()
            self._some.notify()

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            if not self._threads:
                self._work.pop()
                raise
            return
        self._threads.append(thread)

    def stop(self, grace: float) -> bool:
        """See `Pool.stop`."""
        with self._some:
            self._stopped = True
            self._work.clear()
            self._some.notify_all()
        clock = SystemClock()
        deadline = clock.monotonic() + grace
        for thread in self._threads:
            thread.join(max(0.0, deadline - clock.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self) -> None:
        while (work := self._next()) is not None:
            work()

    def _next(self) -> Work | None:
        with self._some:
            self._idle += 1
            while not self._work and not self._stopped:
                self._some.wait()
            self._idle -= 1
            return self._work.popleft() if self._work and not self._stopped else None
