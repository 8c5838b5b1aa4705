"""How sessions end that stand in more than one file, or in none any more."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from support_engine import Scene, Scripted, ids, with_words
from tacitd.contract import Done, Later, Outcome, Task
from tacitd.events import NoProject, Project
from tacitd.methods import build_methods
from tacitd.plugin import GatherRule
from tacitd.sources.follow import HOT_EVERY
from tacitd.sources.projects import ProjectFinder
from tacitd.testing.fakes import InlineExecutor
from tacitd.work import reader as reader_module


def test_words_in_the_queue_are_said_in_every_file_of_the_session(tmp_path: Path) -> None:
    """CLAUDE_CODE section 6, rule 4: a session that went on in another file leaves nothing behind in the first one."""
    scene = Scene(tmp_path)
    scene.version = "2.0.76"
    scene.append("s", scene.said("s", "Hello"), scene.queued("s", "while it works"))
    scene.settle(1)
    scene.append("s", scene.typed("s", "elsewhere"), path=scene.path("other"))
    scene.settle(1)
    assert scene.handler.words == [["elsewhere"]]
    scene.settle(1801)
    assert scene.handler.words == [["elsewhere"], ["while it works"]]


def test_a_session_whose_folder_was_moved_is_let_go(tmp_path: Path) -> None:
    """RELIABILITY row 8: what was read of a file that is gone stays until it is handled, and no longer."""
    scene = Scene(tmp_path)
    scene.version = "2.0.76"
    scene.append("s", scene.said("s", "Hello"), scene.queued("s", "while it works"))
    scene.settle()
    scene.folder.rename(scene.folder.with_name("moved"))
    scene.settle()
    scene.settle(1801)
    scene.settle(61)
    assert scene.handler.words == [["while it works"]]


def test_an_end_that_is_told_late_has_the_time_of_what_was_handled_last(tmp_path: Path) -> None:
    """`session.last` is when it was last active, also where its transcript is gone by then."""
    scene = Scene(tmp_path)
    scene.type("s", "one")
    scene.settle()
    worked = scene.clock.wall
    scene.path("s").unlink()
    scene.clock.advance(40 * 86400)
    scene.restart()
    scene.settle()
    assert len(scene.handler.ends) == 1
    ((last,),) = scene.app.store.rows("SELECT last FROM session")
    assert worked - 60 <= last <= worked + 60


def test_an_end_that_waits_for_a_file_that_is_gone_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes after every prompt of the session was handled, and not never where its transcript is gone."""
    closed = [False]

    def answer(task: Task) -> Outcome:
        return Later("no model") if closed[0] else Done()

    scene = Scene(tmp_path, with_words(answer))
    scene.type("s", "one")
    scene.settle()
    closed[0] = True
    scene.type("s", "two")
    scene.settle()
    monkeypatch.setattr(reader_module, "TAILS", 0)
    scene.settle(1801)
    scene.settle(61)
    assert scene.parked() == ["no model"] and scene.handler.ends == []
    scene.path("s").unlink()
    closed[0] = False
    scene.settle(25000)
    assert len(scene.handler.ends) == 1 and scene.parked() == []


# --- What a client's hooks say, in the engine: a prompt is known soon, also where no watch reports its file.


def say(scene: Scene, event: str, session: str = "s") -> None:
    """A hook says this."""
    data = {
        "hook_event_name": event,
        "session_id": session,
        "transcript_path": str(scene.path(session)),
        "cwd": "/w",
    }
    scene.engine.take_hook_input(data)


def test_a_prompt_is_in_the_status_within_two_seconds(tmp_path: Path) -> None:
    """The hook runs before the client writes the prompt. No watch, and the hour is over in which a file is compared often."""
    scene = Scene(tmp_path, Scripted(rule=GatherRule(quiet=600.0)))
    scene.type("s", "hello")
    scene.settle()
    scene.settle(7200)
    before = scene.app.read_status()["handlers"]["a"]["waiting"]
    say(scene, "UserPromptSubmit")
    scene.engine.run_pass()
    scene.type("s", "no, use pnpm")
    assert scene.engine.sleep_seconds() <= HOT_EVERY
    scene.clock.advance(HOT_EVERY)
    for _ in range(3):
        scene.engine.run_pass()
    assert scene.app.read_status()["handlers"]["a"]["waiting"] == before + 1


@pytest.mark.parametrize("last", ["PreCompact", "SessionEnd"])
def test_what_a_client_wrote_last_is_read_at_once(tmp_path: Path, last: str) -> None:
    """When it leaves or compacts, also where no watch reports the file."""
    scene = Scene(tmp_path)
    scene.type("s", "hello")
    scene.settle()
    scene.type("s", "no, use pnpm")
    scene.engine.run_pass()
    assert ["no, use pnpm"] not in scene.handlers[0].words
    say(scene, last)
    for _ in range(3):
        scene.engine.run_pass()
    assert scene.handlers[0].words[-1:] == [["no, use pnpm"]]


def test_garbage_has_no_effect(tmp_path: Path) -> None:
    """Another form, another path, an event that is not known, and a path that no file can have."""
    scene = Scene(tmp_path)
    compact = {"hook_event_name": "PreCompact", "session_id": "s"}
    for data in (
        {},
        {"hook_event_name": 7},
        compact,
        compact | {"session_id": "unknown", "transcript_path": str(scene.path("unknown")), "cwd": "/w"},
        compact | {"transcript_path": str(tmp_path / "elsewhere.jsonl"), "cwd": "/w"},
        compact | {"hook_event_name": "Stop", "transcript_path": f"{scene.path('s')}\ud800.jsonl"},
    ):
        scene.engine.take_hook_input(data)
    scene.settle(0)
    assert scene.app.read_status()["degraded"] == []


# --- A project's file system that does not answer: the daemon goes on, and says which one it is.


class Threads(InlineExecutor):
    """Runs each task in a thread of its own."""

    def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN201
        threading.Thread(target=fn, args=args, kwargs=kwargs, daemon=True).start()


def test_status_and_other_projects_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN "Work": a stalled mount stops neither `status`, which answers within a second, nor the words of other projects."""
    free = threading.Event()
    find = ProjectFinder.find_project

    def find_or_hang(finder: ProjectFinder, cwd: str) -> Project | NoProject:
        if "stalled" in cwd:
            free.wait(60)
        return find(finder, cwd)

    monkeypatch.setattr(ProjectFinder, "find_project", find_or_hang)
    scene = Scene(tmp_path, pool=Threads())
    scene.app.stalls.threads = True
    stalled = scene.project("stalled")
    loop = threading.Thread(target=scene.app.run, args=(lambda: None, 0.05))
    loop.start()
    try:
        scene.type("s1", "typed where the disk hangs", cwd=stalled)
        scene.type("s2", "use pnpm")
        begun = time.monotonic()
        while ids(scene) != ["u2"] and time.monotonic() - begun < 20:
            scene.clock.advance(1.0)
            free.wait(0.02)  # the loop has a real thread here
        assert ids(scene) == ["u2"]
        said, begun = dict[str, Any](), time.monotonic()
        while not said.get("degraded") and time.monotonic() - begun < 20:  # as soon as a pass has ended
            scene.clock.advance(1.0)
            asked = time.monotonic()
            said = scene.app.read_status()
            assert time.monotonic() - asked < 1.0
        assert "projects.stuck" in {one["id"] for one in said["degraded"]}
        begun = time.monotonic()
        assert build_methods(scene.app)["wake"]({}) and time.monotonic() - begun < 4.0
    finally:
        free.set()
        scene.app.request_stop()
        loop.join()
        for thread in threading.enumerate():
            if thread.name == "project lookup":
                thread.join()  # it reads the store
        scene.app.close()
