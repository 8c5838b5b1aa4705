"""Open editors and late saves of documents other than LEARNED.md (RELIABILITY 11)."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_continuity import World
from support_editor_marks import open_in_editor
from support_profile import Box


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
    """RELIABILITY 11: the handler waits for an open session file, and parks nothing."""
    world = World(tmp_path)
    path = world.store.session_path("s1")
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = open_in_editor(path, world.clock)
    world.type("s1", "Build the parser")
    world.settle(300)
    assert not path.exists() and not world.parked()
    lock.unlink()
    world.settle(60)
    assert path.exists()
