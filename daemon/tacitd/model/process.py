"""One child process from start to end: fed, read, bounded, killed with its whole group, reaped.

What the system promises, and what this module makes of it:

- A child started in a session of its own is the leader of a process group with its own pid. `killpg` reaches
  what it started, unless that made another session for itself. While the leader is not reaped its number
  is not given to anyone else, so the group is killed first and the leader is reaped after that.
- A pipe is at its end only when the last process that holds it has closed it. A grandchild may hold it for ever:
  after the child's own end nothing is waited for but what is already in the pipe.
- A pipe takes 64 KB. Who writes all of standard input before reading standard output waits for ever, so both
  are done at once, without blocking.
- `preexec_fn` is not safe in a program with threads, so there is no PR_SET_PDEATHSIG: children that outlive a
  killed daemon are found at the next start (`children.py`).

Nothing here knows what the program is or says.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tacitd.clock import SystemClock

OUTPUT_CAP = 4_000_000
"""Bytes of standard output; a child that prints more is killed."""
STDERR_CAP = 64_000
"""Bytes of standard error that are kept; the rest is read and thrown away."""
GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""
TICK = 0.05
"""Seconds between two looks at the deadline, the stop and the child."""
LAST_READ = 0.5
"""Seconds for reading what an ended child left in its pipes."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a child ended. `returncode` is negative where a signal ended it."""

    returncode: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    capped: bool = False
    stopped: bool = False
    seconds: float = 0.0


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    stdin: bytes,
    deadline: float,
    output_cap: int = OUTPUT_CAP,
    stop: threading.Event | None = None,
    stop_grace: float = 0.0,
    grace: float = GRACE,
    started: Callable[[int], None] | None = None,
    ended: Callable[[int], None] | None = None,
    monotonic: Callable[[], float] | None = None,
) -> Finished:
    """Run a program and return how it ended; by then it and its group are gone and reaped.

    `deadline` is in seconds from now, by the monotonic clock. When `stop` is set the child may go on for
    `stop_grace` seconds more. A killed child gets SIGTERM, `grace` seconds, and SIGKILL, its group with it.
    `started` and `ended` are told the pid. No shell is involved.

    Raises OSError or ValueError where the program cannot be started.
    """
    # Before the child: where no descriptor is left for it, a child could be neither watched nor ended.
    selector = selectors.DefaultSelector()
    try:
        child = subprocess.Popen(
            list(argv),
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except BaseException:
        selector.close()
        raise
    call = _Call(child, stdin, output_cap, monotonic or SystemClock().monotonic, selector)
    try:
        call.open()
        if started is not None:
            started(child.pid)
        call.watch(deadline, stop, stop_grace)
    finally:
        call.end(grace)
        if ended is not None:
            ended(child.pid)
    return call.finished()


@dataclass(slots=True)
class _Call:
    """The child, its pipes, and what was read so far."""

    child: subprocess.Popen[bytes]
    stdin: bytes
    cap: int
    monotonic: Callable[[], float]
    selector: selectors.BaseSelector
    began: float = 0.0
    fed: int = 0
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    printed: int = 0
    timed_out: bool = False
    stopped: bool = False

    def open(self) -> None:
        """Watch the pipes."""
        self.began = self.monotonic()
        for pipe, interest in (
            (self.child.stdin, selectors.EVENT_WRITE),
            (self.child.stdout, selectors.EVENT_READ),
            (self.child.stderr, selectors.EVENT_READ),
        ):
            assert pipe is not None  # all three were asked for
            os.set_blocking(pipe.fileno(), False)
            self.selector.register(pipe, interest)

    @property
    def capped(self) -> bool:
        return self.printed > self.cap

    def watch(self, deadline: float, stop: threading.Event | None, stop_grace: float) -> None:
        """Feed and read until the child has ended, or until it has to."""
        last = self.began + deadline
        while not self.capped and not _has_ended(self.child):
            now = self.monotonic()
            if stop is not None and stop.is_set() and not self.stopped:
                self.stopped, last = True, min(last, now + stop_grace)
            if now >= last:
                self.timed_out = not self.stopped
                return
            self.exchange(min(TICK, last - now))
        if not self.capped:
            self.stopped = False  # it came to its own end in the time that was left
            self.drain()

    def exchange(self, wait: float) -> bool:
        """One round of writing and reading; True where something came or went."""
        ready = self.selector.select(wait)
        for key, _ in ready:
            pipe: IO[bytes] = key.fileobj  # type: ignore[assignment]
            if pipe is self.child.stdin:
                self.feed(pipe)
            else:
                self.read(pipe)
        return bool(ready)

    def feed(self, pipe: IO[bytes]) -> None:
        """Write as much as the pipe takes; close it after the last byte, or when nobody reads it."""
        try:
            self.fed += os.write(pipe.fileno(), self.stdin[self.fed : self.fed + 65536])
        except BlockingIOError:
            return
        except OSError:  # the child closed its end: it may answer all the same
            self.fed = len(self.stdin)
        if self.fed >= len(self.stdin):
            self.close(pipe)

    def read(self, pipe: IO[bytes]) -> None:
        try:
            data = os.read(pipe.fileno(), 65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close(pipe)
            return
        self.printed += len(data)
        kept, room = (self.stdout, self.cap) if pipe is self.child.stdout else (self.stderr, STDERR_CAP)
        kept += data[: max(0, room - len(kept))]

    def drain(self) -> None:
        """What the ended child left in its pipes. A pipe that stays open is held by someone else: not waited for."""
        last = self.monotonic() + LAST_READ
        if self.child.stdin is not None:
            self.close(self.child.stdin)
        while self.selector.get_map() and not self.capped and self.monotonic() < last:
            if not self.exchange(0):
                return

    def close(self, pipe: IO[bytes]) -> None:
        with contextlib.suppress(KeyError, ValueError):  # it was closed before
            self.selector.unregister(pipe)
        with contextlib.suppress(OSError):
            pipe.close()

    def end(self, grace: float) -> None:
        """Kill the group, reap the child, close the pipes. Safe whatever happened before."""
        if self.capped:  # nobody reads the flood: its writer gets EPIPE
            self.close_all()
        try:
            if not _has_ended(self.child):
                _signal_group(self.child.pid, signal.SIGTERM)
                last = self.monotonic() + grace
                while not _has_ended(self.child) and self.monotonic() < last:
                    self.exchange(TICK)
        finally:
            self.kill()

    def kill(self) -> None:
        """The whole group, at once; reaped, and the pipes closed."""
        _signal_group(self.child.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):  # stuck in the kernel: found at the next start
            self.child.wait(5)
        self.close_all()
        self.selector.close()

    def close_all(self) -> None:
        for pipe in (self.child.stdin, self.child.stdout, self.child.stderr):
            if pipe is not None:
                self.close(pipe)

    def finished(self) -> Finished:
        code = self.child.returncode
        return Finished(
            returncode=-signal.SIGKILL if code is None else code,
            stdout=bytes(self.stdout),
            stderr=bytes(self.stderr),
            timed_out=self.timed_out,
            capped=self.capped,
            stopped=self.stopped,
            seconds=self.monotonic() - self.began,
        )


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether the child has ended, without reaping it where the system can tell: see the top of this file."""
    if child.returncode is not None:
        return True
    if sys.platform != "darwin" and hasattr(os, "waitid"):
        try:
            return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True
    return child.poll() is not None


def _signal_group(group: int, number: signal.Signals) -> None:
    """Signal all of a group. Gone already, or only ended ones left (macOS answers EPERM then): that is well."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
