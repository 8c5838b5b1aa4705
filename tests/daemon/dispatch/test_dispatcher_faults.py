"""What a handler that misbehaves, or a disk that is full, may not do to anything else."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from support_engine import Scene, Scripted, words_of
from tacitd.events import Project, SourceChanged
from tacitd.handler import Degradation, Done, Later, Rejected, Wait


def test_what_happens_while_an_answer_is_owed_is_told_afterwards(tmp_path: Path) -> None:
    """RELIABILITY row 4, SPEC S-43: a source that changes while the disk is full is heard of each time."""
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
    "answer", [Wait(NONE), Later(NONE), Later("x", not_before=TEXT), Rejected("x", data={"a": object()})]
)
def test_an_answer_that_is_none_is_the_fault_of_its_handler_alone(tmp_path: Path, answer: Any) -> None:
    """DESIGN "Handlers and events": one failing handler never touches another, whatever it answers."""
    bad = Scripted(lambda event: answer if isinstance(event, SourceChanged) or words_of(event) else Done())
    scene = Scene(tmp_path, bad, Scripted())
    scene.type("s", "one")
    scene.dispatcher.post_event(SourceChanged(Project(scene.root, git=True), tmp_path / "AGENTS.md"))
    scene.settle()
    assert scene.engine.fault is None and scene.handlers[1].did == ["u1"]
    assert scene.parked()


def test_a_handler_cannot_take_back_what_another_said_is_wrong(tmp_path: Path) -> None:
    """handler.py: nothing in `Tools` lets a handler reach another, a degradation of the same name included."""
    scene = Scene(tmp_path, Scripted(), Scripted())
    mine, other = (scene.app.tools[name] for name in "ab")
    mine.degrade(Degradation("files.broken", "mine"))
    other.degrade(Degradation("files.broken", "another's"))
    other.clear("files.broken")
    assert [one.what for one in scene.engine.list_degradations()] == ["mine"]
    mine.clear("files.broken")
    assert scene.engine.list_degradations() == []
