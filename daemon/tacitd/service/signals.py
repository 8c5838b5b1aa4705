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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType


@contextmanager
def acting(actions: Mapping[signal.Signals, Callable[[], None]]) -> Iterator[None]:
    """While this is entered, each signal has its action done in a thread. Main thread only."""
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
            signal.signal(number, handler)
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
