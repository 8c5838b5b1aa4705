"""The plugin beside the commands: the start of a session, sessions that are over, calls in the daemon (SPEC T-17, T-24)."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock

import pytest

from support_calls import list_calls
from support_tutor import CLIENT_ANSWERS, COURSE, TYPED, lead_to, make_plan, make_store
from support_world import make_world
from tacitd.testing import FakeClock, ScriptedModel
from tacitd_handlers.tutor.agents import Agent, AgentRequest
from tacitd_handlers.tutor.conversation import ModelAccess
from tacitd_handlers.tutor.session_log import TutorSession
from tacitd_handlers.tutor.session_model import (
    Scored,
    SessionEvent,
    SessionState,
    Step,
)

DAY = 86400.0


@pytest.mark.parametrize(
    ("days", "step", "outcome"),
    [
        (29, Step.PROBE_ANSWER, ""),
        (31, Step.PROBE_ANSWER, "expired"),
        (31, Step.GRADE, ""),
    ],
)
def test_a_question_pending_for_thirty_days_expires(
    tmp_path: Path, days: int, step: Step, outcome: str
) -> None:
    """SPEC T-24, RELIABILITY 12: not a test that was handed in. Nothing is written, so that a wrong clock does no harm."""
    clock = FakeClock()
    store = make_store(tmp_path, clock)
    with store.start_session(make_plan()) as session:
        state = lead_to(session, step)
    clock.jump(days * DAY)
    with store.open_session(state.plan.session) as session:
        assert session.state.outcome == outcome
    assert [one.state.outcome for one in store.list_sessions()] == [outcome]
    clock.jump(-2 * DAY)
    assert [one.state.outcome for one in store.list_sessions()] == [""]


@pytest.mark.parametrize(("agent", "tier"), [("tutor", "fast"), ("grader", "accurate")])
def test_what_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: Agent, tier: str) -> None:
    """A call has half of the day's cap."""
    model = ScriptedModel()
    monkeypatch.setattr(
        "tacitd_handlers.tutor.conversation.open_model",
        lambda *given: nullcontext((model, Mock(find_answer=Mock(return_value=None)))),
    )
    ModelAccess({"HOME": str(tmp_path)}, "/p")(AgentRequest(agent, "introduce this"))
    (asked,) = model.asked
    assert (asked.project, asked.plugin) == ("/p", "tutor")
    assert (asked.tier, asked.purpose, asked.usd_per_day) == (tier, "tutor", 0.5)


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_kill_before_the_grade_is_recorded_pays_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_kept: bool
) -> None:
    """Issue 37: an answer that was paid for is not asked for again, keyed by what was asked; one that was recorded or of no use is."""
    grader = "rigorous grader"
    with make_world(tmp_path, answers=tuple(CLIENT_ANSWERS.items())) as world:
        world.write("tutor/course.yaml", COURSE)
        world.model.rules = [(grader, "sorry"), *world.model.rules]
        world.run("tutor", "start", "two", given="".join(f"{one}\n" for one in TYPED))
        world.answer_calls()
        record, killed = TutorSession.record_event, [True]

        def end(session: TutorSession, event: SessionEvent) -> SessionState:
            if killed and isinstance(event, Scored):
                killed.pop()
                raise SystemExit(137)
            return record(session, event)

        monkeypatch.setattr(TutorSession, "record_event", end)
        before = len(world.prompts)
        assert world.run("tutor", "grade").code == 137
        if not is_kept:
            (log,) = world.home.glob(".local/share/tacitd/tutor/sessions/*.jsonl")
            log.write_text(log.read_text().replace('"so"', '"another answer"'))
        assert world.run("tutor", "grade").code == 0
        assert len(world.prompts) - before == (1 if is_kept else 2)
        (row,) = world.run("tutor", "history", "--json").json
        assert row["mean"] == 0.75 and "0.90 Name the first thing" in Path(row["log"]).read_text()
        rows = list_calls(world.home / ".local/state/tacitd")
        assert [one for one in rows if one["answer"] is not None] == []
