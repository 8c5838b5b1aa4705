"""The replaced file and the edit of a shared file: DESIGN "Files", X-07 to X-09."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from support_disk import PowerCutDisk
from support_faulty_disk import ERRORS, Crash, FaultyDisk
from tacitd.errors import FileRefusedError
from tacitd.files.append_file import append_missing, append_text
from tacitd.files.atomic import LIMIT, STALE, edit_file, remove_empty, replace_file, sweep_temporary
from tacitd.files.disk import Disk


def add(line: bytes) -> Callable[[bytes | None], bytes]:
    return lambda data: (data or b"") + line


def test_nothing_is_touched_when_nothing_changes(tmp_path: Path) -> None:
    """DESIGN "Files": skipped when nothing changes."""
    disk = FaultyDisk()
    path = tmp_path / "a.md"
    assert replace_file(path, b"one", disk=disk)
    calls = len(disk.trail)
    assert not replace_file(path, b"one", disk=disk)
    assert not edit_file(path, lambda data: data, disk=disk)
    assert not edit_file(path, lambda data: None, disk=disk)
    assert not edit_file(tmp_path / "none.md", lambda data: None, disk=disk)
    assert len(disk.trail) == calls and os.listdir(tmp_path) == ["a.md"]
    path.chmod(0o640)
    assert [replace_file(path, b"one", mode=0o600, disk=disk) for _ in range(2)] == [True, False]


def test_modes(tmp_path: Path) -> None:
    """DESIGN "Where it writes": in projects the mode of the directory or the replaced file; tacitd's own are 0600 in 0700.

    A service's umask is 0077 and must not hide a project's files from the people who work in it.
    """
    tmp_path.chmod(0o750)
    before = os.umask(0o077)
    try:
        replace_file(tmp_path / "p" / "new.md", b"x")
        edit_file(tmp_path / "p" / "edited.md", add(b"x"))
        replace_file(tmp_path / "own" / "x.json", b"x", mode=0o600)
        (tmp_path / "kept.md").write_bytes(b"")
        (tmp_path / "kept.md").chmod(0o664)
        replace_file(tmp_path / "kept.md", b"x")
        edit_file(tmp_path / "kept.md", add(b"y"))
    finally:
        os.umask(before)
    modes = {str(p.relative_to(tmp_path)): oct(p.stat().st_mode & 0o777) for p in tmp_path.rglob("*")}
    assert modes == {
        "p": "0o750",
        "p/new.md": "0o640",
        "p/edited.md": "0o640",
        "own": "0o700",
        "own/x.json": "0o600",
        "kept.md": "0o664",
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_owner_is_kept(tmp_path: Path) -> None:
    """DESIGN "Files": mode, owner and symlink target kept."""
    path = tmp_path / "a.md"
    path.write_bytes(b"1")
    os.chown(path, 1234, 2345)
    path.chmod(0o640)
    replace_file(path, b"2")
    edit_file(path, add(b"3"))
    found = path.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (1234, 2345, 0o640)


class NotRoot(FaultyDisk):
    """May not change a file's owner or group."""

    def chown(self, fd: int, uid: int, gid: int) -> None:
        raise PermissionError


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make the file")
def test_a_foreign_group_is_not_granted_the_rights_of_the_old_one(tmp_path: Path) -> None:
    """DESIGN "Priorities", 2: if the group cannot be kept, its permissions are not given to another group."""
    path = tmp_path / "a.md"
    path.write_bytes(b"1")
    os.chown(path, 1234, 2345)
    path.chmod(0o664)
    replace_file(path, b"2", disk=NotRoot())
    assert path.stat().st_mode & 0o777 == 0o604


@pytest.mark.parametrize("kind", ["directory", "fifo", "loop"])
def test_what_is_no_file_is_refused(tmp_path: Path, kind: str) -> None:
    """Bad input: a FIFO or a link in place of the file must not block or break anything."""
    path = tmp_path / "a.md"
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("a.md")
    with pytest.raises(FileRefusedError, match="not an ordinary file"):
        replace_file(path, b"x")
    with pytest.raises(FileRefusedError, match="not an ordinary file"):
        edit_file(path, add(b"x"))
    assert os.listdir(tmp_path) == ["a.md"]


def test_a_file_that_is_too_long_is_refused(tmp_path: Path) -> None:
    """Bad input: such a file is not text that people wrote, and it is never read whole."""
    path = tmp_path / "a.md"
    path.touch()
    os.truncate(path, LIMIT)
    assert not edit_file(path, lambda data: data)
    os.truncate(path, LIMIT + 1)
    writes: list[Callable[[], object]] = [
        lambda: replace_file(path, b"x"),
        lambda: edit_file(path, add(b"x")),
    ]
    for write in writes:
        with pytest.raises(FileRefusedError, match="is longer than 16 MB"):
            write()
    assert path.stat().st_size == LIMIT + 1


class Editor(FaultyDisk):
    """A person who saves just before the n-th exchange, rename or placing by tacitd."""

    def __init__(self, save: Callable[[int], object]) -> None:
        super().__init__()
        self.save, self.turn = save, 0

    def exchange(self, one: Path, other: Path) -> bool:
        self._now()
        return super().exchange(one, other)

    def place(self, source: Path, target: Path) -> None:
        self._now()
        super().place(source, target)

    def _now(self) -> None:
        self.turn += 1
        self.save(self.turn)


def _save_by_rename(path: Path) -> None:
    path.with_name("a.swp").write_bytes(b"1\nperson\n")
    path.with_name("a.swp").rename(path)


@pytest.mark.parametrize(
    ("before", "save", "after"),
    [
        (b"1\n", lambda path: path.write_bytes(b"1\nperson\n"), b"1\nperson\nours\n"),
        (b"1\n", _save_by_rename, b"1\nperson\nours\n"),
        (b"1\n", Path.unlink, b"ours\n"),
        (None, lambda path: path.write_bytes(b"person\n"), b"person\nours\n"),
    ],
    ids=["in place", "by rename", "removed", "new"],
)
def test_what_a_person_saves_in_between_wins(
    tmp_path: Path, before: bytes | None, save: Callable[[Path], object], after: bytes
) -> None:
    """X-07, RELIABILITY row 11: what was swapped out is checked; the person's text is kept, and the change is applied to it."""
    path = tmp_path / "a.md"
    if before is not None:
        path.write_bytes(before)
    assert edit_file(path, add(b"ours\n"), disk=Editor(lambda turn: save(path) if turn == 1 else None))
    assert path.read_bytes() == after and os.listdir(tmp_path) == ["a.md"]


def test_a_person_who_saves_again_while_we_put_it_back_still_wins(tmp_path: Path) -> None:
    """RELIABILITY row 11: the person's newest version has the name; an older one is not removed either."""
    path = tmp_path / "a.md"
    path.write_bytes(b"1\n")

    def save(turn: int) -> None:
        if turn <= 2:
            path.write_bytes(b"person %d\n" % turn)

    assert edit_file(path, add(b"ours\n"), disk=Editor(save))
    assert path.read_bytes() == b"person 2\nours\n"
    (kept,) = [name for name in os.listdir(tmp_path) if name != "a.md"]
    assert kept.endswith(".old") and (tmp_path / kept).read_bytes() == b"person 1\n"
    sweep_temporary(tmp_path, 1e12, FaultyDisk())
    assert kept in os.listdir(tmp_path)


@pytest.mark.parametrize("can_swap", [True, False])
def test_what_a_person_saves_while_the_new_bytes_are_written_wins(tmp_path: Path, can_swap: bool) -> None:
    """X-07: also on a file system that cannot exchange names, where the comparison before the rename is the only check."""
    path = tmp_path / "a.md"
    path.write_bytes(b"1\n")

    class Slow(FaultyDisk):
        def sync(self, fd: int) -> None:
            if "sync" not in self.trail:
                path.write_bytes(b"1\nperson\n")
            super().sync(fd)

        def exchange(self, one: Path, other: Path) -> bool:
            return can_swap and super().exchange(one, other)

    assert edit_file(path, add(b"ours\n"), disk=Slow())
    assert path.read_bytes() == b"1\nperson\nours\n" and os.listdir(tmp_path) == ["a.md"]


@pytest.mark.parametrize("mode", [None, 0o600])
def test_a_crash_before_any_call_leaves_the_old_or_the_new(tmp_path: Path, mode: int | None) -> None:
    """RELIABILITY row 2, for replaced and edited files: the process ended before every call, torn writes included."""

    def whole(path: Path, disk: FaultyDisk) -> None:
        replace_file(path, b"new" * 100, mode=mode, disk=disk)

    def shared(path: Path, disk: FaultyDisk) -> None:
        edit_file(path, lambda data: b"new" * 100, mode=mode, disk=disk)

    for write in (whole, shared):
        for old in (None, b"old" * 50):
            _crash_everywhere(tmp_path / write.__name__ / str(old)[:6], write, old)


def _crash_everywhere(home: Path, write: Callable[[Path, FaultyDisk], None], old: bytes | None) -> None:
    for at in range(1, 50):
        path = home / str(at) / "a.md"
        path.parent.mkdir(parents=True)
        if old is not None:
            path.write_bytes(old)
        disk = FaultyDisk(crash_at=at, torn=True)
        with suppress(Crash):
            write(path, disk)
        found = path.read_bytes() if path.exists() else None
        assert found in (old, b"new" * 100)
        write(path, FaultyDisk())
        assert path.read_bytes() == b"new" * 100
        sweep_temporary(path.parent, 1e12, FaultyDisk())
        assert os.listdir(path.parent) == ["a.md"]
        if not disk.dead:
            return
    raise AssertionError("more calls than were tried")


@pytest.mark.parametrize("code", ERRORS)
@pytest.mark.parametrize("write", [edit_file, replace_file])
def test_a_failure_of_any_call_removes_the_temporary_file(
    tmp_path: Path, write: Callable[..., bool], code: int
) -> None:
    """RELIABILITY row 3: every call fails in turn; the file is whole, and no temporary file remains."""
    given = b"new" if write is replace_file else lambda data: b"new"
    for at in range(1, 50):
        path = tmp_path / str(at) / "a.md"
        path.parent.mkdir()
        path.write_bytes(b"old")
        disk = FaultyDisk(fail_at=at, code=code, torn=True)
        try:
            write(path, given, disk=disk)
        except OSError:
            assert path.read_bytes() in (b"old", b"new")
        assert os.listdir(path.parent) == ["a.md"]
        if len(disk.trail) < at:
            return
    raise AssertionError("more calls than were tried")


class Tomorrow(FaultyDisk):
    """New files are a day and a second younger than those in `old`."""

    old = ""

    def stat(self, path: Path) -> os.stat_result:
        found = super().stat(path)
        if path.name != self.old:
            return found
        return os.stat_result([*list(found)[:9], found.st_ctime - STALE - 1])


def test_a_stale_temporary_file_of_ours_is_removed(tmp_path: Path) -> None:
    """DESIGN "Priorities", 2: what a crash left is removed after a day; a younger file may be in use."""
    first, second = (f".tacitd-{each:016x}.new" for each in range(2))
    names = [first, second, ".tacitd-theirs.new", ".tacitd-mine", "other.new"]
    for name in names:
        (tmp_path / name).write_bytes(b"half")
    for old in (first, ".tacitd-theirs.new", ".tacitd-mine", "other.new"):
        disk = Tomorrow()
        disk.old = old
        replace_file(tmp_path / "a.md", old.encode(), disk=disk)
    assert sorted(os.listdir(tmp_path)) == [second, ".tacitd-mine", ".tacitd-theirs.new", "a.md", "other.new"]


# --- what a power cut may take: every file is on the drive before it gets its name, and the name before the call returns


CASES: dict[str, Callable[[Path, Path, Disk], object]] = {
    "replace": lambda home, path, disk: replace_file(path, b"new", disk=disk),
    "replace a private file": lambda home, path, disk: replace_file(path, b"new", mode=0o600, disk=disk),
    "edit": lambda home, path, disk: edit_file(path, lambda data: b"new", disk=disk),
    "append text": lambda home, path, disk: append_text(path, b"new\n", disk=disk),
    "append lines": lambda home, path, disk: append_missing(path, ["one", "two"], disk),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("where", ["new", "in a new directory", "there", "behind a link"])
@pytest.mark.parametrize("can_swap", [True, False])
def test_what_was_written_survives_a_power_cut(tmp_path: Path, name: str, where: str, can_swap: bool) -> None:
    """RELIABILITY row 2, DESIGN "Files": bytes are synced before the rename, and the directory before the return."""
    home = tmp_path / "project"
    home.mkdir()
    path = home / ("sub/a.md" if where == "in a new directory" else "a.md")
    if where == "there":
        path.write_text("# T\n")
    if where == "behind a link":
        (home / "real").mkdir()
        (home / "real" / "a.md").write_text("# T\n")
        path.symlink_to("real/a.md")
    disk = PowerCutDisk(can_swap=can_swap)
    CASES[name](home, path, disk)
    assert path.read_bytes() and disk.lost_names == set() and disk.lost_bytes == set()
    assert path.is_symlink() == (where == "behind a link")  # the real file is replaced, not the link


def test_a_removal_survives_a_power_cut(tmp_path: Path) -> None:
    """RELIABILITY row 2: a file that is left without a byte is removed, and does not come back."""
    home = tmp_path / "project"
    home.mkdir()
    for name in "abc":
        (home / name).write_text(name.replace("b", ""))
    disk = PowerCutDisk()
    for name in ("b", "none", "c"):
        remove_empty(home / name, disk)
    assert disk.trail[-1] == "sync_dir" and disk.lost_names == set()
    assert sorted(each.name for each in home.iterdir()) == ["a", "c"]


class BusyPerson(PowerCutDisk):
    """Somebody saves the file just before each swap of ours."""

    saves = 0

    def exchange(self, one: Path, other: Path) -> bool:
        if len(self.trail) and self.trail[-1] != "exchange":
            self.saves += 1
            other.write_text(f"save {self.saves}")
        return super().exchange(one, other)


def test_what_a_person_saved_survives_a_power_cut_when_it_was_put_back(tmp_path: Path) -> None:
    """X-07: the person's newest version has the name again, and the directory is synced."""
    path = tmp_path / "a.md"
    path.write_text("begin")
    disk = BusyPerson()
    with pytest.raises(FileRefusedError, match="someone keeps editing"):
        edit_file(path, lambda data: b"new", disk=disk)
    assert path.read_text() == f"save {disk.saves}" and disk.saves > 1
    assert disk.lost_names == set()
