"""Files that are being edited: which ones wait, and for how long (DESIGN "Files", RELIABILITY 11)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support_editor_marks import open_in_editor
from tacitd.errors import FileBusyError
from tacitd.files.busy_files import AGAIN, PATIENCE, REST, BusyFiles
from tacitd.files.replaced import EditGuards, edit_file
from tacitd.testing import FakeClock

TEXT = b"# T\n\n## A\n- one\n"


class Editing:
    """A file, an editor that marks it as open or not, and an edit by tacitd."""

    def __init__(self, box: Path) -> None:
        self.clock = FakeClock()
        self.busy = BusyFiles(self.clock)
        self.path = box / "LEARNED.md"
        self.path.write_bytes(TEXT)

    def edit(self) -> bool:
        """Add a line to the file."""
        return edit_file(
            self.path, lambda data: (data or b"") + b"- ours\n", guards=EditGuards(None, self.busy)
        )

    def mark(self, name: str) -> Path:
        """An editor's mark, made now."""
        mark = self.path.with_name(name)
        mark.write_bytes(b"b0VIM 9.1")
        os.utime(mark, (self.clock.now(), self.clock.now()))
        return mark


@pytest.fixture
def scene(tmp_path: Path) -> Editing:
    return Editing(tmp_path)


def test_a_file_that_was_just_truncated_waits(scene: Editing) -> None:
    """RELIABILITY 11: the file is not changed between an editor's truncation and its write, and an empty file is."""
    scene.path.write_bytes(b"")
    os.utime(scene.path, (scene.clock.now(), scene.clock.now()))
    with pytest.raises(FileBusyError, match="just being written") as raised:
        scene.edit()
    assert raised.value.seconds == REST and not raised.value.editor
    assert scene.path.read_bytes() == b"" and os.listdir(scene.path.parent) == ["LEARNED.md"]
    scene.clock.advance(REST)
    assert scene.edit() and scene.path.read_bytes() == b"- ours\n"


def test_a_save_does_not_wait(scene: Editing) -> None:
    """DESIGN "Priorities", 4: a save of a whole file causes no wait."""
    scene.path.write_bytes(TEXT[:7])
    os.utime(scene.path, (scene.clock.now(), scene.clock.now()))
    assert scene.edit()


@pytest.mark.parametrize(
    "name", [".LEARNED.md.swp", ".LEARNED.md.swo", ".LEARNED.md.swx", ".#LEARNED.md", "#LEARNED.md#"]
)
def test_an_editor_is_waited_for_until_it_closes(scene: Editing, name: str) -> None:
    """RELIABILITY 11: nothing changes under an open buffer; the reason is available for `status`."""
    mark = scene.mark(name)
    with pytest.raises(FileBusyError, match=r"LEARNED\.md is open in an editor") as raised:
        scene.edit()
    assert raised.value.seconds == AGAIN and raised.value.editor == name
    (waiting,) = scene.busy.list_waiting()
    assert (waiting.path, waiting.mark) == (scene.path, mark)
    mark.unlink()
    assert not scene.busy.list_waiting() and scene.edit()


def test_the_link_of_emacs_leads_nowhere(scene: Editing) -> None:
    """Its own age counts."""
    open_in_editor(scene.path, scene.clock)
    with pytest.raises(FileBusyError):
        scene.edit()
    scene.clock.advance(PATIENCE)
    assert scene.edit()


@pytest.mark.parametrize(
    "name",
    ["LEARNED.md.swp", ".LEARNED.md.swpx", ".LEARNED.md.sw", ".OTHER.md.swp", ".#OTHER.md", "LEARNED.md~"],
)
def test_other_files_mark_nothing(scene: Editing, name: str) -> None:
    """Marks of other files, backups, and names that only resemble one."""
    scene.mark(name)
    assert scene.edit()


def test_a_hidden_file_has_a_mark_with_one_dot(tmp_path: Path) -> None:
    """vim's name for the swap file of `.notes.md`."""
    scene = Editing(tmp_path)
    scene.path = tmp_path / ".notes.md"
    scene.path.write_bytes(TEXT)
    scene.mark(".notes.md.swp")
    with pytest.raises(FileBusyError):
        scene.edit()


@pytest.mark.parametrize("seconds", [PATIENCE, -PATIENCE])
def test_an_old_mark_does_not_count(scene: Editing, seconds: float) -> None:
    """An editor that crashed blocks nothing for longer than ten minutes, also if the clock was set."""
    scene.mark(".LEARNED.md.swp")
    with pytest.raises(FileBusyError):
        scene.edit()
    scene.clock.jump(seconds)
    assert scene.edit() and not scene.busy.list_waiting()


def test_a_file_that_needs_no_change_does_not_wait(scene: Editing) -> None:
    """The mark is looked for after the change is known."""
    scene.mark(".LEARNED.md.swp")
    assert not edit_file(scene.path, lambda data: data, guards=EditGuards(None, scene.busy))
