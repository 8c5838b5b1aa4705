"""What signals do before the daemon can act on them: from the program's first line until `signals.acting` is entered.

Imported before anything else, so it imports nothing but what the interpreter has loaded already. Without it SIGUSR1,
which asks for a trace, would end a daemon that starts, SIGHUP would end a service, and Ctrl-C would print a trace of
whatever is being imported.
"""

from __future__ import annotations

import faulthandler
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


def prepare_start(arguments: Sequence[str]) -> None:
    """Given the program's arguments, install what holds while a daemon starts; nothing for other commands.

    SIGUSR1 writes the stacks to stderr. SIGHUP is ignored by a daemon without a terminal: it asks for the
    configuration, which is not read yet. SIGINT and SIGTERM end the process at once: nothing has begun, and what a
    start does to files can be cut off anywhere. Main thread only.
    """
    if not _starts_a_daemon(arguments):
        return
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # what `unregister` goes back to, at the very end
    if sys.stderr is not None:
        faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=True)
    if not {"--service", "--detached"}.isdisjoint(arguments):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    _default(signal.SIGINT)


@contextmanager
def no_trace_on_interrupt() -> Iterator[None]:
    """While this is entered, Ctrl-C ends the process without a trace: nothing but imports may happen meanwhile."""
    before = signal.getsignal(signal.SIGINT)
    _default(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _starts_a_daemon(arguments: Sequence[str]) -> bool:
    return list(arguments[:1]) == ["run"] or list(arguments[:2]) == ["start", "--foreground"]


def _default(number: signal.Signals) -> None:
    """Have the system's own action done. A signal that whoever started us has ignored (nohup, `&`) stays ignored."""
    if signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
