"""The loop in bad weather: faults, months, clocks that jump, and sources that change."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from support_engine import Scene, Scripted, done, gathered, ids, offered, words_of
from tacitd import engine as engine_module
from tacitd.dispatch import pool as pool_module
from tacitd.errors import UnavailableError
from tacitd.events import Due, SourceChanged, TranscriptGrew
from tacitd.handler import Done, Job, Later

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

    scene.engine.call_soon(look)
    scene.engine._run_guarded()
    assert [d.id for d in scene.engine.list_degradations()] == ["engine.fault"]
    broken[0] = False
    scene.settle()
    assert ids(scene) == ["u1"]
    scene.settle(601)
    scene.settle(61)
    assert scene.engine.list_degradations() == []


def test_ten_faults_end_the_loop_and_answer_everybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN "Service": a service manager starts it anew; a `sync` in progress gets an error."""
    scene = Scene(tmp_path)
    monkeypatch.setattr(scene.engine._stop, "wait", lambda seconds: False)
    scene.type("s", "one")
    future = scene.engine._begin_sync().future
    turns: list[int] = []

    def poll(full: bool = False) -> Any:
        turns.append(1)
        raise RuntimeError("oops")

    scene.engine.follower.poll = poll  # type: ignore[method-assign]
    with pytest.raises(RuntimeError):
        scene.engine.run()
    assert len(turns) == engine_module.FAULTS
    assert isinstance(future.exception(), UnavailableError)


def test_positions_that_cannot_be_written_are_said_and_written_later(tmp_path: Path) -> None:
    """RELIABILITY row 4: a full disk for a minute is no crash loop."""
    scene = Scene(tmp_path)
    scene.append("s", scene.title("s"))
    scene.settle()
    consumer = scene.engine.consumers["a"]
    real = consumer.log.append

    def full(record: Any, **options: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    consumer.log.append = full  # type: ignore[method-assign]
    scene.settle(61)
    assert [d.id for d in scene.engine.list_degradations()] == [
        "state.unwritable"
    ] and scene.engine.fault is None
    consumer.log.append = real  # type: ignore[method-assign]
    scene.settle(61)
    assert scene.engine.list_degradations() == []
    scene.restart()
    assert scene.engine.consumers["a"].get_offset(scene.path("s")) == scene.path("s").stat().st_size


@pytest.mark.parametrize("known", [False, True])
def test_one_turn_that_cannot_be_offered_stops_no_other(
    tmp_path: Path, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One odd directory must not keep every other project from being learned; also one that was in order before."""
    scene = Scene(tmp_path)
    if known:
        scene.type("s", "zero")
        scene.settle()
        scene.restart()
    other = scene.project("other")
    real = scene.dispatcher.project_of

    def project_of(cwd: str) -> Any:
        if cwd == str(scene.root):
            raise RuntimeError("oops")
        return real(cwd)

    monkeypatch.setattr(scene.dispatcher, "project_of", project_of)
    monkeypatch.setattr(scene.dispatcher.work_queue, "_project_of", project_of)
    scene.type("s", "one")
    scene.type("t", "two", cwd=other)
    scene.settle()
    first, second = ("u2", "u3") if known else ("u1", "u2")
    assert ids(scene) == [*["u1"][:known], second] and scene.parked() == ["RuntimeError: oops"]
    monkeypatch.undo()
    scene.settle(31)
    assert ids(scene) == [*["u1"][:known], second, first]


# months


def test_nothing_grows_without_bound(tmp_path: Path) -> None:
    """RELIABILITY row 18: what is handled and over leaves nothing behind but its position."""
    scene = Scene(tmp_path)
    for day in range(3):
        for i in range(20):
            scene.type(f"s{day}-{i}", f"words {day} {i}")
        scene.settle()
        scene.settle(2000)
        scene.settle(61)
        scene.settle(61)
        scene.settle(4000)
        agenda, tails = scene.dispatcher.work_queue, scene.engine.pool
        sizes = (
            agenda.items_by_transcript,
            agenda.items_by_event,
            agenda.lanes,
            agenda._timers,
            tails._open,
            scene.dispatcher.in_flight,
        )
        assert [len(one) for one in sizes] == [0] * 6
        assert not scene.engine.session_places and not scene.engine._found_mtimes
    assert len(ids(scene)) == 60


def test_memory_is_bounded_and_what_was_put_away_is_handled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN "Sources": parked transcripts are put away and read again when they are due."""
    monkeypatch.setattr(pool_module, "KEPT", 5000)
    closed = [True]
    scene = Scene(
        tmp_path,
        Scripted(lambda e: Later("no model") if isinstance(e, TranscriptGrew) and closed[0] else done(e)),
        lanes=99,
    )
    for i in range(12):
        scene.type(f"s{i}", *(f"words {i} {n}" for n in range(5)))
    scene.settle()
    held = sum(tail.kept_bytes for tail in scene.engine.pool._open.values())
    assert held <= 5000 and len(scene.parked()) >= 12
    closed[0] = False
    for _ in range(3):
        scene.settle(25000)
    assert len(ids(scene)) == len(set(ids(scene))) == 60


def test_one_file_larger_than_memory_is_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Putting away what was not read to its end would begin anew for ever."""
    monkeypatch.setattr(pool_module, "KEPT", 2000)
    monkeypatch.setattr(pool_module, "SLICE", 600)
    scene = Scene(tmp_path, gathered())
    scene.type("s", *(f"words {n}" for n in range(40)))
    scene.settle()
    assert scene.sync().done() and len(ids(scene)) == 40


# the clock, and sources


def test_the_engine_runs_jobs_by_its_own_clock(tmp_path: Path) -> None:
    """RELIABILITY row 12: set forward or back, asleep or not, one look at the schedule runs each job once at most."""
    scene = Scene(tmp_path, jobs=[Job("minute", 60.0), Job("day", 86_400.0, at_start=True)])

    def jobs() -> list[str]:
        found = [event.job for event in scene.handler.events if isinstance(event, Due)]
        scene.handler.events.clear()
        return found

    scene.settle()
    assert jobs() == ["day"]
    scene.settle(58.5)
    assert jobs() == ["minute"]
    for jump in (1.0, -1.0, -7200.0, -365 * 86_400.0):
        scene.clock.jump(jump)
        scene.settle()
        assert jobs() == [], jump
    scene.settle(60)
    assert jobs() == ["minute"], "the clock that was set back delays nothing"
    for jump in (7200.0, 365 * 86_400.0, 56 * 365 * 86_400.0):
        scene.clock.jump(jump)
        scene.settle()
        assert set(found := jobs()) <= {"minute", "day"} and len(found) == len(set(found)), jump
    scene.settle(7 * 86_400)  # asleep
    assert sorted(jobs()) == ["day", "minute"]


def test_the_loop_wakes_for_the_next_job(tmp_path: Path) -> None:
    """Nothing but the loop looks at the schedule, so it must not sleep longer than until the next job."""
    scene = Scene(tmp_path, jobs=[Job("j", 10.0)])
    scene.settle()
    scene.clock.advance(7.0)
    scene.settle(0)
    assert scene.engine._sleep_seconds() == pytest.approx(1.0)


def test_a_source_that_changes_is_told_to_who_named_it(tmp_path: Path) -> None:
    """SPEC S-40: for every project that has it as a source."""
    shared = tmp_path / "directives.md"
    scene = Scene(tmp_path, Scripted(watched=[shared]))
    other = scene.project("other")
    scene.type("s", "one")
    scene.type("t", "two", cwd=other)
    scene.settle()
    shared.write_text("use tabs")
    scene.settle(61)
    changes = [event for event in scene.handler.events if isinstance(event, SourceChanged)]
    assert sorted(event.project.root.name for event in changes) == ["app", "other"]
    scene.settle(61)
    assert len(changes) == sum(isinstance(event, SourceChanged) for event in scene.handler.events)


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
    (scene.tmp / "state" / "handlers" / "a" / "log.jsonl").unlink()
    scene.start(Scripted())
    scene.settle()
    assert scene.handler.words == []
    scene.engine.rewind_transcripts([scene.path("s")], scene.clock.now() - 7 * day, [str(scene.root)])
    scene.settle()
    assert scene.handler.words == [["here"]]
    scene.restart()
    scene.append("s", scene.typed("s", "later there", other))
    scene.settle()
    assert scene.handler.words == [["later there"]]
    scene.engine.rewind_transcripts([scene.path("s")], scene.clock.now() - 7 * day)
    scene.settle()
    assert scene.handler.words[1:] == [["there"]]


def test_words_that_a_person_drops_wait_no_longer(tmp_path: Path) -> None:
    """DESIGN "Consumers": the rescue log is left "when it was handled or dropped by hand"."""
    scene = Scene(
        tmp_path, Scripted(lambda event: Later("its directory is gone") if words_of(event) else Done())
    )
    scene.type("s", "one")
    scene.settle()
    assert len(scene.parked()) == 1
    (prompt,) = [p.id for event in scene.handler.events for p in offered(event)][:1]
    scene.dispatcher.drop_prompts([prompt])
    scene.settle()
    assert scene.parked() == []
    scene.restart(Scripted())
    scene.settle()
    assert scene.handler.words == []
