"""The daemon of a `World`: the only module of it that knows what the engine is made of.

The daemon is the real one but for four parts: its clock moves by hand, its work runs in the caller's thread, nothing
watches the disk, and the model is a function in this process, within the real budget.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest import mock

from tacitd import model_factory
from tacitd.app import App
from tacitd.config.settings import Config
from tacitd.control.client import call_daemon
from tacitd.control.server import Server
from tacitd.errors import TacitdError
from tacitd.methods import build_methods
from tacitd.model.budget import Budget
from tacitd.model.port import ModelHealth
from tacitd.sources.watch import SilentWatcher
from tacitd.state.paths import Paths
from tacitd.testing.fakes import CountedModel, FakeClock, InlineExecutor, ScriptedModel
from tacitd.work.asked_tasks import PATIENCE

ROUNDS = 2000
"""Passes after which work counts as endless."""
ANSWERED = ("SessionStart", "SubagentStart", "PostToolUseFailure")
"""Hooks whose output the client puts into the session."""


def kill_app(app: App) -> None:
    """As `kill -9` does: nothing is saved."""
    app.engine.follower.stop()
    app.store.close()
    app.lock.release()


def run_until_idle(app: App) -> None:
    """Do everything that is due. Raises RuntimeError if that never ends."""
    engine = app.engine
    for number in range(ROUNDS):
        engine.run_pass(full=not number)
        if not (engine.inbox or engine.reader.has_unread or engine.runner.list_ready()):
            return
    raise RuntimeError(f"there is still work after {ROUNDS} passes")


class InProcessDaemon:
    """A daemon that is started, run and stopped by calls. After `stop` it can be started again, on the same files."""

    def __init__(
        self,
        environ: Mapping[str, str],
        clock: FakeClock,
        model: ScriptedModel,
        packages: Sequence[Path] = (),
    ) -> None:
        """`packages`: directories in which further plugins are installed."""
        self._environ = environ
        self._clock = clock
        self._model = model
        self._packages = [str(one) for one in packages]
        self._app: App | None = None

    @property
    def runs(self) -> bool:
        return self._app is not None

    def start(self) -> None:
        assert self._app is None, "the daemon runs"
        with self.as_this_person():
            app = App(
                Paths.from_env(self._environ),
                self._environ,
                clock=self._clock,
                model=self._make_model,
                watcher_for=SilentWatcher,
                pool=InlineExecutor(),
            )
            self._app = app.__enter__()

    def stop(self, *, kill: bool = False) -> None:
        """Stop it. `kill`: as `kill -9` would, so nothing is saved."""
        app, self._app = self._app, None
        assert app is not None, "no daemon runs"
        if kill:
            kill_app(app)
        else:
            with self.as_this_person():
                app.close()

    def run_until_idle(self) -> None:
        """Do everything that is due. Raises RuntimeError if that never ends."""
        if self._app is not None:
            with self.as_this_person():
                run_until_idle(self._app)

    @contextmanager
    def listens(self) -> Iterator[None]:
        """Answer the socket while a command runs: the passes then run in a thread beside it. A command may stop the daemon."""
        app = self._app
        if app is None:
            yield
            return
        server = Server(Paths.from_env(self._environ).socket, build_methods(app))
        server.open()
        done = threading.Event()

        def serve() -> None:
            patience = PATIENCE
            while not done.is_set():
                patience -= self._skip_wait(app, patience)
                if not self.serve_pass(app):
                    server.close()
                    return
                if app.stopping.is_set():
                    server.close()
                    self.stop()
                    return
                app.engine.wake.wait(0.002)
                app.engine.wake.clear()

        thread = threading.Thread(target=serve, name="world")
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            server.close()
            self.run_until_idle()

    def _skip_wait(self, app: App, patience: float) -> float:
        """What waits for a file is tried again by the clock, which nobody moves while a command waits: move it, by so many seconds at
        most. Returns by how many."""
        now, due = self._clock.now(), None
        with suppress(TacitdError):
            ((due,),) = app.store.rows("SELECT min(due) FROM task WHERE reason <> '' AND due > ?", now)
        if due is None or due - now > patience:
            return 0.0
        self._clock.advance(due - now)
        return float(due - now)

    def serve_pass(self, app: App) -> bool:
        app.engine.run_pass()
        return True

    def take_hook(self, given: Mapping[str, str]) -> str:
        """Take a hook's input as the hook program of the client hands it on, but without its limit of time; return the text."""
        socket = Paths.from_env(self._environ).socket
        with self.as_this_person(), self.listens():
            call_daemon(socket, "hint", {"input": dict(given)})
            if given["hook_event_name"] not in ANSWERED:
                return ""
            return str(call_daemon(socket, "session_text", {"input": dict(given)})["text"])

    @contextmanager
    def as_this_person(self) -> Iterator[None]:
        """Give the process the person's environment, packages, time zone and time, and commands the model."""
        path = [*self._packages, *sys.path]
        before = os.environ.get("TZ")
        with (
            mock.patch.dict(os.environ, self._environ, clear=True),
            mock.patch.object(sys, "path", path),
            mock.patch.object(time, "time", self._clock.now),
            mock.patch.object(model_factory, "make_command_model", self._count_calls),
        ):
            if before != self._environ["TZ"]:
                time.tzset()
            try:
                yield
            finally:
                if before != self._environ["TZ"]:
                    os.environ.pop("TZ")
                    if before is not None:
                        os.environ["TZ"] = before
                    time.tzset()

    def _make_model(self, config: Config, budget: Budget) -> ModelHealth:
        return ModelHealth(self._count_calls(config, budget), lambda: Path(sys.executable))

    def _count_calls(self, config: Config, budget: Budget, *more: object) -> CountedModel:
        return CountedModel(self._model, budget)
