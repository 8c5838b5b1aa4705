"""The loop: what it notices, what it reads again, what it is told to leave alone."""

from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from support_engine import Scene, Scripted, offered, prompts_of, words_of
from tacitd import engine as engine_module
from tacitd import tails as tails_module
from tacitd.errors import FileRefusedError, UnavailableError
from tacitd.events import Due, Event, Project, SessionEnded, SessionStarted, SourceChanged, TranscriptGrew
from tacitd.handler import Done, Later, Outcome, Rejected, Wait
from tacitd.holds import Hold
from tacitd.transcripts import lines
from tacitd.transcripts.breaker import LIMIT


def done(event: Event) -> Done:
    return Done(data={"did": prompts_of(event)})


def ids(scene: Scene, number: int = 0) -> list[str]:
    return [str(word) for word in scene.handlers[number].did]


# the past


def test_what_is_there_at_the_first_start_is_taken_as_read(tmp_path: Path) -> None:
    """Issue "Reading": the past costs nothing unasked; what comes after is learned."""
    scene = Scene(tmp_path)
    scene.kill()
    (tmp_path / "state" / "handlers" / "a" / "log.jsonl").unlink()
    scene.type("s", "old")
    scene.start(Scripted())
    scene.settle()
    assert scene.handler.events == []
    scene.type("s", "new")
    scene.settle()
    assert scene.handler.words == [["new"]]


def test_a_torn_line_at_the_first_start_is_read_when_it_is_whole(tmp_path: Path) -> None:
    """Issue "Reading": a position only stands just after a newline."""
    scene = Scene(tmp_path)
    scene.kill()
    (tmp_path / "state" / "handlers" / "a" / "log.jsonl").unlink()
    whole = json.dumps(scene.typed("s", "new")).encode() + b"\n"
    scene.type("s", "old")
    with scene.path("s").open("ab") as out:
        out.write(whole[:50])
    scene.start(Scripted())
    scene.settle()
    with scene.path("s").open("ab") as out:
        out.write(whole[50:])
    scene.settle()
    assert scene.handler.words == [["new"]]


def test_old_records_in_a_new_file_are_not_paid_for(tmp_path: Path) -> None:
    """Issue "Reading": forks and restored homes bring the past back; who does not pay may have it."""
    scene = Scene(tmp_path, Scripted(), Scripted(), pays=[True, False])
    scene.settle(1000)
    scene.append("new", scene.typed("new", "old", age=5000), scene.said("new", "Done!", age=4990))
    scene.type("new", "young")
    scene.settle()
    assert scene.handlers[0].words == [["young"]] and scene.handlers[1].words == [["old", "young"]]
    (grew,) = [event for event in scene.handlers[0].events if isinstance(event, TranscriptGrew)]
    assert [record.text for record in grew.records] == [""], "no record of the past, whoever speaks"


def test_scan_offers_the_past_once(tmp_path: Path) -> None:
    """Issue "Reading": `tacitd scan` goes back as far as it was asked, and a second time changes nothing."""
    scene = Scene(tmp_path, Scripted(), Scripted(), pays=[True, False])
    scene.settle(1000)
    scene.type("s", "very old", age=9000)
    scene.type("s", "old", age=5000)
    scene.type("s", "young")
    scene.settle()
    floor = scene.clock.wall - 6000
    for _ in range(2):
        assert scene.engine.rewind([scene.path("s"), Path("/etc/passwd")], floor) == 1, (
            "nothing but transcripts"
        )
        assert scene.sync().done()
    assert ids(scene) == ["u3", "u2"] and scene.handlers[0].words == [["young"], ["old"]]
    assert scene.handlers[1].words == [["very old", "old", "young"]], "who does not pay was not set back"
    scene.restart()
    scene.settle()
    assert scene.handlers[0].words == [] and ids(scene) == ["u3", "u2"]


def test_scan_goes_on_after_a_restart(tmp_path: Path) -> None:
    """The wish to go back is durable: a kill in the middle of it loses nothing."""
    scene = Scene(tmp_path, held=True)
    scene.settle(1000)
    scene.type("s", "old", age=5000)
    scene.settle()
    scene.engine.rewind([scene.path("s")], 0.0)
    scene.held = False
    scene.restart()
    scene.settle()
    assert ids(scene) == ["u1"]


def test_an_old_session_that_is_read_in_slices_begins_and_ends_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A synthesis for each megabyte of a long session would cost a hundred times what was said."""
    monkeypatch.setattr(tails_module, "SLICE", 600)
    scene = Scene(tmp_path, grew_due(), held=False)
    scene.settle(10)
    scene.type("s", *(f"words {i}" for i in range(40)))
    old = scene.clock.wall
    os.utime(scene.path("s"), (old, old))
    scene.kill()
    scene.clock.pass_(5000)
    scene.start(grew_due())
    scene.settle()
    kinds = [type(event) for event in scene.handler.events if not isinstance(event, TranscriptGrew)]
    assert kinds == [SessionStarted, SessionEnded] and len(ids(scene)) == 40


def grew_due() -> Scripted:
    return Scripted(lambda e: Wait(1e5) if isinstance(e, TranscriptGrew) and not e.due else done(e))


# the file


def test_a_torn_last_line_waits_and_does_not_hang_sync(tmp_path: Path) -> None:
    """CLAUDE_CODE section 0 fact 7: a line that is still being written is no line yet."""
    scene = Scene(tmp_path)
    scene.type("s", "one")
    whole = json.dumps(scene.typed("s", "two")).encode() + b"\n"
    with scene.path("s").open("ab") as out:
        out.write(whole[:-20])
    assert scene.sync().done() and scene.handler.words == [["one"]]
    with scene.path("s").open("ab") as out:
        out.write(whole[-20:])
    assert scene.sync().done() and scene.handler.words == [["one"], ["two"]]


@pytest.mark.parametrize("how", ["shrunk", "rewritten", "replaced", "while down"])
def test_another_file_is_read_again_and_nothing_is_done_twice(tmp_path: Path, how: str) -> None:
    """DESIGN "Hints and truth": a mismatch or a shrunken file means: read again from 0."""
    scene = Scene(tmp_path)
    records = scene.type("s", "one", "two", "three")
    scene.settle()
    if how == "while down":
        scene.kill()
    kept = records[:1] if how == "shrunk" else [*records, scene.typed("s", "x" * 500)]
    new = [scene.typed("s", "new"), *kept]
    if how in ("replaced", "while down"):
        scene.path("s").unlink()
    scene.path("s").write_bytes(b"")
    scene.append("s", *new)
    if how == "while down":
        scene.start(Scripted())
    scene.settle()
    scene.settle()
    assert sorted(ids(scene)) == sorted(
        ["u1", "u2", "u3", *(one["uuid"] for one in new if one not in records)]
    )
    assert scene.sync().done()


def test_a_file_that_is_rewritten_while_a_handler_works_on_it(tmp_path: Path) -> None:
    """The answer to the old bytes must not move the position in the new ones."""
    scene = Scene(tmp_path, held=True)
    scene.type("s", *(f"old {i}" for i in range(10)))
    scene.settle()
    scene.work()
    scene.settle(0)
    scene.path("s").write_bytes(b"")
    scene.append("s", scene.typed("s", "new"), scene.typed("s", "newer"))
    scene.settle()
    for _ in range(6):
        scene.work()
        scene.settle()
    assert ids(scene) == [f"u{i}" for i in range(1, 13)]


@pytest.mark.parametrize("answer", ["done", "later", "rejected"])
def test_a_file_that_vanishes_while_a_handler_works_on_it(tmp_path: Path, answer: str) -> None:
    """CLAUDE_CODE section 0 fact 5: what was paid for is kept; the engine goes on."""
    answers: dict[str, Outcome] = {"later": Later("no"), "rejected": Rejected("never")}
    scene = Scene(
        tmp_path,
        Scripted(lambda e: answers.get(answer, done(e)) if isinstance(e, TranscriptGrew) else Done()),
        held=True,
    )
    scene.type("s", "one")
    scene.settle()
    scene.work()
    scene.settle(0)
    scene.path("s").unlink()
    scene.settle()
    scene.work()
    scene.pool.held = False
    scene.settle()
    assert scene.engine.fault is None and scene.sync().done()
    assert ids(scene) == (["u1"] if answer == "done" else [])
    assert [kept["text"] for kept in scene.dispatcher.rescue.kept()] == ([] if answer == "done" else ["one"])


def test_a_file_that_vanishes_with_nothing_of_interest_left(tmp_path: Path) -> None:
    """Its position cannot be looked up any more: that is no fault of the engine."""
    scene = Scene(tmp_path)
    scene.append("s", scene.title("s"))
    scene.engine._look(full=True)
    scene.engine.tails.read()
    scene.path("s").unlink()
    scene.dispatcher.grew(scene.path("s"))
    scene.settle()
    assert scene.engine.fault is None and scene.sync().done()


def test_a_file_that_comes_back_is_read_again(tmp_path: Path) -> None:
    """A restored home: nothing is handled twice, and what is new in it is handled."""
    scene = Scene(tmp_path)
    scene.type("s", "one")
    scene.settle()
    data = scene.path("s").read_bytes()
    scene.path("s").unlink()
    scene.settle()
    scene.path("s").write_bytes(data)
    scene.type("s", "two")
    scene.settle()
    assert ids(scene) == ["u1", "u2"] and scene.engine.fault is None


def test_an_unreadable_file_is_shown_and_recovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue "Bad input": one clear line in `status`, nothing else stops; it goes on when it can be read."""
    scene = Scene(tmp_path)
    real, shut = lines.open_transcript, [True]

    def opens(path: Path) -> int:
        if shut[0] and path.name == "s.jsonl":
            raise FileRefusedError(f"{path} cannot be opened: Permission denied", "chmod")
        return real(path)

    monkeypatch.setattr(lines, "open_transcript", opens)
    scene.type("s", "one")
    scene.type("t", "two")
    assert scene.sync().done() and scene.handler.words == [["two"]]
    (said,) = [d for d in scene.engine.degradations() if d.id == "transcript.unreadable"]
    assert "s.jsonl" in said.what and said.hint == "chmod"
    shut[0] = False
    assert scene.sync().done() and scene.handler.words == [["two"], ["one"]]
    assert not [d for d in scene.engine.degradations() if d.id == "transcript.unreadable"]


def test_an_unreadable_file_at_the_first_start_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue "Bad input": the daemon starts; what is in it is older than the first start, and not paid for."""
    scene = Scene(tmp_path)
    scene.kill()
    (tmp_path / "state" / "handlers" / "a" / "log.jsonl").unlink()
    scene.type("s", "old", age=3000)
    scene.type("t", "old too", age=3000)
    real = lines.open_transcript

    def opens(path: Path) -> int:
        if path.name == "s.jsonl":
            raise FileRefusedError(f"{path} cannot be opened")
        return real(path)

    with monkeypatch.context() as shut:
        shut.setattr("tacitd.transcripts.position.open_transcript", opens)
        scene.start(Scripted())
    scene.settle()
    scene.type("s", "new")
    scene.settle()
    assert scene.handler.words == [["new"]]


# what a person says


@pytest.mark.parametrize("scope", ["all", "project", "session"])
def test_pause_and_resume(tmp_path: Path, scope: Any) -> None:
    """Issue "Command line": what is said meanwhile waits, also over a restart, and is learned after `resume`."""
    scene = Scene(tmp_path)
    other = scene.project("other")
    hold = Hold(scope, {"all": "", "project": str(scene.root), "session": "s"}[scope])
    scene.engine.hold(hold, held=True)
    scene.type("s", "one")
    scene.type("t", "two", cwd=other)
    scene.settle()
    free = [] if scope == "all" else ["u2"]
    assert ids(scene) == free and all(why.startswith("paused by you") for why in scene.parked())
    assert scene.sync().done(), "paused is parked"
    scene.restart()
    scene.settle(90000)
    assert ids(scene) == free
    scene.engine.hold(hold, held=False)
    scene.settle()
    assert sorted(ids(scene)) == ["u1", "u2"] and scene.parked() == []


def test_a_paused_project_is_not_shown_to_who_asks_no_model_either(tmp_path: Path) -> None:
    """Records without words of a person are paused as well: a continuity handler reads them."""
    scene = Scene(tmp_path)
    scene.engine.hold(Hold("project", str(scene.root)), held=True)
    scene.append("s", scene.said("s", "Done!"))
    scene.settle()
    assert not any(isinstance(event, TranscriptGrew) for event in scene.handler.events)


def test_pause_holds_back_ends_and_jobs(tmp_path: Path) -> None:
    """A synthesis of a paused project would write into it."""
    scene = Scene(tmp_path)
    scene.type("s", "one")
    scene.settle()
    scene.engine.hold(Hold("project", str(scene.root)), held=True)
    scene.dispatcher.post(Due("synthesize", Project(scene.root, True)))
    scene.settle(1801)
    assert scene.handler.ends == [] and not any(isinstance(e, Due) for e in scene.handler.events)
    scene.engine.hold(Hold("all"), held=False)
    scene.settle()
    assert len(scene.handler.ends) == 1 and any(isinstance(e, Due) for e in scene.handler.events)


def test_the_growth_breaker_closes_and_opens(tmp_path: Path) -> None:
    """RELIABILITY row 16: a loop of self-made sessions is not paid for; nothing of it is lost."""
    scene = Scene(tmp_path)
    for i in range(LIMIT + 10):
        scene.type(f"s{i}", f"words {i}")
        scene.settle()
    assert len(ids(scene)) == LIMIT
    assert any(d.id == "breaker.closed" for d in scene.engine.degradations()) and scene.sync().done()
    scene.settle(3700)
    for _ in range(3):
        scene.settle(700)
    assert sorted(ids(scene)) == sorted(f"u{i + 1}" for i in range(LIMIT + 10))


# sync


def test_sync_does_not_hang_on_a_queued_message(tmp_path: Path) -> None:
    """CLAUDE_CODE section 6 rule 4: its fate is open, so nothing behind it is final; the end of the session decides."""
    scene = Scene(tmp_path)
    scene.type("s", "one")
    scene.append("s", scene.queued("s", "while it works"), scene.said("s", "Done!"))
    assert scene.sync().done() and scene.handler.words == [["one"]]
    scene.settle(1801)
    assert scene.handler.words == [["one"], ["while it works"]] and len(scene.handler.ends) == 1


def test_a_queued_message_survives_being_put_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What counted as said at the end of the session counts as said when the file is read once more."""
    scene = Scene(
        tmp_path,
        Scripted(lambda e: Later("no model") if isinstance(e, TranscriptGrew) and open_[0] else done(e)),
    )
    open_ = [True]
    scene.append("s", scene.said("s", "Hello"), scene.queued("s", "while it works"))
    scene.settle()
    scene.settle(1801)
    assert "no model" in scene.parked()
    monkeypatch.setattr(tails_module, "KEPT", 0)
    scene.settle(61)
    open_[0] = False
    scene.settle(25000)
    assert scene.handler.words[-1] == ["while it works"] and len(scene.handler.did) == 1


def test_sync_does_not_hang_on_a_vanished_file(tmp_path: Path) -> None:
    """DESIGN "Control": a file that is gone can not be waited for."""
    scene = Scene(tmp_path, held=True)
    scene.type("s", "one")
    scene.type("t", "two")
    future = scene.engine._begin_sync().future
    scene.path("s").unlink()
    for _ in range(8):
        scene.settle(0)
        scene.work(1)
    scene.settle(0)
    assert future.done() and "u2" in ids(scene)


def test_sync_waits_for_what_runs_and_for_what_that_makes_due(tmp_path: Path) -> None:
    """Issue "Command line": syntheses that are due or running included."""
    scene = Scene(tmp_path, held=True)
    scene.type("s", "one")
    scene.settle()
    scene.clock.pass_(1801)
    future = scene.sync()
    while scene.pool.works:
        assert not future.done()
        scene.work(1)
        scene.settle(0)
    assert future.done() and len(scene.handler.ends) == 1


def test_sync_is_cheap_where_nothing_is_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two thousand transcripts, and none is opened for a `sync` but those that grew."""
    scene = Scene(tmp_path)
    for i in range(60):
        scene.type(f"s{i}", f"words {i}")
    scene.settle()
    scene.settle(1900)
    scene.settle(61)
    opened: list[Path] = []
    real = lines.open_transcript

    def opens(path: Path) -> int:
        opened.append(path)
        return real(path)

    monkeypatch.setattr(lines, "open_transcript", opens)
    scene.type("s7", "more")
    assert scene.sync().done()
    assert set(opened) <= {scene.path("s7")}


def test_a_sync_that_gave_up_is_forgotten(tmp_path: Path) -> None:
    """DESIGN "Control": `sync --timeout` in a loop must not pile up."""
    scene = Scene(tmp_path, held=True)
    scene.type("s", "one")
    waiting = scene.engine._begin_sync()
    scene.engine._syncs.forget(waiting)
    scene.engine._syncs.forget(waiting)
    scene.settle()
    assert not waiting.future.done()


def test_calls_end_when_the_engine_ends(tmp_path: Path) -> None:
    """DESIGN "Control": nobody waits for a loop that has ended, before, while or after."""
    scene = Scene(tmp_path, held=True)
    scene.type("s", "one")
    answers: list[Any] = []

    def wait() -> None:
        try:
            scene.engine.sync(30)
        except UnavailableError as error:
            answers.append(error)

    loop = threading.Thread(target=scene.engine.run)
    clients = [threading.Thread(target=wait) for _ in range(3)]
    for thread in (loop, *clients):
        thread.start()
    scene.engine.call(lambda: None)
    scene.app.leave()
    for thread in (loop, *clients):
        thread.join(20)
    assert [type(answer) for answer in answers] == [UnavailableError] * 3
    with pytest.raises(UnavailableError):
        scene.engine.sync(30)
    scene.engine.post(lambda: answers.append("never"))
    assert len(answers) == 3


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

    scene.engine.post(look)
    scene.engine._guarded_turn()
    assert [d.id for d in scene.engine.degradations()] == ["engine.fault"]
    broken[0] = False
    scene.settle()
    assert ids(scene) == ["u1"]
    scene.settle(601)
    scene.settle(61)
    assert scene.engine.degradations() == []


def test_ten_faults_end_the_loop_and_answer_everybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue "Life as a service": a service manager starts it anew; a `sync` in progress is told."""
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
    assert [d.id for d in scene.engine.degradations()] == ["state.unwritable"] and scene.engine.fault is None
    consumer.log.append = real  # type: ignore[method-assign]
    scene.settle(61)
    assert scene.engine.degradations() == []
    scene.restart()
    assert scene.engine.consumers["a"].stands(scene.path("s")) == scene.path("s").stat().st_size


def test_one_turn_that_cannot_be_offered_stops_no_other(tmp_path: Path) -> None:
    """One odd directory must not keep every other project from being learned."""
    scene = Scene(tmp_path)
    other = scene.project("other")
    real = scene.dispatcher.parts.project_of

    def project_of(cwd: str) -> Any:
        if cwd == str(scene.root):
            raise RuntimeError("oops")
        return real(cwd)

    scene.dispatcher.parts.project_of = project_of
    scene.type("s", "one")
    scene.type("t", "two", cwd=other)
    scene.settle()
    assert ids(scene) == ["u2"] and scene.parked() == ["RuntimeError: oops"]
    scene.dispatcher.parts.project_of = real
    scene.settle(31)
    assert ids(scene) == ["u2", "u1"]


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
        agenda, tails = scene.dispatcher.agenda, scene.engine.tails
        sizes = (
            agenda.turns,
            agenda.events,
            agenda._blocked,
            agenda._timers,
            tails._open,
            scene.dispatcher.claims,
        )
        assert [len(one) for one in sizes] == [0] * 6
        assert not scene.engine.started_sessions and not scene.engine._found
    assert len(ids(scene)) == 60


def test_memory_is_bounded_and_what_was_put_away_is_handled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN "Hints and truth": parked transcripts are put away and read again when they are due."""
    monkeypatch.setattr(tails_module, "KEPT", 5000)
    closed = [True]
    scene = Scene(
        tmp_path,
        Scripted(lambda e: Later("no model") if isinstance(e, TranscriptGrew) and closed[0] else done(e)),
        lanes=99,
    )
    for i in range(12):
        scene.type(f"s{i}", *(f"words {i} {n}" for n in range(5)))
    scene.settle()
    held = sum(tail.kept_bytes for tail in scene.engine.tails._open.values())
    assert held <= 5000 and len(scene.parked()) >= 12
    closed[0] = False
    for _ in range(3):
        scene.settle(25000)
    assert len(ids(scene)) == len(set(ids(scene))) == 60


def test_one_file_larger_than_memory_is_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Putting away what was not read to its end would begin anew for ever."""
    monkeypatch.setattr(tails_module, "KEPT", 2000)
    monkeypatch.setattr(tails_module, "SLICE", 600)
    scene = Scene(tmp_path, grew_due())
    scene.type("s", *(f"words {n}" for n in range(40)))
    scene.settle()
    assert scene.sync().done() and len(ids(scene)) == 40


# the clock, and sources


def test_a_clock_jump_and_a_sleep_wake_the_schedule(tmp_path: Path) -> None:
    """RELIABILITY row 12: the scheduler does not run while the clock is set back, so it is told."""
    scene = Scene(tmp_path)
    told: list[int] = []
    scene.engine.on_jump = lambda: told.append(1)
    scene.settle()
    scene.settle(30)
    assert told == []
    for jump in (-7200, 7200, 3.0e7):
        scene.clock.jump(jump)
        scene.settle()
    assert len(told) == 3
    scene.settle(7200)
    assert len(told) == 4, "a turn that comes hours late was a sleep, whatever the clocks say"


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
    told = [event for event in scene.handler.events if isinstance(event, SourceChanged)]
    assert sorted(event.project.root.name for event in told) == ["app", "other"]
    scene.settle(61)
    assert len(told) == sum(isinstance(event, SourceChanged) for event in scene.handler.events)


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
    scene.engine.rewind([scene.path("s")], scene.clock.now() - 7 * day, [str(scene.root)])
    scene.settle()
    assert scene.handler.words == [["here"]]
    scene.restart()
    scene.append("s", scene.typed("s", "later there", other))
    scene.settle()
    assert scene.handler.words == [["later there"]]
    scene.engine.rewind([scene.path("s")], scene.clock.now() - 7 * day)
    scene.settle()
    assert scene.handler.words[1:] == [["there"]]


def test_words_that_a_person_drops_wait_no_longer(tmp_path: Path) -> None:
    """DESIGN "One way through": the rescue log is left "when it was handled or dropped by hand"."""
    scene = Scene(
        tmp_path, Scripted(lambda event: Later("its directory is gone") if words_of(event) else Done())
    )
    scene.type("s", "one")
    scene.settle()
    assert len(scene.parked()) == 1
    (prompt,) = [p.id for event in scene.handler.events for p in offered(event)][:1]
    scene.dispatcher.forget([prompt])
    scene.settle()
    assert scene.parked() == []
    scene.restart(Scripted())
    scene.settle()
    assert scene.handler.words == []
