"""Limits and exceptions of dispatch: who is meant and who is not, the first and the last of several, and exact times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support_engine import Scene, Scripted, busy, gathered
from tacitd.events import Due, NoProject, Project
from tacitd.handler import COMPACTION, Done, Job

NOWHERE = NoProject("", "none")


def project_of(scene: Scene) -> Project:
    """The project in which the person works."""
    found = scene.app.projects.find_project(str(scene.root))
    assert isinstance(found, Project)
    return found


def dues(handler: Scripted) -> list[str]:
    """The jobs that a handler was asked to do."""
    return [event.job for event in handler.events if isinstance(event, Due)]


def test_only_handlers_with_the_job_are_asked_before_a_compaction(tmp_path: Path) -> None:
    """`COMPACTION`: another job of a handler does not mean it."""
    for name, asked in ((COMPACTION, [COMPACTION]), ("tidy", [])):
        scene = Scene(tmp_path / name, jobs=[Job(name, float("inf"))])
        scene.type("s", "one")
        scene.settle()
        scene.engine._hints.compacting[scene.path("s")] = "s"
        scene.settle()
        assert dues(scene.handler) == asked
        scene.kill()


@pytest.mark.parametrize("mode", ["local", "shared"])
def test_prompts_are_gathered_wherever_something_is_written(tmp_path: Path, mode: Any) -> None:
    """SPEC S-01: in a project that is shared with a team too."""
    scene = Scene(tmp_path, gathered(600.0))
    scene.app.write_modes.set_mode(scene.root, mode)
    scene.type("s", "one")
    scene.settle()
    assert scene.handler.words == []
    scene.settle(600)
    assert scene.handler.words == [["one"]]


def test_a_job_whose_file_is_being_edited_waits_for_its_time(tmp_path: Path) -> None:
    """A handler that met an open file is not asked again before the time that it named, however often the item is examined.
    `sync` does not wait for the editor either."""
    scene = Scene(tmp_path, Scripted(lambda event: busy(100.0) if isinstance(event, Due) else Done()))
    scene.post(Due("tidy"))
    scene.settle()
    for _ in range(3):
        scene.settle(10)
    assert dues(scene.handler) == ["tidy"]
    assert scene.sync().done() and dues(scene.handler) == ["tidy"] * 2
    scene.settle(101)
    assert dues(scene.handler) == ["tidy"] * 3


def test_an_open_session_is_listed_for_whichever_handler_it_waits(tmp_path: Path) -> None:
    """A handler without a model comes first; the other one gathers."""
    scene = Scene(tmp_path, Scripted(), gathered(), pays=[False, True])
    scene.type("s", "use pnpm")
    scene.settle()
    assert [one["session"] for one in scene.app.read_status()["sessions"]] == ["s"]
