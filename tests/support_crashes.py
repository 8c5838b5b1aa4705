"""Worlds in which a process ends, or a disk fails, at some of the durable steps of a story.

A durable step is a commit of the store (before it and after it), and each change of a file of a person or of tacitd: a write
(before it, and with half of its bytes written), a sync, a rename, an unlink, and the others that `Disk` has. The crash stands
for `kill -9`: nothing changes a file after it, open files are closed, as the kernel does, and nothing in memory is kept. The
daemon is started anew on the same directories at once, and the story goes on. If a command ends there, or fails because the
daemon ended, the person types it again.

What the client and the person do is no step. A claim of the story that does not hold is counted, and it goes on.

Or the step fails, once, with one of the system's errors, and the disk heals: the process lives on, and the files must be the same too.
"""

from __future__ import annotations

import os
import re
import socket
import sys
import threading
import traceback
import zlib
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import InvalidStateError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from support_disk import CHANGES
from support_faulty_disk import Crash
from tacitd.app import App
from tacitd.control.server import Server
from tacitd.errors import ConfigError, TacitdError, UnavailableError, UnwritableError, describe_os_error
from tacitd.files.disk import Disk
from tacitd.state.paths import Paths
from tacitd.store import Store
from tacitd.testing import World
from tacitd.testing.world import Cwd, Ran
from tacitd.testing.world_daemon import InProcessDaemon

DAEMON, COMMAND = "daemon", "command"
UNCOUNTED = "engine of a command"
"""The threads of the engine that a command has if no daemon runs, and its workers: a thread cannot be ended without its process."""
KILLED = 137
SESSIONS = "/tutor/sessions/"
_TYPED = re.compile(r'(?m)^\{.*"event":"(?:Answered|Skipped|Ended)".*\}$')


def _identify(fd: int) -> tuple[int, int]:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino


@dataclass(slots=True)
class Steps:
    """The durable steps of a story, and those at which a process ends."""

    crash_at: Collection[int] = ()
    """The numbers of these steps, from 1 on. Behind a crash they count on."""
    error: int = 0
    """What the step fails with, an errno; 0: the process ends there."""
    trail: list[str] = field(default_factory=list)
    ways: list[int] = field(default_factory=list)
    """Of each step the way to it, `find_way`, if `has_ways`."""
    has_ways: bool = False
    dead: set[str] = field(default_factory=set)
    """The processes that ended: `DAEMON`, `COMMAND`. Whatever they still try raises `Crash`."""
    crashed: list[tuple[str, str]] = field(default_factory=list)
    """The steps at which a process ended, each with the process."""
    connections: list[socket.socket] = field(default_factory=list)
    """Those of the daemon's socket."""
    _commands: set[int] = field(default_factory=set)
    """The threads that run a command."""
    _opened: dict[str, dict[int, tuple[int, int]]] = field(
        default_factory=lambda: {DAEMON: {}, COMMAND: {}, UNCOUNTED: {}}
    )
    _close: Callable[[Disk, int], None] = Disk.close
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def process(self) -> str:
        """The process that this thread stands for."""
        is_own = threading.current_thread().name.startswith(("tacitd-engine", "task"))
        return UNCOUNTED if is_own else COMMAND if threading.get_ident() in self._commands else DAEMON

    @contextmanager
    def command(self) -> Iterator[None]:
        """This thread stands for the process of a command."""
        self._commands.add(threading.get_ident())
        try:
            yield
        finally:
            self._commands.discard(threading.get_ident())
            self.dead.discard(COMMAND)

    def take(self, what: str) -> bool:
        """Count a step; True if the process ends here, which `end` does."""
        with self._lock:
            if self.process in self.dead:
                raise Crash(what)
            if self.process == UNCOUNTED:
                return False
            self.trail.append(what)
            if self.has_ways:
                self.ways.append(find_way(what))
            return len(self.trail) in self.crash_at

    def end(self, what: str) -> None:
        """End this thread's process: its files are closed, and it changes nothing any more. Or fail, if there is an error for it."""
        process = self.process
        self.crashed.append((what, process))
        if self.error:
            raise OSError(self.error, os.strerror(self.error))
        self.dead.add(process)
        for fd, file in self._opened[process].items():
            with suppress(OSError):
                if _identify(fd) == file:  # its number may be that of another file by now
                    self._close(Disk(), fd)
        self._opened[process].clear()
        raise Crash(what)

    def count(self, what: str) -> None:
        """Count a step, and end here if it is the one."""
        if self.take(what):
            self.end(what)

    def count_commit(self, what: str) -> None:
        """Count a step of a store, which is told of its errors by SQLite."""
        try:
            self.count(what)
        except OSError as error:
            raise UnwritableError(*describe_os_error(error)) from error

    def reset(self, crash_at: Collection[int] = (), error: int = 0) -> None:
        """Begin another story."""
        self.crash_at, self.error = crash_at, error
        self.crashed.clear()
        self.trail.clear()
        self.ways.clear()
        self.dead.clear()
        self.connections.clear()
        for own in self._opened.values():
            own.clear()

    def revive(self, process: str) -> None:
        """A new process begins."""
        self.dead.discard(process)

    @contextmanager
    def everywhere(self) -> Iterator[None]:
        """All disks and stores count their steps here while the block runs."""
        said = threading.excepthook

        def say(given: threading.ExceptHookArgs) -> None:
            if given.exc_type is not Crash:
                said(given)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(threading, "excepthook", say)
            for name in CHANGES:
                patch.setattr(Disk, name, self._counted(name, getattr(Disk, name)))
            patch.setattr(Disk, "open_read", self._opening(Disk.open_read))
            close, begin, answer = Disk.close, Store.__init__, Server._serve

            self._close = close

            def close_alive(disk: Disk, fd: int) -> None:
                if self.process not in self.dead:
                    self._opened[self.process].pop(fd, None)
                    close(disk, fd)

            def serve(server: Server, connection: socket.socket) -> None:
                self.connections.append(connection)
                answer(server, connection)

            def init(store: Store, *arguments: Any) -> None:  # the last one is its `on_step`
                state, clock, plugins, owner, _ = arguments
                begin(store, state, clock, plugins, owner, self.count_commit)

            patch.setattr(Disk, "close", close_alive)
            patch.setattr(Store, "__init__", init)
            patch.setattr(Server, "_serve", serve)
            yield

    def _opening(self, real: Callable[..., int]) -> Callable[..., int]:
        def open_file(disk: Disk, *arguments: Any) -> int:
            fd = real(disk, *arguments)
            self._opened[self.process][fd] = _identify(fd)
            return fd

        return open_file

    def _counted(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        call = self._opening(real) if name.startswith("open") else real

        def change(disk: Disk, *arguments: Any) -> Any:
            self.count(name)
            if name == "write" and self.take("half a write"):
                fd, data = arguments
                real(disk, fd, data[: len(data) // 2])
                self.end("half a write")
            return call(disk, *arguments)

        return change


def find_way(step: str) -> int:
    """A digest of a step and of the functions of tacitd that led to it, without the lines in them."""
    digest = zlib.crc32(step.encode())
    for frame, _ in traceback.walk_stack(sys._getframe(2)):
        if "/tacitd" in frame.f_code.co_filename and "/testing/" not in frame.f_code.co_filename:
            digest = zlib.crc32(frame.f_code.co_qualname.encode(), digest)
    return digest


STEPS = Steps()
"""Those of the story that runs."""


class CrashingDaemon(InProcessDaemon):
    """A daemon that is started anew when it ends at the step."""

    def start(self) -> None:
        """Start it; anew, if it ends in its start."""
        while True:
            before = len(STEPS.crashed)
            try:
                return super().start()
            except ConfigError:
                if not STEPS.crashed:
                    raise
                file = Paths.from_env(self._environ).config_file
                wrong = file.rename(file.with_name("wrong"))
                try:  # the person mends it; the story goes on with what it wrote
                    return self.start()
                finally:
                    wrong.rename(file)
            except (Crash, OSError, TacitdError):
                if len(STEPS.crashed) == before:
                    raise
                self._bury()

    def stop(self, *, kill: bool = False) -> None:
        """Stop it. If it ends at the step meanwhile, it is stopped too."""
        app = self._app
        try:
            super().stop(kill=kill)
        except Crash:
            self._app = app
            self._bury()

    def run_until_idle(self) -> None:
        """Do everything that is due, with a start in between if it ends at a step, or the engine's pause if the store refuses."""
        for _ in range(len(STEPS.crash_at) + 1):
            try:
                return super().run_until_idle()
            except Crash:
                self._begin_anew()
            except RuntimeError:  # there is work, and the engine pauses
                if self._app is None or not self._skip_pause(self._app):
                    raise
        return super().run_until_idle()

    def serve_pass(self, app: App) -> bool:
        """A pass while a command runs; False if the daemon ended in it, or in a call."""
        with suppress(Crash):
            super().serve_pass(app)
            self._skip_pause(app)
        if DAEMON not in STEPS.dead:
            return True
        for connection in STEPS.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        app.engine.inbox.close()  # ends the threads that wait; nobody hears them any more
        waiters, app.engine._waiters = app.engine._waiters, []
        for waiter in waiters:
            with suppress(InvalidStateError):
                waiter.set_exception(UnavailableError("it was killed"))
        return False

    def _skip_pause(self, app: App) -> bool:
        """After the store refused, the engine pauses by the clock, which nobody moves meanwhile: move it. Returns whether it did."""
        if app.engine.problem is None:
            return False
        self._clock.advance(app.engine.sleep_seconds())
        return True

    def begin_again_after(self) -> bool:
        """Start the daemon if it ended while a command ran; return whether it did."""
        if DAEMON not in STEPS.dead:
            return False
        self._begin_anew()
        self.run_until_idle()
        return True

    def _begin_anew(self) -> None:
        self._bury()
        self.start()

    def _bury(self) -> None:
        """What the kernel does for a process that ended."""
        if self._app is not None:
            super().stop(kill=True)
        STEPS.revive(DAEMON)


class CrashingWorld(World):
    """A world in which a process ends at the step."""

    daemon_class = CrashingDaemon
    _daemon: CrashingDaemon

    def run_program(
        self, program: str, *arguments: str, cwd: Cwd = None, given: str = "", **variables: str
    ) -> Ran:
        """Run it; again, while it ends at a step, or fails because the daemon does. A session of the tutor goes on where it ended."""
        before, left = self._count_typed(), given
        while True:
            crashed = len(STEPS.crashed)
            ran = super().run_program(program, *arguments, cwd=cwd, given=left, **variables)
            self._daemon.begin_again_after()
            is_open = bool(given) and "resume" not in arguments and "`tacitd tutor resume`" in ran.err
            if not ran.code or (len(STEPS.crashed) == crashed and not is_open):
                return ran
            typed = self._count_typed() - before
            left = "".join(given.splitlines(keepends=True)[typed:])
            arguments = ("tutor", "resume") if typed or is_open else arguments

    def _count_typed(self) -> int:
        """How many lines that the person typed are in the logs of the tutor."""
        return sum(len(_TYPED.findall(text)) for name, text in self.list_files().items() if SESSIONS in name)

    def call_program(self, main: Callable[[], object]) -> int:
        """Call it as a process of its own."""
        with STEPS.command():
            try:
                return super().call_program(main)
            except Crash:
                return KILLED

    def hook(self, event: str, session: str, cwd: Cwd = None, **fields: str) -> str:
        """A hook prints nothing if the daemon ends meanwhile."""
        before = len(STEPS.crashed)
        try:
            return super().hook(event, session, cwd, **fields)
        except TacitdError:
            if len(STEPS.crashed) == before:
                raise
            return ""
        finally:
            self._daemon.begin_again_after()
