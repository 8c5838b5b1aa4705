"""Locks and private directories: DESIGN "Control", RELIABILITY row 13."""

from __future__ import annotations

import errno
import multiprocessing
import os
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tacitd.errors import UNAVAILABLE, UnavailableError
from tacitd.files.disk import Disk
from tacitd.files.locks import acquire_lock, make_private_dir


def _hold_until_told(path: str, pipe: Connection) -> None:
    with acquire_lock(Path(path)):
        pipe.send("held")
        pipe.recv()


def test_a_second_process_is_told_who_holds_it(tmp_path: Path) -> None:
    """DESIGN "Control": the daemon holds an flock for its lifetime; the message names the process."""
    path = tmp_path / "state" / "lock"
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_hold_until_told, args=(str(path), theirs))
    child.start()
    assert ours.recv() == "held"
    with pytest.raises(UnavailableError, match=f"process {child.pid} ") as caught:
        acquire_lock(path)
    assert caught.value.code == UNAVAILABLE
    child.kill()
    child.join()
    with acquire_lock(path):
        assert path.read_text() == f"{os.getpid()}\n"
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700


def test_a_full_disk_keeps_nobody_out(tmp_path: Path) -> None:
    """RELIABILITY 4: the process id cannot be written, but the lock is held and no other process gets it."""

    class Full(Disk):
        def write(self, fd: int, data: bytes) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    with acquire_lock(tmp_path / "lock", Full()), pytest.raises(UnavailableError, match="another process"):
        acquire_lock(tmp_path / "lock")


def test_what_stands_in_the_file_decides_nothing(tmp_path: Path) -> None:
    """DESIGN "Control": a PID file is never trusted. A stale or odd file does not prevent a start."""
    path = tmp_path / "lock"
    path.write_text("1\n")
    first = acquire_lock(path)
    with pytest.raises(UnavailableError):
        acquire_lock(path)
    first.release()
    first.release()
    acquire_lock(path).release()


def test_a_private_directory_is_tightened(tmp_path: Path) -> None:
    """DESIGN "Where it writes": tacitd's own files are in 0700 directories."""
    (tmp_path / "a").mkdir(mode=0o755)
    assert make_private_dir(tmp_path / "a" / "b" / "c") == tmp_path / "a" / "b" / "c"
    modes = [(tmp_path / each).stat().st_mode & 0o777 for each in ("a", "a/b", "a/b/c")]
    assert modes == [0o755, 0o700, 0o700]
    make_private_dir(tmp_path / "a")
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        make_private_dir(tmp_path / "file")
