"""The tutor in the daemon: grading is retried, sessions expire, status, context, calls (SPEC T-17, T-24)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from support_tutor import GRAPH, make_model_event, make_plan
from tacitd.model.port import ModelRequest, NoAnswer, PurposeLimit, Why
from tacitd.testing import FakeClock, HandlerBench, ScriptedModel
from tacitd_handlers.tutor import make_plugin
from tacitd_handlers.tutor.handler import TRIES
from tacitd_handlers.tutor.session_model import LEARNER_STEPS, Answered, SessionState, Step
from tacitd_handlers.tutor.store import TutorStore
from tacitd_handlers.tutor.tutor_paths import find_tutor_paths

DAY = 86400.0


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HandlerBench]:
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "TACITD_STATE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path.resolve() / "home"))
    with HandlerBench(tmp_path, make_plugin(), model=ScriptedModel()) as made:
        yield made


def open_store(bench: HandlerBench) -> TutorStore:
    return TutorStore(find_tutor_paths(bench.environ), bench.clock)


def lead_to(bench: HandlerBench, step: Step, objectives: int = 2) -> SessionState:
    """A session of the bench's project that a terminal has left at this step."""
    graph = bench.project / "tutor" / "course.yaml"
    graph.parent.mkdir(exist_ok=True)
    graph.write_text(GRAPH)
    plan = replace(make_plan(objectives), project=str(bench.project), graph=f"course@{bench.project}")
    plan = replace(
        plan,
        objectives=tuple(
            replace(one, id=id) for one, id in zip(plan.objectives, ("first", "second"), strict=True)
        ),
    )
    with open_store(bench).start_session(plan) as session:
        while session.state.step is not step:
            state = session.state
            session.record_event(Answered("skip") if state.step in LEARNER_STEPS else make_model_event(state))
        return session.state


def scored(state: SessionState, score: float) -> str:
    return json.dumps({"objective_scores": [{"id": id, "score": score} for id in state.tested]})


def script(bench: HandlerBench, reply: str | NoAnswer) -> ScriptedModel:
    model = bench.model
    assert isinstance(model, ScriptedModel)
    model.rules = [("rigorous grader", reply)]
    model.asked.clear()
    return model


def test_a_test_that_was_handed_in_is_graded_by_the_daemon(bench: HandlerBench) -> None:
    """SPEC T-17: the terminal was closed, or the model was absent; on the accurate tier, within the tutor's limit."""
    state = lead_to(bench, Step.GRADE)
    model = script(bench, scored(state, 0.75))
    bench.run_job("grade")
    (asked,) = model.asked
    assert (asked.tier, asked.purpose, asked.limit) == ("accurate", "tutor", PurposeLimit(share=0.5))
    assert not asked.is_waited_for and asked.project == str(bench.project)
    assert open_store(bench).read_mastery().get_score(state.plan.graph, "two", "first") == 0.75
    assert bench.status["mastered"] == 1 and bench.status["ungraded"] == 0
    bench.run_job("grade")
    assert len(model.asked) == 1


def test_bad_scores_are_retried_with_growing_pauses_and_then_left_to_a_person(bench: HandlerBench) -> None:
    """SPEC T-17: never a default pass; two calls a try, eight tries, then a degradation names the command."""
    lead_to(bench, Step.GRADE)
    model = script(bench, "all fine, 1.0")
    bench.run_job("grade")
    bench.run_job("grade")
    assert len(model.asked) == 2, "the second try waits for an hour"
    for _ in range(TRIES + 3):
        bench.clock.advance(DAY)
        bench.run_job("grade")
    assert len(model.asked) == 2 * TRIES
    assert "could not be graded 8 times" in " ".join(bench.degraded)
    assert open_store(bench).read_mastery().scores == {} and bench.status["ungraded"] == 1


def test_without_a_model_grading_is_parked(bench: HandlerBench) -> None:
    """DESIGN "Model": what waits is listed with its reason; it counts as no try."""
    state = lead_to(bench, Step.GRADE)
    script(bench, NoAnswer(Why.LOGGED_OUT, "words", "log in"))
    bench.run_job("grade")
    assert bench.sync() == ["grading waits: not logged in: words"]
    (found,) = open_store(bench).list_sessions()
    assert found.state.grading_tries == 0
    script(bench, scored(state, 0.9))
    bench.clock.advance(DAY)
    bench.sync()
    assert bench.status["ungraded"] == 0


def test_a_session_that_is_open_in_a_terminal_is_left_to_it(bench: HandlerBench) -> None:
    """SPEC T-24: one writer for a session."""
    state = lead_to(bench, Step.GRADE)
    model = script(bench, scored(state, 0.9))
    with open_store(bench).open_session(state.plan.session):
        bench.run_job("grade")
    assert model.asked == []


def test_a_question_pending_for_thirty_days_expires(bench: HandlerBench) -> None:
    """SPEC T-24: a new session is never blocked by an old one; a test that was handed in does not expire."""
    lead_to(bench, Step.PROBE_ANSWER)
    lead_to(bench, Step.GRADE)
    bench.clock.advance(29 * DAY)
    bench.run_job("expire")
    assert len(bench.status["open"]) == 1
    bench.clock.advance(DAY)
    bench.run_job("expire")
    assert bench.status["open"] == [] and bench.status["ungraded"] == 1
    assert sorted(one.state.outcome for one in open_store(bench).list_sessions()) == ["", "expired"]


def test_a_clock_in_another_year_expires_nothing(bench: HandlerBench) -> None:
    """RELIABILITY: one boot in 2100 must not close every session."""
    lead_to(bench, Step.PROBE_ANSWER)
    bench.clock.jump(70 * 365 * DAY)
    bench.run_job("expire")
    assert len(bench.status["open"]) == 1


def test_a_mastered_node_is_suggested_after_four_weeks(bench: HandlerBench) -> None:
    """The daemon flags mastered nodes that were not tested for four weeks."""
    state = lead_to(bench, Step.GRADE)
    script(bench, scored(state, 0.9))
    bench.run_job("grade")
    assert bench.status["retests"] == []
    bench.clock.advance(28 * DAY)
    bench.run_job("expire")
    assert bench.status["retests"] == ["Node two"]
    assert "retests suggested: Node two" in bench.status_lines


def test_status_and_context_show_the_open_session(bench: HandlerBench, tmp_path: Path) -> None:
    """The section of a session's start belongs to the project of the graph, and is empty elsewhere."""
    assert bench.context() == "" and bench.status["sessions"] == 0
    state = lead_to(bench, Step.PROBE_ANSWER)
    bench.run_job("expire")
    assert "open: Node two; continue with `tacitd tutor resume`" in bench.status_lines
    assert "open session: Node two" in bench.context(cwd=bench.project / "src")
    assert bench.context(cwd=tmp_path) == "" and bench.context(10) == ""
    assert bench.status["open"][0]["session"] == state.plan.session


def test_damaged_files_and_graphs_are_shown(bench: HandlerBench) -> None:
    """STYLE habit 7: bad input stops nothing and is listed until it is gone."""
    state = lead_to(bench, Step.PROBE_ANSWER)
    paths = find_tutor_paths(bench.environ)
    (paths.directory / "own.yaml").write_text("nodes: [")
    with (paths.sessions / f"{state.plan.session}.jsonl").open("a") as file:
        file.write("not a record\n")
    bench.run_job("expire")
    assert any("own.yaml:1" in line for line in bench.status_lines)
    assert any("1 records" in what for what in bench.degraded)


def test_the_sockets_methods(bench: HandlerBench) -> None:
    """A terminal's call is made by the daemon, goes first, and can be cancelled by its ticket."""
    model = bench.model
    assert isinstance(model, ScriptedModel)
    seen: list[ModelRequest] = []

    def reply(request: ModelRequest) -> str:
        seen.append(request)
        assert request.cancel is not None and not request.cancel.is_set()
        assert bench.call("tutor.cancel", ticket="t") == {"cancelled": True}
        assert request.cancel.is_set()
        return "Hello."

    model.rules = [("introduce this", reply)]
    said = bench.call("tutor.ask", agent="tutor", prompt="introduce this", ticket="t", project="/p")
    assert said["text"] == "Hello." and seen[0].is_waited_for and seen[0].tier == "fast"
    assert bench.call("tutor.cancel", ticket="t") == {"cancelled": False}


def test_a_limit_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`tutor.usd_per_day` replaces the half of the day's cap."""
    monkeypatch.setenv("HOME", str(tmp_path.resolve() / "home"))
    model = ScriptedModel()
    settings = {"TACITD_TUTOR__USD_PER_DAY": "0.3"}
    with HandlerBench(tmp_path, make_plugin(), model=model, settings=settings, clock=FakeClock()) as made:
        made.call("tutor.ask", agent="grader", prompt="x", ticket="t")
    assert model.asked[0].limit == PurposeLimit(usd=0.3) and model.asked[0].tier == "accurate"


def test_the_log_of_a_test_that_waits_for_its_grade_names_no_close(bench: HandlerBench) -> None:
    """SPEC T-17, T-24: a session that does not expire has no record that says so."""
    state = lead_to(bench, Step.GRADE)
    bench.clock.advance(31 * DAY)
    bench.run_job("expire")
    log = find_tutor_paths(bench.environ).sessions / f"{state.plan.session}.jsonl"
    assert "expired" not in log.read_text()
