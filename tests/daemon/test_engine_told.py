"""The loop: what people and their commands tell it: pauses, limits, syncs."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support_engine import Scene, Scripted, ids
from support_waiting import PATIENCE
from tacitd.errors import UnavailableError
from tacitd.plugin import TimedJob
from tacitd.state.person_choices import Scope
from tacitd.work.task_runner import TaskRunner
from tacitd.work.write_modes import set_pause

# what a person says


@pytest.mark.parametrize("scope", ["all", "project", "session"])
def test_pause_and_resume(tmp_path: Path, scope: Any) -> None:
    """Issue "Command line": what is typed meanwhile is passed over, also over a restart and after `resume`."""
    scene = Scene(tmp_path)
    other = scene.project("other")
    name = {"all": "", "project": str(scene.root), "session": "s"}[scope]
    scene.pause(scope, name, held=True)
    scene.type("s", "one")
    scene.type("t", "two", cwd=other)
    scene.settle()
    free = [] if scope == "all" else ["u2"]
    assert ids(scene) == free and scene.sync().done()
    assert all(why.startswith("paused by you") for why in scene.parked()), "the starts of sessions"
    scene.kill()
    scene.type("s", "three")
    scene.start(Scripted(scene.handler.answer))
    scene.settle(90000)
    assert ids(scene) == free
    assert scene.pause(scope, name, held=False)["passed"] == (3 if scope == "all" else 2)
    scene.type("s", "four")
    scene.settle()
    assert ids(scene) == [*free, "u4"] and scene.parked() == []
    scene.restart()
    scene.settle()
    assert ids(scene) == [*free, "u4"]
    kept = scene.app.store.rows(
        "SELECT DISTINCT text, context FROM prompt LEFT JOIN prompt_text ON prompt = number WHERE passed = 'paused'"
    )
    assert kept == [(None, None)], "only a digest is kept"


def test_pause_holds_back_ends_and_jobs(tmp_path: Path) -> None:
    """A synthesis of a paused project would write into it."""
    scene = Scene(tmp_path, jobs=[TimedJob("synthesize", math.inf)])
    scene.type("s", "one")
    scene.settle()
    scene.pause("project", str(scene.root), held=True)
    scene.queue_job("synthesize", scene.root)
    scene.settle(1801)
    assert scene.handler.ends == [] == scene.handler.list_tasks("job")
    scene.pause("project", str(scene.root), held=False)
    scene.settle()
    assert len(scene.handler.ends) == 1 == len(scene.handler.list_tasks("job"))


# sync


@pytest.mark.parametrize(("version", "left"), [("2.0.76", [["while it works"]]), ("2.1.328", [])])
def test_sync_does_not_hang_on_a_queued_message(tmp_path: Path, version: str, left: list[list[str]]) -> None:
    """CLAUDE_CODE section 6 rule 4: its fate is open, so nothing behind it is final; the end of the session decides. Of a
    client that says who wrote it when it is delivered, what was not delivered is nobody's."""
    scene = Scene(tmp_path)
    scene.version = version
    scene.type("s", "one")
    scene.append("s", scene.queued("s", "while it works"), scene.said("s", "Done!"))
    assert scene.sync().done() and scene.handler.words == [["one"]]
    scene.settle(1801)
    assert scene.handler.words == [["one"], *left] and len(scene.handler.ends) == 1


def test_sync_waits_for_what_runs_and_for_what_that_makes_due(tmp_path: Path) -> None:
    """Issue "Command line": syntheses that are due or running included."""
    scene = Scene(tmp_path, held=True)
    scene.type("s", "one")
    scene.settle()
    scene.clock.advance(1801)
    future = scene.sync()
    while scene.pool.works:
        assert not future.done()
        scene.work(1)
        scene.settle(0)
    assert future.done() and len(scene.handler.ends) == 1


def test_a_sync_that_gave_up_is_forgotten(tmp_path: Path) -> None:
    """DESIGN "Control": `sync --timeout` in a loop must not pile up."""
    scene = Scene(tmp_path, held=True)
    scene.type("s", "one")
    waiting = scene.engine.begin_sync()
    waiting.cancel()
    scene.settle()
    assert not scene.engine._waiters


def test_a_sync_that_was_cancelled_costs_no_other(tmp_path: Path) -> None:
    """DESIGN "Control": who waits beside it is answered, and the loop goes on, also when it ends."""
    scene = Scene(tmp_path)
    ends: list[Callable[[], object]] = [scene.settle, lambda: scene.engine.run(scene.engine.stop)]
    for end in ends:
        gone, waiting = scene.engine.begin_sync(), scene.engine.begin_sync()
        assert gone.cancel()
        end()
        assert waiting.done() and not scene.engine._waiters


def test_calls_end_when_the_engine_ends(tmp_path: Path) -> None:
    """DESIGN "Control": nobody waits for a loop that has ended, before, while or after."""
    scene = Scene(tmp_path, held=True)
    scene.type("s", "one")
    answers: list[Any] = []

    def wait() -> None:
        try:
            scene.engine.sync(PATIENCE)
        except UnavailableError as error:
            answers.append(error)

    loop = threading.Thread(target=scene.engine.run)
    clients = [threading.Thread(target=wait) for _ in range(3)]
    for thread in (loop, *clients):
        thread.start()
    scene.engine.inbox.call(lambda: None)
    scene.app.request_stop()
    for thread in (loop, *clients):
        thread.join(PATIENCE)
    assert [type(answer) for answer in answers] == [UnavailableError] * 3
    with pytest.raises(UnavailableError):
        scene.engine.sync(PATIENCE)
    scene.engine.inbox.call_soon(lambda: answers.append("never"))
    assert len(answers) == 3


# --- Pause is privacy: what is written in a pause reaches no plugin and is not stored, whenever it is read.


SCOPES: list[Scope] = ["all", "project", "session"]


def switch(scene: Scene, scope: Scope, *, held: bool) -> dict[str, Any]:
    """Pause or resume while no daemon reads."""
    name = {"all": "", "project": str(scene.root), "session": "s"}[scope]
    scene.clock.advance(5)
    done = set_pause(scene.app.store, scene.app.paths.state_dir, scope, name, scene.clock.now(), held=held)
    scene.clock.advance(5)
    return done


def given(scene: Scene) -> str:
    """Everything that the plugin and the store got of what was not passed over."""
    batches = [batch for batch in scene.handler.batches if not batch.passed]
    return (
        repr([batch.records for batch in batches])
        + repr(scene.handler.tasks)
        + repr(scene.app.store.rows("SELECT text, context FROM prompt_text"))
    )


def restart(scene: Scene) -> None:
    """A daemon that reads what was written while none ran; what the plugin got before is kept."""
    before = scene.handler.batches
    scene.restart()
    scene.handler.batches[:0] = before


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("scope", SCOPES)
def test_what_was_written_in_a_pause_and_is_read_later_is_passed_over(
    tmp_path: Path, scope: Scope, down: bool
) -> None:
    """The words, the assistant's, and what of these is kept as context; not what was typed before or after the pause."""
    scene = Scene(tmp_path)
    scene.append("s", scene.typed("s", "before"), scene.said("s", "well"))
    switch(scene, scope, held=True)
    scene.append("s", scene.typed("s", "hidden one"), scene.said("s", "you said hidden"))
    switch(scene, scope, held=False)
    scene.append("s", scene.typed("s", "after"), scene.said("s", "good"), scene.typed("s", "again"))
    if down:
        restart(scene)
    scene.settle()
    assert ids(scene) == ["u1", "u5", "u7"]
    assert "hidden" not in given(scene) and "well" in given(scene) and "good" in given(scene)
    ((left,),) = scene.app.store.rows(
        "SELECT count(*) FROM prompt LEFT JOIN prompt_text ON prompt = number WHERE passed = 'paused' AND text IS NULL"
    )
    assert left == 1


@pytest.mark.parametrize("scope", SCOPES)
def test_what_was_typed_before_a_pause_and_is_read_in_it_waits(tmp_path: Path, scope: Scope) -> None:
    """RELIABILITY 1: no daemon had read it when the pause began."""
    scene = Scene(tmp_path)
    scene.append("s", scene.typed("s", "before"))
    switch(scene, scope, held=True)
    scene.append("s", scene.said("s", "you said hidden"), scene.typed("s", "hidden"))
    scene.settle()
    assert ids(scene) == []
    switch(scene, scope, held=False)
    scene.settle()
    assert ids(scene) == ["u1"] and "hidden" not in given(scene)


@pytest.mark.parametrize("split", [False, True])
def test_the_answer_to_a_prompt_of_a_pause_is_of_the_pause(tmp_path: Path, split: bool) -> None:
    """It is written after the resume, and may quote the prompt; it may also be read alone."""
    scene = Scene(tmp_path)
    scene.append("s", scene.typed("s", "before"))
    scene.settle()
    switch(scene, "all", held=True)
    scene.append("s", scene.typed("s", "hidden"))
    switch(scene, "all", held=False)
    if split:
        scene.settle()
    scene.append("s", scene.said("s", "you said hidden"))
    if split:
        restart(scene)
        scene.settle()
    scene.append("s", scene.typed("s", "after"), scene.said("s", "good"))
    scene.settle()
    assert ids(scene) == ["u1", "u4"] and "hidden" not in given(scene) and "good" in given(scene)


@pytest.mark.parametrize("scope", SCOPES)
def test_a_copy_of_a_paused_session_brings_nothing_back(tmp_path: Path, scope: Scope) -> None:
    """CLAUDE_CODE section 0 fact 13: a fork has the history under another session's id."""
    scene = Scene(tmp_path)
    switch(scene, scope, held=True)
    records = [scene.typed("s", "hidden"), scene.said("s", "you said hidden")]
    scene.append("s", *records)
    scene.settle()
    switch(scene, scope, held=False)
    scene.append("fork", *({**one, "sessionId": "fork"} for one in records), scene.typed("fork", "new"))
    scene.settle()
    assert ids(scene) == ["u3"] and "hidden" not in given(scene)


def test_a_pause_holds_while_the_clock_is_set_back(tmp_path: Path) -> None:
    """What is typed then has a time from before the pause."""
    scene = Scene(tmp_path)
    switch(scene, "all", held=True)
    scene.clock.wall -= 3600
    scene.type("s", "hidden")
    scene.settle()
    assert ids(scene) == [] and "hidden" not in given(scene)
    scene.type("s", "hidden too")
    assert switch(scene, "all", held=False)["changed"]
    scene.type("s", "after")
    scene.settle()
    assert ids(scene) == ["u3"] and "hidden" not in given(scene)


def test_a_project_that_was_missing_is_paused_when_it_is_found(tmp_path: Path) -> None:
    """The directory could not be found when its prompt was read; the person had paused it by its name."""
    scene = Scene(tmp_path)
    place = scene.tmp / "work" / "away"
    set_pause(scene.app.store, scene.app.paths.state_dir, "project", str(place), scene.clock.now(), held=True)
    scene.type("s", "hidden", cwd=place)
    scene.settle()
    scene.project("away")
    scene.settle(120)
    scene.pause("project", str(place), held=False)
    scene.settle(120)
    assert ids(scene) == []
    assert scene.app.store.rows(
        "SELECT text, passed FROM prompt LEFT JOIN prompt_text ON prompt = number"
    ) == [(None, "paused")]


def test_only_the_end_of_a_task_waits_for_the_next_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN "Control": a hint, a request or a stop begins a pass at once, also if a task ends in the same moment. After
    that alone the next task begins, and the pass comes soon."""
    scene, begun, since = Scene(tmp_path), list[str](), time.monotonic()
    monkeypatch.setattr(TaskRunner, "running", property(lambda self: {("toy", ""): 0.0}))
    monkeypatch.setattr(TaskRunner, "start_ready", lambda self, *, anew: begun.append("next"))
    scene.engine.wake.take()
    for wake in ((scene.engine.wake.set, scene.engine.wake.note_end), (scene.engine.wake.note_end,)):
        for call in wake:
            call()
        scene.engine._sleep(30.0)
        begun.append("pass")
    assert begun == ["pass", "next", "pass"] and time.monotonic() - since < 20
