"""Open editors and late saves of documents other than LEARNED.md (RELIABILITY 11)."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_continuity import World
from support_editor_marks import open_in_editor
from support_profile import Box
from tacitd_handlers.continuity.session_document import find_path


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
