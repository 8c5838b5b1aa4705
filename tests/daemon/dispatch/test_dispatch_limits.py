"""Limits and exceptions of dispatch: who is meant and who is not, the first and the last of several, and exact times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support_engine import Scene, Scripted, busy, done, gathered, grew, prompts_of, words_of
from tacitd.dispatch import pool as pool_module
from tacitd.dispatch.backoff import Parked, replan_parked
from tacitd.dispatch.batching import make_batch
from tacitd.dispatch.in_flight import InFlightPrompts
from tacitd.dispatch.messages import read_messages
from tacitd.events import Due, Event, NoProject, Project, Record, SessionEnded, SessionStarted
from tacitd.handler import COMPACTION, Commit, Done, Gather, Job, Later
from tacitd.status import build_status

NOWHERE = NoProject("", "none")


def project_of(scene: Scene) -> Project:
    """The project in which the person works."""
    found = scene.engine.project_of(str(scene.root))
    assert isinstance(found, Project)
    return found


def dues(handler: Scripted) -> list[str]:
    """The jobs that a handler was asked to do."""
    return [event.job for event in handler.events if isinstance(event, Due)]


def test_a_jump_forward_brings_work_to_its_named_time() -> None:
    """RELIABILITY 12: work that waits for midnight is due when the clock shows midnight, and not before."""
    parked = Parked("capped", "", 0.0, 1, due=50_000.0, not_before=10_700.0)
    assert replan_parked(parked, 10_000.0, 300.0, 5_000.0).due == 1_000.0


def test_a_shortened_batch_ends_with_its_last_record() -> None:
    """The position after a batch of two or three records is the end of the last one."""
    records = [Record(n * 10, n * 10 + 10, "assistant", text="Done.") for n in range(6)]
    for limit in (1, 2, 3):
        batch = make_batch(records, 60, lambda prompt: True, lambda cwd: NOWHERE, "", limit)
        assert (len(batch.records), batch.end) == (limit, limit * 10)


def test_only_handlers_with_the_job_are_asked_before_a_compaction(tmp_path: Path) -> None:
    """`COMPACTION`: another job of a handler does not mean it."""
    for name, asked in ((COMPACTION, [COMPACTION]), ("tidy", [])):
        scene = Scene(tmp_path / name, jobs=[Job(name, float("inf"))])
        scene.type("s", "one")
        scene.settle()
        scene.dispatcher.post_compaction(scene.path("s"), "s", project_of(scene))
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
    scene.dispatcher.post_event(Due("tidy"))
    scene.settle()
    for _ in range(3):
        for item in scene.dispatcher.work_queue.list_items():
            scene.dispatcher.work_queue.wake(item)
        scene.settle(10)
    assert dues(scene.handler) == ["tidy"]
    assert scene.sync().done() and dues(scene.handler) == ["tidy"] * 2
    scene.settle(101)
    assert dues(scene.handler) == ["tidy"] * 3


def test_an_event_does_not_wait_for_a_transcript_that_is_parked(tmp_path: Path) -> None:
    """Facts that `sync` asked for come before a job, but those that no model can extract now would stop it for ever."""
    scene = Scene(tmp_path, grew(lambda event: Later("no model", not_before=scene.clock.now() + 1e5)))
    scene.type("s", "one")
    scene.settle()
    item = scene.dispatcher.work_queue.get_item(scene.engine.consumers["a"], scene.path("s"))
    scene.dispatcher.work_queue.make_due(item)
    scene.dispatcher.post_event(Due("tidy", project_of(scene)))
    scene.settle()
    assert scene.parked() == ["no model"] and dues(scene.handler) == ["tidy"]


def test_a_released_transcript_releases_no_other(tmp_path: Path) -> None:
    """Whichever of two names comes first."""
    first, last = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for gone, left in ((first, last), (last, first)):
        claims = InFlightPrompts()
        claims.claim_prompts("a", ["u1"], gone)
        claims.claim_prompts("a", ["u2"], left)
        claims.release_owner(gone)
        assert (claims.get_owner("a", "u1"), claims.get_owner("a", "u2")) == (None, left)


@pytest.mark.parametrize(
    ("name", "by_job"), [("Due", True), ("TranscriptGrew", False), ("SessionEnded", False)]
)
def test_only_a_job_sends_a_message_by_a_job(name: str, by_job: bool) -> None:
    """The names of the events as a log has them: after a restart too, `session` is the job's name only for a job."""
    commit = Commit(1.0, "".join(list(name)), "", "s", 0, {"tell": {"b": {"x": 1}}})
    ((handler, message),) = read_messages("a", commit, lambda cwd: NOWHERE)
    assert handler == "b" and message.by_job is by_job


def test_half_of_a_failed_batch_is_tried_twice(tmp_path: Path) -> None:
    """Each try may be paid for: three times whole, then each half twice."""
    scene = Scene(tmp_path, grew(lambda event: Later("echo", blame="work")))
    scene.type("s", "one", "two")
    for _ in range(10):
        scene.settle(600)
    assert scene.handler.words == [["one", "two"]] * 3 + [["one"]] * 2 + [["two"]] * 2


def test_open_transcripts_are_found_by_their_session(tmp_path: Path) -> None:
    """An end releases the queued prompts of its own session only."""
    scene = Scene(tmp_path, gathered())
    for session in ("s1", "s2", "s3"):
        scene.type(session, "words")
    scene.settle()
    pool = scene.engine.pool
    assert [pool.find_by_session(name) for name in ("s1", "s2", "s3")] == [
        [scene.path("s1")],
        [scene.path("s2")],
        [scene.path("s3")],
    ]
    assert pool.is_open(scene.path("s1")) and not pool.is_open(scene.path("s9"))


def test_a_removed_transcript_stays_in_memory_over_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot be read again, so its prompts would be lost."""
    scene = Scene(tmp_path, gathered())
    scene.type("s", "one")
    scene.settle()
    scene.path("s").unlink()
    scene.settle()
    monkeypatch.setattr(pool_module, "KEPT", 0)
    scene.engine.pool.trim_records(scene.path("s"))
    scene.engine.pool.evict_idle(lambda session: True)
    assert scene.handler.words == []
    scene.settle(2e5)
    assert scene.handler.did == ["u1"]


def test_an_open_session_is_listed_for_whichever_handler_it_waits(tmp_path: Path) -> None:
    """A handler without a model comes first; the other one gathers."""
    scene = Scene(tmp_path, Scripted(), gathered(), pays=[False, True])
    scene.type("s", "use pnpm")
    scene.settle()
    assert [one["session"] for one in build_status(scene.app)["sessions"]] == ["s"]


def test_a_parked_start_hides_no_open_session(tmp_path: Path) -> None:
    """It contains no prompts, so the lines still come at the session's end."""

    def answer(event: Event) -> Any:
        return Later("not now", not_before=1e11) if isinstance(event, SessionStarted) else done(event)

    scene = Scene(tmp_path, Scripted(answer, gather=Gather(quiet=1e5)))
    scene.type("s", "use pnpm")
    scene.settle()
    assert scene.parked() == ["not now"]
    assert [one["session"] for one in build_status(scene.app)["sessions"]] == ["s"]


def test_the_loop_sleeps_until_the_nearest_of_several_times(tmp_path: Path) -> None:
    """Two items wait; the loop is awake for the first, and does not sleep for ever with one left."""
    scene = Scene(
        tmp_path, Scripted(lambda event: busy(float(words_of(event)[0])) if prompts_of(event) else Done())
    )
    queue = scene.dispatcher.work_queue
    assert queue.next_in() == float("inf")
    for session, seconds in (("s1", "500"), ("s2", "90")):
        scene.type(session, seconds, cwd=scene.project(session))
    scene.settle(0)
    assert queue.next_in() == 90.0
    left = sorted(one.gather_until - scene.clock.monotonic() for one in queue.list_items())
    assert left == [90.0, 500.0]


def test_a_parked_end_has_no_prompts_to_rescue(tmp_path: Path) -> None:
    """Its transcript is handled; the hourly rescue goes on with the other work."""

    def answer(event: Event) -> Any:
        return Later("not now", not_before=1e11) if isinstance(event, SessionEnded) else done(event)

    scene = Scene(tmp_path, Scripted(answer))
    scene.type("s", "one")
    scene.settle()
    scene.settle(7200)
    ((item, _),) = scene.dispatcher.work_queue.list_parked()
    assert isinstance(item.event, SessionEnded)
    assert scene.dispatcher.unhandled.list_prompts(item) == []
    scene.settle(2 * 86_400)
    scene.dispatcher.rescue_old()
    assert scene.dispatcher.outcomes.rescue.list_entries() == []
