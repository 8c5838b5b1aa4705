"""Signal handling in a thread.

Python runs a signal handler in the main thread between two instructions, also while that thread holds a lock. A handler
that then takes the same lock (loguru's, an Event's) deadlocks. So the handlers here do nothing. Python writes the
signal's number to a socket (`signal.set_wakeup_fd`), a thread reads it, and that thread acts.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType


@contextmanager
def handle_signals(
    actions: Mapping[signal.Signals, Callable[[], None]], *, ending: bool = False
) -> Iterator[None]:
    """While this is entered, a thread runs each signal's action. Main thread only. The caller may exchange actions meanwhile.

    `ending`: the process ends after this block, so the signals are ignored from then on; otherwise an orderly end could
    look like an interrupted one. If not `ending`, the previous handlers are restored.
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
        writer.close()  # the thread reads the end of file and ends
        thread.join(1.0)
        reader.close()


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """Replace the default action; the thread in `handle_signals` acts."""


def _listen(reader: socket.socket, actions: Mapping[signal.Signals, Callable[[], None]]) -> None:
    with suppress(OSError):
        while data := reader.recv(64):
            for number in data:
                if (action := actions.get(signal.Signals(number))) is not None:
                    action()
