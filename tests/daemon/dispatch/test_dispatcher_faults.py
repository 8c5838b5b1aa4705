"""A failing handler or a full disk does not affect anything else."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from support_engine import Scene, Scripted, words_of
from tacitd.events import Project, SourceChanged
from tacitd.handler import Degradation, Done, Later, Rejected


def test_an_event_during_a_pending_write_is_offered_afterwards(tmp_path: Path) -> None:
    """RELIABILITY row 4, SPEC S-43: each change of a source while the disk is full is offered."""
    scene = Scene(tmp_path, Scripted(lambda event: Done(data={"did": ["heard"]})))
    scene.settle()
    consumer = scene.engine.consumers["a"]
    real, full = consumer.log.append, [True]

    def append(record: Any, **options: Any) -> None:
        if full[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(record, **options)

    consumer.log.append = append  # type: ignore[method-assign]
    place = Project(scene.root, git=True)
    for _ in range(2):
        scene.dispatcher.post_event(SourceChanged(place, tmp_path / "AGENTS.md"))
        scene.settle(1)
    assert len(scene.handler.events) == 1 and scene.parked()
    full[0] = False
    scene.settle(600)
    assert len(scene.handler.events) == 2 and scene.handler.did == ["heard", "heard"]
    assert scene.parked() == [] and not scene.dispatcher.work_queue.items_by_event


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
    scene.dispatcher.post_event(SourceChanged(Project(scene.root, git=True), tmp_path / "AGENTS.md"))
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
    assert [one.what for one in scene.engine.list_degradations()] == ["mine"]
    mine.clear("files.broken")
    assert scene.engine.list_degradations() == []
