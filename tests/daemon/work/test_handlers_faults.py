"""A failing handler or a full disk does not affect anything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support_engine import Scene, Scripted, words_of
from tacitd.events import Project, SourceChanged
from tacitd.handler import Degradation, Done, Later, Rejected

NONE: Any = None
TEXT: Any = "soon"


@pytest.mark.parametrize(
    "answer", [Later(NONE), Later("x", not_before=TEXT), Rejected("x", data={"a": object()})]
)
def test_an_invalid_outcome_affects_only_its_handler(tmp_path: Path, answer: Any) -> None:
    """DESIGN "Handlers and events": a failing handler does not affect another, whatever it answers."""
    bad = Scripted(lambda event: answer if isinstance(event, SourceChanged) or words_of(event) else Done())
    scene = Scene(tmp_path, bad, Scripted())
    scene.type("s", "one")
    scene.post(SourceChanged(Project(scene.root, git=True), tmp_path / "AGENTS.md"))
    scene.settle()
    assert scene.engine.fault is None and scene.handlers[1].did == ["u1"]
    assert scene.parked()


def test_a_handler_cannot_clear_the_degradation_of_another(tmp_path: Path) -> None:
    """handler.py: a handler has no access to another one, nor to a degradation with the same id."""
    scene = Scene(tmp_path, Scripted(), Scripted())
    mine, other = (scene.app.tools[name] for name in "ab")
    mine.degrade(Degradation("files.broken", "mine"))
    other.degrade(Degradation("files.broken", "another's"))
    other.clear("files.broken")
    assert [one.what for one in scene.app.list_degradations()] == ["mine"]
    mine.clear("files.broken")
    assert scene.app.list_degradations() == []
