"""Files that are being edited: which wait, and that nothing is lost of what an editor writes late (DESIGN "Files", RELIABILITY 11)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import pytest

from support_editor_marks import open_in_editor
from support_faulty_disk import Crash, FaultyDisk
from tacitd.errors import FileBusyError
from tacitd.files.atomic import edit_file
from tacitd.files.editors import AGAIN, AT_ONCE, PATIENCE, REST, WATCHED, Editors
from tacitd.testing import FakeClock

BEFORE = b"# T\n\n## A\n- one\n"
AFTER = BEFORE + b"- ours\n"
SAVED = "LEARNED.md.tacitd-saved"


def add_line(data: bytes | None) -> bytes:
    return (data or b"") + b"- ours\n"


class Scene:
    """A file that an editor may have open while tacitd adds a line to it."""

    def __init__(self, box: Path, disk: FaultyDisk | None = None) -> None:
        self.clock = FakeClock()
        self.disk = disk or FaultyDisk()
        self.editors = Editors(self.clock, self.disk)
        self.path = box / "LEARNED.md"
        self.path.write_bytes(BEFORE)
        self.writer = self.path.open("r+b", buffering=0)

    def edit(self) -> bool:
        """tacitd adds its line."""
        return edit_file(self.path, add_line, disk=self.disk, editors=self.editors)

    def rewrite(self, data: bytes) -> None:
        """The editor saves in place, into the file that it has open."""
        self.writer.seek(0)
        self.writer.truncate()
        self.writer.write(data)

    def wait(self, seconds: float = 1.0) -> None:
        self.clock.advance(seconds)
        self.editors.check_old_files()

    def mark(self, name: str) -> Path:
        """An editor's mark, made now."""
        mark = self.path.with_name(name)
        mark.write_bytes(b"b0VIM 9.1")
        os.utime(mark, (self.clock.now(), self.clock.now()))
        return mark

    @property
    def copies(self) -> dict[str, bytes]:
        """The files beside it, by name."""
        return {one.name: one.read_bytes() for one in self.path.parent.iterdir() if one != self.path}


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.editors.close()
    made.writer.close()


# --- before a change


def test_a_file_that_was_just_truncated_waits(scene: Scene) -> None:
    """The file is not changed between an editor's truncation and the end of its write, and a whole file at once. An empty file, and
    one whose last line has no end, are once they are at rest."""
    for text, waits in ((b"", True), (BEFORE[:7], True), (BEFORE, False), (b"{}", False)):
        scene.path.write_bytes(text)
        os.utime(scene.path, (scene.clock.now(), scene.clock.now()))
        if waits:
            with pytest.raises(FileBusyError, match="just being written") as raised:
                scene.edit()
            assert raised.value.seconds == REST
            assert scene.path.read_bytes() == text and not scene.copies
            scene.clock.advance(REST)
        assert scene.edit() and scene.path.read_bytes() == text + b"- ours\n"


MARKS = (".LEARNED.md.swp", ".LEARNED.md.swo", ".LEARNED.md.swx", ".#LEARNED.md", "#LEARNED.md#")
OTHERS = "LEARNED.md.swp .LEARNED.md.swpx .LEARNED.md.sw .OTHER.md.swp .#OTHER.md LEARNED.md~"


@pytest.mark.parametrize("name", MARKS)
def test_an_editor_is_waited_for_until_it_closes(scene: Scene, name: str) -> None:
    """Nothing changes under an open buffer; the reason is available for `status`. A file that needs no change does not wait. Marks of
    other files, and names that only resemble one, mark nothing."""
    mark = scene.mark(name)
    for other in OTHERS.split():
        scene.mark(other)
    assert not edit_file(scene.path, lambda data: data, editors=scene.editors)
    with pytest.raises(FileBusyError, match=r"LEARNED\.md is open in an editor") as raised:
        scene.edit()
    assert raised.value.seconds == AGAIN
    assert scene.editors.list_open() == [(scene.path, mark)]
    mark.unlink()
    assert not scene.editors.list_open() and scene.edit()


def test_marks_of_odd_files(scene: Scene) -> None:
    """The link of Emacs leads nowhere: its own age counts. vim's mark of a hidden file has one dot."""
    open_in_editor(scene.path, scene.clock)
    with pytest.raises(FileBusyError):
        scene.edit()
    scene.clock.advance(PATIENCE)
    assert scene.edit()
    scene.path = scene.path.with_name(".notes.md")
    scene.path.write_bytes(BEFORE)
    scene.mark(".notes.md.swp")
    with pytest.raises(FileBusyError):
        scene.edit()


@pytest.mark.parametrize("seconds", [PATIENCE, -PATIENCE])
def test_an_old_mark_does_not_count(scene: Scene, seconds: float) -> None:
    """An editor that crashed blocks nothing for longer than ten minutes, also if the clock was set."""
    scene.mark(".LEARNED.md.swp")
    with pytest.raises(FileBusyError):
        scene.edit()
    scene.clock.jump(seconds)
    assert scene.edit() and not scene.editors.list_open()


# --- after a change


def test_an_old_file_is_given_up_after_a_minute(scene: Scene) -> None:
    """Its descriptor is closed, nothing is beside the file, and what is written then is lost."""
    scene.edit()
    scene.wait(WATCHED - 1)
    assert scene.disk.opened
    scene.wait()
    assert not scene.disk.opened
    scene.rewrite(b"# Mine\n")
    scene.wait()
    assert not scene.copies and not scene.editors.list_copies()


@pytest.mark.parametrize("late", [b"# Mine\n", BEFORE + b"- two\n", b"# T\n\n## A\n- ten\n", b"\xff\x00"])
@pytest.mark.parametrize("after", [1.0, WATCHED])
def test_what_is_written_late_is_saved_beside_the_file(scene: Scene, late: bytes, after: float) -> None:
    """Another version, an added line, one of the same length, bytes that are no text: all of it, with the file's mode."""
    scene.path.chmod(0o640)
    scene.edit()
    scene.rewrite(late)
    scene.wait(after)
    copy = scene.path.with_name(SAVED)
    assert scene.copies == {copy.name: late} and copy.stat().st_mode & 0o777 == 0o640
    assert scene.path.read_bytes() == AFTER and scene.editors.list_copies() == [(copy, scene.path)]
    again = Editors(scene.clock)
    again.find_copies([scene.path.parent, scene.path.parent / "gone"])
    assert again.list_copies() == [(copy, None)]
    copy.unlink()
    assert not scene.editors.list_copies() and not again.list_copies()


@pytest.mark.parametrize("late", [b"", b" \n", AFTER])
def test_what_is_blank_or_in_the_file_is_not_saved(scene: Scene, late: bytes) -> None:
    """A truncation alone, and a version that the file has."""
    scene.edit()
    scene.rewrite(late)
    scene.wait()
    scene.wait(WATCHED)
    assert not scene.copies and not scene.editors.list_copies()


def test_each_version_has_a_copy_of_its_own(scene: Scene) -> None:
    """No copy is written over, also none that a person changed."""
    scene.path.with_name(f"{SAVED}-2").write_bytes(b"other")
    scene.edit()
    scene.rewrite(b"# Mi")
    scene.wait()
    scene.writer.write(b"ne\n")
    scene.wait()
    scene.editors.close()
    assert scene.copies == {SAVED: b"# Mi", f"{SAVED}-2": b"other", f"{SAVED}-3": b"# Mine\n"}
    assert not scene.disk.opened


def test_a_full_disk_loses_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY 3: the old file is kept until it can be saved."""
    scene.edit()
    scene.rewrite(b"# Mine\n")

    def refuse(path: Path, mode: int) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(scene.disk, "open_new", refuse)
        for _ in range(5):
            scene.wait(WATCHED)
        assert not scene.copies and scene.disk.opened
    scene.wait(WATCHED)
    assert list(scene.copies.values()) == [b"# Mine\n"] and not scene.disk.opened


def test_an_old_file_with_another_name_is_left_alone(scene: Scene) -> None:
    """A backup by hard links: the write is meant for that name."""
    os.link(scene.path, scene.path.with_name("backup"))
    scene.edit()
    scene.rewrite(b"# Mine\n")
    scene.wait(WATCHED)
    assert scene.copies == {"backup": b"# Mine\n"} and not scene.editors.list_copies()


def test_only_so_many_descriptors_are_kept(tmp_path: Path) -> None:
    """The oldest is checked early."""
    editors, writers = Editors(FakeClock()), list[BinaryIO]()
    for number in range(AT_ONCE + 1):
        path = tmp_path / f"{number}.md"
        path.write_bytes(BEFORE)
        writers.append(path.open("r+b", buffering=0))
        if number == AT_ONCE:
            writers[0].write(b"# Mine")
        edit_file(path, add_line, editors=editors)
    ((copy, target),) = editors.list_copies()
    assert target == tmp_path / "0.md" and copy.read_bytes().startswith(b"# Mine")
    editors.close()
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
    assert scene.edit() and not scene.disk.opened and not scene.copies
    scene.writer.close()


def test_what_a_crash_in_a_swap_left_behind_is_offered(tmp_path: Path) -> None:
    """DESIGN "Files": the person saved between the comparison and the swap, and the process ended before its check."""

    class Saved(FaultyDisk):
        def exchange(self, one: Path, other: Path) -> bool:
            if not self.crash_at:
                other.write_bytes(b"# T\n\n## A\n- mine\n")
                self.crash_at = len(self.trail) + 2
            return super().exchange(one, other)

    path = tmp_path / "LEARNED.md"
    path.write_bytes(BEFORE)
    disk = Saved()
    with suppress(Crash):
        edit_file(path, add_line, disk=disk)
    assert disk.dead and path.read_bytes() == AFTER
    editors = Editors(FakeClock())
    editors.find_copies([tmp_path])
    ((copy, target),) = editors.list_copies()
    assert target is None and copy.read_bytes() == b"# T\n\n## A\n- mine\n"


def test_a_copy_that_cannot_be_examined_is_still_reported(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN "Priorities", 1: the project may be on a disk that is not there now."""
    scene.edit()
    scene.rewrite(b"# Mine\n")
    scene.editors.close()
    for error, reported in ((PermissionError(), [SAVED]), (FileNotFoundError(), [])):

        def refuse(path: Path, error: OSError = error) -> os.stat_result:
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(scene.disk, "stat", refuse)
            assert [copy.name for copy, _ in scene.editors.list_copies()] == reported


def test_what_was_swapped_in_and_taken_back_is_checked(tmp_path: Path) -> None:
    """A person opened tacitd's version while it had the name, and saved into it."""
    path, held = tmp_path / "LEARNED.md", list[BinaryIO]()

    class Saved(FaultyDisk):
        def exchange(self, one: Path, other: Path) -> bool:
            if not held:
                other.write_bytes(BEFORE + b"- first save\n")
            done = super().exchange(one, other)
            if not held:
                held.append(path.open("ab", buffering=0))
            return done

    editors = Editors(FakeClock())
    path.write_bytes(BEFORE)
    edit_file(path, add_line, disk=Saved(), editors=editors)
    held[0].write(b"- second save\n")
    held[0].close()
    editors.close()
    assert path.read_bytes() == BEFORE + b"- first save\n- ours\n"
    ((copy, _),) = editors.list_copies()
    assert copy.read_bytes() == AFTER + b"- second save\n"


def test_our_own_leftovers_are_not_offered(tmp_path: Path) -> None:
    """Only a person's text is reported: tacitd's own leftovers of a crash are removed after a day."""
    for at in range(1, 40):
        box = tmp_path / str(at)
        box.mkdir()
        path, disk = box / "a.md", FaultyDisk(crash_at=at)
        path.write_bytes(BEFORE)
        with suppress(Crash):
            edit_file(path, add_line, disk=disk)
        editors = Editors(FakeClock())
        editors.find_copies([box])
        assert editors.list_copies() == []
        if not disk.dead:
            return
    raise AssertionError("more calls than were tried")
