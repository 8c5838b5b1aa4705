"""Signals without risk. A Python handler runs in the middle of whatever the main thread does, locks and all: loguru's
lock or an Event's, taken a second time there, is a deadlock. So the handlers do nothing. The kernel's byte in a socket
(`signal.set_wakeup_fd`) is read by a thread, and that thread acts.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType


class Reactions:
    """What each signal does, while that changes: at first it ends the process, later the daemon acts on it. Thread-safe.

    `held`: signals that are kept until there is a daemon to act on them, such as a wish to reload.
    """

    def __init__(self, held: Iterable[signal.Signals] = ()) -> None:
        self._lock = threading.Lock()
        self._held = frozenset(held)
        self._waiting: list[signal.Signals] = []
        self._actions: Mapping[signal.Signals, Callable[[], None]] | None = None

    def connect(self, actions: Mapping[signal.Signals, Callable[[], None]]) -> None:
        """From now on these are done, first those that were waited for."""
        with self._lock:
            self._actions = actions
            waiting, self._waiting = self._waiting, []
        for (
            number
        ) in waiting:  # not in this thread: an action may wait for the engine, which is not running yet
            threading.Thread(target=actions[number], name="tacitd-held-signal", daemon=True).start()

    def act(self, number: signal.Signals) -> None:
        """Do what this signal does now.

        Trigger: it comes before there is a daemon. Why: nothing is begun that could be finished, and a start may be cut
        off anywhere, as by a power cut. Outcome: the process ends with 128 and the signal's number, as a shell says it.
        """
        with self._lock:
            if self._actions is None and number in self._held:
                self._waiting.append(number)
                return
            actions = self._actions
        if actions is None:
            os._exit(128 + number)
        actions[number]()


@contextmanager
def acting(actions: Mapping[signal.Signals, Callable[[], None]], *, ending: bool = False) -> Iterator[None]:
    """While this is entered, each signal has its action done in a thread. Main thread only.

    `ending`: when it is left the process ends, so the signals are ignored from then on: what was closed in order must
    not look interrupted. Otherwise they mean what they meant before.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before = {number: signal.signal(number, _nothing) for number in actions}
    known = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    thread = threading.Thread(target=_listen, args=(reader, actions), name="tacitd-signals", daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(known)
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if ending else handler)
        writer.close()  # the thread reads the end of it, and ends
        thread.join(1.0)
        reader.close()


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """The thread acts."""


def _listen(reader: socket.socket, actions: Mapping[signal.Signals, Callable[[], None]]) -> None:
    by_number = {int(number): action for number, action in actions.items()}
    with suppress(OSError):
        while data := reader.recv(64):
            for number in data:
                if number in by_number:
                    by_number[number]()


@contextmanager
def stacks_on_usr1(log: Path | None) -> Iterator[None]:
    """SIGUSR1 writes the stacks of all threads to the log file, or to stderr where the journal keeps the log.

    It is done in C, so it also works where every thread is stuck. Raises OSError.
    """
    if log is None:
        faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=True)
        try:
            yield
        finally:
            faulthandler.unregister(signal.SIGUSR1)
        return
    fd = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    faulthandler.register(signal.SIGUSR1, file=fd, all_threads=True)
    try:
        yield
    finally:
        faulthandler.unregister(signal.SIGUSR1)
        os.close(fd)
