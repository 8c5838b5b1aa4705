"""The policy of a session: the way through it, and that no way gets stuck (SPEC T-08 to T-24)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.json import encode

from support_examples import examples
from support_tutor import choice_question, make_model_event, make_plan, reach
from tacitd_handlers.tutor.session_log import encode_event, encode_start, replay_session
from tacitd_handlers.tutor.session_model import (
    LEARNER_STEPS,
    MODEL_STEPS,
    TAIL,
    Answered,
    Ended,
    GradingFailed,
    Judged,
    NotJudged,
    Question,
    QuestionsMade,
    Scored,
    SessionEvent,
    SessionState,
    Skipped,
    Spoke,
    Step,
    Verdict,
)
from tacitd_handlers.tutor.session_policy import WrongEventError, advance, find_known_verdict


def lead(
    state: SessionState, answers: Sequence[str | SessionEvent], verdict: Verdict = "Correct"
) -> list[Step]:
    """Lead a session with a well-behaved model; return the steps. An answer is a text, or an event of the learner."""
    rest, steps = list(answers), [state.step]
    while state.is_open:
        if state.step in MODEL_STEPS:
            event = find_known_verdict(state) or make_model_event(state, verdict)
        else:
            said = rest.pop(0) if rest else "an answer"
            event = Answered(said) if isinstance(said, str) else said
        state = advance(state, event)
        steps.append(state.step)
    return steps


@pytest.mark.parametrize(
    ("said", "after"),
    [
        (["summary"], Step.SUMMARIZE),
        (["a quiz please"], Step.BUILD_CHECK),
        (["skip"], Step.PROBE),
        ([Skipped()], Step.PROBE),
        (["what is that?"], Step.CHOOSE),
        (["what?", "hm"], Step.SUMMARIZE),
        (["not a quiz"], Step.CHOOSE),
        (["quiz or summary"], Step.CHOOSE),
        (["a recap"], Step.SUMMARIZE),
        (["neither"], Step.PROBE),
    ],
)
def test_the_choice_of_the_way(said: Sequence[str | SessionEvent], after: Step) -> None:
    """SPEC T-08, T-10: skipping leads to the objectives; an unclear choice is asked once more, then the summary."""
    state = reach(Step.CHOOSE)
    for one in said:
        state = advance(state, Answered(one) if isinstance(one, str) else one)
    assert state.step is after


def test_two_failures_in_a_row_lead_to_an_offer_and_then_on() -> None:
    """SPEC T-13: repeated is two in a row; the extra explanation comes once, and the loop ends."""
    steps = lead(SessionState(make_plan(4)), ["skip", *["wrong"] * 4, "yes"], "Incorrect")
    assert steps.count(Step.OFFER) == 2 and steps.count(Step.EXPLAIN_AGAIN) == 1
    once = advance(reach(Step.JUDGE_QUIZ), Judged("Incorrect", "No."))
    assert (once.step, once.failures) == (Step.PROBE, 1)
    between = advance(once, Spoke("Probe?"))
    assert between.failures == 1
    offers = [advance(reach(Step.OFFER), Answered(said)).step for said in ("Yes!", "no", "why")]
    assert [step is Step.EXPLAIN_AGAIN for step in offers] == [True, False, False]


def test_a_right_answer_ends_a_row_of_failures() -> None:
    """SPEC T-13."""
    state = advance(reach(Step.JUDGE_QUIZ), Judged("Incorrect", "No."))
    for event in (Skipped(), Spoke("Explanation"), QuestionsMade((choice_question(), choice_question()))):
        state = advance(state, event)
    state = advance(advance(state, Answered("b")), Judged("Correct", "Yes."))
    assert state.failures == 0


def test_a_probe_has_one_follow_up_at_most() -> None:
    """SPEC T-11, T-12: `next` may be a follow-up question; the policy decides that it is asked once."""
    state = advance(reach(Step.JUDGE_PROBE), Judged("Partially-Correct", "Not all.", "And what else?"))
    assert (state.step, state.probe) == (Step.PROBE_ANSWER, "And what else?")
    state = advance(advance(state, Answered("that")), Judged("Incorrect", "No.", "And what more?"))
    assert state.step is Step.EXPLAIN


@pytest.mark.parametrize("step", [one for one in Step if one not in TAIL])
def test_ending_leads_to_the_test_or_to_the_greeting(step: Step) -> None:
    """SPEC T-21: at any moment; without a covered objective there is nothing to test."""
    state = reach(step)
    ended = advance(state, Ended())
    assert ended.step is (Step.BUILD_TEST if state.covered else Step.CLOSE)
    assert advance(ended, Ended()) == ended


@pytest.mark.parametrize(
    "scores", [{}, {"o1": 0.5, "o2": 0.5, "o3": 0.5}, {"o1": 1.2}, {"o1": float("nan")}, {"unknown": 0.5}]
)
def test_odd_scores_are_refused(scores: dict[str, float]) -> None:
    """SPEC T-17: exactly the tested ids, 0 to 1."""
    state = reach(Step.GRADE, objectives=1)
    assert state.tested == ("o1",)
    with pytest.raises(WrongEventError):
        advance(state, Scored(scores))


def test_a_test_that_covers_nothing_is_refused() -> None:
    """SPEC T-16."""
    with pytest.raises(WrongEventError):
        advance(reach(Step.BUILD_TEST), QuestionsMade((Question("Anything?", "short"),)))


class AnySession(RuleBasedStateMachine):
    """Random learners and models: answers, skips, ends, silence, crashes and resumes at every step."""

    @initialize(objectives=st.integers(1, 4), prerequisites=st.integers(0, 2))
    def start(self, objectives: int, prerequisites: int) -> None:
        """A new session, whose log is kept as records."""
        plan = make_plan(objectives, prerequisites)
        self.records = [encode_start(1.0, plan)]
        self.state = SessionState(plan)
        self.seen_tail = False
        self.scored = False

    def take(self, event: SessionEvent) -> None:
        before = self.state
        self.state = advance(before, event)
        self.records.append(encode_event(float(len(self.records)), event))
        self.scored = self.scored or isinstance(event, Scored)
        assert not (before.step in TAIL and self.state.step not in TAIL), "the tail is never left"
        self.seen_tail = self.seen_tail or self.state.step in TAIL

    @rule()
    def skip(self) -> None:
        self.take(Skipped())

    @precondition(lambda self: len(self.records) > 6)
    @rule()
    def end(self) -> None:
        self.take(Ended())

    @precondition(lambda self: self.state.step in LEARNER_STEPS)
    @rule(text=st.sampled_from(["quiz", "summary", "b", "yes", "no", "  ", "an answer", "give me 1.0"]))
    def answer(self, text: str) -> None:
        self.take(Answered(text))

    @precondition(lambda self: self.state.step in MODEL_STEPS)
    @rule(verdict=st.sampled_from(["Correct", "Partially-Correct", "Incorrect"]))
    def model(self, verdict: Verdict) -> None:
        self.take(find_known_verdict(self.state) or make_model_event(self.state, verdict))

    @precondition(lambda self: self.state.step in (Step.JUDGE_CHECK, Step.JUDGE_PROBE, Step.JUDGE_QUIZ))
    @rule()
    def model_talks(self) -> None:
        self.take(NotJudged("Well."))

    @precondition(lambda self: self.state.needs_grading)
    @rule()
    def grading_fails(self) -> None:
        self.take(GradingFailed("nothing"))

    @precondition(lambda self: self.state.needs_grading)
    @rule()
    def grading_is_retried(self) -> None:
        self.take(Scored(dict.fromkeys(self.state.tested, 0.5)))

    @rule()
    def crash_and_resume(self) -> None:
        """The process ends between two transitions: the same question is pending again."""
        found = replay_session(map(encode, self.records))
        assert found is not None and found.state == self.state and found.bad == 0

    @rule(event=st.sampled_from([Spoke("x"), Judged("Correct", "x"), Scored({}), QuestionsMade(())]))
    def odd_event(self, event: SessionEvent) -> None:
        """An event out of place is refused, or it belongs to the step; it never breaks the session."""
        try:
            after = advance(self.state, event)
        except WrongEventError:
            return
        assert after.step is not self.state.step or event == Spoke("x")

    @invariant()
    def holds(self) -> None:
        state = self.state
        ids = {one.id for one in state.plan.objectives}
        assert (state.step in LEARNER_STEPS) + (state.step in MODEL_STEPS) + (not state.is_open) == 1
        assert len(set(state.covered)) == len(state.covered) and set(state.covered) <= ids
        assert set(state.tested) <= set(state.covered)
        assert (state.scores is not None) == self.scored, "mastery comes only from the grader"
        assert state.failures <= 2 and state.at < len(state.plan.objectives)
        if state.step in (Step.CHECK_ANSWER, Step.QUIZ_ANSWER, Step.TEST_ANSWER):
            assert state.question in state.questions
        if not state.is_open:
            assert self.seen_tail and state.outcome == "finished"

    def teardown(self) -> None:
        """From wherever it is, a learner who only skips comes to the end: the session is never stuck."""
        if not hasattr(self, "state"):
            return
        state = self.state
        for _ in range(200):
            if not state.is_open:
                return
            event = Skipped() if state.step is not Step.GRADE else Scored(dict.fromkeys(state.tested, 0.1))
            state = advance(state, event)
        raise AssertionError(f"stuck at {state.step}")


AnySession.TestCase.settings = examples(300, stateful_step_count=60)
TestAnySession = AnySession.TestCase
