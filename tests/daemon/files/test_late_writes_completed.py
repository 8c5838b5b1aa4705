"""Late writes that complete a file which was empty at the swap: they get the name (DESIGN "Files", X-07, RELIABILITY 11)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacitd.files.late_writes import KEEP, LOOKS, REST, LateWrites
from tacitd.files.replaced import Change, edit_file
from tacitd.testing import FakeClock, FaultyDisk

WHOLE = b"# T\n- one\n"


def put_ours(data: bytes | None) -> bytes | None:
    return None if b"- ours\n" in (data or b"") else (data or b"") + b"- ours\n"


def put_more(data: bytes | None) -> bytes | None:
    return (data or b"") + b"- more\n"


class Truncated:
    """A file that an editor truncated, whose descriptor it still has, and changes by tacitd in between."""

    def __init__(self, box: Path, *changes: Change, disk: FaultyDisk | None = None) -> None:
        self.clock = FakeClock()
        self.late = LateWrites(self.clock, disk)
        self.path = box / "LEARNED.md"
        self.path.write_bytes(b"")
        self.editor = self.path.open("r+b", buffering=0)
        for change in changes:
            edit_file(self.path, change, second=self.late)

    def save(self, data: bytes, *, times: tuple[float, ...] = (KEEP,)) -> None:
        """The editor writes, and the minute passes."""
        with self.editor:
            self.editor.write(data)
        self.check(times)

    def check(self, times: tuple[float, ...] = (KEEP,)) -> None:
        for seconds in times:
            self.clock.advance(seconds)
            self.late.check_due()

    @property
    def copies(self) -> list[bytes]:
        return [one.path.read_bytes() for one in self.late.recovered]


class SavedMeanwhile(FaultyDisk):
    """After the late write is brought in, but before it is in the file, a person saves or removes the file."""

    saving: bytes | None = None
    path: Path | None = None

    def resolve(self, path: Path) -> Path:
        if path == self.path:
            path.unlink()
            if self.saving is not None:
                path.write_bytes(self.saving)
            self.path = None
        return super().resolve(path)


@pytest.mark.parametrize("saved", [b"! mine\n", b"~ mine\n", None], ids=["lower", "higher", "removed"])
def test_a_save_during_the_recovery_is_kept(tmp_path: Path, saved: bytes | None) -> None:
    """X-07: what a person saves after tacitd compared the file is not replaced, and the late write is kept in a copy."""
    disk = SavedMeanwhile()
    scene = Truncated(tmp_path, put_ours, disk=disk)
    disk.path, disk.saving = scene.path, saved
    scene.save(WHOLE)
    assert disk.path is None
    assert (scene.path.read_bytes() if scene.path.exists() else None) == saved
    assert scene.copies == [WHOLE]


def test_a_version_of_which_our_change_leaves_nothing_is_kept(tmp_path: Path) -> None:
    """X-08: the named file is right already, but not one byte of the late version is in it."""
    scene = Truncated(tmp_path, lambda data: b"- ours\n")
    scene.save(WHOLE)
    assert scene.path.read_bytes() == b"- ours\n" and scene.copies == [WHOLE]


def test_a_version_that_has_our_line_needs_no_change(tmp_path: Path) -> None:
    """X-07: a change that does nothing to the late version leaves it as it is."""
    scene = Truncated(tmp_path, put_ours)
    scene.save(WHOLE + b"- ours\n")
    assert scene.path.read_bytes() == WHOLE + b"- ours\n" and not scene.copies


def test_blank_lines_are_no_version(tmp_path: Path) -> None:
    """X-07: the file keeps its bytes, and no copy is made."""
    scene = Truncated(tmp_path, put_ours)
    scene.save(b"\n \n")
    assert scene.path.read_bytes() == b"- ours\n" and not scene.copies


def test_what_the_recovery_swaps_out_is_checked_too(tmp_path: Path) -> None:
    """RELIABILITY 11: another program opened the file before the recovery, and appends to it afterwards."""
    scene = Truncated(tmp_path, put_ours, put_more)
    with scene.path.open("ab", buffering=0) as other:
        scene.save(WHOLE)
        other.write(b"- late\n")
    scene.check()
    assert scene.path.read_bytes() == WHOLE + b"- ours\n- more\n- late\n" and not scene.copies


def test_the_later_of_two_completed_versions_has_the_name(tmp_path: Path) -> None:
    """X-07: the later version equals what the first recovery replaced, and still it is the person's newest one."""
    scene = Truncated(tmp_path, lambda data: data or b"\n")
    with scene.path.open("ab", buffering=0) as other:
        edit_file(scene.path, put_ours, second=scene.late)
        scene.save(WHOLE, times=(LOOKS[0], REST))
        assert scene.path.read_bytes() == WHOLE + b"- ours\n"
        other.write(b"- ours\n")
    scene.check((REST, KEEP))
    assert scene.path.read_bytes() == b"\n- ours\n" and not scene.copies
