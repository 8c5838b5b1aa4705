"""Signal handling in a thread.

Python runs a signal handler in the main thread between two instructions, also while that thread holds a lock. A handler
that then takes the same lock (loguru's, an Event's) deadlocks. So the handlers here do nothing. Python writes the
signal's number to a socket (`signal.set_wakeup_fd`), a thread reads it, and that thread acts.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType


class SignalReactions:
    """What each signal does: before `connect_actions` it ends the process, afterwards the daemon acts on it. Thread-safe.

    `held`: signals that are kept until `connect_actions`, such as SIGHUP for a reload.
    """

    def __init__(self, held: Iterable[signal.Signals] = ()) -> None:
        self._lock = threading.Lock()
        self._held = frozenset(held)
        self._waiting: list[signal.Signals] = []
        self._actions: Mapping[signal.Signals, Callable[[], None]] | None = None

    def connect_actions(self, actions: Mapping[signal.Signals, Callable[[], None]]) -> None:
        """Use these actions from now on, and run them for the signals that were kept."""
        with self._lock:
            self._actions = actions
            waiting, self._waiting = self._waiting, []
        for number in waiting:
            # Not in this thread: an action may wait for the engine, which is not running yet.
            threading.Thread(target=actions[number], name="tacitd-held-signal", daemon=True).start()

    def react_to(self, number: signal.Signals) -> None:
        """Run the signal's action.

        Trigger: the signal comes before `connect_actions`. Why: no work has begun that could be finished, and a start may be
        interrupted anywhere, as by a power cut. Outcome: the process ends with 128 + the signal's number, as in a shell.
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
def handle_signals(
    actions: Mapping[signal.Signals, Callable[[], None]], *, ending: bool = False
) -> Iterator[None]:
    """While this is entered, a thread runs each signal's action. Main thread only.

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
    by_number = {int(number): action for number, action in actions.items()}
    with suppress(OSError):
        while data := reader.recv(64):
            for number in data:
                if number in by_number:
                    by_number[number]()
