"""Late writes into a file that was swapped out: nothing that a person wrote is lost (DESIGN "Files", RELIABILITY 11)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import pytest

from tacitd.files.late_writes import AT_ONCE, FIRST, LAST, LateWrites, RecoveredCopy
from tacitd.files.replaced import EditGuards, edit_file
from tacitd.testing import FakeClock, FaultyDisk
from tacitd.testing.faulty_disk import Crash

BEFORE = b"# T\n\n## A\n- one\n"
AFTER = BEFORE + b"- ours\n"


def add_line(data: bytes | None) -> bytes:
    return (data or b"") + b"- ours\n"


class Scene:
    """A file that an editor has open while tacitd adds a line to it."""

    def __init__(self, box: Path, disk: FaultyDisk | None = None) -> None:
        self.clock = FakeClock()
        self.disk = disk or FaultyDisk()
        self.late = LateWrites(self.clock, self.disk)
        self.path = box / "LEARNED.md"
        self.path.write_bytes(BEFORE)
        self.writer = self.path.open("r+b", buffering=0)

    def swap(self) -> None:
        """tacitd adds its line."""
        edit_file(self.path, add_line, disk=self.disk, guards=EditGuards(self.late))
        assert self.path.read_bytes() == AFTER

    def rewrite(self, data: bytes) -> None:
        """The editor saves in place, into the file that it has open."""
        self.writer.seek(0)
        self.writer.truncate()
        self.writer.write(data)

    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.late.check_due()

    @property
    def copies(self) -> dict[str, bytes]:
        """The files beside it, by name."""
        return {one.name: one.read_bytes() for one in self.path.parent.iterdir() if one != self.path}


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.late.close()
    made.writer.close()


def test_an_old_file_that_nobody_writes_into_is_given_up_after_a_minute(scene: Scene) -> None:
    """Its descriptor is closed, and nothing is beside the file."""
    scene.swap()
    assert scene.late.next_in() == FIRST
    scene.wait(FIRST)
    assert scene.late.next_in() == LAST - FIRST
    scene.wait(LAST)
    assert scene.late.next_in() is None and not scene.copies and not scene.late.recovered


@pytest.mark.parametrize("after", [FIRST, LAST])
@pytest.mark.parametrize("late", [b"# Mine\n", BEFORE + b"- two\n", b"# T\n\n## A\n- ten\n", b"\xff\x00"])
def test_what_is_written_late_is_saved_beside_the_file(scene: Scene, late: bytes, after: float) -> None:
    """Another version, an added line, one of the same length, bytes that are no text: all of it, with the file's mode."""
    scene.path.chmod(0o640)
    scene.swap()
    if after > FIRST:
        scene.wait(FIRST)
    scene.rewrite(late)
    scene.wait(after)
    copy = scene.path.with_name("LEARNED.md.tacitd-saved")
    assert scene.copies == {copy.name: late} and copy.stat().st_mode & 0o777 == 0o640
    assert scene.path.read_bytes() == AFTER
    assert scene.late.recovered == (RecoveredCopy(copy, scene.path),)
    again = LateWrites(scene.clock)
    again.find_copies([scene.path.parent, scene.path.parent / "gone"])
    assert again.recovered == (RecoveredCopy(copy, None),)
    copy.unlink()
    assert not scene.late.recovered and not again.recovered


@pytest.mark.parametrize("late", [b"", b" \n", AFTER])
def test_what_is_blank_or_in_the_file_is_not_saved(scene: Scene, late: bytes) -> None:
    """A truncation alone, and a version that the file has."""
    scene.swap()
    scene.rewrite(late)
    scene.wait(FIRST)
    scene.wait(LAST)
    assert not scene.copies and not scene.late.recovered


def test_a_version_that_was_half_written_is_whole_a_minute_later(scene: Scene) -> None:
    """The copy of the first look is replaced."""
    scene.swap()
    scene.rewrite(b"# Mi")
    scene.wait(FIRST)
    scene.writer.write(b"ne\n")
    scene.wait(LAST)
    assert scene.copies == {"LEARNED.md.tacitd-saved": b"# Mine\n"} and scene.late.next_in() is None


def test_a_copy_that_a_person_changed_stays(scene: Scene) -> None:
    """The next one has a number, and so has the next file's."""
    (scene.path.parent / "LEARNED.md.tacitd-saved-2").write_bytes(b"other")
    scene.swap()
    scene.rewrite(b"# One\n")
    scene.wait(FIRST)
    scene.path.with_name("LEARNED.md.tacitd-saved").write_bytes(b"theirs")
    scene.rewrite(b"# Two\n")
    scene.wait(LAST)
    assert scene.copies == {
        "LEARNED.md.tacitd-saved": b"theirs",
        "LEARNED.md.tacitd-saved-2": b"other",
        "LEARNED.md.tacitd-saved-3": b"# Two\n",
    }


def test_the_end_of_the_process_is_a_last_look(scene: Scene) -> None:
    """What came until then is saved."""
    scene.swap()
    scene.rewrite(b"# Mine\n")
    scene.late.close()
    assert list(scene.copies.values()) == [b"# Mine\n"] and scene.late.next_in() is None


def test_a_full_disk_loses_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY 3: the old file is kept until it can be saved."""
    scene.swap()
    scene.rewrite(b"# Mine\n")

    def refuse(path: Path, mode: int) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(scene.disk, "open_new", refuse)
        for _ in range(5):
            scene.wait(LAST)
        assert not scene.copies and scene.late.next_in() == LAST
    scene.wait(LAST)
    assert list(scene.copies.values()) == [b"# Mine\n"] and scene.late.next_in() is None


def test_an_old_file_with_another_name_is_left_alone(scene: Scene) -> None:
    """A backup by hard links: the write is meant for that name."""
    os.link(scene.path, scene.path.with_name("backup"))
    scene.swap()
    scene.rewrite(b"# Mine\n")
    scene.wait(LAST)
    assert scene.copies == {"backup": b"# Mine\n"} and not scene.late.recovered


def test_only_so_many_descriptors_are_kept(tmp_path: Path) -> None:
    """The oldest is checked early."""
    late, writers = LateWrites(FakeClock()), list[BinaryIO]()
    for number in range(AT_ONCE + 1):
        path = tmp_path / f"{number}.md"
        path.write_bytes(BEFORE)
        writers.append(path.open("r+b", buffering=0))
        if number == AT_ONCE:
            writers[0].write(b"# Mine")
        edit_file(path, add_line, guards=EditGuards(late))
    (copy,) = late.recovered
    assert copy.target == tmp_path / "0.md" and copy.path.read_bytes().startswith(b"# Mine")
    late.close()
    for writer in writers:
        writer.close()


def test_no_descriptor_left_for_it_is_no_reason_not_to_write(tmp_path: Path) -> None:
    """RELIABILITY 3, EMFILE: the swap succeeds, but late writes are not recovered."""

    class Few(FaultyDisk):
        def open_read(self, path: Path) -> int:
            if path.name.endswith(".old") and self.trail[-1] == "sync_dir":
                raise OSError(24, "Too many open files")
            return super().open_read(path)

    scene = Scene(tmp_path, Few())
    scene.swap()
    assert scene.late.next_in() is None and not scene.copies
    scene.writer.close()


@pytest.mark.undated
def test_a_crash_while_it_is_saved_leaves_the_whole_copy_or_none(tmp_path: Path) -> None:
    """RELIABILITY 2: the file is whole, and a copy that is there is reported at the next start."""
    for number in range(1, 40):
        box = tmp_path / str(number)
        box.mkdir()
        scene = Scene(box)
        scene.swap()
        scene.rewrite(b"# Mine\n")
        scene.disk.crash_at = len(scene.disk.trail) + number
        with suppress(Crash):
            scene.wait(LAST)
        scene.writer.close()
        assert scene.path.read_bytes() == AFTER
        after = LateWrites(scene.clock)
        after.find_copies([box])
        assert [one.path.read_bytes() for one in after.recovered] in ([], [b"# Mine\n"])
        if not scene.disk.dead:
            assert after.recovered and number > 4
            return
    raise AssertionError("more calls than were tried")


def test_what_a_crash_in_a_swap_left_behind_is_offered(tmp_path: Path) -> None:
    """DESIGN "Files": the person saved between the comparison and the swap, and the process ended before its check."""

    class Saved(FaultyDisk):
        def exchange(self, one: Path, other: Path) -> bool:
            if not self.crash_at:
                other.write_bytes(b"# T\n\n## A\n- mine\n")
                self.crash_at = len(self.trail) + 2
            return super().exchange(one, other)

    root = tmp_path / "app"
    root.mkdir()
    (root / "LEARNED.md").write_bytes(BEFORE)
    disk = Saved()
    with suppress(Crash):
        edit_file(root / "LEARNED.md", add_line, disk=disk)
    assert disk.dead
    late = LateWrites(FakeClock())
    edit_file(root / "LEARNED.md", lambda data: data if b"ours" in (data or b"") else add_line(data))
    late.find_copies([root])
    (left,) = late.recovered
    assert left.target is None and left.path.read_bytes() == b"# T\n\n## A\n- mine\n"
    assert (root / "LEARNED.md").read_bytes() == AFTER


def test_a_copy_that_cannot_be_examined_is_still_reported(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN "Priorities", 1: the project may be on a disk that is not there now."""
    scene.swap()
    scene.rewrite(b"# Mine\n")
    scene.late.close()
    (copy,) = scene.copies
    for error, reported in ((PermissionError(), [copy]), (FileNotFoundError(), [])):

        def refuse(path: Path, error: OSError = error) -> os.stat_result:
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(scene.disk, "stat", refuse)
            assert [one.path.name for one in scene.late.recovered] == reported


def test_our_own_leftovers_are_not_offered(tmp_path: Path) -> None:
    """Only a person's text is reported: tacitd's own leftovers of a crash are removed after a day."""
    for at in range(1, 40):
        box = tmp_path / str(at)
        box.mkdir()
        path, disk = box / "a.md", FaultyDisk(crash_at=at)
        path.write_bytes(BEFORE)
        with suppress(Crash):
            edit_file(path, add_line, disk=disk)
        late = LateWrites(FakeClock())
        late.find_copies([box])
        assert late.recovered == ()
        if not disk.dead:
            return
    raise AssertionError("more calls than were tried")


def test_a_file_that_was_swapped_in_its_truncation_loses_nothing(tmp_path: Path) -> None:
    """RELIABILITY 11: the person's complete version is beside the file."""
    path, clock = tmp_path / "LEARNED.md", FakeClock()
    late = LateWrites(clock)
    path.write_bytes(b"")
    with path.open("r+b", buffering=0) as writer:
        edit_file(path, add_line, guards=EditGuards(late))
        writer.write(BEFORE)
    clock.advance(FIRST)
    late.check_due()
    (copy,) = late.recovered
    assert copy.path.read_bytes() == BEFORE and b"- ours\n" in path.read_bytes()
    late.close()


def test_what_was_swapped_in_and_taken_back_is_checked(tmp_path: Path) -> None:
    """RELIABILITY 11: a person opened tacitd's version while it had the name, and saved into it."""
    path, held = tmp_path / "LEARNED.md", list[BinaryIO]()

    class Saved(FaultyDisk):
        def exchange(self, one: Path, other: Path) -> bool:
            if not held:
                other.write_bytes(BEFORE + b"- first save\n")
            done = super().exchange(one, other)
            if not held:
                held.append(path.open("ab", buffering=0))
            return done

    late = LateWrites(FakeClock())
    path.write_bytes(BEFORE)
    edit_file(path, add_line, disk=Saved(), guards=EditGuards(late))
    held[0].write(b"- second save\n")
    held[0].close()
    late.close()
    assert path.read_bytes() == BEFORE + b"- first save\n- ours\n"
    (copy,) = late.recovered
    assert copy.path.read_bytes() == AFTER + b"- second save\n"
