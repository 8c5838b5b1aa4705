"""The registry of running children, so that the next start can end what a killed daemon left running (S-65).

Each running child has one small file, `<pid>.json` with its start time, which is removed when the child has ended. The
files need no sync, because losing one loses no data. A process is killed only if its environment has tacitd's mark and
it also matches the recorded start time, the recorded session, or the private directory in which only these children work
(ANCHORS P3). A pid alone proves nothing, because the system reuses pids.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from tacitd.clock import read_process_start
from tacitd.model.environment import MARK


class Children:
    """The registry of running children, in a directory of its own. Thread-safe."""

    def __init__(self, directory: Path, work: Path | None = None) -> None:
        """`work` is the private working directory of the children; a marked process in it is tacitd's child."""
        self._directory = directory
        self._work = work

    def record_started(self, pid: int) -> None:
        """Record that a child runs. If the disk is full, the child runs without a record."""
        line = json.dumps({"pid": pid, "start": read_process_start(pid) or ""}).encode()
        with contextlib.suppress(OSError):
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self._file(pid), flags, 0o600)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)

    def record_ended(self, pid: int) -> None:
        """Remove the record of a child that has ended and was reaped."""
        with contextlib.suppress(OSError):
            self._file(pid).unlink()

    def reap_leftovers(self) -> int:
        """Kill what an earlier daemon left running; return how many processes were killed.

        The caller must hold the daemon's lock: only then can no marked process here belong to another daemon.
        """
        recorded = dict(self._recorded())
        live = {pid: start for pid, start in recorded.items() if read_process_start(pid) in (None, start)}
        victims = [one for one in _processes(live) if self._is_ours(one, live)]
        killed = sum(_kill(one.pid) for one in victims)
        for pid in recorded:
            self.record_ended(pid)
        return killed

    def _file(self, pid: int) -> Path:
        return self._directory / f"{pid}.json"

    def _recorded(self) -> Iterator[tuple[int, str]]:
        """Each recorded pid with its start time; "" if the file cannot be read."""
        for path in sorted(self._directory.glob("*.json")):
            if not path.stem.isascii() or not path.stem.isdigit():
                continue
            start: object = ""
            with contextlib.suppress(OSError, ValueError, AttributeError):
                start = json.loads(path.read_bytes()).get("start")
            yield int(path.stem), start if isinstance(start, str) else ""

    def _is_ours(self, one: _Process, recorded: dict[int, str]) -> bool:
        """`recorded` must not include a pid that another process has by now, because its session is not tacitd's either."""
        if one.pid == os.getpid() or not one.marked:
            return False
        if one.start and recorded.get(one.pid) == one.start:
            return True
        return one.session in recorded or (self._work is not None and _lies_in(one.cwd, self._work))


class _Process(Struct, frozen=True):
    pid: int
    session: int
    start: str
    cwd: str
    marked: bool


def _processes(recorded: dict[int, str]) -> Iterator[_Process]:
    """On Linux every process that this user may inspect; elsewhere the recorded ones."""
    if sys.platform != "linux":
        for pid, start in recorded.items():
            if start and read_process_start(pid) == start:
                # macOS shows a process's environment only to that process, so the start time alone decides.
                yield _Process(pid, 0, start, "", marked=True)
        return
    import psutil  # as in `read_process_start`, not for the commands that only import this module

    for pid in psutil.pids():
        try:
            process = psutil.Process(pid)
            if process.environ().get(MARK) == "1":
                start = read_process_start(pid) or ""
                yield _Process(pid, os.getsid(pid), start, process.cwd(), marked=True)
        except (psutil.Error, OSError, ValueError):  # it has ended meanwhile, or belongs to another user
            continue


def _lies_in(cwd: str, directory: Path) -> bool:
    return Path(cwd.removesuffix(" (deleted)")).is_relative_to(directory.resolve())


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return False
    return True
