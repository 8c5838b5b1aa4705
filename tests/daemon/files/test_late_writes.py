"""Late writes, with real writers that have the old descriptor (DESIGN "Files", X-07, RELIABILITY 11)."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import pytest

from tacitd.errors import FileRefusedError
from tacitd.files import late_writes
from tacitd.files.late_writes import AT_ONCE, KEEP, LateWrites, RecoveredCopy
from tacitd.files.log import Log
from tacitd.files.operations import PutLine
from tacitd.files.replaced import EditGuards, edit_file
from tacitd.files.temporary import STALE, sweep_temporary
from tacitd.files.transaction import History
from tacitd.testing import Crash, FakeClock, FaultyDisk

BEFORE = b"# T\n\n## A\n- one\n"
AFTER = b"# T\n\n## A\n- one\n- ours\n"


class Scene:
    """A file, a writer that has it open, and a swap by tacitd."""

    def __init__(self, box: Path, disk: FaultyDisk | None = None) -> None:
        self.clock = FakeClock()
        self.disk = disk or FaultyDisk()
        self.second = LateWrites(self.clock, self.disk)
        self.path = box / "LEARNED.md"
        self.path.write_bytes(BEFORE)
        self.writer: BinaryIO = self.path.open("r+b", buffering=0)

    def swap(self) -> None:
        """Swap in tacitd's version; the writer still has the old file."""
        assert edit_file(
            self.path, lambda data: (data or b"") + b"- ours\n", disk=self.disk, second=self.second
        )
        assert self.path.read_bytes() == AFTER and self.second.next_in() is not None

    def append(self, data: bytes) -> None:
        self.writer.seek(0, os.SEEK_END)
        self.writer.write(data)

    def rewrite(self, data: bytes) -> None:
        self.writer.seek(0)
        self.writer.truncate()
        self.writer.write(data)

    def later(self) -> None:
        """Let the minute pass."""
        self.clock.advance(KEEP)
        self.second.check_due()

    @property
    def beside(self) -> list[Path]:
        return [path for path in sorted(self.path.parent.iterdir()) if path != self.path]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.writer.close()
    made.second.close()


def test_nothing_came_and_the_descriptor_is_given_back(scene: Scene) -> None:
    """DESIGN "Priorities", 2: one minute, one descriptor, and nothing is written."""
    scene.swap()
    scene.clock.advance(KEEP - 1)
    scene.second.check_due()
    assert scene.second.next_in() is not None
    calls = len(scene.disk.trail)
    scene.clock.advance(1)
    scene.second.check_due()
    assert scene.second.next_in() is None and len(scene.disk.trail) == calls
    assert scene.path.read_bytes() == AFTER and not scene.beside and not scene.second.recovered
    assert not scene.disk.opened


@pytest.mark.parametrize("crlf", [False, True])
def test_lines_that_were_only_added_are_added_to_the_file(scene: Scene, crlf: bool) -> None:
    """DESIGN "Priorities", 1: `>>` of a shell that opened the file before the swap."""
    newline = b"\r\n" if crlf else b"\n"
    scene.swap()
    scene.append(b"- late" + newline)
    scene.later()
    assert scene.path.read_bytes() == AFTER + b"- late" + newline
    assert not scene.beside and not scene.second.recovered
    scene.append(b"- later still" + newline)
    scene.later()
    assert scene.path.read_bytes() == AFTER + b"- late" + newline + b"- later still" + newline
    scene.later()
    assert scene.second.next_in() is None and not scene.disk.opened


def test_what_came_is_put_on_top_of_what_stands_there_by_then(scene: Scene) -> None:
    """X-07: a person saved meanwhile too; the lines of both versions are in the file."""
    scene.swap()
    scene.append(b"- late\n")
    scene.path.write_bytes(b"# T\n\n## A\n- mine")
    scene.later()
    assert scene.path.read_bytes() == b"# T\n\n## A\n- mine\n- late\n"


@pytest.mark.parametrize(
    "late", [b"# Mine\n\n- all new\n", b"# T\n\n## A\n- one, but better\n", BEFORE[:-1] + b" more\n"]
)
def test_another_version_is_kept_beside_and_said_until_it_is_gone(scene: Scene, late: bytes) -> None:
    """DESIGN "Files": a person's bytes are never discarded, and only the person can decide which version is right."""
    scene.path.chmod(0o640)
    scene.swap()
    scene.rewrite(late)
    scene.later()
    assert scene.path.read_bytes() == AFTER
    (copy,) = scene.beside
    assert copy.read_bytes() == late and copy.stat().st_mode & 0o777 == 0o640
    assert list(scene.second.recovered) == [RecoveredCopy(copy, scene.path)]
    scene.later()
    sweep_temporary(scene.path.parent, copy.stat().st_ctime + 10 * STALE, scene.disk)
    assert scene.beside == [copy]
    copy.unlink()
    assert not scene.second.recovered


@pytest.mark.parametrize("late", [AFTER, b"", b"\n \n"])
def test_what_says_nothing_else_leaves_no_copy(scene: Scene, late: bytes) -> None:
    """DESIGN "Priorities", 2: the same text again, or an emptied file, is not kept."""
    scene.swap()
    scene.rewrite(late)
    scene.later()
    assert scene.path.read_bytes() == AFTER and not scene.beside and not scene.second.recovered


def test_a_file_that_is_gone_by_then_is_not_made_again(scene: Scene) -> None:
    """S-28: the person removed the file on purpose; what was appended is kept in a copy."""
    scene.swap()
    scene.append(b"- late\n")
    scene.path.unlink()
    scene.later()
    (copy,) = scene.beside
    assert not scene.path.exists() and copy.read_bytes() == BEFORE + b"- late\n"


def test_one_writer_leaves_one_copy(scene: Scene) -> None:
    """DESIGN "Priorities", 2: a program that writes its version repeatedly leaves one copy; one that a person changed is kept."""
    scene.swap()
    for text in (b"one\n", b"two\n", b"three\n"):
        scene.rewrite(text)
        scene.later()
        (copy,) = scene.beside
        assert copy.read_bytes() == text
    copy.write_bytes(b"three, and mine\n")
    scene.rewrite(b"four\n")
    scene.later()
    assert sorted(path.read_bytes() for path in scene.beside) == [b"four\n", b"three, and mine\n"]
    assert [one.path for one in scene.second.recovered] == scene.beside


def test_leaving_keeps_beside_what_cannot_be_added(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN "Priorities", 1: after the last check there is no other."""
    scene.swap()
    scene.append(b"- late\n")

    def refuse(*_: object, **__: object) -> bool:
        raise FileRefusedError("someone keeps editing")

    monkeypatch.setattr(late_writes, "edit_file", refuse)
    scene.second.close()
    (copy,) = scene.beside
    assert scene.path.read_bytes() == AFTER and copy.read_bytes() == BEFORE + b"- late\n"


def test_leaving_makes_no_copy_where_nothing_came(scene: Scene) -> None:
    """The old file has the bytes that tacitd saw, so no copy of them is needed."""
    scene.swap()
    scene.second.close()
    assert scene.beside == [] and scene.path.read_bytes() == AFTER


def test_leaving_keeps_what_has_the_same_length(scene: Scene) -> None:
    """DESIGN "Priorities", 1: another version of the same size is found by its digest."""
    scene.swap()
    late = BEFORE.replace(b"one", b"two")
    scene.rewrite(late)
    scene.second.close()
    (copy,) = scene.beside
    assert scene.path.read_bytes() == AFTER and copy.read_bytes() == late


def test_a_late_write_is_looked_at_again_after_a_second(scene: Scene) -> None:
    """It may be half written: it is recovered when it is the same at two checks a second apart, not earlier."""
    scene.swap()
    scene.append(b"- la")
    scene.clock.advance(scene.second.next_in() or 0.0)
    scene.second.check_due()
    assert scene.second.next_in() == pytest.approx(late_writes.REST)
    scene.append(b"te\n")
    scene.clock.advance(late_writes.REST)
    scene.second.check_due()
    assert scene.path.read_bytes() == AFTER and scene.second.next_in() == pytest.approx(late_writes.REST)
    scene.clock.advance(late_writes.REST)
    scene.second.check_due()
    assert scene.path.read_bytes() == AFTER + b"- late\n"


def test_what_cannot_be_written_now_is_tried_again_in_a_minute(scene: Scene) -> None:
    """RELIABILITY 3: no loop while the disk is full."""
    scene.swap()
    scene.append(b"- late\n")
    scene.disk.fail_again(1, errno.ENOSPC)
    scene.disk.lasting = True
    scene.later()
    assert scene.path.read_bytes() == AFTER and scene.second.next_in() == KEEP
    scene.disk.mend()
    scene.later()
    assert scene.path.read_bytes() == AFTER + b"- late\n"


def test_a_backup_by_hard_links_is_a_file_of_its_own(scene: Scene) -> None:
    """`cp -al`: a write into the copy is meant for the copy."""
    copy = scene.path.with_name("copy.md")
    os.link(scene.path, copy)
    scene.swap()
    scene.append(b"- late\n")
    scene.later()
    assert scene.path.read_bytes() == AFTER and copy.read_bytes() == BEFORE + b"- late\n"
    assert scene.beside == [copy] and scene.second.next_in() is None and not scene.disk.opened


def test_without_a_swap_the_old_file_is_kept_as_well(tmp_path: Path) -> None:
    """DESIGN "Files": compare-then-replace where the system cannot exchange."""

    class NoSwap(FaultyDisk):
        def exchange(self, one: Path, other: Path) -> bool:
            return False

    scene = Scene(tmp_path, NoSwap())
    scene.swap()
    scene.append(b"- late\n")
    scene.later()
    assert scene.path.read_bytes() == AFTER + b"- late\n"
    scene.writer.close()
    scene.second.close()


def test_leaving_looks_at_all_of_them_at_once(scene: Scene) -> None:
    """DESIGN "Service": at the end of the process everything is checked."""
    scene.swap()
    scene.append(b"- late\n")
    scene.second.close()
    assert scene.path.read_bytes() == AFTER + b"- late\n"
    assert scene.second.next_in() is None and not scene.disk.opened


def test_descriptors_are_bounded(tmp_path: Path) -> None:
    """RELIABILITY 18: the oldest is checked early, and what was written until then is not lost."""
    scene = Scene(tmp_path)
    scene.swap()
    scene.append(b"- late\n")
    for number in range(AT_ONCE):
        path = tmp_path / f"{number}.md"
        path.write_bytes(b"x\n")
        edit_file(path, lambda data: (data or b"") + b"y\n", disk=scene.disk, second=scene.second)
        assert len(scene.disk.opened) <= AT_ONCE
    assert scene.path.read_bytes() == AFTER + b"- late\n"
    scene.writer.close()
    scene.second.close()
    assert not scene.disk.opened


def test_a_full_disk_is_waited_for(tmp_path: Path) -> None:
    """RELIABILITY 3: each call of a recovery fails once; a minute later all of it is in the file, once."""
    for late, whole in ((b"- late\n", AFTER + b"- late\n"), (None, AFTER)):
        for number in range(1, 40):
            box = tmp_path / f"{late is None}{number}"
            box.mkdir()
            scene = Scene(box)
            scene.swap()
            scene.append(late) if late is not None else scene.rewrite(b"# Mine\n")
            before = len(scene.disk.trail)
            scene.disk.fail_at = before + number
            for _ in range(4):
                scene.later()
            scene.writer.close()
            scene.second.close()
            assert scene.path.read_bytes() == whole
            assert [path.read_bytes() for path in scene.beside] == ([] if late else [b"# Mine\n"])
            assert not scene.disk.opened
            if len(scene.disk.trail) - before < number:
                assert number > 4
                break
        else:
            raise AssertionError("more calls than were tried")


def test_a_crash_during_the_second_look_loses_at_most_what_the_kernel_held(tmp_path: Path) -> None:
    """RELIABILITY 2: the file is whole, and a copy that was begun is reported at the next start."""
    for number in range(1, 40):
        box = tmp_path / str(number)
        box.mkdir()
        scene = Scene(box)
        scene.swap()
        scene.rewrite(b"# Mine\n")
        scene.disk.crash_at = len(scene.disk.trail) + number
        with suppress(Crash):
            scene.later()
        scene.writer.close()
        assert scene.path.read_bytes() == AFTER
        after = LateWrites(scene.clock)
        after.find_copies([box])
        assert [one.path for one in after.recovered] == [p for p in scene.beside if p.read_bytes()]
        if not scene.disk.dead:
            assert number > 4
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
    state, disk = tmp_path / "history.jsonl", Saved()
    with suppress(Crash):
        History(Log(state, disk), FakeClock(), disk).run_transaction(
            root, [PutLine(root / "LEARNED.md", "A", "ours", "T")], {}, "k"
        )
    assert disk.dead
    history, second = History(Log(state), FakeClock()), LateWrites(FakeClock())
    history.recover()
    second.find_copies(history.list_directories())
    (left,) = second.recovered
    assert left.target is None and left.path.read_bytes() == b"# T\n\n## A\n- mine\n"
    assert (root / "LEARNED.md").read_bytes() == AFTER


def test_a_copy_that_cannot_be_looked_at_is_still_reported(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN "Priorities", 1: the project may be on a disk that is not there now."""
    scene.swap()
    scene.rewrite(b"# Mine\n")
    scene.second.close()
    (copy,) = scene.beside
    for error, reported in ((PermissionError(), [copy]), (FileNotFoundError(), [])):

        def refuse(path: Path, error: OSError = error) -> os.stat_result:
            raise error

        monkeypatch.setattr(scene.disk, "stat", refuse)
        assert [one.path for one in scene.second.recovered] == reported


def test_our_own_leftovers_are_not_offered(tmp_path: Path) -> None:
    """Only a person's text is reported: tacitd's own leftovers of a crash are removed after a day."""
    for at in range(1, 40):
        box = tmp_path / str(at)
        box.mkdir()
        path, disk = box / "a.md", FaultyDisk(crash_at=at)
        path.write_bytes(BEFORE)
        with suppress(Crash):
            edit_file(path, lambda data: (data or b"") + b"- ours\n", disk=disk)
        second = LateWrites(FakeClock())
        second.find_copies([box, box / "gone"])
        assert second.recovered == ()
        if not disk.dead:
            return
    raise AssertionError("more calls than were tried")


def test_no_descriptor_left_for_it_is_no_reason_not_to_write(tmp_path: Path) -> None:
    """RELIABILITY 3, EMFILE: the swap succeeds, but late writes are not recovered."""

    class Few(FaultyDisk):
        def open_read(self, path: Path) -> int:
            if path.name.endswith(".old") and self.trail[-1] == "sync_dir":
                raise OSError(24, "Too many open files")
            return super().open_read(path)

    scene = Scene(tmp_path, Few())
    edit_file(scene.path, lambda data: (data or b"") + b"- ours\n", disk=scene.disk, second=scene.second)
    assert scene.path.read_bytes() == AFTER and scene.second.next_in() is None and not scene.beside
    scene.writer.close()


@pytest.mark.parametrize("seen", [b"", b"\n", BEFORE[:6], BEFORE[:-3]])
def test_a_file_that_was_truncated_and_then_written_is_whole_within_seconds(
    tmp_path: Path, seen: bytes
) -> None:
    """RELIABILITY 11: within seconds the file is the person's complete version with tacitd's line in it, not a part of it and
    not both versions in one file.
    """
    path, clock = tmp_path / "LEARNED.md", FakeClock()
    second = LateWrites(clock)
    history = History(Log(tmp_path / "s" / "history.jsonl"), clock, guards=EditGuards(second))
    path.write_bytes(seen)
    with path.open("r+b", buffering=0) as writer:
        operations = [PutLine(path, "A", "ours", "T"), PutLine(path, "A", "more", "T")]
        history.run_transaction(tmp_path, operations, {}, "k")
        writer.seek(len(seen) if BEFORE.startswith(seen) else 0)
        writer.write(BEFORE[len(seen) if BEFORE.startswith(seen) else 0 :])
    clock.advance(late_writes.LOOKS[0])
    second.check_due()
    assert b"- one" not in path.read_bytes(), "it was brought in before it was unchanged for a second"
    clock.advance(late_writes.REST)
    second.check_due()
    assert path.read_bytes() == BEFORE + b"- ours\n- more\n" and not second.recovered
    clock.advance(KEEP)
    second.check_due()
    second.close()
    assert path.read_bytes() == BEFORE + b"- ours\n- more\n" and not second.recovered


def test_a_version_that_was_completed_late_does_not_replace_a_newer_one(tmp_path: Path) -> None:
    """RELIABILITY 11: the file was saved again under the name, and tacitd changed it again: the old version is kept in a copy."""
    path, clock = tmp_path / "LEARNED.md", FakeClock()
    second = LateWrites(clock)
    history = History(Log(tmp_path / "s" / "history.jsonl"), clock, guards=EditGuards(second))
    path.write_bytes(b"")
    with path.open("r+b", buffering=0) as writer:
        history.run_transaction(tmp_path, [PutLine(path, "A", "ours", "T")], {}, "k")
        path.write_bytes(BEFORE + b"- newer\n")
        history.run_transaction(tmp_path, [PutLine(path, "A", "more", "T")], {}, "k2")
        writer.write(BEFORE + b"- older\n")
    clock.advance(KEEP)
    second.check_due()
    second.close()
    assert path.read_bytes() == BEFORE + b"- newer\n- more\n"
    (copy,) = second.recovered
    assert copy.path.read_bytes() == BEFORE + b"- older\n"


def test_the_rest_of_an_older_version_is_not_appended_to_a_newer_one(tmp_path: Path) -> None:
    """RELIABILITY 11: whole lines were written late, and a save under the name has some of them already."""
    path, clock = tmp_path / "LEARNED.md", FakeClock()
    second = LateWrites(clock)
    path.write_bytes(BEFORE)
    with path.open("ab", buffering=0) as writer:
        edit_file(path, lambda data: (data or b"") + b"- ours\n", second=second)
        path.write_bytes(BEFORE + b"- two\n- three\n")
        writer.write(b"- two\n- four\n")
    clock.advance(KEEP)
    second.check_due()
    second.close()
    assert path.read_bytes() == BEFORE + b"- two\n- three\n"
    (copy,) = second.recovered
    assert copy.path.read_bytes() == BEFORE + b"- two\n- four\n"


def test_what_was_swapped_in_and_taken_back_is_looked_at(tmp_path: Path) -> None:
    """RELIABILITY 11: a person opened tacitd's version while it had the name, and saved into it."""
    path, clock, held = tmp_path / "LEARNED.md", FakeClock(), list[BinaryIO]()

    class Saved(FaultyDisk):
        def exchange(self, one: Path, other: Path) -> bool:
            if not held:
                other.write_bytes(BEFORE + b"- first save\n")
            done = super().exchange(one, other)
            if not held:
                held.append(path.open("ab", buffering=0))
            return done

    second = LateWrites(clock)
    path.write_bytes(BEFORE)
    edit_file(path, lambda data: (data or b"") + b"- ours\n", disk=Saved(), second=second)
    held[0].write(b"- second save\n")
    held[0].close()
    clock.advance(KEEP)
    second.check_due()
    second.close()
    assert path.read_bytes() == BEFORE + b"- first save\n- ours\n- second save\n"
