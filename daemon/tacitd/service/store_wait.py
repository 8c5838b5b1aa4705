"""A daemon whose store cannot be opened: it answers why, and tries again, until there is room on the disk.

Without the store no position is known, so nothing is read and no model is called. A service manager would start a daemon that
ends again and again; this one stays, and goes on by itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from loguru import logger

from tacitd.app import App
from tacitd.clock import Clock, SystemClock, utc_seconds
from tacitd.control.server import Method, Server
from tacitd.errors import UnavailableError, UnwritableError
from tacitd.files.locks import acquire_lock
from tacitd.handler import Degradation
from tacitd.methods import answer_ping
from tacitd.plugins import find_declarations
from tacitd.service.supervision import Notifier
from tacitd.state.paths import Paths
from tacitd.status import read_stored_status

AGAIN = 10.0
"""Seconds between two tries to open the store."""


def open_when_possible(
    build: Callable[[], App],
    places: Paths,
    notifier: Notifier,
    clock: Clock | None = None,
    again: float = AGAIN,
    on_wait: Callable[[Callable[[], None]], None] = lambda end: None,
) -> App | None:
    """Build the app and open it, as soon as the store can be written; None if it was to stop before. Raises what `build`
    raises.

    `on_wait` gets what ends the wait, when it begins: a signal is to do that from then on.
    """
    clock, stop, since = clock or SystemClock(), threading.Event(), ""
    while not stop.is_set():
        try:
            app = build()
            try:
                app.open()
            except BaseException:
                app.close()
                raise
            if stop.is_set():
                app.close()
                return None
            return app
        except UnwritableError as error:
            if not since:
                logger.warning("nothing is read until the store can be opened: {}", error)
                on_wait(stop.set)
            since = since or utc_seconds(clock.now())
            _answer_meanwhile(places, error, since, stop, notifier, clock, again)
    return None


def _answer_meanwhile(
    places: Paths,
    error: UnwritableError,
    since: str,
    stop: threading.Event,
    notifier: Notifier,
    clock: Clock,
    seconds: float,
) -> None:
    """Answer on the socket for a while. The lock is held meanwhile, as by every daemon."""
    lock = acquire_lock(places.state_dir / "lock")
    try:
        with closing(Server(places.socket, _Methods(places, error, since, stop, clock))) as server:
            server.open()
            notifier.notify_ready(f"waits: {error.what}")
            notifier.notify_alive(clock.monotonic())
            stop.wait(seconds)
    finally:
        lock.release()


class _Methods(dict[str, Method]):
    """What is answered: everything else says why it cannot be done."""

    def __init__(
        self, places: Paths, error: UnwritableError, since: str, stop: threading.Event, clock: Clock
    ) -> None:
        super().__init__(
            ping=lambda _: answer_ping(self._problem()),
            status=lambda _: self._status(),
            sync=lambda _: self._sync(),
            stop=lambda _: stop.set(),
        )
        self._places, self._error, self._since, self._clock = places, error, since, clock

    def get(self, name: str, default: object = None) -> Any:
        """The method of this name."""
        return super().get(name, self._refuse)

    def _refuse(self, params: Mapping[str, Any]) -> Any:
        raise UnavailableError(self._error.what, self._error.hint)

    def _problem(self) -> Degradation:
        return Degradation("state.unwritable", self._error.what, self._error.hint)

    def _status(self) -> dict[str, Any]:
        """What was known last, and the problem."""
        now, plugins = self._clock.now(), find_declarations().plugins
        return read_stored_status(self._places.state_dir, plugins, now, os.getpid(), self._problem())

    def _sync(self) -> dict[str, Any]:
        document = self._status()
        keys = {"parked": [], "degraded": [], "waits": [], "dead_letters": 0, "rescued": 0}
        said = {key: document.get(key, default) for key, default in keys.items()}
        return {"done": True, **said, "waited": [], "jobs": [], "made": [], "unmade": []}
