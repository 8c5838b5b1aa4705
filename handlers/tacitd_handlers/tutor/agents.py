"""The five agents: tutor, prerequisite builder, micro-quiz helper, final-test generator, grader (SPEC T-06). What they are asked, and what
their answers mean.

Given a state at a step that waits for the model, `build_request` returns what to send. Every answer of the learner, and every
text of the model that is sent again, is fenced as data. The grader gets the questions and answers of the final test and
nothing else (SPEC T-14). Temperatures (0.2, and 0 for the grader) are part of the seed, but the client has no such option, so
they are only recorded (SPEC T-07).

An answer is untrusted: JSON is validated with pydantic, texts have limits (SPEC T-09, T-11, T-12, T-15 to T-17). Its fault is
named when the agent is asked again. What cannot be wrong is cut instead: a fifth prerequisite question, a third sentence, what
is beyond 200 words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BaseModel, Field, ValidationError, field_validator

from tacitd.model.port import Tier
from tacitd.text.redact import redact_secrets
from tacitd.text.sanitize import sanitize_line, sanitize_text
from tacitd.text.wording import shorten_line
from tacitd_handlers.shared.model_text import fence_text, fill_template, list_objects, split_sentences
from tacitd_handlers.tutor.session_model import (
    Judged,
    Objective,
    Question,
    QuestionKind,
    QuestionsMade,
    Scored,
    SessionEvent,
    SessionState,
    Spoke,
    Step,
    Verdict,
)
from tacitd_handlers.tutor.session_policy import LETTERS, find_choice, format_choice, judge_choice

Agent = Literal["tutor", "prereq_builder", "micro_quiz", "final_test", "grader"]
AGENTS: dict[Agent, tuple[Tier, float, str]] = {
    "tutor": ("fast", 0.2, "You are a tutor. Do only the step that is asked for."),
    "prereq_builder": ("fast", 0.2, "You create prerequisite checks. Answer with JSON alone."),
    "micro_quiz": ("fast", 0.2, "You create micro-quizzes. Answer with JSON alone."),
    "final_test": ("fast", 0.2, "You create tests. Answer with JSON alone."),
    "grader": ("accurate", 0.0, "You are a rigorous grader. Answer with JSON alone."),
}
"""By agent, its tier, the temperature of the seed (SPEC T-07), and the system prompt."""
_NOTHING, _UNKNOWN = "(none)", "not known"


class AgentRequest(Struct, frozen=True):
    """A request to one agent. Its tier and system prompt are in AGENTS."""

    agent: Agent
    prompt: str

    def with_error(self, error: str) -> AgentRequest:
        """The same request, with the fault of the answer before."""
        return AgentRequest(
            self.agent,
            f"{self.prompt}\n\nYour last answer could not be used: {error}. Answer again in the form asked for.",
        )


@cache
def load_prompt(agent: Agent) -> tuple[str, dict[str, str]]:
    """The template of an agent, and the tasks that its file lists after lines `=== name`."""
    text = (files("tacitd_handlers.tutor") / "prompts" / f"{agent}.md").read_text("utf-8")
    head, *tasks = text.split("\n=== ")
    named = (task.partition("\n") for task in tasks)
    return head.rstrip("\n"), {name.strip(): body.strip("\n") for name, _, body in named}


def build_request(state: SessionState) -> AgentRequest:
    """The request that the step, which waits for the model, needs."""
    plan = state.plan
    match state.step:
        case Step.BUILD_CHECK:
            return _fill(
                "prereq_builder",
                prerequisites=_list(plan.prerequisites, ids=True),
                objectives=_list(plan.objectives),
                level=plan.level or _UNKNOWN,
            )
        case Step.BUILD_QUIZ:
            return _fill(
                "micro_quiz",
                objective=_list([state.objective]),
                explanation=fence_text(state.explanation),
                level=plan.level or _UNKNOWN,
            )
        case Step.BUILD_TEST:
            return _fill(
                "final_test",
                objectives=_list([one for one in plan.objectives if one.id in state.covered], ids=True),
                prerequisites=_list(one for one in plan.prerequisites if one.id in state.reviewed),
                level=plan.level or _UNKNOWN,
            )
        case Step.GRADE:
            tested = [one for one in plan.objectives if one.id in state.tested]
            return _fill("grader", objectives=_list(tested, ids=True), test="\n\n".join(_list_answers(state)))
        case _:
            references = "\n".join(f"  - {one.id}: {one.title}, {one.where}" for one in plan.references)
            return _fill(
                "tutor",
                node_title=plan.title,
                prerequisites=_list(plan.prerequisites),
                references=references or f"  - {_NOTHING}",
                task=load_prompt("tutor")[1][str(state.step)],
                material="\n".join(_list_material(state)),
                objectives=_list(plan.objectives),
                level=plan.level or _UNKNOWN,
            )


def _fill(agent: Agent, **values: str) -> AgentRequest:
    return AgentRequest(agent, fill_template(load_prompt(agent)[0], values))


def _list(objectives: Iterable[Objective], *, ids: bool = False) -> str:
    lines = [f"  - {f'{one.id}: ' if ids else ''}{one.text}" for one in objectives]
    return "\n".join(lines) or f"  - {_NOTHING}"


def _fence(text: str) -> str:
    """A text as data: secrets blanked, and between lines of backticks that nothing in it can close."""
    return fence_text(redact_secrets(text)[0])


def _list_material(state: SessionState) -> Iterable[str]:
    """What the task of the tutor is about, line by line."""
    match state.step:
        case Step.JUDGE_CHECK | Step.JUDGE_QUIZ:
            block = "prereq_questions" if state.step is Step.JUDGE_CHECK else "micro_quiz"
            yield f"\n{block}:\n{_format_question(state.question)}\nExpected answer: {state.question.answer or _NOTHING}"
            yield f"The learner's answer:\n{_fence(format_choice(state.question, state.answer))}"
        case Step.PROBE:
            yield f"\nObjective: {state.objective.text}"
        case Step.JUDGE_PROBE | Step.EXPLAIN:
            yield f"\nObjective: {state.objective.text}"
            if state.probe:
                yield f"Your probe:\n{_fence(state.probe)}"
            if state.answer:
                yield f"The learner's answer:\n{_fence(state.answer)}"
        case Step.EXPLAIN_AGAIN:
            yield f"\nObjective: {state.objective.text}\nThe explanation before:\n{_fence(state.explanation)}"
            for question, answer in state.misses:
                yield f"Failed question: {question}\nThe learner's answer:\n{_fence(answer)}"
        case Step.CLOSE:
            scores = state.scores or {}
            yield "\nScores, 0 to 1:"
            yield from (
                f"- {one.text}: {scores[one.id]:.2f}" for one in state.plan.objectives if one.id in scores
            )
            yield f"Next node options: {'; '.join(state.plan.next_nodes) or _NOTHING}"


def _format_question(question: Question) -> str:
    lines = [question.text]
    lines += [f"{letter}) {choice}" for letter, choice in zip(LETTERS, question.choices, strict=False)]
    return "\n".join(lines)


def _list_answers(state: SessionState) -> Iterable[str]:
    """The questions and answers of the test."""
    for number, (question, answer) in enumerate(zip(state.questions, state.answers, strict=True), 1):
        ids = ", ".join(id for id in question.objective_ids if id in state.tested) or _NOTHING
        said = _fence(format_choice(question, answer)) if answer.strip() else "(blank)"
        expected = format_choice(question, question.answer) or _NOTHING
        yield (
            f"Question {number} ({question.kind}; objectives: {ids}):\n{_format_question(question)}\n"
            f"Expected answer: {expected}\nThe learner's answer:\n{said}"
        )


# --- answers

CHECK_QUESTIONS, QUIZ_QUESTIONS, TEST_QUESTIONS = 4, 2, 12
"""The most questions of a check (SPEC T-09), a micro-quiz (T-11) and a test."""
WORDS = 200
"""The most words of an explanation."""
LONGEST_TEXT, LONGEST_QUESTION, LONGEST_CHOICE = 6000, 1500, 400
"""Characters."""
LONGEST_ANSWER = 4000
"""Characters of a learner's answer that are kept and sent."""
_NEXT_OBJECTIVE = re.compile(r"\W*next objective\W*", re.IGNORECASE)


class UnusableAnswer(Struct, frozen=True):
    """The answer cannot be used: `fault` is for the agent's second try and for the log, `text` for the learner."""

    fault: str
    text: str = ""


class TutorReply(BaseModel):
    """The seed's reply template (SPEC T-12)."""

    eval: Verdict
    feedback: str = Field(min_length=1)
    next: str = ""

    @field_validator("eval", mode="before")
    @classmethod
    def _known(cls, value: Any) -> Any:
        """`partially correct` is accepted as well as `Partially-Correct`."""
        words = "-".join(str(value).replace("-", " ").title().split())
        return "Partially-Correct" if words in ("Partially-Correct", "Partial") else words


class QuestionItem(BaseModel):
    q: str = Field(min_length=1)
    type: QuestionKind
    choices: list[str] | None = Field(default=None, max_length=len(LETTERS))
    answer: str = ""
    objective_ids: list[str] | None = None

    @field_validator("type", mode="before")
    @classmethod
    def lower_type(cls, value: object) -> object:
        """Accept `MCQ` as well as `mcq`: another call would cost more than that."""
        return value.strip().lower() if isinstance(value, str) else value


class QuestionList(BaseModel):
    questions: list[QuestionItem] = Field(min_length=1)


class ScoreItem(BaseModel):
    id: str
    score: float = Field(ge=0.0, le=1.0, allow_inf_nan=False, strict=True)


class ScoreList(BaseModel):
    objective_scores: list[ScoreItem] = Field(min_length=1)


class _Fault(Exception):
    """What is wrong with an answer."""


M = TypeVar("M", bound=BaseModel)


def parse_agent_answer(state: SessionState, text: str) -> SessionEvent | UnusableAnswer:
    """Given the state that asked and the answer, return the event that the answer means, or its fault."""
    try:
        match state.step:
            case Step.BUILD_CHECK:
                made = _parse_questions(text, ("mcq", "free"), CHECK_QUESTIONS)
                return QuestionsMade(_keep_ids(made, [one.id for one in state.plan.prerequisites]))
            case Step.BUILD_QUIZ:
                kinds: Sequence[QuestionKind] = ("mcq", "free", "paraphrase")
                return QuestionsMade(tuple(_parse_questions(text, kinds, QUIZ_QUESTIONS)))
            case Step.BUILD_TEST:
                return _parse_test(state, text)
            case Step.JUDGE_CHECK | Step.JUDGE_PROBE | Step.JUDGE_QUIZ:
                return _parse_reply(state, text)
            case Step.GRADE:
                return _parse_scores(state, text)
            case _:
                return _parse_spoken(state, text)
    except _Fault as fault:
        return UnusableAnswer(str(fault), clean_text(text, LONGEST_TEXT))


def clean_text(text: str, most: int) -> str:
    """A text as it is shown, stored and sent: without control characters, secrets blanked, at most so many characters."""
    return redact_secrets(sanitize_text(text[: 4 * most]).strip())[0][:most]


def _parse_scores(state: SessionState, text: str) -> Scored:
    """The grader's scores: exactly the tested ids, each once, 0 to 1 (SPEC T-17)."""
    found = _parse_json(ScoreList, text).objective_scores
    if sorted(one.id for one in found) != sorted(state.tested):
        raise _Fault(f"it must have exactly these ids, each once: {', '.join(state.tested)}")
    return Scored({one.id: one.score for one in found})


def _parse_spoken(state: SessionState, text: str) -> Spoke:
    spoken = clean_text(text, LONGEST_TEXT)
    if not spoken:
        raise _Fault("it is empty")
    if state.step is Step.INTRODUCE:
        return Spoke(_cut_sentences(" ".join(spoken.split())))
    words = list(re.finditer(r"\S+", spoken))
    if len(words) <= WORDS:
        return Spoke(spoken)
    return Spoke(f"{spoken[: words[WORDS - 1].end()]}…")


def _cut_sentences(text: str) -> str:
    """The first two (SPEC T-08, T-12)."""
    return " ".join(split_sentences(text)[:2])


def _parse_reply(state: SessionState, text: str) -> Judged:
    found = _parse_json(TutorReply, text)
    verdict: Verdict = found.eval
    is_probe = state.step is Step.JUDGE_PROBE
    if not is_probe and (known := judge_choice(state.question, state.answer)) is not None:
        verdict = "Correct" if known else "Incorrect"  # the key decides, not the tutor
    following = sanitize_line(found.next)
    asks = is_probe and "?" in following and not _NEXT_OBJECTIVE.fullmatch(following)
    feedback = _cut_sentences(clean_text(found.feedback, LONGEST_TEXT))
    return Judged(verdict, feedback, shorten_line(following, 500) if asks else "")


def _parse_test(state: SessionState, text: str) -> QuestionsMade:
    made = _parse_questions(text, ("mcq", "free", "short", "paraphrase"), TEST_QUESTIONS)
    questions = _keep_ids(made, state.covered)
    missing = [id for id in state.covered if not any(id in one.objective_ids for one in questions)]
    if missing:
        raise _Fault(f"no question has these objective_ids: {', '.join(missing)}")
    return QuestionsMade(questions)


def _keep_ids(questions: Sequence[Question], known: Sequence[str]) -> tuple[Question, ...]:
    """The questions with the ids that are known, each once. If only one is known, no id is needed to name it."""
    kept = [tuple(dict.fromkeys(id for id in one.objective_ids if id in known)) for one in questions]
    only = tuple(known) if len(known) == 1 else ()
    return tuple(replace(one, objective_ids=ids or only) for one, ids in zip(questions, kept, strict=True))


def _parse_questions(text: str, kinds: Sequence[QuestionKind], most: int) -> list[Question]:
    found = _parse_json(QuestionList, text).questions
    return [_make_question(item, number, kinds) for number, item in enumerate(found[:most], 1)]


def _make_question(item: QuestionItem, number: int, kinds: Sequence[QuestionKind]) -> Question:
    if item.type not in kinds:
        raise _Fault(f"question {number} has the type {item.type}; allowed are {', '.join(kinds)}")
    text = clean_text(item.q, LONGEST_QUESTION)
    if not text:
        raise _Fault(f"question {number} has no text")
    answer, ids = clean_text(item.answer, LONGEST_QUESTION), tuple(item.objective_ids or ())
    if item.type != "mcq":
        return Question(text, item.type, (), answer, ids)
    choices = tuple(
        re.sub(rf"^[(\[]?{letter}[)\].:]\s*(?=\S)", "", sanitize_line(one))[:LONGEST_CHOICE]
        for letter, one in zip(LETTERS, item.choices or (), strict=False)
    )
    if len(choices) < 2 or len(set(choices)) < len(choices) or not all(choices):
        raise _Fault(f"question {number} must have two to eight different choices")
    key = find_choice(Question(text, "mcq", choices), answer)
    if key is None:
        raise _Fault(f"question {number} has an answer that is not one of its choices")
    return Question(text, "mcq", choices, choices[key], ids)


def _parse_json(model: type[M], text: str) -> M:
    """The first object of an answer that fits. Raises the fault of the last one."""
    fault = "it is not JSON"
    for value in filter(None, list_objects(text)):
        try:
            return model.model_validate(value)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the answer"
            fault = f"{where}: {first['msg']}"
    raise _Fault(shorten_line(sanitize_line(fault), 300))
