"""An engine in this process, for commands without a running daemon and for `run --once`.

It imports the whole engine, so commands import it inside functions.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from signal import SIGHUP, SIGINT, SIGTERM, Signals
from typing import Any

from tacitd.app import App, build_app
from tacitd.cli.common import CallMethod, echo_message
from tacitd.errors import TacitdError, UnavailableError
from tacitd.logging_setup import to_file
from tacitd.methods import build_methods
from tacitd.service.signals import handle_signals
from tacitd.sources.watch import SilentWatcher
from tacitd.state.paths import Paths


@contextmanager
def run_in_process(places: Paths) -> Iterator[CallMethod]:
    """Take the lock, run the engine in a thread and yield a `CallMethod` on it. Raises what `build_app` raises."""
    with open_app(places) as app:
        table = build_methods(app)

        def ask(method: str, /, **params: Any) -> Any:
            return table[method](params)

        yield ask


@contextmanager
def open_app(places: Paths) -> Iterator[App]:
    """Take the lock, run the engine in a thread, yield its App. Raises InterruptedByError, what `build_app` raises."""
    app = build_app(places, os.environ, watcher_for=SilentWatcher)
    to_file(places.state_dir / "tacitd.log", app.config.log.level)
    asked: list[Signals] = []
    try:
        # In this order: a second signal must not interrupt the closing.
        with (
            _stop_on_signals(app, asked),
            app,
        ):
            thread = threading.Thread(target=app.run, name="tacitd-engine")
            thread.start()
            try:
                yield app
            finally:
                app.request_stop()
                thread.join()
    except UnavailableError:
        if not asked:
            raise
    if asked:
        raise InterruptedByError(
            f"ended by {asked[0].name}; no work is lost", "run the same command again to continue", asked[0]
        )


class InterruptedByError(TacitdError):
    """A signal ended the command early. The exit code is 128 + the signal's number, as in a shell."""

    def __init__(self, what: str, hint: str, signal: Signals) -> None:
        super().__init__(what, hint)
        self.code = 128 + signal


@contextmanager
def _stop_on_signals(app: App, asked: list[Signals]) -> Iterator[None]:
    """While this is entered, a signal stops the engine as it stops a daemon: no child of the model outlives it."""

    def leave(signal: Signals) -> Callable[[], None]:
        def act() -> None:
            if not asked:
                echo_message("stopping; a running call has some seconds to end")
            asked.append(signal)
            app.request_stop()

        return act

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with handle_signals({one: leave(one) for one in (SIGTERM, SIGINT, SIGHUP)}):
        yield
