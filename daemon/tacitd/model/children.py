"""The registry of running children, so that the next start can end what a killed daemon left running (S-65).

Each running child has one small file, `<pid>.json`, which is removed when the child has ended. The files need no sync,
because losing one loses no data. A pid alone proves nothing, because the system reuses pids (ANCHORS P3). On Linux a process
is killed only if its environment has tacitd's mark, the process that the mark names has ended or is this one, and it is
recorded, in a recorded session, or in the private directory in which only these children work. So the call of a command goes
on. Elsewhere, where no environment can be read, only if it is recorded and in that directory.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

from tacitd.model.budget import is_alive
from tacitd.model.environment import MARK

_LSOF_SECONDS = 10.0


class Children:
    """The registry of running children, in a directory of its own. Thread-safe."""

    def __init__(self, directory: Path, work: Path) -> None:
        """`work` is the private working directory of the children."""
        self._directory = directory
        self._work = work

    def record_started(self, pid: int) -> None:
        """Record that a child runs. If the disk is full, the child runs without a record."""
        with contextlib.suppress(OSError):
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self._file(pid), flags, 0o600)
            try:
                os.write(descriptor, json.dumps({"pid": pid, "owner": os.getpid()}).encode())
            finally:
                os.close(descriptor)

    def record_ended(self, pid: int) -> None:
        """Remove the record of a child that has ended and was reaped."""
        with contextlib.suppress(OSError):
            self._file(pid).unlink()

    def reap_leftovers(self) -> int:
        """Kill what an ended process left running; return how many processes were killed. The caller makes no call meanwhile."""
        paths = [
            path for path in self._directory.glob("*.json") if path.stem.isascii() and path.stem.isdigit()
        ]
        recorded = {int(path.stem) for path in paths if _has_no_owner(_read_owner(path))}
        if sys.platform == "linux":
            found = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
            victims = [pid for pid in found if self._is_marked_child(pid, recorded)]
        else:
            victims = [pid for pid in recorded if self._lies_in_work(_ask_lsof(pid))]
        killed = sum(_kill(pid) for pid in victims)
        for pid in recorded:
            self.record_ended(pid)
        return killed

    def _file(self, pid: int) -> Path:
        return self._directory / f"{pid}.json"

    def _is_marked_child(self, pid: int, recorded: Collection[int]) -> bool:
        """Linux. False for a process that has ended meanwhile, or belongs to another user."""
        try:
            if pid == os.getpid() or not _was_left(_read_environ(pid)):
                return False
            return (
                pid in recorded
                or os.getsid(pid) in recorded
                or self._lies_in_work(str(Path(f"/proc/{pid}/cwd").readlink()))
            )
        except OSError:
            return False

    def _lies_in_work(self, cwd: str) -> bool:
        return bool(cwd) and Path(cwd.removesuffix(" (deleted)")).is_relative_to(self._work.resolve())


def _was_left(environ: bytes) -> bool:
    """Whether these variables have the mark of this process, or of one that has ended."""
    start = f"{MARK}=".encode()
    owner = next((one.removeprefix(start) for one in environ.split(b"\0") if one.startswith(start)), b"")
    return owner.isdigit() and _has_no_owner(int(owner))


def _has_no_owner(owner: int) -> bool:
    """Whether nobody waits for a child's answer any more: its process has ended, or is this one, which reaps when it calls nobody."""
    return owner == os.getpid() or not is_alive(owner)


def _read_owner(path: Path) -> int:
    """The process that recorded a child; this one if that is not known."""
    try:
        owner = json.loads(path.read_bytes())["owner"]
    except (OSError, ValueError, TypeError, KeyError):
        return os.getpid()
    return owner if isinstance(owner, int) else os.getpid()


def _read_environ(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def _ask_lsof(pid: int) -> str:
    """The working directory of a process; "" if it is not known."""
    command = ["lsof", "-a", "-d", "cwd", "-Fn", "-p", str(pid)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LSOF_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return ""
    return next((line[1:] for line in done.stdout.splitlines() if line.startswith("n")), "")


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return False
    return True
