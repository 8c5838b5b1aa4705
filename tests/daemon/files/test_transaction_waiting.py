"""Transactions that wait for days between two of their files: a person's changes meanwhile are kept (DESIGN "Priorities", 1)."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from tacitd.files.disk import Disk
from tacitd.files.log import Log
from tacitd.files.operations import MakeFile, Operation, PutLine, SwapLine, read_operation
from tacitd.files.transaction import History
from tacitd.testing import Crash, FakeClock, FaultyDisk


def history(root: Path, disk: Disk | None = None) -> History:
    """The history as a new process loads it."""
    return History(Log(root.parent / "state" / "history.jsonl", disk), FakeClock(), disk)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a folder."""
    root = tmp_path / "project"
    (root / "api").mkdir(parents=True)
    return root


class Full(FaultyDisk):
    """No file can be created in `api` while it is full."""

    full = True

    def open_new(self, path: Path, mode: int) -> int:
        if self.full and path.parent.name == "api":
            raise OSError(28, "No space left on device")
        return super().open_new(path, mode)


def operations(root: Path) -> list[Operation]:
    """Three changes of the project's file, and one for which the disk has no space."""
    learned = root / "LEARNED.md"
    return [
        PutLine(learned, "A", "one", "T"),
        PutLine(learned, "A", "two", "T"),
        SwapLine(learned, "old", "new", "A", "T"),
        PutLine(root / "api" / "AGENTS.md", "A", "three", "T"),
    ]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_line_that_a_person_removed_meanwhile_does_not_come_back(root: Path, restarted: bool) -> None:
    """S-28: half was written before the disk was full; the rest, and only that, is written when there is space."""
    learned = root / "LEARNED.md"
    learned.write_text("# T\n\n## A\n- old\n")
    disk = Full()
    running = history(root, disk)
    with pytest.raises(OSError, match="No space"):
        running.run_transaction(root, operations(root), {}, "k")
    assert learned.read_text() == "# T\n\n## A\n- new\n- one\n- two\n" and running.pending
    learned.write_text("# T\n\n## A\n- two\n- mine\n")
    disk.full = False
    if restarted:
        running = history(root)
        running.recover()
    done = running.run_transaction(root, operations(root), {}, "k")
    assert learned.read_text() == "# T\n\n## A\n- two\n- mine\n"
    assert (root / "api" / "AGENTS.md").read_text() == "# T\n\n## A\n- three\n"
    assert [effect.did for effect in done.effects] == ["put", "put", "swapped", "put"]
    assert running.pending == () and list(history(root).list_transactions()) == [done]
    assert {line for _, line in history(root).list_lines(root)} == {"one", "two", "old", "new", "three"}


def test_what_was_done_of_it_is_said_once_more_where_the_log_is_full_too(root: Path) -> None:
    """RELIABILITY row 3: the record of what was done cannot be written either; nothing is lost or written twice."""

    class AllFull(Full):
        def write(self, fd: int, data: bytes) -> int:
            if self.full and b'"part"' in data:
                raise OSError(28, "No space left on device")
            return super().write(fd, data)

    disk = AllFull()
    running = history(root, disk)
    for _ in range(2):
        with pytest.raises(OSError, match="No space"):
            running.run_transaction(root, operations(root), {}, "k")
    disk.full = False
    running.run_transaction(root, operations(root), {}, "k")
    assert (root / "LEARNED.md").read_text() == "# T\n\n## A\n- one\n- two\n- new\n"


def test_a_file_that_a_person_made_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    """DESIGN "Priorities", 1: `tacitd init` was interrupted anywhere; before the restart the person wrote the file."""
    lost = []
    for at in range(1, 60):
        root = tmp_path / str(at) / "project"
        root.mkdir(parents=True)
        disk, learned = FaultyDisk(crash_at=at), root / "LEARNED.md"
        with suppress(Crash):
            history(root, disk).run_transaction(root, [MakeFile(learned, "# Learned Preferences\n")], {}, "k")
        ours = learned.exists()
        learned.write_text("# Mine\n\nmy own words\n")
        history(root).recover()
        if learned.read_text() != "# Mine\n\nmy own words\n":
            lost.append(at)
        if not disk.dead:
            assert ours and at > 5 and not lost
            return
    raise AssertionError("more calls than were tried")


def test_making_a_file(root: Path) -> None:
    """DESIGN "Where it writes": an empty file counts as existing."""
    made = MakeFile(root / "x.md", "x\n")
    assert read_operation(made.to_record()) == made
    (root / "empty.md").write_bytes(b"")
    done = history(root).run_transaction(root, [made, MakeFile(root / "empty.md", "x\n")], {}, "k")
    assert [effect.did for effect in done.effects] == ["written", "nothing"]
    assert (root / "x.md").read_text() == "x\n" and (root / "empty.md").read_bytes() == b""
