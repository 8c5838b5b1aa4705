"""Commands that change a file on a full disk: none says that it is done (RELIABILITY 4)."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from support_world import make_world
from tacitd.files.disk import Disk
from tacitd.testing import World

PRACTICE = "--problem two-sum --pattern hash_map --mode recall --verdict pass --gaps edge:empty --session s1"
LESSON = "WHEN committing -> DO squash -> BECAUSE short"
FULL = "No space left on device"


def fill(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Leave no room for files below a folder."""
    write = Disk.write

    def fail(disk: Disk, fd: int, data: bytes) -> int:
        if str(folder) in os.readlink(f"/proc/self/fd/{fd}"):
            raise OSError(errno.ENOSPC, FULL)
        return write(disk, fd, data)

    patch.setattr(Disk, "write", fail)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A world with a lesson, a value and a session."""
    world = make_world(tmp_path)
    with world:
        assert world.run("profile", "set", "work.role", "engineer").code == 0
        assert world.run("lesson", "add", LESSON).code == 0
        world.type("s1", "build the parser").say("s1", "Begun.").wait(60)
    return world


@pytest.mark.parametrize("runs", [True, False], ids=["daemon", "alone"])
@pytest.mark.parametrize(
    ("command", "code", "file"),
    [
        (("profile", "set", "tools.editor", "vim"), 75, ".claude/user-memory/profile.json"),
        (("profile", "add", "interests", "chess"), 75, ".claude/user-memory/profile.json"),
        (("profile", "remove", "work.role"), 75, ".claude/user-memory/profile.json"),
        (("forget", "work.role", "--yes"), 75, ".claude/user-memory/profile.json"),
        (("sessions", "note", "PostgreSQL 15"), 75, ".claude/user-memory/sessions/session-s1.json"),
        (("learner", "record", *PRACTICE.split()), 75, ".claude/leetcode-teacher-ledger.md"),
        (("lesson", "add", "WHEN testing -> DO run all -> BECAUSE it is fast"), 1, ".claude/lessons"),
        (("lesson", "wrong", "1"), 1, ".claude/lessons"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_a_command_says_that_its_file_cannot_be_written(
    world: World, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], code: int, file: str, runs: bool
) -> None:
    """75 and what is wrong if it is written later, 1 if it is not; with room the former is done without being asked again."""
    if runs:
        world.start()
    before = world.list_files()
    with monkeypatch.context() as patch:
        fill(patch, world.home / ".claude")
        ran = world.run(*command)
    assert (ran.code, ran.out) == (code, "") and FULL in ran.err and file in ran.err, ran
    if not runs:
        world.start()
    world.wait(120).wait(120)
    after = {path for path, text in world.list_files().items() if before.get(path) != text}
    assert bool(after) == (code == 75)
    world.stop()


def test_a_move_that_is_undone_on_a_full_disk_stays_tacitds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN "Files that people edit too": the line left one file and is not yet in the other; it is not the person's in it."""
    with make_world(tmp_path, {"use pnpm": "Use pnpm"}) as world:
        world.type("s1", "use pnpm").leave("s1")
        world.run("move", world.run("learned", "--json").json[0]["id"], "--everywhere")
        moved = next(one["id"] for one in world.run("history", "--json").json if "move" in one["what"])
        assert world.wait(300).run("undo", moved).code == 0
        (undo,) = [one["id"] for one in world.run("history", "--json").json if one["undoes"] == moved]
        with monkeypatch.context() as patch:
            fill(patch, world.home / ".agents")
            ran = world.wait(300).run("undo", undo)
            assert ran.code == 75 and FULL in ran.err, ran
            world.wait(300).wait(300)
        assert world.wait_days(1 / 24, step=60).bullets("~/.agents/LEARNED.md") == ["Use pnpm"]
        assert world.run("forget", "pnpm").code == 0
