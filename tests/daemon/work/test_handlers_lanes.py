"""What runs at the same time, in which order it is offered, and when a session ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support_engine import Scene, Scripted, done, gathered, grew
from tacitd.events import Event, SessionEnded, SessionStarted, TranscriptGrew
from tacitd.handler import Later

# lanes


def _running(scene: Scene) -> int:
    return len(scene.pool.works)


def test_one_lane_for_a_project_and_two_projects_at_once(tmp_path: Path) -> None:
    """Issue "Dispatch": order within a session, one thing at a time within a project."""
    scene = Scene(tmp_path, held=True)
    other = scene.project("other")
    scene.type("s1", "one")
    scene.type("s2", "two")
    scene.type("s3", "three", cwd=other)
    scene.settle()
    assert _running(scene) == 2, "one for each project"
    for _ in range(8):
        scene.work(2)
        scene.settle(0)
        assert _running(scene) <= 2
    assert sorted(scene.handler.did) == ["u1", "u2", "u3"]


def test_a_blocked_lane_neither_spins_nor_stalls(tmp_path: Path) -> None:
    """DESIGN "Priorities" 2: no unexpected CPU use; the outcome of a worker wakes the next item of its lane."""
    scene = Scene(tmp_path, held=True)
    scene.type("s1", "one")
    scene.type("s2", "two")
    scene.settle()
    assert scene.engine.sleep_seconds() >= 1.0, "nothing to do until a handler answers"
    while scene.pool.works:
        scene.work()
        assert scene.engine.wake.is_set(), "the outcome wakes the loop"
        scene.engine.run_pass()
        scene.engine.run_pass()
    assert sorted(scene.handler.did) == ["u1", "u2"], "with no timer in between"


def test_order_within_a_session(tmp_path: Path) -> None:
    """Issue "Dispatch": a prompt that is typed while a batch is handled comes after it."""
    scene = Scene(tmp_path, held=True)
    said = []
    for i in range(6):
        said += [one["uuid"] for one in scene.type("s", f"words {i}")]
        scene.settle()
        scene.work(i % 2)
    for _ in range(8):
        scene.settle(0)
        scene.work()
    scene.settle(0)
    assert scene.handler.did == said


def test_a_session_starts_before_its_prompts(tmp_path: Path) -> None:
    """events.py: `SessionStarted` when a session's first record was read."""
    scene = Scene(tmp_path)
    scene.type("s", "one")
    scene.settle()
    assert [type(event) for event in scene.handler.events] == [SessionStarted, TranscriptGrew]


# ends


def test_the_end_comes_after_every_record(tmp_path: Path) -> None:
    """Issue "Dispatch": facts first, then the synthesis; the end makes gathered work due."""
    scene = Scene(tmp_path, gathered())
    scene.type("s", "one")
    scene.settle()
    scene.settle(1801)
    kinds = [type(event) for event in scene.handler.events]
    assert kinds == [SessionStarted, TranscriptGrew, SessionEnded]
    (end,) = scene.handler.ends
    assert end.session == "s" and end.why == "idle" and end.at == pytest.approx(scene.clock.wall - 1803)


def test_the_end_waits_for_parked_prompts(tmp_path: Path) -> None:
    """Issue "Dispatch": a session whose prompts are parked is parked with them, and `sync` does not wait for it."""
    answers: list[Any] = [Later("no model")] * 4
    scene = Scene(tmp_path, grew(lambda event: answers.pop() if answers else done(event)))
    scene.type("s", "one")
    scene.settle()
    scene.settle(1801)
    assert scene.handler.ends == [] and scene.sync().done()
    for _ in range(4):
        scene.settle(10000)
    assert scene.handler.did == ["u1"] and len(scene.handler.ends) == 1


def test_the_end_is_offered_if_only_records_without_prompts_are_left(tmp_path: Path) -> None:
    """A record without text after the last prompt must not delay the end for ever, nor `sync`."""
    scene = Scene(tmp_path)
    scene.type("s", "one")
    scene.settle()
    scene.clock.advance(1799)
    scene.append("s", scene.title("s"))
    scene.settle(0)
    scene.settle(1801)
    assert len(scene.handler.ends) == 1 and scene.sync().done()


def test_the_end_is_offered_after_a_restart_until_it_is_done(tmp_path: Path) -> None:
    """Issue "Dispatch": again until `Done`, and not afterwards."""
    ready = [False]

    def answer(event: Event) -> Any:
        return Later("no model") if isinstance(event, SessionEnded) and not ready[0] else done(event)

    scene = Scene(tmp_path, Scripted(answer))
    scene.type("s", "one")
    scene.settle()
    scene.settle(1801)
    assert len(scene.handler.ends) == 1
    scene.restart()
    scene.settle()
    assert len(scene.handler.ends) == 1 and scene.handler.words == []
    ready[0] = True
    scene.restart()
    scene.settle()
    assert len(scene.handler.ends) == 1
    for _ in range(2):
        scene.restart()
        scene.settle(5000)
        assert scene.handler.ends == []


def test_a_resumed_session_ends_again(tmp_path: Path) -> None:
    """events.py: `SessionEnded` comes again if the session was resumed with prompts, and not without."""
    scene = Scene(tmp_path)
    scene.type("s", "one")
    scene.settle()
    scene.settle(1801)
    scene.append("s", scene.title("s"))
    scene.settle()
    scene.settle(1801)
    assert len(scene.handler.ends) == 1, "records without prompts do not resume a session"
    scene.type("s", "two")
    scene.settle()
    scene.settle(1801)
    assert len(scene.handler.ends) == 2
    assert sum(isinstance(event, SessionStarted) for event in scene.handler.events) == 2


def test_each_handler_gets_the_end_when_its_position_is_there(tmp_path: Path) -> None:
    """Issue "Dispatch": one position for each handler; a slow handler delays no other."""
    slow = [True]
    lazy = grew(lambda event: Later("no model") if slow[0] else done(event))
    scene = Scene(tmp_path, lazy, Scripted())
    scene.type("s", "one")
    scene.settle()
    scene.settle(1801)
    assert (len(scene.handlers[0].ends), len(scene.handlers[1].ends)) == (0, 1)
    slow[0] = False
    scene.settle(25000)
    assert (len(scene.handlers[0].ends), len(scene.handlers[1].ends)) == (1, 1)
    scene.restart()
    scene.settle()
    assert (len(scene.handlers[0].ends), len(scene.handlers[1].ends)) == (0, 0)


def test_the_end_in_a_removed_project_says_so(tmp_path: Path) -> None:
    """The end in a removed directory is not retried for ever: the event says that it is gone, and the handler decides."""

    def answer(event: Event) -> Any:
        if isinstance(event, SessionEnded) and hasattr(event.project, "root"):
            raise FileNotFoundError(2, "No such file or directory")
        return done(event)

    scene = Scene(tmp_path, Scripted(answer))
    scene.type("s", "one")
    scene.settle()
    (scene.root / ".git" / "HEAD").unlink()
    (scene.root / ".git").rmdir()
    scene.settle(1801)
    assert len(scene.handler.ends) == 1
    scene.root.rmdir()
    scene.settle(31)
    assert getattr(scene.handler.ends[-1].project, "gone", False) and scene.parked() == []


def test_a_session_that_only_had_a_past_has_no_end(tmp_path: Path) -> None:
    """Issue "Reading": what was taken as read costs nothing, not even a synthesis."""
    scene = Scene(tmp_path)
    scene.settle(100)
    scene.type("fork", "old words", age=5000)
    scene.settle()
    scene.settle(1801)
    assert scene.handler.words == [] and scene.handler.ends == []
