"""Parse the agents' answers: JSON validated with pydantic, texts with their limits (SPEC T-09, T-11, T-12, T-15 to T-17).

An answer is untrusted. Its fault is named when the agent is asked again. What cannot be wrong is cut instead: a fifth
prerequisite question, a third sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BaseModel, Field, ValidationError, field_validator

from tacitd.text.redact import redact_secrets
from tacitd.text.sanitize import sanitize_line, sanitize_text
from tacitd.text.wording import shorten_line
from tacitd_handlers.shared.model_text import list_objects, split_sentences
from tacitd_handlers.tutor.session_model import (
    Judged,
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
from tacitd_handlers.tutor.session_policy import LETTERS, find_choice, judge_choice

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


def parse_agent_answer(
    state: SessionState, text: str, *, is_last: bool = False
) -> SessionEvent | UnusableAnswer:
    """Given the state that asked and the answer, return the event that the answer means, or its fault.

    `is_last`: nobody is asked again, so that a text whose only fault is its length is cut.
    """
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
                return _parse_spoken(state, text, is_last)
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


def _parse_spoken(state: SessionState, text: str, is_last: bool) -> Spoke:
    spoken = clean_text(text, LONGEST_TEXT)
    if not spoken:
        raise _Fault("it is empty")
    if state.step is Step.INTRODUCE:
        return Spoke(_cut_sentences(" ".join(spoken.split())))
    words = list(re.finditer(r"\S+", spoken))
    if len(words) <= WORDS:
        return Spoke(spoken)
    if not is_last:
        raise _Fault(f"it has {len(words)} words; at most {WORDS} are allowed")
    head = spoken[: words[WORDS - 1].end()]
    whole = head.removesuffix(split_sentences(head)[-1]).rstrip()
    return Spoke(whole if len(whole) > len(head) // 2 else f"{head} …")


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
