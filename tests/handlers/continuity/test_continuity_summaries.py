"""When a summary is asked for: at the end, at a compaction, after a pause; at most one an hour, and only for what is new."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from support_continuity import ANSWER, NOW, World, run_job
from tacitd.clock import utc_millis
from tacitd.model.port import NoAnswer, Why
from tacitd.work.pauses import set_pause
from tacitd_handlers.continuity.session_progress import TranscriptProgress
from tacitd_handlers.continuity.settings import ContinuitySettings
from tacitd_handlers.continuity.summaries import LONG, PAUSE, is_pause_over, is_worth_a_summary

SETTINGS = ContinuitySettings()


@pytest.mark.parametrize(
    ("turns", "size", "prompts", "worth"),
    [(5, 100, 1, True), (4, 100, 9, False), (0, LONG, 1, True), (9, LONG, 0, False), (5, 0, 1, False)],
)
def test_what_is_worth_a_summary(turns: int, size: int, prompts: int, worth: bool) -> None:
    """SPEC P-26: five turns or 20 KB that are new, whatever the number of prompts; never a program's session."""
    now = TranscriptProgress("s", turns=turns, prompts=prompts, size=size)
    assert is_worth_a_summary(now, SETTINGS) is worth
    asked = replace(now, asked_turns=turns, asked_size=size)
    assert not is_worth_a_summary(asked, SETTINGS)
    assert not is_worth_a_summary(now, ContinuitySettings(summaries=False))


def test_what_the_client_writes_for_itself_makes_no_session_long(world: World) -> None:
    """Client 2.1.328 writes 150 KB for one prompt and its answer; that is not a long session."""
    for number in range(10):
        snapshot = {"type": "prompt-snapshot", "sessionId": "s1", "snapshot": "x" * 15_000, "number": number}
        world.append("s1", snapshot)
    work(world, 2)
    world.append("s1", {"type": "prompt-snapshot", "sessionId": "s1", "snapshot": "x" * 150_000})
    world.end()
    assert world.model.asked == []
    world.use("s1", "Write", {"file_path": "/home/dev/a.py", "content": "y" * 21_000})
    world.say("s1", "written")
    world.end()
    assert len(world.model.asked) == 1


def test_one_an_hour() -> None:
    """An hour between two summaries of a session; a clock that jumped back does not block it for years."""
    now = TranscriptProgress("s", asked_at=NOW)
    assert not is_pause_over(now, NOW + PAUSE - 1)
    assert is_pause_over(now, NOW + PAUSE)
    assert is_pause_over(now, NOW - 10 * PAUSE)
    assert is_pause_over(TranscriptProgress("s"), NOW)


def work(world: World, steps: int = 5, prompt: str = "go") -> None:
    world.type("s1", prompt)
    for n in range(steps):
        world.say("s1", f"step {n} is done")


def test_a_pause_of_ten_minutes(world: World) -> None:
    """SPEC P-26: somebody who comes back after twenty minutes finds a summary, although one prompt was typed."""
    work(world)
    world.settle()
    run_job(world)
    assert world.model.asked == []
    world.settle(600)
    run_job(world)
    assert len(world.model.asked) == 1
    assert world.file("s1")["summary"].startswith("Tests pass.")
    run_job(world)
    world.end()
    assert len(world.model.asked) == 1  # nothing is new at the end


def test_open_calls_survive_a_pause(world: World) -> None:
    """A pause is no end: a call that waits for a person's permission is answered later."""
    work(world)
    id = world.use("s1", "TodoWrite", {"todos": [{"content": "Build", "status": "pending"}]}, None)
    world.settle()
    world.settle(700)
    run_job(world)
    assert world.tasks("s1") == []
    world.answer("s1", id)
    world.say("s1", "on")
    world.settle()
    assert world.tasks("s1") == [("Build", "pending")]


def test_the_next_one_comes_an_hour_later(world: World) -> None:
    """What is new within the hour waits for the job, also where the session ended meanwhile."""
    work(world)
    world.settle()
    world.settle(700)
    run_job(world)
    work(world, prompt="more")
    world.end()
    assert len(world.model.asked) == 1
    world.settle(3600)
    run_job(world)
    assert len(world.model.asked) == 2
    assert "Summary of what came before: Tests pass." in world.model.prompts[1]
    assert "more" in world.model.prompts[1]
    world.settle(7200)
    run_job(world)
    assert len(world.model.asked) == 2


def test_a_compaction_asks_at_once(world: World) -> None:
    """At a compaction the client's own summary is there at once, and the model is asked for decisions."""
    work(world)
    text = "Week dates."
    record = world.record("user", "s1", text, isCompactSummary=True, isVisibleInTranscriptOnly=True)
    world.model.default = NoAnswer(Why.ABSENT, "no claude")
    world.append("s1", record)
    world.settle()
    assert world.file("s1")["summary"].startswith("Week dates.")
    assert world.parked() == []  # a pause's summary is not owed: the end asks again
    world.model.default = ANSWER
    run_job(world)
    assert world.file("s1")["summary"].startswith("Tests pass.")
    assert len(world.file("s1")["decisions"]) == 1


def test_before_a_compaction_the_session_is_summarised(world: World) -> None:
    """A hook says that it comes: all that was written is handled at once, and the summary is of that; it is asked for once."""
    work(world)
    path = world.transcript("s1")
    hint = {"hook_event_name": "PreCompact", "session_id": "s1", "transcript_path": str(path), "cwd": "/w"}
    world.app.engine.take_hook_inputs([hint])
    world.settle(0)
    assert len(world.model.asked) == 1 and "step 4 is done" in world.model.asked[0].prompt
    assert world.file("s1")["summary"].startswith("Tests pass.")
    world.app.engine.take_hook_inputs([hint | {"session_id": "unknown"}])
    world.app.engine.take_hook_inputs([hint])
    world.settle(0)
    assert len(world.model.asked) == 1


def test_a_restart_forgets_no_pause(world: World) -> None:
    """A session that paused while the daemon was down gets its summary."""
    work(world)
    world.settle()
    world.restart()
    world.settle(700)
    run_job(world)
    assert len(world.model.asked) == 1


def test_an_unusable_answer_waits_an_hour(tmp_path: Path) -> None:
    """After an answer that cannot be used, a pause asks again an hour later, three times at most."""
    world = World(tmp_path, default="NONE")
    work(world)
    world.settle()
    world.settle(700)
    for _ in range(5):
        run_job(world)
    assert len(world.model.asked) == 1
    for _ in range(6):
        world.clock.advance(PAUSE)
        run_job(world)
    assert len(world.model.asked) == 3
    world.kill()


def test_where_nothing_may_be_written(tmp_path: Path) -> None:
    """A project that was excluded after the session grew is not asked about."""
    world = World(tmp_path)
    work(world)
    world.settle()
    world.app.write_modes.set_mode(world.project, "off")
    world.settle(700)
    run_job(world)
    assert world.model.asked == []
    world.kill()


def test_a_decision_has_the_time_of_its_message(world: World) -> None:
    """SPEC P-22: the answer names the message with which it was decided."""
    world.model.default = json.dumps(
        {
            "summary": "Chose a database.",
            "decisions": [
                {"message": 3, "decision": "Use Postgres"},
                {"message": "[1]", "decision": "Use Go"},
                {"message": 99, "decision": "Use tabs"},
            ],
        }
    )
    for n in range(6):
        world.type("s1", f"question {n}")
        world.clock.advance(10)
        world.say("s1", f"answer {n}")
        world.clock.advance(10)
    world.end()
    times = {one["decision"]: one["timestamp"] for one in world.file("s1")["decisions"]}
    assert times == {
        "Use Postgres": utc_millis(NOW + 20),
        "Use Go": utc_millis(NOW),
        "Use tabs": utc_millis(NOW + 110),
    }


def test_a_session_that_a_person_paused_is_not_asked_about(world: World) -> None:
    """`tacitd pause --session`: also what was read of it before is not sent. The project's other sessions go on."""
    for name in ("s1", "s2"):
        for number in range(5):
            world.type(name, f"{name} step {number}")
            world.say(name, f"{name} step {number} is done")
    world.settle()
    app = world.app
    set_pause(app.store, app.paths.state_dir, "session", "s1", world.clock.now(), held=True)
    world.settle(700)
    run_job(world)
    assert ["s1 step" in ask.prompt for ask in world.model.asked] == [False]
    set_pause(app.store, app.paths.state_dir, "session", "s1", world.clock.now(), held=False)
    world.settle()
    assert ["s1 step" in ask.prompt for ask in world.model.asked] == [False, True]


def test_without_an_answer_the_other_sessions_wait_for_the_next_job(world: World) -> None:
    """A model that does not answer for one session is not asked for each of the others as well."""
    for name in ("s1", "s2", "s3"):
        for number in range(5):
            world.type(name, f"{name} step {number}")
            world.say(name, f"{name} step {number} is done")
    world.settle()
    world.model.default = NoAnswer(Why.UNREACHABLE, "down")
    world.settle(700)
    run_job(world)
    asked = len(world.model.asked)
    run_job(world)
    assert len(world.model.asked) - asked == 1
    world.model.default = ANSWER
    run_job(world)
    assert len(world.model.asked) - asked == 4
