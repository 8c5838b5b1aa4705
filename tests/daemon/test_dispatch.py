"""Who is offered what, when, and what becomes of the answer."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support_engine import Scene, Scripted, prompts_of, words_of
from tacitd.errors import FileRefusedError
from tacitd.events import Due, Event, SessionEnded, SessionStarted, TranscriptGrew
from tacitd.handler import Done, Job, Later, Rejected, Wait


def grew(answer: Callable[[TranscriptGrew], Any]) -> Scripted:
    """A handler that answers growth by a function, and is done with all else."""
    return Scripted(lambda event: answer(event) if isinstance(event, TranscriptGrew) else Done())


def done(event: Event, upto: int | None = None, only: int | None = None) -> Done:
    return Done(upto, {"did": prompts_of(event)[:only]})


# gathering


def test_wait_gathers_until_its_time(tmp_path: Path) -> None:
    """Issue "Dispatch": `Wait` is ordinary gathering; growth and time offer again, with all that was gathered."""
    answers = [Wait(600.0), Wait(500.0), None]
    scene = Scene(tmp_path, grew(lambda event: answers.pop(0) or done(event)))
    scene.type("s", "one")
    scene.settle()
    scene.settle(10)
    assert scene.handler.words == [["one"]], "nothing new: it is left in peace"
    scene.append("s", scene.said("s", "Done!"), scene.title("s"))
    scene.settle(10)
    assert scene.handler.words == [["one"]], "what the assistant says is no reason"
    scene.type("s", "two")
    scene.settle(10)
    assert scene.handler.words == [["one"], ["one", "two"]]
    scene.settle(498)
    assert len(scene.handler.words) == 2
    scene.settle(3)
    assert scene.handler.words[2] == ["one", "two"] and scene.handler.did == ["u1", "u3"]


def test_sync_makes_gathered_work_due(tmp_path: Path) -> None:
    """Issue "Command line": `sync` makes gathered work due, and answers when it is handled."""
    scene = Scene(tmp_path, grew(lambda event: done(event) if event.due else Wait(600.0)))
    scene.type("s", "one")
    scene.settle()
    assert scene.handler.did == [] and scene.sync().done() and scene.handler.did == ["u1"]
    assert [e.due for e in scene.handler.events if isinstance(e, TranscriptGrew)] == [False, True]


def test_sync_makes_due_what_was_not_even_read(tmp_path: Path) -> None:
    """DESIGN "Control": every byte that existed at the call, also of a transcript that nobody had noticed."""
    scene = Scene(tmp_path, grew(lambda event: done(event) if event.due else Wait(600.0)))
    for i in range(30):
        scene.type(f"s{i}", f"words {i}")
    assert scene.sync().done() and len(scene.handler.did) == 30


def test_a_handler_that_waits_although_it_is_due_does_not_hang_sync(tmp_path: Path) -> None:
    """DESIGN "Control": `sync` never hangs, and asks a stubborn handler once."""
    scene = Scene(tmp_path, grew(lambda event: Wait(600.0)))
    scene.type("s", "one")
    scene.settle()
    assert scene.sync().done() and len(scene.handler.words) == 2


def test_what_was_hurried_while_it_was_asked_is_asked_again(tmp_path: Path) -> None:
    """Issue "Command line": `sync` during a call must not be answered by what was decided before it."""
    scene = Scene(tmp_path, grew(lambda event: done(event) if event.due else Wait(600.0)), held=True)
    scene.type("s", "one")
    scene.settle()
    scene.work()  # the session began
    scene.settle(0)
    future = scene.sync()
    scene.work()
    scene.settle(0)
    assert not future.done()
    scene.work()
    scene.settle(0)
    assert future.done() and scene.handler.did == ["u1"]


# waiting for the world


def test_later_parks_grows_its_pauses_and_wakes(tmp_path: Path) -> None:
    """Issue "Dispatch": parked work is visible, retried with growing pauses, and goes on by itself."""
    answers: list[Any] = [Later("no model", "install it")] * 3
    scene = Scene(tmp_path, grew(lambda event: answers.pop() if answers else done(event)))
    scene.type("s", "one")
    scene.settle()
    assert scene.parked() == ["no model"]
    tries = [len(scene.handler.words)]
    for seconds in (28, 3, 117, 4, 476, 5):
        scene.settle(seconds)
        tries.append(len(scene.handler.words))
    assert tries == [1, 1, 2, 2, 3, 3, 4] and scene.handler.did == ["u1"] and scene.parked() == []


def test_growth_does_not_wake_what_is_parked(tmp_path: Path) -> None:
    """RELIABILITY row 16: somebody who goes on typing must not cause a call for each prompt."""
    scene = Scene(tmp_path, grew(lambda event: Later("limit", not_before=scene.clock.wall + 3600)))
    for i in range(5):
        scene.type("s", f"words {i}")
        scene.settle(5)
    assert len(scene.handler.words) == 1
    assert scene.sync().done() and len(scene.handler.words) == 1, "sync does not overrule a named time"
    scene.settle(3600)
    assert [len(words) for words in scene.handler.words] == [1, 5]


def test_a_named_time_follows_the_clock(tmp_path: Path) -> None:
    """RELIABILITY row 12: set forward, it is due when the clock says so; set back, it is tried at once."""
    scene = Scene(tmp_path, grew(lambda event: Later("limit", not_before=scene.clock.wall + 3600)))
    scene.type("s", "one")
    scene.settle()
    scene.clock.jump(1800)
    scene.settle(1)
    assert len(scene.handler.words) == 1
    scene.clock.jump(1800)
    scene.settle(1)
    assert len(scene.handler.words) == 2
    scene.clock.jump(-86400)
    scene.settle(1)
    scene.settle(1)
    assert len(scene.handler.words) == 3


def test_sync_tries_once_what_waits_without_a_time(tmp_path: Path) -> None:
    """Issue "Command line": handled or parked, and `sync` says what is parked."""
    scene = Scene(tmp_path, grew(lambda event: Later("no model")))
    scene.type("s", "one")
    scene.settle()
    assert scene.sync().done() and len(scene.handler.words) == 2 and scene.parked() == ["no model"]


# failing


def test_a_failing_batch_is_halved_and_one_record_is_rejected(tmp_path: Path) -> None:
    """Issue "Dispatch": only the poisonous record becomes a dead letter, and its words are rescued."""

    def answer(event: TranscriptGrew) -> Any:
        return Later("echo", blame="work") if "poison" in words_of(event) else done(event)

    scene = Scene(tmp_path, grew(answer))
    scene.type("s", *(f"words {i}" for i in range(5)), "poison", *(f"more {i}" for i in range(4)))
    for _ in range(12):
        scene.settle(600)
    assert scene.handler.did == ["u1", "u2", "u3", "u4", "u5", "u7", "u8", "u9", "u10"]
    (dead,) = scene.dispatcher.dead.read()
    assert dead["prompts"] == ["u6"] and dead["handler"] == "a" and dead["reason"] == "echo"
    assert scene.path("s").read_bytes()[dead["start"] : dead["end"]].count(b"poison") == 1
    (kept,) = scene.dispatcher.rescue.kept()
    assert kept["text"] == "poison" and scene.dispatcher.dead_count == 1 and scene.parked() == []
    assert scene.sync().done()


def test_an_exception_is_a_later_with_a_count(tmp_path: Path) -> None:
    """Issue "Dispatch": one failing handler never touches another."""

    def broken(event: Event) -> Any:
        raise ZeroDivisionError("oops")

    scene = Scene(tmp_path, Scripted(broken), Scripted())
    scene.type("s", "one")
    scene.settle()
    other = scene.handlers[1]
    assert other.did == ["u1"]
    assert any("ZeroDivisionError: oops" in why for why in scene.parked())
    for _ in range(3):
        scene.settle(600)
    assert scene.dispatcher.dead_count == 1, "a single record that fails three times is put aside"
    assert scene.engine.fault is None


@pytest.mark.parametrize("answer", [None, "done", 7, SystemExit(1)], ids=str)
def test_an_answer_that_is_none_is_a_failure_of_the_handler(tmp_path: Path, answer: Any) -> None:
    """A stranger's handler must not leave its project's lane locked for ever."""

    def odd(event: TranscriptGrew) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    scene = Scene(tmp_path, grew(odd))
    scene.type("s", "one")
    scene.settle()
    assert scene.parked() and not scene.dispatcher.runner.lanes and scene.sync().done()


@pytest.mark.parametrize("nowhere", [0, -1, 246, 10**9])
def test_done_that_does_not_move_is_an_error_and_no_loop(tmp_path: Path, nowhere: int) -> None:
    """A handler that says Done without moving would be asked, and paid for, for ever."""
    scene = Scene(tmp_path, grew(lambda event: Done(nowhere, {"did": prompts_of(event)})))
    scene.type("s", "one")
    scene.settle()
    far = nowhere == 10**9  # beyond the end means all of it
    assert len(scene.handler.words) == 1 and bool(scene.parked()) is not far
    assert scene.handler.did == (["u1"] if far else [])


def test_rejected_that_does_not_move_is_an_error_and_no_loop(tmp_path: Path) -> None:
    """The same for Rejected, which would also fill the log of dead letters."""
    scene = Scene(tmp_path, grew(lambda event: Rejected("never", upto=0)))
    scene.type("s", "one")
    scene.settle()
    assert len(scene.handler.words) == 1 and scene.dispatcher.dead_count == 0 and scene.parked()


def test_done_in_part_then_the_rest(tmp_path: Path) -> None:
    """Issue "Dispatch": `Done(upto)` commits a part; the rest is offered at once, and is not offered twice."""
    scene = Scene(tmp_path, grew(lambda event: done(event, event.records[0].end, 1)))
    scene.type("s", "one", "two", "three")
    scene.settle()
    assert scene.handler.words == [["one", "two", "three"], ["two", "three"], ["three"]]
    assert scene.handler.did == ["u1", "u2", "u3"]


def test_rejected_in_part_then_the_rest(tmp_path: Path) -> None:
    """Issue "Dispatch": a dead letter, and the position moves past it and no further."""
    answers: list[Any] = [lambda e: Rejected("never", e.records[0].end), done]
    scene = Scene(tmp_path, grew(lambda event: answers.pop(0)(event)))
    scene.type("s", "one", "two")
    scene.settle()
    assert scene.handler.did == ["u2"] and [k["text"] for k in scene.dispatcher.rescue.kept()] == ["one"]
    scene.restart()
    scene.settle()
    assert scene.handler.words == [] and scene.dispatcher.dead_count == 1


def test_what_cannot_be_committed_is_owed_and_not_done_again(tmp_path: Path) -> None:
    """RELIABILITY rows 4 and 16: while the disk is full nothing is paid for twice, and nothing is lost."""
    scene = Scene(tmp_path)
    scene.settle()
    consumer = scene.engine.consumers["a"]
    real, full = consumer.log.append, [True]

    def append(record: Any, **options: Any) -> None:
        if full[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(record, **options)

    consumer.log.append = append  # type: ignore[method-assign]
    scene.type("s", "one")
    scene.settle()
    assert any("No space left" in why for why in scene.parked())
    scene.type("s", "two")
    scene.settle(31)
    assert scene.handler.words == [["one"]] and scene.handler.did == []
    full[0] = False
    scene.settle(600)
    assert scene.handler.words == [["one"], ["two"]] and scene.handler.did == ["u1", "u2"]
    assert scene.parked() == [] and scene.engine.fault is None


@pytest.mark.parametrize(
    "error", [FileRefusedError("read-only", "chmod"), OSError(28, "full"), KeyError("bug")]
)
def test_what_cannot_be_projected_is_tried_again_without_the_handler(
    tmp_path: Path, error: Exception
) -> None:
    """DESIGN "One way through": the commit is durable; files in a project are projections of it."""
    broken = [True]

    def project(commit: Any) -> None:
        if broken[0]:
            raise error

    scene = Scene(tmp_path, Scripted(project=project))
    scene.type("s", "one")
    scene.settle()
    assert len(scene.parked()) == 1 and scene.handler.words == [["one"]]
    broken[0] = False
    scene.settle(31)
    assert scene.handler.words == [["one"]] and scene.handler.did == ["u1"] and scene.parked() == []
    scene.restart()
    assert scene.handler.did == ["u1"], "and once only"


def test_dead_letters_that_cannot_be_written_wait(tmp_path: Path) -> None:
    """RELIABILITY row 4: a full disk while something is rejected ends nothing."""
    scene = Scene(tmp_path, grew(lambda event: Rejected("never")))
    full = [True]
    real = scene.dispatcher.dead.append

    def append(record: Any) -> None:
        if full[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(record)

    scene.dispatcher.dead.append = append
    scene.type("s", "one")
    scene.settle()
    assert scene.parked() and scene.engine.fault is None and scene.sync().done()
    full[0] = False
    scene.settle(600)
    assert scene.dispatcher.dead_count == 1 and scene.parked() == []


# lanes


def _in_hand(scene: Scene) -> int:
    return len(scene.pool.works)


def test_one_lane_for_a_project_and_two_projects_at_once(tmp_path: Path) -> None:
    """Issue "Dispatch": order within a session, one thing at a time within a project."""
    scene = Scene(tmp_path, held=True)
    other = scene.project("other")
    scene.type("s1", "one")
    scene.type("s2", "two")
    scene.type("s3", "three", cwd=other)
    scene.settle()
    assert _in_hand(scene) == 2, "one for each project"
    for _ in range(8):
        scene.work(2)
        scene.settle(0)
        assert _in_hand(scene) <= 2
    assert sorted(scene.handler.did) == ["u1", "u2", "u3"]


def test_a_handler_is_busy_with_as_many_projects_as_it_said(tmp_path: Path) -> None:
    """`Slice.lanes`: what is not begun yet is gathered as late as possible."""
    scene = Scene(tmp_path, held=True, lanes=1)
    scene.type("s1", "one")
    scene.type("s2", "two", cwd=scene.project("other"))
    scene.settle()
    assert _in_hand(scene) == 1
    for _ in range(8):
        scene.work()
        scene.settle(0)
    assert sorted(scene.handler.did) == ["u1", "u2"]


def test_a_blocked_lane_neither_spins_nor_stalls(tmp_path: Path) -> None:
    """DESIGN second goal: no surprise in CPU; the answer of a worker is what wakes the next in its lane."""
    scene = Scene(tmp_path, held=True)
    scene.type("s1", "one")
    scene.type("s2", "two")
    scene.settle()
    assert scene.engine._pause() >= 1.0, "nothing to do until somebody answers"
    while scene.pool.works:
        scene.work()
        assert scene.engine._pause() == 0.0, "the answer wakes the loop"
        scene.engine.turn()
        scene.engine.turn()
    assert sorted(scene.handler.did) == ["u1", "u2"], "with no timer in between"


def test_order_within_a_session(tmp_path: Path) -> None:
    """Issue "Dispatch": what is typed while a batch is worked on comes after it."""
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


def test_a_session_begins_before_its_words(tmp_path: Path) -> None:
    """events.py: `SessionStarted` when a session's first record was read."""
    scene = Scene(tmp_path)
    scene.type("s", "one")
    scene.settle()
    assert [type(event) for event in scene.handler.events] == [SessionStarted, TranscriptGrew]


# ends


def test_the_end_comes_after_every_record(tmp_path: Path) -> None:
    """Issue "Dispatch": facts first, then what is made of them; the end makes gathered work due."""
    scene = Scene(tmp_path, grew(lambda event: done(event) if event.due else Wait(1e6)))
    scene.type("s", "one")
    scene.settle()
    scene.settle(1801)
    kinds = [type(event) for event in scene.handler.events]
    assert kinds == [SessionStarted, TranscriptGrew, TranscriptGrew, SessionEnded]
    (end,) = scene.handler.ends
    assert end.session == "s" and end.why == "idle" and end.at == pytest.approx(scene.clock.wall - 1803)


def test_the_end_waits_for_parked_words(tmp_path: Path) -> None:
    """Issue "Dispatch": a session whose words are parked is parked with them, and `sync` does not wait for it."""
    answers: list[Any] = [Later("no model")] * 4
    scene = Scene(tmp_path, grew(lambda event: answers.pop() if answers else done(event)))
    scene.type("s", "one")
    scene.settle()
    scene.settle(1801)
    assert scene.handler.ends == [] and scene.sync().done()
    for _ in range(4):
        scene.settle(10000)
    assert scene.handler.did == ["u1"] and len(scene.handler.ends) == 1


def test_the_end_is_told_where_only_bookkeeping_was_left(tmp_path: Path) -> None:
    """A record without words behind the last prompt must not leave the end waiting for ever, nor hang `sync`."""
    scene = Scene(tmp_path)
    scene.type("s", "one")
    scene.settle()
    scene.clock.pass_(1799)
    scene.append("s", scene.title("s"))
    scene.settle(0)
    scene.settle(1801)
    assert len(scene.handler.ends) == 1 and scene.sync().done()


def test_the_end_is_offered_after_a_restart_until_it_is_done(tmp_path: Path) -> None:
    """Issue "Dispatch": again until `Done`, and not after that."""
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
    """events.py: `SessionEnded` may come again when the session was resumed, with words and not without."""
    scene = Scene(tmp_path)
    scene.type("s", "one")
    scene.settle()
    scene.settle(1801)
    scene.append("s", scene.title("s"))
    scene.settle()
    scene.settle(1801)
    assert len(scene.handler.ends) == 1, "bookkeeping is no session"
    scene.type("s", "two")
    scene.settle()
    scene.settle(1801)
    assert len(scene.handler.ends) == 2
    assert sum(isinstance(event, SessionStarted) for event in scene.handler.events) == 3


def test_each_handler_hears_of_the_end_when_it_is_through(tmp_path: Path) -> None:
    """Issue "Dispatch": one position for each handler; a slow one delays no other."""
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


def test_the_end_in_a_project_that_is_gone_is_said_so(tmp_path: Path) -> None:
    """A directory that vanished must not be tried for ever: the handler is told, and decides."""

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
    """Issue "Reading": what was taken as read costs nothing, no synthesis either."""
    scene = Scene(tmp_path)
    scene.settle(100)
    scene.type("fork", "old words", age=5000)
    scene.settle()
    scene.settle(1801)
    assert scene.handler.words == [] and scene.handler.ends == []


# jobs and posts


def test_a_second_event_of_a_kind_takes_the_place_of_the_first(tmp_path: Path) -> None:
    """A job that is due while it runs is done once more, and one that is parked is not doubled."""
    scene = Scene(tmp_path, jobs=[Job("j")], held=True)
    for _ in range(3):
        scene.dispatcher.post(Due("j"))
        scene.settle(0)
    assert len(scene.dispatcher.agenda.events) == 1
    scene.work()
    scene.settle(0)
    scene.work()
    scene.settle(0)
    assert scene.handler.events == [Due("j"), Due("j")] and scene.dispatcher.agenda.events == {}


def test_a_job_that_was_parked_is_not_tried_twice_over(tmp_path: Path) -> None:
    """The newer one is tried; the answer to the older one is dropped."""
    scene = Scene(tmp_path, Scripted(lambda event: Later("no model")), jobs=[Job("j")], held=True)
    scene.dispatcher.post(Due("j"))
    scene.settle(0)
    scene.dispatcher.post(Due("j"))
    scene.settle(0)
    scene.work()
    scene.settle(0)
    scene.work()
    scene.settle(0)
    assert scene.parked() == ["no model"]
    scene.settle(31)
    assert len(scene.pool.works) == 1


def test_the_last_success_of_a_job_is_kept(tmp_path: Path) -> None:
    """RELIABILITY row 12: a restart neither repeats nor forgets a job; a failure is no success."""
    answers: list[Any] = [Later("no"), Done()]
    scene = Scene(tmp_path, Scripted(lambda event: answers.pop(0)), jobs=[Job("j")])
    scene.dispatcher.post(Due("j"))
    scene.settle(0)
    assert scene.engine.consumers["a"].jobs == {}
    scene.settle(31)
    assert scene.engine.consumers["a"].jobs == {"j": scene.clock.wall}
    scene.restart()
    assert scene.engine.consumers["a"].jobs == {"j": scene.clock.wall}


def test_a_rejected_event_is_remembered_with_its_data(tmp_path: Path) -> None:
    """handler.py: `Rejected.data` is what the handler must remember of it."""
    scene = Scene(
        tmp_path,
        Scripted(lambda e: Rejected("no use", data={"gave": "up"}) if isinstance(e, Due) else Done()),
    )
    scene.dispatcher.post(Due("j"))
    scene.settle(0)
    assert [dict(c.data) for c in scene.handler.commits] == [{"gave": "up"}]
    assert scene.dispatcher.dead_count == 1 and scene.dispatcher.agenda.events == {}


# leaving


def test_stop_drops_what_comes_late(tmp_path: Path) -> None:
    """RELIABILITY row 14: nothing is committed after the lock was given back: another daemon may run by then."""
    scene = Scene(tmp_path, held=True)
    scene.type("s", "one")
    scene.settle()
    scene.work()
    scene.settle(0)
    scene.app.close()
    scene.work()
    assert scene.handler.words == [["one"]] and scene.handler.did == []
    scene.held = False
    scene.start(Scripted())
    scene.settle()
    assert scene.handler.did == ["u1"]
