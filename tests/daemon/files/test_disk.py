"""The helpers over single calls: directories and their modes, whole reads and writes."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from support_faulty_disk import FaultyDisk
from tacitd.files import disk as disk_calls
from tacitd.files.disk import Disk, make_dirs, read_all, write_all


@pytest.mark.parametrize("mode", [0o755, 0o775, 0o2770, 0o700])
def test_a_directory_of_a_project_has_its_parents_mode(tmp_path: Path, mode: int) -> None:
    """The people who share a project can use what tacitd makes in it, whatever its umask; setgid is inherited."""
    home = tmp_path / "project"
    home.mkdir()
    home.chmod(mode)
    before = os.umask(0o077)
    try:
        make_dirs(home / "a" / "b", FaultyDisk(), private=False)
    finally:
        os.umask(before)
    for made in (home / "a", home / "a" / "b"):
        assert made.stat().st_mode & 0o7777 == mode


def test_a_file_system_without_locks_or_syncs_of_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A single writer is still safe without a lock; any other error is one."""
    code = errno.EIO

    def fail(*_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", fail)
    monkeypatch.setattr(os, "fsync", fail)
    for call in (lambda: Disk().lock(0, wait=True), lambda: Disk().sync_dir(tmp_path)):
        with pytest.raises(OSError, match="Input/output"):
            call()
    code = errno.EOPNOTSUPP
    assert Disk().lock(0, wait=False)
    Disk().sync_dir(tmp_path)


def test_whole_files_and_whole_writes(tmp_path: Path) -> None:
    """Short reads and writes are continued; a write that takes nothing is an error and not a loop."""

    class Short(FaultyDisk):
        most = 3

        def pread(self, fd: int, size: int, offset: int) -> bytes:
            return super().pread(fd, min(size, self.most), offset)

        def write(self, fd: int, data: bytes) -> int:
            return super().write(fd, data[: self.most])

    disk = Short()
    fd = disk.open_new(tmp_path / "a", 0o600)
    write_all(fd, b"0123456789", disk)
    assert read_all(fd, disk) == b"0123456789"
    disk.most = 0
    with pytest.raises(OSError, match="takes no more bytes"):
        write_all(fd, b"x", disk)
    disk.close(fd)


# --- two renames that Python does not offer, with and without the system's calls


def refuse(source: bytes, target: bytes, flag: int) -> int:
    """The call of a file system that has no such rename."""
    return errno.EINVAL


@pytest.fixture(params=["system call", "none", "refused"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """A C library that has the call, one that does not, and a file system that refuses it."""
    if request.param != "system call":
        monkeypatch.setattr(
            disk_calls, "_system_call", {"none": lambda: None, "refused": lambda: refuse}[request.param]
        )
    return bool(request.param == "system call")


def test_exchange(tmp_path: Path, system: bool) -> None:
    """DESIGN "Files": RENAME_EXCHANGE if available; False means that the caller must compare and replace."""
    one, other = tmp_path / "1", tmp_path / "2"
    one.write_text("one")
    other.write_text("other")
    swapped = Disk().exchange(one, other)
    assert (one.read_text(), other.read_text()) == (("other", "one") if swapped else ("one", "other"))
    assert system or not swapped


def test_place_never_overwrites(tmp_path: Path, system: bool) -> None:
    """X-07: a file that appeared meanwhile belongs to a person."""
    (tmp_path / "new").write_text("new")
    (tmp_path / "there").write_text("there")
    with pytest.raises(FileExistsError):
        Disk().place(tmp_path / "new", tmp_path / "there")
    Disk().place(tmp_path / "new", tmp_path / "free")
    assert sorted(os.listdir(tmp_path)) == ["free", "there"] and (tmp_path / "there").read_text() == "there"
    with pytest.raises(FileNotFoundError):
        Disk().place(tmp_path / "gone", tmp_path / "x")
