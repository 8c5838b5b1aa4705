"""What a power cut may take: every file is on the drive before it gets its name, and the name before the call returns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support_disk import PowerCutDisk
from tacitd.errors import FileRefusedError
from tacitd.files.append_file import append_missing, append_text
from tacitd.files.atomic import edit_file, remove_empty, replace_file
from tacitd.files.disk import Disk

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
