"""A daemon under a service manager: ready, alive, reloading, stopping. Decides what counts as alive and reports it.

The engine's loop sends `WATCHDOG=1`, and only if all is well: the loop runs, and no worker has been busy for longer than any
call may take.

Public source: sd_notify(3). Each message is one datagram to the socket that NOTIFY_SOCKET names. Without NOTIFY_SOCKET nothing
is sent.
"""

from __future__ import annotations

import ctypes
import faulthandler
import math
import os
import signal
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import Any

from loguru import logger
from msgspec import Struct

from tacitd.app import App
from tacitd.control.server import Method, Server
from tacitd.engine import MAX_SLEEP
from tacitd.errors import TacitdError, UnavailableError, UnwritableError
from tacitd.files.locks import acquire_lock
from tacitd.handler import Degradation
from tacitd.housekeeping import reload_config
from tacitd.methods import answer_ping
from tacitd.plugins import find_declarations
from tacitd.state.paths import Paths, short_socket
from tacitd.state.socket_file import write_socket_file
from tacitd.status import make_status_line, read_stored_status

STUCK_AFTER = 1800.0
"""Seconds after which a worker that is still busy with one work item counts as stuck."""
END_WITHIN = 18.0
"""Seconds from the request to stop until the process is ended, whatever it does. The service manager and `tacitd stop` wait for 20."""
TRIM_EVERY = 5.0
"""Minimum seconds between two times that free memory is returned to the system. A full comparison needs some for a moment."""
SAY_EVERY = 5.0
"""Minimum seconds between two status lines."""
MMAP_THRESHOLD, ARENA_MAX = -3, -8
"""Parameters of glibc's `mallopt`."""
LARGE = 1 << 20
"""Bytes. Above the blocks in which transcripts are read, which would otherwise be requested from the kernel each time."""


class Notifier(Struct):
    """The connection to the service manager. Sending never raises: the daemon runs on without its manager."""

    address: str = ""
    interval: float | None = None
    """Maximum seconds between two signs of life: half of what the manager allows. None: the manager expects none."""
    _next: float = 0.0

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Notifier:
        """From NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID."""
        usec, pid = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
        ours = not pid or pid == str(os.getpid())
        interval = int(usec) / 2e6 if usec.isdigit() and int(usec) > 0 and ours else None
        return cls(environ.get("NOTIFY_SOCKET", ""), interval)

    def send(self, **states: str) -> None:
        if not self.address:
            return
        text = "\n".join(f"{name}={value}" for name, value in states.items())
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
            to.sendto(text.encode("utf-8", "replace"), self.address)

    def notify_alive(self, monotonic: float) -> None:
        """Send a sign of life if one is due. `monotonic`: the time in seconds. Call this only if the daemon is well."""
        if self.interval is not None and monotonic >= self._next:
            self._next = monotonic + self.interval / 2
            self.send(WATCHDOG="1")


class Supervision(Struct):
    """An open App and the service manager that supervises it."""

    app: App
    notifier: Notifier
    _last_status: str = ""
    _next_status: float = 0.0
    _next_trim: float = 0.0
    _is_ending: bool = False

    def announce_ready(self) -> None:
        """Lock, socket, watches and the first listing are up."""
        return_memory()
        self._last_status = make_status_line(self.app.read_status())
        self.notifier.send(READY="1", STATUS=self._last_status)

    def run(self) -> None:
        self.app.run(self.report_health, min(MAX_SLEEP, (self.notifier.interval or math.inf) / 2))
        if self.app.asked_to_stop.is_set():
            self._begin_end()  # `tacitd stop` asks the App

    def report_health(self) -> None:
        """Called after each pass of the engine's loop. Engine thread."""
        now = self.app.clock.monotonic()
        if now >= self._next_trim:
            self._next_trim = now + TRIM_EVERY
            return_memory()
        if not self.notifier.address:
            return
        wrong = find_fault(self.app, now)
        if not wrong:
            self.notifier.notify_alive(now)
        if now < self._next_status and not wrong:
            return
        self._next_status = now + SAY_EVERY
        text = wrong or make_status_line(self.app.read_status())
        if text != self._last_status:
            self._last_status = text
            self.notifier.send(STATUS=text)
            if wrong:
                logger.error("unhealthy: {}; the service manager may restart the daemon", wrong)

    def request_stop(self) -> None:
        """Begin to stop. A second call does nothing. Any thread."""
        if self.app.asked_to_stop.is_set() and self.app.stopping.is_set():
            return
        self._begin_end()
        self.app.request_stop()

    def _begin_end(self) -> None:
        if not self._is_ending:
            self._is_ending = True
            logger.info("stopping")
            limit_end()
            self.notifier.send(STOPPING="1")

    def reload_or_keep(self) -> None:
        """Have the App replaced by one with the new configuration, or keep it and log why. Any thread."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self.notifier.send(RELOADING="1", MONOTONIC_USEC=str(now))
        changed = list[str]()
        try:
            changed = reload_config(self.app)
            logger.info("the configuration was read again; changed: {}", ", ".join(changed) or "nothing")
        except (TacitdError, OSError) as error:
            logger.error("not reloaded, the old configuration stays in force: {}", error)
        if not changed:
            self.notifier.send(READY="1", STATUS=self._last_status)


def limit_end() -> None:
    """What hangs cannot hold up the end for ever: the stacks are printed then, and nothing is lost, as at a power cut."""
    faulthandler.dump_traceback_later(END_WITHIN, exit=True)


def find_fault(app: App, now: float) -> str:
    """Why the daemon counts as stuck; "" if it does not. `now`: monotonic seconds. Engine thread."""
    for (name, lane), since in app.engine.runner.running.items():
        if now - since > STUCK_AFTER:
            return f"the handler {name} has been busy{f' with {lane}' if lane else ''} for {(now - since) / 60:.0f} min"
    return ""


def limit_heap() -> None:
    """Let glibc return large blocks to the system when they are freed, and share two heaps among all threads.

    Otherwise the memory of one request of 4 MB stays in the heap of its thread, in pieces. Other C libraries have no `mallopt`,
    or ignore it.
    """
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(MMAP_THRESHOLD, LARGE)
        library.mallopt(ARENA_MAX, 2)


def return_memory() -> None:
    """Return free pages of the heaps to the system, which takes some milliseconds. Other C libraries have no `malloc_trim`."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


# --- signals


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
    # First, so that no signal is lost between the two.
    known = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    # Instead of the default action.
    before = {number: signal.signal(number, lambda *_: None) for number in actions}
    thread = threading.Thread(target=_listen, args=(reader, actions), name="tacitd-signals", daemon=True)
    thread.start()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if ending else handler)
        signal.set_wakeup_fd(known)
        writer.close()  # the thread reads the end of file and ends
        thread.join(1.0)
        reader.close()


def _listen(reader: socket.socket, actions: Mapping[signal.Signals, Callable[[], None]]) -> None:
    with suppress(OSError):
        while data := reader.recv(64):
            for number in data:
                if (action := actions.get(signal.Signals(number))) is not None:
                    action()


def make_server(places: Paths, methods: Mapping[str, Method]) -> Server:
    """On a short path in /tmp if none can be in the state directory."""
    is_usual = places.socket.parent == places.state_dir
    return Server(places.socket, methods, spare=partial(short_socket, places.state_dir) if is_usual else None)


# --- a daemon whose store cannot be opened


AGAIN = 10.0
"""Seconds between two tries to open the store."""


def open_when_possible(
    build: Callable[[], App],
    places: Paths,
    notifier: Notifier,
    stop: threading.Event,
    on_wait: Callable[[], object] = lambda: None,
) -> App | None:
    """Build the app and open it, as soon as the store can be written; None if `stop` was set before. Raises what `build`
    raises. `on_wait` is called when the wait begins. What is typed during the wait is read, also before the first start."""
    waits, began = False, time.time()
    while not stop.is_set():
        try:
            app = build()
            try:
                app.open(began if waits else math.inf)
            except BaseException:
                app.close()
                raise
            if stop.is_set():
                app.close()
                return None
            return app
        except UnwritableError as error:
            if not waits:
                logger.warning("nothing is read until the store can be opened: {}", error)
                on_wait()
            waits = True
            _answer_meanwhile(places, error, stop, notifier)
    return None


def _answer_meanwhile(
    places: Paths, error: UnwritableError, stop: threading.Event, notifier: Notifier
) -> None:
    """Answer on the socket for a while: everything but a few methods says why it cannot be done. The lock is
    held meanwhile, as by every daemon."""
    problem = Degradation("state.unwritable", error.what, error.hint)

    def status(_: Mapping[str, Any]) -> dict[str, Any]:
        plugins = find_declarations().plugins
        return read_stored_status(places.state_dir, plugins, time.time(), os.getpid(), problem)

    def sync(_: Mapping[str, Any]) -> dict[str, Any]:
        known, what = status({}), "nothing can be handled now"
        row = {"handler": "tacitd", "what": what, "reason": error.what, "hint": error.hint}
        keys = {"parked": [row], "degraded": [], "waits": [], "rescued": 0}
        said = {key: known.get(key, default) for key, default in keys.items()}
        return {"done": True, **said, "jobs": [], "made": [], "unmade": []}

    def refuse(_: Mapping[str, Any]) -> Any:
        raise UnavailableError(error.what, error.hint)

    methods = defaultdict[str, Method](
        lambda: refuse,
        ping=lambda _: answer_ping(problem),
        status=status,
        sync=sync,
        stop=lambda _: stop.set(),
    )
    with acquire_lock(places.state_dir / "lock"), closing(make_server(places, methods)) as server:
        server.open()
        write_socket_file(places.state_dir, server.path)
        notifier.send(READY="1", STATUS=f"waits: {error.what}")
        notifier.notify_alive(time.monotonic())
        stop.wait(AGAIN)
