"""When a process started: what distinguishes it from a later one with the same id."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tacitd.clock import read_process_start


@contextmanager
def running(*argv: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs until its input ends."""
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None and child.stdout.readline() == b"up\n"
        yield child
    finally:
        child.communicate(b"\n")


WAIT = "print('up', flush=True); input()"


def test_start_of_a_real_process() -> None:
    """DESIGN "Sources": a process id together with a start time identifies one process."""
    assert read_process_start(os.getpid()) == read_process_start(os.getpid()) is not None
    with running(sys.executable, "-c", WAIT) as child:
        start = read_process_start(child.pid)
        assert start is not None
        with running(sys.executable, "-c", WAIT) as other:
            assert int(read_process_start(other.pid) or 0) >= int(start)
    for pid in (child.pid, 0, -1, 2**30, 10**30):
        assert read_process_start(pid) is None


def test_a_process_that_ended_and_was_not_reaped_does_not_run() -> None:
    """DESIGN "Sources": a zombie does not count as a process."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert read_process_start(child.pid) is None
    child.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_start_is_the_kernels_whatever_the_name(tmp_path: Path) -> None:
    """Ticks since boot, as in the registry of earlier versions; a name may contain spaces and parentheses."""
    program = tmp_path / "a) Z (b c"
    program.symlink_to(sys.executable)
    with running(program, "-IS", "-c", WAIT) as child:
        line = Path(f"/proc/{child.pid}/stat").read_text()
        assert line.startswith(f"{child.pid} (a) Z (b c) ")
        assert read_process_start(child.pid) == line.rpartition(")")[2].split()[19]


@pytest.mark.parametrize(
    "error", [psutil.AccessDenied(1), psutil.NoSuchProcess(1), PermissionError(), ValueError()]
)
def test_a_process_that_cannot_be_inspected_has_no_start(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """A process of another user, or of a system that hides them."""

    def refuse(process: object) -> float:
        raise error

    monkeypatch.setattr(psutil.Process, "create_time", refuse)
    assert read_process_start(os.getpid()) is None


def test_setting_the_wall_clock_makes_no_other_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY row 12: psutil's start and boot time move with the wall clock; what is compared does not."""
    start, real, boot = read_process_start(os.getpid()), psutil.Process.create_time, psutil.boot_time()
    monkeypatch.setattr(psutil.Process, "create_time", lambda process: real(process) + 86400.0)
    monkeypatch.setattr(psutil, "boot_time", lambda: boot + 86400.0)
    assert read_process_start(os.getpid()) == start
