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
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tacitd.model.environment import MARK

_MARK = f"{MARK}=1".encode()


class Children:
    """The registry of running children, in a directory of its own. Thread-safe."""

    def __init__(self, directory: Path, work: Path | None = None) -> None:
        """`work` is the private working directory of the children; a marked process in it is tacitd's child."""
        self._directory = directory
        self._work = work

    def record_started(self, pid: int) -> None:
        """Record that a child runs. If the disk is full, the child runs without a record."""
        line = json.dumps({"pid": pid, "start": start_time(pid)}).encode()
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
        live = {pid: start for pid, start in recorded.items() if start_time(pid) in ("", start)}
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


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    session: int
    start: str
    cwd: str
    marked: bool


def start_time(pid: int) -> str:
    """What distinguishes this process from a later one with the same pid; "" if it has ended or cannot be read.

    Linux: clock ticks since boot, field 22 of /proc/<pid>/stat. Elsewhere: `lstart` of `ps`.
    """
    if sys.platform == "linux":
        fields = _stat(pid)
        return fields[19] if len(fields) > 19 else ""
    return _ps(pid, "lstart=")


def _stat(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat after the name. The name is in parentheses and may contain any characters."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _ps(pid: int, what: str) -> str:
    command = ["/bin/ps", "-ww", "-o", what, "-p", str(pid)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=5, check=False, env={"LC_ALL": "C"})
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace").strip()


def _processes(recorded: dict[int, str]) -> Iterator[_Process]:
    """On Linux every process that this user may inspect; elsewhere the recorded ones."""
    if sys.platform == "linux":
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                yield from _from_proc(int(entry.name))
        return
    for pid in recorded:
        start = _ps(pid, "lstart=")
        if start:
            # macOS shows a process's environment only to that process, so the start time alone decides.
            yield _Process(pid, 0, start, "", marked=recorded[pid] == start)


def _from_proc(pid: int) -> Iterator[_Process]:
    fields = _stat(pid)
    try:
        marked = _MARK in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        if marked and len(fields) > 19:
            yield _Process(pid, int(fields[3]), fields[19], str(Path(f"/proc/{pid}/cwd").readlink()), marked)
    except (OSError, ValueError):  # it has ended meanwhile, or belongs to another user
        return


def _lies_in(cwd: str, directory: Path) -> bool:
    return Path(cwd.removesuffix(" (deleted)")).is_relative_to(directory.resolve())


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return False
    return True
