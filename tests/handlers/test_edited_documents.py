"""Open editors and late saves of documents other than LEARNED.md (RELIABILITY 11)."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_continuity import World
from support_editor_marks import open_in_editor
from support_learner import Desk, row
from support_profile import Box
from tacitd.errors import FileBusyError
from tacitd.files.busy_files import BusyFiles
from tacitd.files.late_writes import LAST, LateWrites
from tacitd.files.replaced import EditGuards
from tacitd.testing import FakeClock
from tacitd_handlers.continuity.session_folder import find_path
from tacitd_handlers.learner.learner_store import LearnerStore


def guards(clock: FakeClock) -> tuple[LateWrites, EditGuards]:
    """The guards that the daemon gives to handlers."""
    second = LateWrites(clock)
    return second, EditGuards(second, BusyFiles(clock))


@pytest.mark.parametrize("name", ["profile.json", "profile-meta.json"])
def test_the_profile_waits_for_an_editor(tmp_path: Path, name: str) -> None:
    """RELIABILITY 11: a file is not written while it is open in an editor, and nothing is lost."""
    with Box(tmp_path) as box:
        box.learn(interests=("chess",))
        before = (box.directory / name).read_bytes()
        lock = open_in_editor(box.directory / name, box.clock)
        box.learn(interests=("go",)).wait(60)
        assert (box.directory / name).read_bytes() == before
        lock.unlink()
        box.wait(60).wait(60).wait(60)
        assert box.profile["interests"] == ["chess", "go"] and box.meta["interests"]["seenCount"] == 2


def test_a_session_waits_for_an_editor(tmp_path: Path) -> None:
    """RELIABILITY 11: a session's file is not written while it is open; a summary that was paid for meanwhile is not lost."""
    with World(tmp_path) as world:
        world.type("s1", "Build the parser")
        world.settle()
        path = find_path("s1")
        before = path.read_bytes()
        for number in range(5):
            world.say("s1", f"step {number} is done")
        world.settle(500)
        lock = open_in_editor(path, world.clock)
        world.settle(120)
        assert len(world.model.asked) == 1 and path.read_bytes() == before
        lock.unlink()
        world.settle(100)
        assert world.file("s1")["summary"].startswith("Tests pass.") and len(world.model.asked) == 1


def test_the_learners_files_wait_for_an_editor(tmp_path: Path) -> None:
    """RELIABILITY 11: if ledger or profile is open, neither is written."""
    for name in ("ledger", "profile"):
        desk = Desk(tmp_path / name)
        desk.record()
        _, given = guards(desk.clock)
        store = LearnerStore(desk.where, desk.clock, guards=given)
        lock = open_in_editor(getattr(desk.where, name), desk.clock)
        with pytest.raises(FileBusyError, match="is open in an editor"):
            store.check_editable()
        with store.locked(), pytest.raises(FileBusyError):
            store.sync_files(first=True)
        lock.unlink()
        store.check_editable()


def test_what_is_written_late_into_the_learner_profile_is_kept(tmp_path: Path) -> None:
    """RELIABILITY 11: an editor saves into the replaced file of the profile."""
    desk = Desk(tmp_path)
    desk.record()
    second, given = guards(desk.clock)
    store = LearnerStore(desk.where, desk.clock, guards=given)
    late = desk.where.profile.read_bytes() + b"\nA note of mine.\n"
    with desk.where.profile.open("r+b", buffering=0) as writer:
        desk.write_rows(row(2, "hash lookup", "three-sum"))
        with store.locked():
            store.sync_files(force=True)
        assert second.next_in() is not None
        writer.truncate(0)
        writer.write(late)
    desk.clock.advance(LAST)
    second.check_due()
    second.close()
    (copy,) = second.recovered
    assert copy.path.read_bytes() == late
