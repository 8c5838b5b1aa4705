"""Appending to shared text: L-04, L-54."""

from __future__ import annotations

import errno
import multiprocessing
import os
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread

import pytest

from support_faulty_disk import ERRORS, Crash, FaultyDisk
from tacitd.errors import UNAVAILABLE, FileRefusedError, UnavailableError
from tacitd.files.append_file import append_text, hold_file
from tacitd.files.disk import Disk
from tacitd.files.locks import acquire_lock, make_private_dir


def test_appends(tmp_path: Path) -> None:
    """L-04: the old bytes are a prefix of the new ones; a file that tacitd creates is 0600."""
    path = tmp_path / "a" / "ledger.md"
    append_text(path, b"one\n")
    append_text(path, b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700


def test_a_torn_line_is_completed_never_rewritten(tmp_path: Path) -> None:
    """L-54: a newline before the append."""
    path = tmp_path / "ledger.md"
    path.write_bytes(b"one\r\ntw")
    append_text(path, b"three\r\n")
    assert path.read_bytes() == b"one\r\ntw\nthree\r\n"


def test_links_modes_and_odd_files(tmp_path: Path) -> None:
    """X-09: the real file behind a link; a FIFO must not block; the mode is kept."""
    real = tmp_path / "real.md"
    real.write_bytes(b"x\n")
    real.chmod(0o640)
    (tmp_path / "link.md").symlink_to(real)
    append_text(tmp_path / "link.md", b"y\n")
    assert real.read_bytes() == b"x\ny\n" and real.stat().st_mode & 0o777 == 0o640
    os.mkfifo(tmp_path / "pipe")
    for odd in ("pipe", "."):
        with pytest.raises(FileRefusedError):
            append_text(tmp_path / odd, b"y\n")


@pytest.mark.parametrize("code", [0, *ERRORS])
@pytest.mark.parametrize("torn", [False, True])
def test_every_failure_leaves_a_prefix(tmp_path: Path, torn: bool, code: int) -> None:
    """RELIABILITY rows 2 and 3: a crash or a disk that fails at every step; the next append completes a torn line."""
    for name in ("old.md", "new.md"):
        for at in range(1, 5):
            path = tmp_path / f"{at}-{name}"
            old = b"old\n" if name == "old.md" else b""
            if old:
                path.write_bytes(old)
            disk = (
                FaultyDisk(fail_at=at, code=code, torn=torn) if code else FaultyDisk(crash_at=at, torn=torn)
            )
            with suppress(Crash, OSError):
                append_text(path, b"new row\n", disk=disk)
            assert not old or path.read_bytes().startswith(old)
            append_text(path, b"after\n")
            assert path.read_bytes().splitlines(keepends=True)[-1] == b"after\n"


def test_a_file_that_was_replaced_before_the_lock_is_opened_again(tmp_path: Path) -> None:
    """X-09: an editor saves by a rename between the opening and the lock; the line is appended to the new file."""
    path = tmp_path / "ledger.md"
    path.write_bytes(b"old\n")

    class SavingDisk(Disk):
        """At the first lock, somebody puts a new file in the place of the old one."""

        def lock(self, fd: int, *, wait: bool) -> bool:
            if path.read_bytes() == b"old\n":
                (tmp_path / "new").write_bytes(b"new\n")
                (tmp_path / "new").rename(path)
            return super().lock(fd, wait=wait)

    append_text(path, b"line\n", disk=SavingDisk())
    assert path.read_bytes() == b"new\nline\n"


def test_what_is_decided_by_the_file_is_decided_under_its_lock(tmp_path: Path) -> None:
    """E-22: no other program appends between the look and the line."""
    path = tmp_path / "log"
    numbers: list[int] = []

    def count() -> None:
        for _ in range(25):
            with hold_file(path) as file:
                numbers.append(file.read().count(b"\n"))
                file.append(b"line\n")

    threads = [Thread(target=count) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert numbers == list(range(100))


# --- locks and private directories: DESIGN "Control", RELIABILITY row 13


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


def test_a_directory_of_another_user_is_named(tmp_path: Path) -> None:
    """A state directory that root made: "Operation not permitted" alone says nothing."""
    (tmp_path / "a").mkdir(mode=0o755)
    with pytest.raises(OSError) as failed:
        make_private_dir(tmp_path / "a", FaultyDisk(fail_at=1, code=errno.EPERM))
    assert failed.value.filename == str(tmp_path / "a")
