"""The loop in bad weather: faults, months, clocks that jump, and sources that change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support_engine import Scene, Scripted, ids
from tacitd import engine as engine_module
from tacitd.errors import UnavailableError
from tacitd.plugin import TimedJob
from tacitd.work.task_rows import ReadyTask

# faults


def test_a_failing_turn_is_shown_and_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN "Control": a degradation until it is gone; the words of that turn are not lost."""
    scene = Scene(tmp_path)
    monkeypatch.setattr(scene.engine._stop, "wait", lambda seconds: False)
    scene.type("s", "one")
    broken = [True]

    def look() -> None:
        if broken[0]:
            raise RuntimeError("oops")

    scene.engine.inbox.call_soon(look)
    scene.engine._run_guarded()
    assert [d.id for d in scene.app.list_degradations()] == ["engine.fault"]
    broken[0] = False
    scene.settle()
    assert ids(scene) == ["u1"]
    scene.settle(601)
    scene.settle(61)
    assert scene.app.list_degradations() == []


def test_ten_faults_end_the_loop_and_answer_everybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN "Service": a service manager starts it anew; a `sync` in progress gets an error."""
    scene = Scene(tmp_path)
    monkeypatch.setattr(scene.engine._stop, "wait", lambda seconds: False)
    scene.type("s", "one")
    future = scene.engine.begin_sync()
    turns: list[int] = []

    def poll(full: bool = False) -> Any:
        turns.append(1)
        raise RuntimeError("oops")

    scene.engine.follower.poll = poll  # type: ignore[method-assign]
    with pytest.raises(RuntimeError):
        scene.engine.run()
    assert len(turns) == engine_module.FAULTS
    assert isinstance(future.exception(), UnavailableError)


def test_what_was_planned_before_a_start_is_written_before_its_project_is_worked_on(tmp_path: Path) -> None:
    """DESIGN "Commit": what follows a file is made of what was planned for it, also after a crash between the plan and the file."""
    scene = Scene(tmp_path)
    scene.type("s", "one")
    scene.settle()
    with scene.app.store.write() as tx:
        ((project,),) = tx.rows("SELECT number FROM project")
        tx.execute(
            "INSERT INTO change(number, id, key, at, plugin, project, by) VALUES(1, 'x', 'x', 1, 'a', ?, 'prompt')",
            project,
        )
        path = str(scene.root / "file")
        sql = "INSERT INTO shared_file(path, plugin, format, project) VALUES(?, 'a', 'lines', ?)"
        tx.execute(sql, path, project)
        tx.execute(
            "INSERT INTO plan(path, leaf, format, put, change, process, place) VALUES(?, 'a', 'lines', 'a', 1, '1 1', 0)",
            path,
        )
    scene.restart()
    ready = ReadyTask(9, "a", "", "s", project, "prompts")
    assert scene.engine.is_held(ready) and not scene.engine.is_held(ReadyTask(9, "a", "", "s", None, "job"))
    scene.settle()
    assert (scene.root / "file").read_text() == "a\n" and not scene.engine.is_held(ready)


# the clock, and sources


def test_the_loop_wakes_for_the_next_job(tmp_path: Path) -> None:
    """Nothing but the loop looks at the schedule, so it must not sleep longer than until the next job."""
    scene = Scene(tmp_path, jobs=[TimedJob("j", 10.0)])
    scene.settle()
    scene.clock.advance(7.0)
    scene.settle(0)
    assert scene.engine.sleep_seconds() == pytest.approx(3.0)


def test_a_sub_agent_keeps_its_session_alive_and_is_not_read(tmp_path: Path) -> None:
    """CLAUDE_CODE section 6 rule 1: nothing in it is the person's."""
    scene = Scene(tmp_path)
    scene.type("s", "one")
    scene.settle()
    folder = scene.folder / "s" / "subagents"
    folder.mkdir(parents=True)
    for _ in range(3):
        scene.settle(1000)
        scene.append("s", scene.typed("s", "do this"), path=folder / "agent-1.jsonl")
        scene.settle()
    assert scene.handler.words == [["one"]] and scene.handler.ends == []


def test_a_scan_for_one_project_pays_for_no_other(tmp_path: Path) -> None:
    """Issue "`tacitd scan --project`": a session that changed projects is paid for only where it was asked for, and what
    is typed after that counts as ever."""
    scene = Scene(tmp_path)
    other = scene.project("other")
    day = 86400.0
    scene.append("s", scene.typed("s", "here", age=day), scene.typed("s", "there", other, age=day))
    scene.kill()
    scene.forget_store()
    scene.start(Scripted())
    scene.settle()
    assert scene.handler.words == []
    scene.scan([scene.path("s")], scene.clock.now() - 7 * day, [str(scene.root)])
    scene.settle()
    assert scene.handler.words == [["here"]]
    scene.restart()
    scene.append("s", scene.typed("s", "later there", other))
    scene.settle()
    assert scene.handler.words == [["later there"]]
    scene.scan([scene.path("s")], scene.clock.now() - 7 * day)
    scene.settle()
    assert scene.handler.words[1:] == [["there"]]
