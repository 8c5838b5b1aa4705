"""The plugin beside the commands: the start of a session, sessions that are over, calls in the daemon (SPEC T-17, T-24)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from support_calls import list_calls
from support_tutor import CLIENT_ANSWERS, COURSE, TYPED, make_model_event, make_plan, make_store
from support_world import make_world
from tacitd.testing import FakeClock, HandlerBench, ScriptedModel
from tacitd_handlers.tutor import make_plugin
from tacitd_handlers.tutor.conversation import ModelAccess
from tacitd_handlers.tutor.agent_prompts import Agent, AgentRequest
from tacitd_handlers.tutor.session_log import TutorSession, TutorStore
from tacitd_handlers.tutor.session_model import (
    LEARNER_STEPS,
    Answered,
    Scored,
    SessionEvent,
    SessionState,
    Step,
)

DAY = 86400.0


def lead_to(store: TutorStore, step: Step, project: str = "") -> SessionState:
    """A session that a terminal has left at this step."""
    with store.start_session(replace(make_plan(), project=project)) as session:
        while session.state.step is not step:
            state = session.state
            session.record_event(Answered("skip") if state.step in LEARNER_STEPS else make_model_event(state))
        return session.state


@pytest.mark.parametrize(
    ("days", "step", "outcome"),
    [
        (29, Step.PROBE_ANSWER, ""),
        (31, Step.PROBE_ANSWER, "expired"),
        (31, Step.GRADE, ""),
        (70 * 365, Step.PROBE_ANSWER, ""),
    ],
)
def test_a_question_pending_for_thirty_days_expires(
    tmp_path: Path, days: int, step: Step, outcome: str
) -> None:
    """SPEC T-24, RELIABILITY 12: when it is listed; not a test that was handed in, and not because a machine started in 2100. One that
    is open in a terminal is left to it."""
    clock = FakeClock()
    store = make_store(tmp_path, clock)
    state = lead_to(store, step)
    clock.jump(days * DAY)
    with make_store(tmp_path, clock).open_session(state.plan.session):
        assert [one.state.outcome for one in store.tend_sessions()] == [""]
    assert [one.state.outcome for one in store.tend_sessions()] == [outcome]
    assert [one.state.outcome for one in store.list_sessions()] == [outcome]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HandlerBench]:
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "TACITD_STATE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path.resolve() / "home"))
    with HandlerBench(tmp_path, make_plugin(), model=ScriptedModel()) as made:
        yield made


def test_the_start_of_a_session_names_what_is_open(bench: HandlerBench, tmp_path: Path) -> None:
    """The section belongs to the project of the graph, and is empty elsewhere and when nothing is open."""
    assert bench.context() == ""
    store = TutorStore(tmp_path.resolve() / "home/.local/share/tacitd/tutor")
    lead_to(store, Step.PROBE_ANSWER, str(bench.project))
    waiting = lead_to(store, Step.GRADE, str(bench.project))
    text = bench.context(cwd=bench.project / "src")
    assert "- open session: Node two (`tacitd tutor resume`)" in text
    assert "- waits for its grade: Node two (`tacitd tutor grade`)" in text
    assert bench.context(cwd=tmp_path) == "" and bench.context(10) == ""
    with store.open_session(waiting.plan.session) as session:
        while session.state.is_open:
            session.record_event(make_model_event(session.state))
    assert "waits" not in bench.context()


@pytest.mark.parametrize(
    ("settings", "agent", "tier", "limit"),
    [
        ({}, "tutor", "fast", 0.5),
        ({"TACITD_TUTOR__USD_PER_DAY": "0.3"}, "grader", "accurate", 0.3),
    ],
)
def test_what_is_asked(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, str],
    agent: Agent,
    tier: str,
    limit: float,
) -> None:
    """A call has half of the day's cap or `tutor.usd_per_day`."""
    model = ScriptedModel()
    monkeypatch.setattr(
        "tacitd_handlers.tutor.conversation.open_model",
        lambda *given: nullcontext((model, Mock(find_answer=Mock(return_value=None)))),
    )
    ModelAccess({"HOME": str(tmp_path), **settings}, "/p")(AgentRequest(agent, "introduce this"))
    (asked,) = model.asked
    assert (asked.project, asked.plugin) == ("/p", "tutor")
    assert (asked.tier, asked.purpose, asked.usd_per_day) == (tier, "tutor", limit)


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
