"""One child process from start to end: files for its input and output, limits, killing its whole group, reaping (S-65).

A child in a session of its own leads a process group with its pid, and `killpg` reaches what it started. While the leader is
not reaped, its pid is not reused, so the group is killed first. Input and output are unlinked files, not pipes: nothing can
block on a full buffer, and a grandchild that keeps them open delays nothing. Children that outlive a killed daemon are ended at
the next start (`reap_leftovers`), because `preexec_fn` is not safe in a program with threads.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from msgspec import Struct

from tacitd.clock import SystemClock
from tacitd.model.budget import is_alive
from tacitd.model.environment import MARK

OUTPUT_CAP = 4_000_000
"""Bytes of both outputs together; a child that prints more is killed."""
STDERR_CAP = 64_000
"""Bytes of standard error that are kept."""
GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""
TICK = 0.05
"""Seconds between two checks of the deadline, the stop, the output and the child."""


class FinishedProcess(Struct, frozen=True):
    """How a child ended. `returncode` is negative if a signal ended it."""

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
    stop: threading.Event | None = None,
    stop_grace: float = 0.0,
    grace: float = GRACE,
    monotonic: Callable[[], float] | None = None,
) -> FinishedProcess:
    """Run a program and return how it ended. By then the child and its group are killed and reaped.

    `deadline` is in seconds from now, by the monotonic clock. After `stop` is set the child may run for `stop_grace`
    seconds more. A child that must end gets SIGTERM, and after `grace` seconds SIGKILL, both with its group.

    Raises OSError or ValueError if the program cannot be started.
    """
    clock = monotonic or SystemClock().monotonic
    with _open_file() as given, _open_file() as out, _open_file() as err:
        given.write(stdin)
        given.seek(0)
        child = subprocess.Popen(
            list(argv), env=dict(env), cwd=cwd, stdin=given, stdout=out, stderr=err, start_new_session=True
        )
        began, timed_out, stopped = clock(), False, False
        last = began + deadline
        try:
            while not _has_ended(child):
                now = clock()
                if stop is not None and stop.is_set() and not stopped:
                    stopped, last = True, min(last, now + stop_grace)
                capped = _size(out) + _size(err) > output_cap
                if capped or now >= last:
                    timed_out = not (capped or stopped)
                    break
                time.sleep(min(TICK, max(0.0, last - now)))
            else:
                stopped = False  # it ended by itself within the remaining time
        finally:
            _end_group(child, grace, clock)
        return FinishedProcess(
            returncode=-signal.SIGKILL if child.returncode is None else child.returncode,
            stdout=os.pread(out.fileno(), output_cap, 0),
            stderr=os.pread(err.fileno(), STDERR_CAP, 0),
            timed_out=timed_out,
            capped=_size(out) + _size(err) > output_cap,
            stopped=stopped,
            seconds=clock() - began,
        )


def _open_file() -> IO[bytes]:
    """A file without a name: in memory where the system has such, so that a full disk stops no call."""
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create("tacitd"), "w+b")
    return tempfile.TemporaryFile()


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _end_group(child: subprocess.Popen[bytes], grace: float, clock: Callable[[], float]) -> None:
    try:
        if not _has_ended(child):
            _signal_group(child.pid, signal.SIGTERM)
            last = clock() + grace
            while not _has_ended(child) and clock() < last:
                time.sleep(TICK)
    finally:
        _signal_group(child.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):  # stuck in the kernel; the next start finds it
            child.wait(5)


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Does not reap it if the system allows that, so that its pid is not reused before the group is killed."""
    if child.returncode is not None:
        return True
    if sys.platform != "darwin" and hasattr(os, "waitid"):
        try:
            return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True
    return child.poll() is not None


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):  # it is gone; or has only ended processes, on macOS
        os.killpg(group, number)


def reap_leftovers(work: Path) -> int:
    """Kill what a killed daemon left running in the directory of the children; return how many processes were killed. The
    caller makes no call meanwhile.

    A process there is a leftover if nobody waits for its answer any more: the process that its environment names (`MARK`) has
    ended or is this one. So the call of a command goes on (ANCHORS P3). macOS shows no environment: there a call whose daemon was
    killed runs to its end, and the client ends it.
    """
    killed = 0
    for pid in list(_list_leftovers(work.resolve())) if sys.platform == "linux" else ():
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
            killed += 1
    return killed


def _list_leftovers(work: Path) -> Iterator[int]:
    for path in Path("/proc").iterdir():
        if not path.name.isdigit() or path.name == str(os.getpid()):
            continue
        with suppress(OSError):  # it has ended meanwhile, or belongs to another user
            start = f"{MARK}=".encode()
            marks = [one for one in _read_environ(path).split(b"\0") if one.startswith(start)]
            owner = marks[0].removeprefix(start) if marks else b""
            is_left = owner.isdigit() and (int(owner) == os.getpid() or not is_alive(int(owner)))
            if is_left and _lies_in(work, str((path / "cwd").readlink())):
                yield int(path.name)


def _lies_in(work: Path, cwd: str) -> bool:
    return Path(cwd.removesuffix(" (deleted)")).is_relative_to(work)


def _read_environ(process: Path) -> bytes:
    return (process / "environ").read_bytes()
