"""When items are examined: none waits for a lane that is free, and a backlog is examined in linear time."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_engine import Scene, Scripted, busy, done, prompts_of
from support_examples import examples
from tacitd.dispatch import pool as pool_module
from tacitd.dispatch.dispatcher import Dispatcher
from tacitd.dispatch.pauses import Pause
from tacitd.dispatch.work_item import LaneKey, WorkItem
from tacitd.events import Due, Event, Project, SessionEnded, SessionStarted, TranscriptGrew
from tacitd.handler import Done, Later
from tacitd.sources.sessions import EndedSession


def check(scene: Scene) -> None:
    """Every item that is queued waits for its lane, or for a worker of its handler."""
    lanes = scene.dispatcher.work_queue.lanes
    assert not lanes.has_ready
    for key, lane in lanes._lanes.items():
        if lane.queue:
            assert lane.busy_since is not None or not lanes._has_worker(key[0]), (key, lane.queue[0][2].label)
        assert not lane.is_empty


@examples(90)
@given(st.integers(0, 1 << 30))
def test_no_item_waits_for_something_free(seed: int) -> None:
    """DESIGN "Priorities" 4: after every step, with handlers that are done, wait, fail and are rejected in any order."""
    chance, calm = random.Random(seed), [False]

    def answer(event: Event) -> Any:
        mood = 1.0 if calm[0] else chance.random()
        if mood < 0.15:
            return Later("mood")
        if mood < 0.25 and isinstance(event, TranscriptGrew):
            return busy(chance.choice([0.0, 30.0]))
        return Done(data={"did": prompts_of(event)})

    with tempfile.TemporaryDirectory() as folder:
        handlers = [Scripted(answer) for _ in range(3)]
        scene = Scene(Path(folder), *handlers, held=True, lanes=chance.choice([1, 2]))
        places = [scene.root, *(scene.project(f"p{n}") for n in range(3))]
        for _ in range(60):
            what = chance.choice(["type", "type", "type", "work", "work", "sync", "hold", "pass"])
            if what == "type":
                name = chance.randrange(12)
                scene.type(f"s{name}", f"words {chance.random()}", cwd=places[name % 4])
            elif what == "work" and scene.pool.works:
                scene.pool.works.rotate(chance.randrange(3))
                scene.work(chance.randrange(1, 4))
            elif what == "sync":
                scene.sync()
            elif what == "hold":
                scene.engine.set_pause(
                    Pause("project", str(chance.choice(places))), held=chance.random() < 0.5
                )
            scene.settle(chance.choice([0, 0, 1]))
            check(scene)
        calm[0] = True
        scene.engine.set_pause(Pause("all"), held=False)
        future = scene.sync()
        while scene.pool.works:
            scene.work()
            scene.settle(0)
            check(scene)
        assert future.done() and not any(
            lane.queue for lane in scene.dispatcher.work_queue.lanes._lanes.values()
        )


@pytest.mark.parametrize("lanes", [1, 4])
def test_a_backlog_is_examined_in_linear_time(
    tmp_path: Path, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELIABILITY row 5, 10: with more projects, each transcript is not examined more often."""
    examined = [0]
    real = Dispatcher._try_offer

    def counted(dispatcher: Dispatcher, item: WorkItem) -> LaneKey | None:
        examined[0] += 1
        return real(dispatcher, item)

    monkeypatch.setattr(Dispatcher, "_try_offer", counted)

    def backlog(count: int) -> float:
        examined[0] = 0
        scene = Scene(tmp_path / str(count), lanes=lanes)
        for n in range(count):
            scene.type(f"s{n}", "one", "two", cwd=scene.project(f"p{n}"))
        assert scene.sync().done() and len(scene.handler.did) == 2 * count
        return examined[0] / count

    assert backlog(80) <= 1.2 * backlog(20) + 1


def _one_at_a_time(event: Event) -> Done:
    """Handle the first record of a batch, and any other event."""
    return done(event, event.records[0].end, only=1) if isinstance(event, TranscriptGrew) else Done()


def _work_off(scene: Scene) -> None:
    while scene.pool.works:
        scene.work()
        scene.settle(0)


def test_a_backlog_in_one_lane_does_not_starve_another_lane(tmp_path: Path) -> None:
    """DESIGN "Dispatch": with one worker, the transcripts of one project do not keep it among themselves."""
    scene = Scene(tmp_path, Scripted(_one_at_a_time), held=True, lanes=1)
    other = scene.project("other")
    for session in "stu":
        scene.append(session, scene.title(session))
    scene.settle()
    _work_off(scene)
    for session in "st":
        scene.type(session, *"abcdefgh")
    scene.settle()
    (word,) = scene.type("u", "one", cwd=other)
    scene.settle(0)
    for _ in range(10):
        scene.work()
        scene.settle(0)
    assert word["uuid"] in scene.handler.did


@pytest.mark.parametrize("lanes", [1, 4])
def test_an_item_that_grows_while_it_waits_keeps_its_position(tmp_path: Path, lanes: int) -> None:
    """DESIGN "Dispatch": growth wakes a transcript, and does not move it to the end of the queue."""
    scene = Scene(tmp_path, Scripted(_one_at_a_time), held=True, lanes=lanes)
    for session in "st":
        scene.type(session, *"abcdefgh", cwd=scene.project(session) if lanes == 1 else None)
    scene.settle()
    (word,) = scene.type("u", "one")
    for _ in range(10):
        scene.append("u", scene.title("u"))
        scene.settle(0)
        scene.work()
    scene.settle(0)
    assert word["uuid"] in scene.handler.did
    queues = [lane.queue for lane in scene.dispatcher.work_queue.lanes._lanes.values()]
    assert sum(map(len, queues)) <= 6, "not one entry for each growth"


def test_an_event_whose_project_changes_while_it_waits_runs_in_the_new_lane(tmp_path: Path) -> None:
    """An end of a session is posted again with another project while it waits for a worker: each runs once, in turn."""
    scene = Scene(tmp_path, held=True, lanes=1)
    here, there, third = (Project(scene.project(name), git=True) for name in ("app", "other", "third"))

    def end(session: str, project: Project) -> None:
        scene.engine.consumers["a"].get_cursor(scene.path(session)).handled_upto = 0
        scene.dispatcher.post_event(SessionEnded(session, scene.path(session), project, 0.0, "asked"))
        scene.settle(0)

    def begin(session: str, project: Project) -> None:
        scene.dispatcher.post_event(SessionStarted(session, scene.path(session), project, 0.0))
        scene.settle(0)

    begin("s", here)
    end("t", here)
    end("u", here)
    begin("v", there)
    scene.work()
    scene.settle(0)
    end("t", third)
    check(scene)
    _work_off(scene)
    assert sorted(end.session for end in scene.handler.ends) == ["t", "u"]
    assert {end.session: end.project for end in scene.handler.ends} == {"t": third, "u": here}
    assert len(scene.dispatcher.work_queue.lanes) == 0


def test_a_transcript_that_left_a_project_blocks_no_event_there(tmp_path: Path) -> None:
    """A job waits for due transcripts of its project; the session continued in another project. `sync` ends."""
    scene = Scene(tmp_path, Scripted(_one_at_a_time), held=True)
    other, third = scene.project("other"), scene.project("third")
    for session in "st":
        scene.append(session, scene.title(session))
    scene.settle()
    _work_off(scene)
    scene.type("s", "one", cwd=other)
    scene.settle()
    scene.type("t", "two", cwd=other)
    scene.type("t", "three")
    future = scene.engine._begin_sync().future
    scene.settle(0)
    scene.dispatcher.post_event(Due("synthesis", Project(scene.root, git=True)))
    scene.settle(0)
    scene.type("t", "four", cwd=third)
    _work_off(scene)
    assert future.done() and scene.dispatcher.work_queue.items_by_event == {}


def test_the_end_of_a_session_does_not_wait_for_a_removed_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file grew and was removed before it was read: no read wakes the end of its session."""
    scene = Scene(tmp_path, held=True, lanes=1)
    for session in "st":
        # So the session is announced first.
        scene.append(session, scene.title(session) | {"cwd": str(scene.root)})
    scene.settle()
    _work_off(scene)
    monkeypatch.setattr(pool_module, "KEPT", 0)
    for session in "st":
        scene.type(session, "one")
        scene.settle()
    scene.engine.end_session(EndedSession("t", scene.path("t"), "idle", 0.0))
    scene.settle(0)
    monkeypatch.setattr(pool_module, "SLICES", 0)
    scene.type("t", "two")
    scene.engine._poll_files(full=True)
    scene.work()
    scene.engine.run_iteration()
    assert scene.dispatcher.work_queue.items_by_event, "it waits until the file is read"
    scene.path("t").unlink()
    scene.settle(0)
    _work_off(scene)
    assert scene.dispatcher.work_queue.items_by_event == {}
