"""Files that are being edited: which ones wait, and for how long (DESIGN "Files", RELIABILITY 11)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tacitd.errors import FileBusyError, FileRefusedError
from tacitd.files.busy_files import (
    AGAIN,
    OPEN_FOR,
    PATIENCE,
    REST,
    RESTLESS_LIMIT,
    BusyFiles,
    retry_while_changing,
)
from tacitd.files.follow_up import FollowUp
from tacitd.files.late_writes import LOOKS, LateWrites
from tacitd.files.log import Log
from tacitd.files.operations import PutLine
from tacitd.files.replaced import EditGuards, edit_file
from tacitd.files.transaction import History
from tacitd.testing import FakeClock, FaultyDisk

TEXT = b"# T\n\n## A\n- one\n"
AGO = 3600 * 10**9


class Editing:
    """A file, an editor whose process runs or not, and an edit by tacitd."""

    def __init__(self, box: Path) -> None:
        self.clock = FakeClock()
        self.disk = FaultyDisk()
        self.alive = {4711}
        self.busy = BusyFiles(self.clock, self.disk, is_alive=lambda pid: pid in self.alive, host="here")
        self.path = box / "LEARNED.md"
        self.lock = box / ".#LEARNED.md"
        self.path.write_bytes(TEXT)

    def edit(self) -> bool:
        """Add a line to the file."""
        return edit_file(
            self.path,
            lambda data: (data or b"") + b"- ours\n",
            disk=self.disk,
            guards=EditGuards(None, self.busy),
        )

    def open_editor(self, owner: str = "me@here.4711:1") -> None:
        self.lock.symlink_to(owner)

    def see(self) -> None:
        """tacitd checks the file once and changes nothing."""
        assert not edit_file(self.path, lambda _: None, guards=EditGuards(None, self.busy))

    def age(self) -> None:
        """Make the file an hour old by the file system's clock."""
        at = os.stat(self.path.parent).st_mtime_ns - AGO
        os.utime(self.path, ns=(at, at))


@pytest.fixture
def scene(tmp_path: Path) -> Editing:
    return Editing(tmp_path)


def test_a_file_that_tacitd_removed_is_not_waited_for(scene: Editing) -> None:
    """Only what others remove may be about to be written anew."""
    scene.see()
    scene.path.unlink()
    scene.busy.note_removed(scene.path)
    assert scene.edit()


def test_a_file_that_was_just_truncated_waits(scene: Editing) -> None:
    """RELIABILITY 11: the file is not changed between an editor's truncation and its write."""
    scene.path.write_bytes(b"")
    with pytest.raises(FileBusyError, match="just being written") as raised:
        scene.edit()
    assert raised.value.seconds == REST and not raised.value.editor
    assert scene.path.read_bytes() == b"" and os.listdir(scene.path.parent) == ["LEARNED.md"]
    scene.path.write_bytes(TEXT)
    with pytest.raises(FileBusyError):
        scene.edit()
    scene.clock.advance(REST)
    assert scene.edit() and scene.path.read_bytes() == TEXT + b"- ours\n"


def test_a_file_that_became_shorter_waits(scene: Editing) -> None:
    """A file that just became shorter waits; one that was shortened long ago does not."""
    scene.see()
    scene.path.write_bytes(TEXT[:7])
    with pytest.raises(FileBusyError):
        scene.edit()
    scene.age()
    assert scene.edit() and scene.path.read_bytes() == TEXT[:7] + b"- ours\n"


def test_a_file_that_disappeared_waits(scene: Editing) -> None:
    """Editors that rename the old file away, or remove it, before they write the new one."""
    scene.see()
    scene.path.unlink()
    with pytest.raises(FileBusyError):
        scene.edit()
    scene.clock.advance(REST)
    assert scene.edit() and scene.path.read_bytes() == b"- ours\n"


@pytest.mark.parametrize("size", [TEXT, TEXT * 2])
def test_a_complete_save_does_not_wait(scene: Editing, size: bytes) -> None:
    """DESIGN "Priorities", 4: a save of a whole file causes no wait, and neither does what tacitd wrote itself."""
    scene.see()
    scene.path.write_bytes(size)
    assert scene.edit() and scene.edit()
    assert edit_file(scene.path, lambda _: b"- short\n", guards=EditGuards(None, scene.busy)) and scene.edit()


def test_a_file_that_keeps_changing_is_not_waited_for_long(scene: Editing) -> None:
    """After five seconds the file is changed; compare-and-swap is the only protection then."""
    scene.path.write_bytes(b"")
    waited = 0
    while True:
        scene.path.unlink()
        scene.path.write_bytes(b"")
        try:
            assert scene.edit()
            break
        except FileBusyError:
            waited += 1
            scene.clock.advance(0.5)
    assert waited == RESTLESS_LIMIT / 0.5


@pytest.mark.parametrize("jump", [-400 * 86400.0, 400 * 86400.0])
def test_a_clock_that_jumps_changes_nothing(scene: Editing, jump: float) -> None:
    """RELIABILITY 12: only the file system's clock and the monotonic clock are used."""
    scene.path.write_bytes(b"")
    os.utime(scene.path, ns=(2**62, 2**62))
    with pytest.raises(FileBusyError):
        scene.edit()
    scene.clock.jump(jump)
    with pytest.raises(FileBusyError):
        scene.edit()
    scene.clock.advance(REST)
    assert scene.edit()


def test_an_editor_is_waited_for_until_it_closes(scene: Editing) -> None:
    """RELIABILITY 11: nothing changes under an open buffer; the reason is available for `status`."""
    scene.open_editor()
    with pytest.raises(FileBusyError, match=r"LEARNED\.md is open in Emacs") as raised:
        scene.edit()
    assert raised.value.seconds == AGAIN and raised.value.editor == "Emacs"
    (waiting,) = scene.busy.list_waiting()
    assert (waiting.path, waiting.editor) == (scene.path, "Emacs")
    scene.lock.unlink()
    assert not scene.busy.list_waiting() and scene.edit()


def test_an_editor_is_not_waited_for_for_ever(scene: Editing) -> None:
    """Lines are written within ten minutes; further edits of the same work item do not wait again, those of the next do."""
    scene.open_editor()
    for _ in range(int(PATIENCE / AGAIN)):
        with pytest.raises(FileBusyError):
            scene.edit()
        scene.clock.advance(AGAIN)
    assert scene.edit() and scene.edit() and not scene.busy.list_waiting()
    scene.clock.advance(OPEN_FOR)
    with pytest.raises(FileBusyError):
        scene.edit()


def test_a_lock_of_a_process_that_ended_is_nothing(scene: Editing) -> None:
    """A vim that crashed blocks nothing."""
    scene.open_editor()
    scene.alive.clear()
    assert scene.edit()


@pytest.mark.parametrize("owner", ["me@elsewhere.4711:1", "nobody"])
def test_a_lock_without_a_process_here_counts_while_it_is_young(scene: Editing, owner: str) -> None:
    """Over NFS, and for editors that name no process, a lock counts for ten minutes after it was written."""
    scene.open_editor(owner)
    with pytest.raises(FileBusyError):
        scene.edit()
    scene.clock.advance(PATIENCE)
    assert scene.edit()
    scene.clock.advance(OPEN_FOR * 10)
    assert scene.edit()
    at = os.stat(scene.path.parent).st_mtime_ns - AGO
    old = BusyFiles(scene.clock, host="here")
    os.utime(scene.lock, ns=(at, at), follow_symlinks=False)
    assert edit_file(scene.path, lambda data: (data or b"") + b"x\n", guards=EditGuards(None, old))


def test_a_leftover_of_a_save_counts_for_a_second(scene: Editing) -> None:
    """vim's 4913 and the temporary files of JetBrains' editors exist only during a save."""
    (scene.path.parent / "4913").touch()
    with pytest.raises(FileBusyError):
        scene.edit()
    scene.clock.advance(REST)
    assert scene.edit()


def test_a_moment_is_waited_for_at_once(scene: Editing) -> None:
    """`retry_while_changing` sleeps the stated seconds, up to the limit; it does not wait for an editor."""
    slept: list[float] = []

    def fail() -> None:
        raise FileBusyError("x", seconds=1.0)

    with pytest.raises(FileBusyError):
        retry_while_changing(fail, slept.append)
    assert sum(slept) == RESTLESS_LIMIT
    scene.open_editor()
    with pytest.raises(FileBusyError):
        retry_while_changing(scene.edit, slept.append)
    assert sum(slept) == RESTLESS_LIMIT


def test_a_transaction_waits_and_is_finished_when_the_editor_closes(scene: Editing, tmp_path: Path) -> None:
    """The transaction is recorded, survives the process, and is finished when the file is free."""
    root, log = tmp_path, tmp_path / "state" / "history.jsonl"
    second = LateWrites(scene.clock)
    history = History(Log(log), scene.clock, guards=EditGuards(second, scene.busy))
    scene.open_editor()
    with pytest.raises(FileBusyError, match="open in Emacs"):
        history.run_transaction(root, [PutLine(scene.path, "A", "ours", "T")], {}, "k")
    (pending,) = history.pending
    assert pending.busy and history.has_busy and scene.path.read_bytes() == TEXT
    with pytest.raises(FileBusyError):
        history.run_transaction(root, [PutLine(scene.path, "A", "more", "T")], {}, "k2")
    with pytest.raises(FileBusyError):
        history.check_editable(root, scene.path)
    again = History(Log(log), scene.clock, guards=EditGuards(second, scene.busy))
    assert again.recover() == [] and again.has_busy
    follow_up = FollowUp(second, again, lambda _: True)
    assert follow_up.run_once() == AGAIN
    scene.lock.unlink()
    assert follow_up.run_once() == LOOKS[0] and not again.pending
    assert scene.path.read_bytes() == TEXT + b"- ours\n"
    again.check_editable(root, scene.path)


def test_a_refused_transaction_is_not_tried_every_few_seconds(scene: Editing, tmp_path: Path) -> None:
    """Only a transaction that waits for an editor is retried then; the others have their own times."""
    history = History(Log(tmp_path / "s" / "h.jsonl"), scene.clock, guards=EditGuards(None, scene.busy))
    scene.open_editor()
    with pytest.raises(FileBusyError):
        history.run_transaction(tmp_path, [PutLine(scene.path, "A", "ours", "T")], {}, "k")
    scene.path.write_bytes(b"<<<<<<< x\n" + TEXT)
    scene.lock.unlink()
    assert history.recover(only_busy=True) == [] and not history.has_busy and len(history.pending) == 1
    with pytest.raises(FileRefusedError, match="conflict"):
        history.run_transaction(tmp_path, [PutLine(scene.path, "A", "ours", "T")], {}, "k")
