"""Plans, graphs and scripts for the tests of the tutor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tacitd.testing import FakeClock
from tacitd_handlers.tutor.session_log import TutorSession, TutorStore
from tacitd_handlers.tutor.session_model import (
    LEARNER_STEPS,
    Answered,
    Judged,
    Objective,
    Question,
    QuestionsMade,
    Reference,
    Scored,
    SessionEvent,
    SessionPlan,
    SessionState,
    Spoke,
    Step,
    Verdict,
)
from tacitd_handlers.tutor.session_policy import advance

KEY = "the-secret-key"
"""The answer key of every free question of the scripts: no learner and no micro-quiz may show it."""
QUIZ_MARK = "micro-quiz-mark"

GRAPH = """\
level: beginner
references:
  - {id: book, title: A book, where: shelf 3}
nodes:
  - node_id: one
    title: Node one
    objectives: [alpha, beta, gamma, delta, epsilon]
  - node_id: two
    title: Node two
    prerequisites: [one]
    objectives:
      - {id: first, text: Name the first thing}
      - {id: second, text: Name the second thing}
    references_sections: [{rid: book, loc: page 7}]
"""


def make_plan(
    objectives: int = 2, prerequisites: int = 1, session: str = "20260101-1200-two-abcd"
) -> SessionPlan:
    """A plan with so many objectives, whose ids are o1, o2, …"""
    return SessionPlan(
        session=session,
        graph="graph",
        project="",
        node_id="two",
        title="Node two",
        objectives=tuple(Objective(f"o{n}", f"Objective number {n}") for n in range(1, objectives + 1)),
        prerequisites=tuple(Objective(f"one/p{n}", f"Prerequisite {n}") for n in range(1, prerequisites + 1)),
        references=(Reference("book", "A book", "shelf 3"),),
        level="beginner",
        next_nodes=("Node three",),
    )


def choice_question(text: str = "Which one?", ids: tuple[str, ...] = ()) -> Question:
    """A multiple-choice question; B is right."""
    return Question(text, "mcq", ("left", "right"), "right", ids)


def make_model_event(state: SessionState, verdict: Verdict = "Correct") -> SessionEvent:
    """What a well-behaved model gives at this step."""
    match state.step:
        case Step.BUILD_CHECK:
            return QuestionsMade((choice_question("Check?"), Question("Free check?", "free", (), KEY)))
        case Step.BUILD_QUIZ:
            return QuestionsMade((Question(f"{QUIZ_MARK}?", "free", (), KEY),))
        case Step.BUILD_TEST:
            return QuestionsMade(
                tuple(Question(f"Test of {id}?", "short", (), KEY, (id,)) for id in state.covered)
            )
        case Step.JUDGE_CHECK | Step.JUDGE_PROBE | Step.JUDGE_QUIZ:
            return Judged(verdict, "Because.", "")
        case Step.GRADE:
            return Scored(dict.fromkeys(state.tested, 0.8))
        case _:
            return Spoke(f"Text of {state.step}.")


def walk(objectives: int = 2, route: str = "quiz") -> Iterator[SessionState]:
    """The states of a session in which every answer is wrong, so that every step of the route is reached."""
    state = SessionState(make_plan(objectives))
    while state.is_open:
        yield state
        said = Answered(route if state.step is Step.CHOOSE else "yes")
        state = advance(state, said if state.step in LEARNER_STEPS else make_model_event(state, "Incorrect"))
    yield state


def reach(step: Step, objectives: int = 2) -> SessionState:
    """The first of these states at a step."""
    route = "summary" if step is Step.SUMMARIZE else "quiz"
    return next(state for state in walk(objectives, route) if state.step is step)


def lead_to(session: TutorSession, step: Step) -> SessionState:
    """Lead a session to a step, with wrong answers, so that every step is on the way."""
    while session.state.step is not step:
        state = session.state
        said = Answered("quiz" if state.step is Step.CHOOSE else "yes")
        session.record_event(said if state.step in LEARNER_STEPS else make_model_event(state, "Incorrect"))
    return session.state


def make_store(box: Path, clock: FakeClock | None = None) -> TutorStore:
    """A store in a directory of its own, with session ids that end in 0000, 0001, …"""
    numbers = iter(range(10_000))
    return TutorStore(box / "tutor", clock or FakeClock(), lambda: f"{next(numbers):04x}")


COURSE = """\
level: beginner
nodes:
  - node_id: one
    title: Node one
    objectives: [{id: base, text: Know the base}]
  - node_id: two
    title: Node two
    prerequisites: [one]
    objectives:
      - {id: first, text: Name the first thing}
      - {id: second, text: Name the second thing}
"""
"""A graph that the answers of `CLIENT_ANSWERS` fit."""
_CHOICE = '{"q": "Which is right?", "type": "mcq", "choices": ["left", "right"], "answer": "B"%s}'
CLIENT_ANSWERS = {
    "You create prerequisite checks": '{"questions": [' + _CHOICE % "" + "]}",
    "You create micro-quizzes": '```json\n{"questions": [' + _CHOICE % "" + "]}\n```",
    "end-of-session test": '{"questions": ['
    + _CHOICE % ', "objective_ids": ["first"]'
    + ', {"q": "Say it shortly.", "type": "short", "answer": "so", "objective_ids": ["second"]}]}',
    "rigorous grader": '{"objective_scores": [{"id": "first", "score": 0.9}, {"id": "second", "score": 0.6}]}',
    "Rule 1, without the question": "This is about two things.",
    "The learner chose the summary": "The base is the base.",
    "one short Socratic question": "What do you know?",
    "Judge the learner's answer": '{"eval": "Incorrect", "feedback": "It is right.", "next": "Next objective"}',
    "explain the pieces": "It is **so**, because it is.",
    "failed micro-quizzes twice": "Again: it is so.",
    "closing greeting": "Strength: the first thing. Weakest: the second thing.",
}
"""What a stand-in for the client answers to the tutor's prompts, by words of the prompt."""
TYPED = ("quiz", "b", "nothing", "b", "still nothing", "a", "b", "so")
"""The learner's answers of a whole session on node `two` with these answers: check, two objectives, test."""


def write_course(project: Path) -> Path:
    """Write the graph into a project's `tutor/`."""
    folder = project / "tutor"
    folder.mkdir()
    (folder / "course.yaml").write_text(COURSE)
    return folder / "course.yaml"


def client_rules() -> list[dict[str, str]]:
    """The rules of the stand-in for `claude`."""
    return [{"match": match, "reply": reply} for match, reply in CLIENT_ANSWERS.items()]
