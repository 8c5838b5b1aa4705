"""What signals do before the daemon can act on them: from the program's first line until `signals.handle_signals` is entered.

This module is imported first, so it imports only what the interpreter has loaded already. Without it, SIGUSR1 (write
a trace) would end a daemon that is starting, SIGHUP would end a service, and Ctrl-C during an import would print a
traceback.
"""

from __future__ import annotations

import faulthandler
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

SignalHandler = Callable[[int, FrameType | None], None]


def prepare_start(arguments: Sequence[str]) -> None:
    """Given the program's arguments, install the signal handlers for a daemon's start. Other commands get none.

    SIGUSR1 writes the stacks to stderr (`write_stacks`). A daemon without a terminal ignores SIGHUP, because that asks for a reload and
    the configuration is not read yet. SIGINT and SIGTERM end the process at once: no work has begun, and a start may be
    interrupted anywhere. Main thread only.
    """
    if not _starts_a_daemon(arguments):
        return
    _default(signal.SIGINT)  # first, because an interrupt meanwhile would print a traceback
    if not {"--service", "--detached"}.isdisjoint(arguments):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # Last: a process that shows a handler for SIGUSR1 (/proc, `ps -o caught`) has prepared for all of them.
    signal.signal(signal.SIGUSR1, write_stacks())


def write_stacks(file: int | None = None) -> SignalHandler:
    """Return a signal handler that writes the stacks of all threads to the descriptor `file`; None: to stderr, if there is one.

    A Python handler runs between two instructions, when all frames are complete. `faulthandler.register` instead reads
    them in the middle of an instruction, and ends the process with SIGSEGV where a thread begins or ends at that time.
    """

    def handle(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # a handler may be interrupted by the next signal, without end
        with suppress(OSError, RuntimeError, ValueError):  # no stderr, or a closed one
            if file is None:
                faulthandler.dump_traceback(all_threads=True)
            else:
                faulthandler.dump_traceback(file=file, all_threads=True)
        signal.signal(number, handle)

    return handle


@contextmanager
def no_trace_on_interrupt() -> Iterator[None]:
    """While this is entered, Ctrl-C ends the process without a traceback. Use it around imports only."""
    before = signal.getsignal(signal.SIGINT)
    _default(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _starts_a_daemon(arguments: Sequence[str]) -> bool:
    return list(arguments[:1]) == ["run"] or list(arguments[:2]) == ["start", "--foreground"]


def _default(number: signal.Signals) -> None:
    """Restore the system's default action. A signal that the parent process ignores (nohup, `&`) stays ignored."""
    if signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
