"""The data of a tutoring session: its plan, its state, and the closed set of events (SPEC T-01, T-08 to T-24). Pure.

A session is the fold of its events: `session_policy.advance` takes a state and an event and returns the next state. What
comes next is decided there. How it is worded is decided at the edge, by the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta, Struct

QuestionKind = Literal["mcq", "free", "short", "paraphrase"]
Verdict = Literal["Correct", "Partially-Correct", "Incorrect"]


class Objective(Struct, frozen=True):
    id: str
    """Unique in its node; of a prerequisite `node_id/id`."""
    text: str


class Reference(Struct, frozen=True):
    """A source that the learner may look into: grounding only, shown on request (SPEC T-22)."""

    id: str
    title: str
    where: str
    """A URL, a file, a chapter."""


class SessionPlan(Struct, frozen=True):
    """What a session is about, fixed at its start, so that a later change of the graph cannot confuse it."""

    session: str
    graph: str
    """The key of the graph, under which mastery is kept."""
    project: str
    """The root of the project whose graph it is; "" for other graphs."""
    node_id: str
    title: str
    objectives: Annotated[tuple[Objective, ...], Meta(min_length=1)]
    """All objectives of the node that are taught in this session, in order."""
    prerequisites: tuple[Objective, ...] = ()
    references: tuple[Reference, ...] = ()
    level: str = ""
    next_nodes: tuple[str, ...] = ()
    """Titles of nodes that can follow."""


class Question(Struct, frozen=True):
    """A question with its answer key. The key is never shown to the learner before the session is over (SPEC T-19)."""

    text: str
    kind: QuestionKind
    choices: tuple[str, ...] = ()
    """The texts of the choices A, B, C, …; empty unless `kind` is mcq."""
    answer: str = ""
    """The key: for mcq the text of a choice."""
    objective_ids: tuple[str, ...] = ()


class Step(StrEnum):
    """Where a session is: what is due next. At a step the session waits for the model, for the learner, or for nothing."""

    INTRODUCE = "introduce"
    CHOOSE = "choose"
    SUMMARIZE = "summarize"
    BUILD_CHECK = "build check"
    CHECK_ANSWER = "check answer"
    JUDGE_CHECK = "judge check"
    PROBE = "probe"
    PROBE_ANSWER = "probe answer"
    JUDGE_PROBE = "judge probe"
    EXPLAIN = "explain"
    BUILD_QUIZ = "build quiz"
    QUIZ_ANSWER = "quiz answer"
    JUDGE_QUIZ = "judge quiz"
    OFFER = "offer"
    EXPLAIN_AGAIN = "explain again"
    BUILD_TEST = "build test"
    TEST_ANSWER = "test answer"
    GRADE = "grade"
    CLOSE = "close"
    FINISHED = "finished"


QUESTION_STEPS = frozenset({Step.CHECK_ANSWER, Step.QUIZ_ANSWER, Step.TEST_ANSWER})
"""The steps at which a question of the model's is pending."""
LEARNER_STEPS = QUESTION_STEPS | {Step.CHOOSE, Step.PROBE_ANSWER, Step.OFFER}
"""The steps at which the session waits for the learner: one question is pending."""
MODEL_STEPS = frozenset(Step) - LEARNER_STEPS - {Step.FINISHED}
"""The steps at which the session waits for the model."""
TAIL = frozenset({Step.BUILD_TEST, Step.TEST_ANSWER, Step.GRADE, Step.CLOSE, Step.FINISHED})
"""Final test, grader, greeting: the end of every path (SPEC T-21)."""


class SessionState(Struct, frozen=True):
    plan: SessionPlan
    step: Step = Step.INTRODUCE
    at: int = 0
    """The index of the current objective."""
    questions: tuple[Question, ...] = ()
    """The questions that are asked now: the check of prerequisites, a micro-quiz or the test."""
    asked: int = 0
    """The index of the pending question."""
    answer: str = ""
    """The learner's answer that is being judged, at a step that judges."""
    choice_unclear: bool = False
    """The learner's choice was not understood once (SPEC T-10)."""
    probe: str = ""
    followed_up: bool = False
    """A follow-up of the probe was asked already."""
    explanation: str = ""
    misses: tuple[tuple[str, str], ...] = ()
    """Micro-quiz questions of this objective that were answered wrongly, with the answers."""
    failures: int = 0
    """Wrong micro-quiz answers in a row (SPEC T-13)."""
    covered: tuple[str, ...] = ()
    """Ids of the objectives whose explanation was given. Only these are tested."""
    reviewed: tuple[str, ...] = ()
    """Ids of the prerequisites that were summarized, or whose questions were answered."""
    answers: tuple[str, ...] = ()
    """The answers to the final test, "" for a blank one."""
    tested: tuple[str, ...] = ()
    """Ids of the objectives that the test covers."""
    scores: Mapping[str, float] | None = None
    """Scores from the grader, by objective id; None before grading."""
    ungraded: str = ""
    """Why grading failed, if it did and there are no scores."""
    grading_tries: int = 0
    """How often grading failed."""
    outcome: Literal["", "finished", "expired", "discarded"] = ""

    @property
    def objective(self) -> Objective:
        return self.plan.objectives[self.at]

    @property
    def question(self) -> Question:
        """The pending question of a check, quiz or test. Raises IndexError at other steps."""
        return self.questions[self.asked]

    @property
    def is_open(self) -> bool:
        return self.step is not Step.FINISHED

    @property
    def needs_grading(self) -> bool:
        """Whether a finished test has no scores yet."""
        return self.scores is None and (self.step is Step.GRADE or bool(self.ungraded))


class _Event(Struct, frozen=True, tag_field="event", tag=True):
    """Its class is its name in the log."""


class Spoke(_Event, frozen=True):
    """The tutor delivered a text: an introduction, recap, probe, explanation or greeting."""

    text: str


class QuestionsMade(_Event, frozen=True):
    questions: tuple[Question, ...]


class Judged(_Event, frozen=True):
    """The tutor judged an answer, in the form of the seed's reply template (SPEC T-12)."""

    eval: Verdict
    feedback: str
    next: str = ""
    """A follow-up question, "" for none."""


class NotJudged(_Event, frozen=True):
    """The tutor's judgement was not usable: its text was shown, and the same question is pending again (SPEC T-12)."""

    text: str


class Answered(_Event, frozen=True):
    """The learner answered. A blank answer counts as `Skipped`."""

    text: str


class Skipped(_Event, frozen=True):
    """The learner skips what is pending."""


class Ended(_Event, frozen=True):
    """The learner ends the session with its test (SPEC T-21). Closing the terminal is not an event."""


class Scored(_Event, frozen=True):
    scores: Mapping[str, float]
    """By objective id."""


class GradingFailed(_Event, frozen=True):
    """The grader gave nothing usable: the session is ungraded, and grading can be retried (SPEC T-17)."""

    reason: str


class Closed(_Event, frozen=True):
    """The session is over without a test: pending for too long (SPEC T-24), or discarded by the learner."""

    outcome: Literal["expired", "discarded"]


SessionEvent = (
    Spoke | QuestionsMade | Judged | NotJudged | Answered | Skipped | Ended | Scored | GradingFailed | Closed
)


class TimedEvent(Struct, frozen=True):
    """An event with its time (seconds since 1970, UTC) and the state before it."""

    at: float
    event: SessionEvent
    before: SessionState


class ReplayedSession(Struct, frozen=True):
    state: SessionState
    started: float
    """Seconds since 1970, UTC."""
    last: float
    """When its last event happened."""
    events: tuple[TimedEvent, ...] = ()
    bad: int = 0
    """Records that had no effect."""

    @property
    def outcome(self) -> str:
        """How it ended; `open`, or `ungraded` if its test has no scores."""
        return "ungraded" if self.state.needs_grading else self.state.outcome or "open"
