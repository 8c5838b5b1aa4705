"""What comes next in a tutoring session (SPEC section T): a single directed graph over steps and events. Pure.

    introduce → choose → summarize, or check of prerequisites
              → for each objective: probe → explain → micro-quiz → extra explanation after two failures in a row
              → final test → grader → greeting

`advance` is total over what a learner may do: ending and skipping are always accepted and never leave the graph. An event
of the model that does not belong to the step raises WrongEventError and changes nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Literal, assert_never

from msgspec.structs import replace

from tacitd.errors import TacitdError
from tacitd_handlers.tutor.session_model import (
    Answered,
    Closed,
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
)

EXPIRED_AFTER = 30 * 86400.0
"""Seconds without an event after which a session that waits for the learner is over (SPEC T-24)."""
FAILURES = 2
"""Wrong micro-quiz answers in a row after which an extra explanation is offered (SPEC T-13)."""
BACK = {
    Step.JUDGE_CHECK: Step.CHECK_ANSWER,
    Step.JUDGE_PROBE: Step.PROBE_ANSWER,
    Step.JUDGE_QUIZ: Step.QUIZ_ANSWER,
}
"""By a step that judges an answer, the step at which its question is pending."""
ASKED_AT = {
    Step.BUILD_CHECK: Step.CHECK_ANSWER,
    Step.BUILD_QUIZ: Step.QUIZ_ANSWER,
    Step.BUILD_TEST: Step.TEST_ANSWER,
}
"""By a step that makes questions, the step at which they are pending."""
LETTERS = "ABCDEFGH"
"""Letters of the choices, in order."""
_LETTER = re.compile(r"[(\[]?([A-Ha-h])(?:[)\].:]\s*(\S.*)|[)\].:]?)", re.DOTALL)
# Everything else is no, so that an offer never blocks.
_YES = {"y", "yes", "yeah", "yep", "sure", "ok", "okay", "please", "yes please", "ja", "oui", "si", "sí"}
Route = Literal["quiz", "summary", "skip"]
_ROUTES: Mapping[Route, frozenset[str]] = {
    "quiz": frozenset({"quiz", "q"}),
    "summary": frozenset({"summary", "s", "recap", "summarize", "summarise"}),
    "skip": frozenset({"skip", "neither", "none", "no", "not", "don", "dont", "without", "nothing"}),
}
"""The words that ask for each. What is not understood is left to the caller: the questions may be in the learner's language."""


class WrongEventError(TacitdError):
    """The event does not belong to the step of the session."""


def advance(state: SessionState, event: SessionEvent) -> SessionState:
    """Given a state and an event, return the next state. Raises WrongEventError if the event is not possible there."""
    match event:
        case Answered(text):
            return _answer(state, text) if text.strip() else _skip(state)
        case Skipped():
            return _skip(state)
        case Ended():
            return _end(state)
        case Spoke(text):
            return _speak(state, event, text)
        case QuestionsMade(questions):
            return _ask(state, questions)
        case Judged():
            return _judge(state, event)
        case NotJudged() if state.step in BACK:
            return replace(state, step=BACK[state.step], answer="")
        case Scored(scores) if state.needs_grading and _fits(state, scores):
            return replace(state, step=_after_grading(state), scores=scores, ungraded="")
        case GradingFailed(reason) if state.needs_grading:
            tries = state.grading_tries + 1
            return replace(state, step=_after_grading(state), ungraded=reason, grading_tries=tries)
        case NotJudged() | Scored() | GradingFailed():
            raise _wrong(state, event)
        case Closed(outcome):
            return replace(state, step=Step.FINISHED, outcome=outcome) if can_be_closed(state) else state
        case _:
            assert_never(event)


def _fits(state: SessionState, scores: Mapping[str, float]) -> bool:
    """Whether the scores are from 0 to 1, of exactly the objectives that were tested (SPEC T-17)."""
    return set(scores) == set(state.tested) and all(0 <= one <= 1 for one in scores.values())


def _after_grading(state: SessionState) -> Step:
    """A test may be graded again after the greeting."""
    return Step.CLOSE if state.step is Step.GRADE else state.step


def can_be_closed(state: SessionState) -> bool:
    """Whether the session can be closed without a test: one whose test was handed in is graded, however long that takes."""
    return state.is_open and state.step is not Step.GRADE


def is_expired(state: SessionState, idle: float) -> bool:
    """Whether nobody continued the session for too long. `idle`: seconds since its last event."""
    return can_be_closed(state) and idle >= EXPIRED_AFTER


def find_known_verdict(state: SessionState) -> Judged | None:
    """The judgement that needs no model: a choice that equals the key. None if the tutor must judge."""
    if state.step not in (Step.JUDGE_CHECK, Step.JUDGE_QUIZ):
        return None
    if judge_choice(state.question, state.answer) is True:
        return Judged("Correct", f"The answer is {state.question.answer}.")
    return None


def _wrong(state: SessionState, event: object) -> WrongEventError:
    return WrongEventError(f"{type(event).__name__} is not possible at the step {state.step}")


def _begin_objective(state: SessionState, at: int) -> SessionState:
    """Go to the probe of an objective; after the last one to the test, or to the greeting if nothing was taught."""
    if at >= len(state.plan.objectives):
        return _begin_tail(state)
    return replace(
        state,
        step=Step.PROBE,
        at=at,
        questions=(),
        asked=0,
        answer="",
        probe="",
        followed_up=False,
        explanation="",
        misses=(),
    )


def _begin_tail(state: SessionState) -> SessionState:
    """The final test over what was covered; if that is nothing, the greeting (SPEC T-21)."""
    step = Step.BUILD_TEST if state.covered else Step.CLOSE
    return replace(state, step=step, questions=(), asked=0, answer="")


def _after_introduction(state: SessionState) -> SessionState:
    """The question for summary or quiz, which a node without prerequisites skips (SPEC T-08)."""
    return replace(state, step=Step.CHOOSE) if state.plan.prerequisites else _begin_objective(state, 0)


def _speak(state: SessionState, event: Spoke, text: str) -> SessionState:
    match state.step:
        case Step.INTRODUCE:
            return _after_introduction(state)
        case Step.SUMMARIZE:
            reviewed = tuple(one.id for one in state.plan.prerequisites)
            return _begin_objective(replace(state, reviewed=reviewed), 0)
        case Step.PROBE:
            return replace(state, step=Step.PROBE_ANSWER, probe=text)
        case Step.EXPLAIN:
            covered = (*state.covered, state.objective.id)
            return replace(state, step=Step.BUILD_QUIZ, explanation=text, covered=covered, answer="")
        case Step.EXPLAIN_AGAIN:
            return _begin_objective(state, state.at + 1)
        case Step.CLOSE:
            return replace(state, step=Step.FINISHED, outcome="finished")
        case _:
            raise _wrong(state, event)


def _ask(state: SessionState, questions: tuple[Question, ...]) -> SessionState:
    if not questions or state.step not in ASKED_AT:
        raise _wrong(state, QuestionsMade(questions))
    after = replace(state, step=ASKED_AT[state.step], questions=questions, asked=0)
    if state.step is not Step.BUILD_TEST:
        return after
    named = {id for one in questions for id in one.objective_ids}
    tested = tuple(id for id in state.covered if id in named)
    if not tested:
        raise WrongEventError("the test covers no objective that was taught")
    return replace(after, tested=tested)


def _answer(state: SessionState, text: str) -> SessionState:
    match state.step:
        case Step.CHOOSE:
            route = parse_route(text)
            if route == "skip":
                return _begin_objective(state, 0)
            if route == "quiz":
                return replace(state, step=Step.BUILD_CHECK)
            if route is None and not state.choice_unclear:  # asked once more, then the summary (SPEC T-10)
                return replace(state, choice_unclear=True)
            return replace(state, step=Step.SUMMARIZE)
        case Step.CHECK_ANSWER:
            reviewed = dict.fromkeys((*state.reviewed, *state.question.objective_ids))
            return replace(state, step=Step.JUDGE_CHECK, answer=text, reviewed=tuple(reviewed))
        case Step.PROBE_ANSWER:
            return replace(state, step=Step.JUDGE_PROBE, answer=text)
        case Step.QUIZ_ANSWER:
            return replace(state, step=Step.JUDGE_QUIZ, answer=text)
        case Step.OFFER:
            if normalise_answer(text) in _YES:
                return replace(state, step=Step.EXPLAIN_AGAIN)
            return _begin_objective(state, state.at + 1)
        case Step.TEST_ANSWER:
            return _hand_in(state, text)
        case _:
            raise _wrong(state, Answered(text))


def _hand_in(state: SessionState, text: str) -> SessionState:
    answers = (*state.answers, text)
    if len(answers) < len(state.questions):
        return replace(state, answers=answers, asked=len(answers))
    return replace(state, step=Step.GRADE, answers=answers)


def _judge(state: SessionState, event: Judged) -> SessionState:
    match state.step:
        case Step.JUDGE_CHECK:
            if state.asked + 1 < len(state.questions):
                return replace(state, step=Step.CHECK_ANSWER, asked=state.asked + 1, answer="")
            return _begin_objective(state, 0)
        case Step.JUDGE_PROBE:
            if event.eval != "Correct" and event.next and not state.followed_up:
                return replace(state, step=Step.PROBE_ANSWER, probe=event.next, followed_up=True)
            return replace(state, step=Step.EXPLAIN)
        case Step.JUDGE_QUIZ:
            if event.eval == "Incorrect":
                misses = (*state.misses, (state.question.text, state.answer))
                return _after_question(replace(state, failures=state.failures + 1, misses=misses))
            return _after_question(replace(state, failures=0))
        case _:
            raise _wrong(state, event)


def _after_question(state: SessionState) -> SessionState:
    """The next question of the micro-quiz; after the last one an offer, or the next objective."""
    if state.asked + 1 < len(state.questions):
        return replace(state, step=Step.QUIZ_ANSWER, asked=state.asked + 1, answer="")
    if state.failures >= FAILURES:
        return replace(state, step=Step.OFFER, failures=0, answer="")
    return _begin_objective(state, state.at + 1)


def _skip(state: SessionState) -> SessionState:
    match state.step:
        case Step.INTRODUCE:
            return _after_introduction(state)
        case Step.CHOOSE | Step.SUMMARIZE | Step.BUILD_CHECK | Step.CHECK_ANSWER | Step.JUDGE_CHECK:
            return _begin_objective(state, 0)
        case Step.PROBE | Step.PROBE_ANSWER | Step.JUDGE_PROBE:
            return replace(state, step=Step.EXPLAIN)
        case Step.QUIZ_ANSWER | Step.JUDGE_QUIZ:
            return _after_question(state)
        case Step.EXPLAIN | Step.BUILD_QUIZ | Step.OFFER | Step.EXPLAIN_AGAIN:
            return _begin_objective(state, state.at + 1)
        case Step.BUILD_TEST:
            return replace(state, step=Step.CLOSE)
        case Step.TEST_ANSWER:
            return _hand_in(state, "")
        case Step.CLOSE:
            return replace(state, step=Step.FINISHED, outcome="finished")
        case Step.GRADE | Step.FINISHED:
            return state
        case _:
            assert_never(state.step)


def _end(state: SessionState) -> SessionState:
    """Test, grader, greeting over what was covered. Idempotent: in the tail it only hands in the test (SPEC T-21)."""
    match state.step:
        case Step.BUILD_TEST | Step.GRADE | Step.CLOSE | Step.FINISHED:
            return state
        case Step.TEST_ANSWER:
            blank = ("",) * (len(state.questions) - len(state.answers))
            return replace(state, step=Step.GRADE, answers=(*state.answers, *blank))
        case _:
            return _begin_tail(state)


# --- what a short answer means


def normalise_answer(text: str) -> str:
    """The text without case, width, surrounding quotes, final full stops and repeated spaces."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(plain.split()).strip("\"'`“”‘’ ").rstrip(".!").strip()


def find_choice(question: Question, text: str) -> int | None:
    """The index of the choice that the text names by its letter, by its text, or by both; None if it names none."""
    said = text.strip()
    if said in question.choices:
        return question.choices.index(said)
    # Two choices may differ in case or quotes only (`HEAD` and `head`): then only a letter or the exact text names one.
    plain = [normalise_answer(choice) for choice in question.choices]
    if plain.count(normalise_answer(said)) == 1:
        return plain.index(normalise_answer(said))
    letter = _LETTER.fullmatch(said)
    if letter is None or (at := LETTERS.index(letter[1].upper())) >= len(plain):
        return None
    # A letter and the text of another choice name none.
    return at if letter[2] is None or normalise_answer(letter[2]) == plain[at] else None


def judge_choice(question: Question, text: str) -> bool | None:
    """Whether the text names the choice that is the key; None if this is not decided by a choice."""
    if question.kind != "mcq":
        return None
    given, key = find_choice(question, text), find_choice(question, question.answer)
    if given is None or key is None:
        return None
    return given == key


def format_choice(question: Question, text: str) -> str:
    """A choice as `B) its text`; the text as it is if it names none."""
    at = find_choice(question, text) if question.kind == "mcq" else None
    return text if at is None else f"{LETTERS[at]}) {question.choices[at]}"


def parse_route(text: str) -> Route | None:
    """What the learner wants of the prerequisites; None if it is not clear (SPEC T-08, T-10)."""
    words = set(re.findall(r"\w+", normalise_answer(text)))
    found: list[Route] = [route for route, known in _ROUTES.items() if words & known]
    return found[0] if len(found) == 1 else None
