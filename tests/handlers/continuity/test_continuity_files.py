"""The sessions' files: their names, and a broken one."""

from __future__ import annotations

import json

import pytest

from support_continuity import World


@pytest.mark.parametrize("id", ["../../etc/passwd", "a/b", "..", "x" * 300, "sitzung ü", "a.b"])
def test_an_id_leads_nowhere_else(world: World, id: str) -> None:
    """SPEC P-25: an id with `/` or `..` becomes a hash in the name; the id in the file is not changed."""
    path = world.transcript("odd")
    path.write_text(json.dumps(world.record("user", id, "go")) + "\n")
    world.settle()
    (made,) = world.store.folder.iterdir()
    assert made.parent == world.root / "memory" / "sessions"
    assert json.loads(made.read_text())["sessionId"] == id
    assert len(made.name) < 60


def test_a_broken_file_is_left_alone_and_said(world: World) -> None:
    """Half a file is not changed, and is a degradation; after the repair nothing is lost."""
    world.type("s1", "go")
    world.settle()
    path = world.store.session_path("s1")
    path.write_text('{"sessionId": "s')
    world.todos("s1", ("Design", "pending"))
    world.settle()
    assert path.read_text() == '{"sessionId": "s'
    assert world.degraded() == ["continuity.broken"]
    assert str(path) in world.parked()[0]
    path.unlink()
    world.settle(40_000)
    assert world.tasks("s1") == [("Design", "pending")]
    assert world.degraded() == []
