"""One child process from start to end: input, output, limits, killing its whole group, reaping (S-65).

What the system guarantees, and what follows here:

- A child started in a new session leads a process group with its own pid. `killpg` reaches the processes that it
  started, unless they made sessions of their own. While the leader is not reaped, its pid is not reused. So the group is
  killed first, and the leader is reaped after that.
- A pipe ends only when the last process that has it open closes it. A grandchild may keep it open without end. So after
  the child has ended, only what is already in the pipe is read.
- A pipe's buffer has 64 KB. Writing all of standard input before reading standard output could block both sides forever,
  so both are done at once with non-blocking pipes.
- `preexec_fn` is not safe in a program with threads, so PR_SET_PDEATHSIG is not used. Children that outlive a killed
  daemon are found at the next start (children.py).

What the program is, and what its output means, does not belong here.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Protocol

from msgspec import Struct, field

from tacitd.clock import SystemClock

OUTPUT_CAP = 4_000_000
"""Bytes of standard output; a child that prints more is killed."""
STDERR_CAP = 64_000
"""Bytes of standard error that are kept; the rest is read and discarded."""
GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""
TICK = 0.05
"""Seconds between two checks of the deadline, the stop and the child."""
LAST_READ = 0.5
"""Seconds for reading what an ended child left in its pipes."""


class StopSignal(Protocol):
    """What ends a child early: a `threading.Event`, or either of two."""

    def is_set(self) -> bool:
        """Whether the child must end."""
        ...


class EitherEvent:
    """Set as soon as one of two events is set."""

    def __init__(self, one: threading.Event, other: threading.Event | None) -> None:
        self._one = one
        self._other = other

    def is_set(self) -> bool:
        """Whether one of the two is set."""
        return self._one.is_set() or (self._other is not None and self._other.is_set())

    def wait(self, seconds: float) -> bool:
        """Wait for so many seconds, or until one of the two is set; return whether one is."""
        if self._other is None:
            return self._one.wait(seconds)
        last = time.monotonic() + seconds
        while not self.is_set() and (left := last - time.monotonic()) > 0:
            self._other.wait(min(left, 2 * TICK))
        return self.is_set()


class FinishedProcess(Struct, frozen=True):
    """How a child ended. `returncode` is negative if a signal ended it; `seconds` is its duration."""

    returncode: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    capped: bool = False
    stopped: bool = False
    seconds: float = 0.0


def run_process(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    stdin: bytes,
    deadline: float,
    output_cap: int = OUTPUT_CAP,
    stop: StopSignal | None = None,
    stop_grace: float = 0.0,
    grace: float = GRACE,
    started: Callable[[int], None] | None = None,
    ended: Callable[[int], None] | None = None,
    monotonic: Callable[[], float] | None = None,
) -> FinishedProcess:
    """Run a program and return how it ended. By then the child and its group are killed and reaped.

    `deadline` is in seconds from now, by the monotonic clock. After `stop` is set the child may run for `stop_grace`
    seconds more. A child that must end gets SIGTERM, and after `grace` seconds SIGKILL, both with its group. `started` and
    `ended` are called with the pid. No shell is involved.

    Raises OSError or ValueError if the program cannot be started.
    """
    # Created before the child: if no descriptor is left for it, a running child could be neither watched nor ended.
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
    call = _ChildProcess(child, stdin, output_cap, monotonic or SystemClock().monotonic, selector)
    try:
        call.open()
        if started is not None:
            started(child.pid)
        call.watch_child(deadline, stop, stop_grace)
    finally:
        call.end_child(grace)
        if ended is not None:
            ended(child.pid)
    return call.make_result()


class _ChildProcess(Struct):
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
        """Make the pipes non-blocking and watch them."""
        self.began = self.monotonic()
        for pipe, interest in (
            (self.child.stdin, selectors.EVENT_WRITE),
            (self.child.stdout, selectors.EVENT_READ),
            (self.child.stderr, selectors.EVENT_READ),
        ):
            assert pipe is not None  # all three were requested
            os.set_blocking(pipe.fileno(), False)
            self.selector.register(pipe, interest)

    @property
    def capped(self) -> bool:
        return self.printed > self.cap

    def watch_child(self, deadline: float, stop: StopSignal | None, stop_grace: float) -> None:
        """Write and read until the child has ended or must be ended."""
        last = self.began + deadline
        while not self.capped and not _has_ended(self.child):
            now = self.monotonic()
            if stop is not None and stop.is_set() and not self.stopped:
                self.stopped, last = True, min(last, now + stop_grace)
            if now >= last:
                self.timed_out = not self.stopped
                return
            self.exchange_bytes(min(TICK, last - now))
        if not self.capped:
            self.stopped = False  # it ended by itself within the remaining time
            self.drain_pipes()

    def exchange_bytes(self, wait: float) -> bool:
        """One round of writing and reading. Returns whether a pipe was ready."""
        ready = self.selector.select(wait)
        for key, _ in ready:
            pipe: IO[bytes] = key.fileobj  # type: ignore[assignment]
            if pipe is self.child.stdin:
                self.feed_stdin(pipe)
            else:
                self.read_pipe(pipe)
        return bool(ready)

    def feed_stdin(self, pipe: IO[bytes]) -> None:
        """Write as much as the pipe accepts. Close it after the last byte, or if the child closed its end."""
        try:
            self.fed += os.write(pipe.fileno(), self.stdin[self.fed : self.fed + 65536])
        except BlockingIOError:
            return
        except OSError:  # the child closed its end; it may still answer
            self.fed = len(self.stdin)
        if self.fed >= len(self.stdin):
            self.close_pipe(pipe)

    def read_pipe(self, pipe: IO[bytes]) -> None:
        try:
            data = os.read(pipe.fileno(), 65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close_pipe(pipe)
            return
        self.printed += len(data)
        kept, room = (self.stdout, self.cap) if pipe is self.child.stdout else (self.stderr, STDERR_CAP)
        kept += data[: max(0, room - len(kept))]

    def drain_pipes(self) -> None:
        """Read what the ended child left in its pipes. If a pipe stays open, another process has it, and nothing waits for it."""
        last = self.monotonic() + LAST_READ
        if self.child.stdin is not None:
            self.close_pipe(self.child.stdin)
        while self.selector.get_map() and not self.capped and self.monotonic() < last:
            if not self.exchange_bytes(0):
                return

    def close_pipe(self, pipe: IO[bytes]) -> None:
        with contextlib.suppress(KeyError, ValueError):  # it is closed already
            self.selector.unregister(pipe)
        with contextlib.suppress(OSError):
            pipe.close()

    def end_child(self, grace: float) -> None:
        """Kill the group, reap the child, close the pipes. Safe in every state."""
        if self.capped:  # with the pipes closed, the child's writes fail with EPIPE
            self.close_all()
        try:
            if not _has_ended(self.child):
                _signal_group(self.child.pid, signal.SIGTERM)
                last = self.monotonic() + grace
                while not _has_ended(self.child) and self.monotonic() < last:
                    self.exchange_bytes(TICK)
        finally:
            self.kill_group()

    def kill_group(self) -> None:
        """Kill the whole group at once, reap the child, close the pipes."""
        _signal_group(self.child.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):  # stuck in the kernel; the next start finds it
            self.child.wait(5)
        self.close_all()
        self.selector.close()

    def close_all(self) -> None:
        for pipe in (self.child.stdin, self.child.stdout, self.child.stderr):
            if pipe is not None:
                self.close_pipe(pipe)

    def make_result(self) -> FinishedProcess:
        code = self.child.returncode
        return FinishedProcess(
            returncode=-signal.SIGKILL if code is None else code,
            stdout=bytes(self.stdout),
            stderr=bytes(self.stderr),
            timed_out=self.timed_out,
            capped=self.capped,
            stopped=self.stopped,
            seconds=self.monotonic() - self.began,
        )


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether the child has ended. Does not reap it if the system allows that, so that its pid is not reused before the
    group is killed.
    """
    if child.returncode is not None:
        return True
    if sys.platform != "darwin" and hasattr(os, "waitid"):
        try:
            return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True
    return child.poll() is not None


def _signal_group(group: int, number: signal.Signals) -> None:
    """Signal a whole group. A group that is gone, or has only ended processes (macOS reports EPERM then), is not an error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
