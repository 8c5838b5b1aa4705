"""Ends what a killed daemon left running, at the next start (S-65).

Children work in a private directory, in which no other program does. A process there is a leftover if nobody waits for its
answer any more: on Linux, if the process that its environment names (`MARK`) has ended or is this one; on macOS, where no
environment can be read, if its parent has ended or is this one. So the call of a command goes on, and a pid alone, which the
system reuses, proves nothing (ANCHORS P3).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tacitd.model.budget import is_alive
from tacitd.model.environment import MARK

_LSOF = ("lsof", "-a", "-d", "cwd", "-FpRn", "-u")
"""Prints `p` and the id, `R` and the parent's, `n` and the directory, each on a line of its own, for the processes of a user."""
_LSOF_SECONDS = 10.0


def reap_leftovers(work: Path) -> int:
    """Kill what is left in the directory of the children; return how many processes were killed. The caller makes no call
    meanwhile."""
    found = _list_linux(work.resolve()) if sys.platform == "linux" else _list_by_lsof(work.resolve())
    return sum(_kill(pid) for pid in list(found))


def _list_linux(work: Path) -> Iterator[int]:
    for path in Path("/proc").iterdir():
        if not path.name.isdigit() or path.name == str(os.getpid()):
            continue
        with suppress(OSError):  # it has ended meanwhile, or belongs to another user
            if _was_left(_read_environ(path)) and _lies_in(work, str((path / "cwd").readlink())):
                yield int(path.name)


def _list_by_lsof(work: Path) -> Iterator[int]:
    try:
        done = subprocess.run(
            [*_LSOF, str(os.getuid())], capture_output=True, timeout=_LSOF_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return
    pid = parent = 0
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        match line[:1]:
            case "p":
                pid = int(line[1:])
            case "R":
                parent = int(line[1:])
            case "n" if parent in (1, os.getpid()) and _lies_in(work, line[1:]):
                yield pid


def _was_left(environ: bytes) -> bool:
    """Whether these variables have the mark of this process, or of one that has ended."""
    start = f"{MARK}=".encode()
    owner = next((one.removeprefix(start) for one in environ.split(b"\0") if one.startswith(start)), b"")
    return owner.isdigit() and (int(owner) == os.getpid() or not is_alive(int(owner)))


def _lies_in(work: Path, cwd: str) -> bool:
    return Path(cwd.removesuffix(" (deleted)")).is_relative_to(work)


def _read_environ(process: Path) -> bytes:
    return (process / "environ").read_bytes()


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return False
    return True
