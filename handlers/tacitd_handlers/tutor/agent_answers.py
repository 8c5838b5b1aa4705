"""Parse the agents' answers: JSON validated with pydantic, texts with their limits (SPEC T-09, T-11, T-12, T-15 to T-17).

An answer is untrusted. A parser returns the event that the answer means, or an `UnusableAnswer` with the fault, which is
named when the agent is asked again. What cannot be wrong is cut instead: a fifth prerequisite question, a third sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

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
FEEDBACK_SENTENCES = 2
_NEXT_OBJECTIVE = re.compile(r"\W*next objective\W*", re.IGNORECASE)


class UnusableAnswer(Struct, frozen=True):
    """The answer cannot be used: `fault` is for the agent's second try and for the log, `text` for the learner."""

    fault: str
    text: str = ""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class TutorReply(_Strict):
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


class QuestionItem(_Strict):
    """One question of a helper."""

    q: str = Field(min_length=1)
    type: QuestionKind
    choices: list[str] = Field(default_factory=list, max_length=len(LETTERS))
    answer: str = ""
    objective_ids: list[str] = Field(default_factory=list)

    @field_validator("type", mode="before")
    @classmethod
    def _lower(cls, value: Any) -> Any:
        return value.strip().lower() if isinstance(value, str) else value

    @field_validator("choices", "objective_ids", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return [] if value is None else value


class QuestionList(_Strict):
    """The answer of a helper that makes questions."""

    questions: list[QuestionItem] = Field(min_length=1)


class ScoreItem(_Strict):
    """One score."""

    id: str
    score: float = Field(ge=0.0, le=1.0, allow_inf_nan=False, strict=True)


class ScoreList(_Strict):
    """The answer of the grader."""

    objective_scores: list[ScoreItem] = Field(min_length=1)


M = TypeVar("M", bound=BaseModel)


def parse_agent_answer(state: SessionState, text: str) -> SessionEvent | UnusableAnswer:
    """Given the state that asked and the answer, return the event that the answer means, or its fault."""
    parse = _PARSERS.get(state.step, _parse_spoken)
    return parse(state, text)


def parse_scores(state: SessionState, text: str) -> Scored | UnusableAnswer:
    """The grader's scores: exactly the tested ids, each once, 0 to 1 (SPEC T-17)."""
    found = _parse_json(ScoreList, text)
    if isinstance(found, UnusableAnswer):
        return found
    ids = [one.id for one in found.objective_scores]
    if sorted(ids) != sorted(state.tested):
        wanted = ", ".join(state.tested)
        return UnusableAnswer(f"it must have exactly these ids, each once: {wanted}")
    return Scored({one.id: one.score for one in found.objective_scores})


def clean_text(text: str, most: int) -> str:
    """A text as it is shown, stored and sent: without control characters, secrets blanked, at most so many characters."""
    return redact_secrets(sanitize_text(text[: 4 * most]).strip())[0][:most]


def _parse_spoken(state: SessionState, text: str) -> SessionEvent | UnusableAnswer:
    spoken = clean_text(text, LONGEST_TEXT)
    if not spoken:
        return UnusableAnswer("it is empty")
    if state.step is Step.INTRODUCE:
        return Spoke(_cut_sentences(" ".join(spoken.split()), FEEDBACK_SENTENCES))
    words = len(spoken.split())
    if words > WORDS:
        return UnusableAnswer(f"it has {words} words; at most {WORDS} are allowed", spoken)
    return Spoke(spoken)


def shorten_spoken(fault: UnusableAnswer) -> Spoke | None:
    """The text of an answer whose only fault is its length, cut to the limit: at a line or a sentence if there is one in the second
    half. None for other faults.
    """
    words = list(re.finditer(r"\S+", fault.text))
    if len(words) <= WORDS:
        return None
    head = fault.text[: words[WORDS - 1].end()]
    whole = head.removesuffix(split_sentences(head)[-1]).rstrip()
    return Spoke(whole if len(whole) > len(head) // 2 else f"{head} …")


def _cut_sentences(text: str, most: int) -> str:
    return " ".join(split_sentences(text)[:most])


def _parse_reply(state: SessionState, text: str) -> SessionEvent | UnusableAnswer:
    found = _parse_json(TutorReply, text)
    if isinstance(found, UnusableAnswer):
        return replace(found, text=clean_text(text, LONGEST_TEXT))
    verdict: Verdict = found.eval
    if state.step is not Step.JUDGE_PROBE:
        known = judge_choice(state.question, state.answer)
        if known is not None:  # the key decides, not the tutor
            verdict = "Correct" if known else "Incorrect"
    following = sanitize_line(found.next)
    asks = state.step is Step.JUDGE_PROBE and "?" in following and not _NEXT_OBJECTIVE.fullmatch(following)
    feedback = _cut_sentences(clean_text(found.feedback, LONGEST_TEXT), FEEDBACK_SENTENCES)
    return Judged(verdict, feedback, shorten_line(following, 500) if asks else "")


def _parse_check(state: SessionState, text: str) -> SessionEvent | UnusableAnswer:
    made = _parse_questions(text, ("mcq", "free"), CHECK_QUESTIONS)
    if isinstance(made, UnusableAnswer):
        return made
    return QuestionsMade(_keep_ids(made.questions, [one.id for one in state.plan.prerequisites]))


def _parse_quiz(state: SessionState, text: str) -> SessionEvent | UnusableAnswer:
    return _parse_questions(text, ("mcq", "free", "paraphrase"), QUIZ_QUESTIONS)


def _parse_test(state: SessionState, text: str) -> SessionEvent | UnusableAnswer:
    made = _parse_questions(text, ("mcq", "free", "short", "paraphrase"), TEST_QUESTIONS)
    if isinstance(made, UnusableAnswer):
        return made
    questions = _keep_ids(made.questions, state.covered)
    missing = [id for id in state.covered if not any(id in one.objective_ids for one in questions)]
    if missing:
        return UnusableAnswer(f"no question has these objective_ids: {', '.join(missing)}")
    return QuestionsMade(questions)


def _keep_ids(questions: Sequence[Question], known: Collection[str]) -> tuple[Question, ...]:
    """The questions with the ids that are known, each once. If only one is known, no id is needed to name it."""
    kept = [tuple(dict.fromkeys(id for id in one.objective_ids if id in known)) for one in questions]
    only = tuple(known) if len(known) == 1 else ()
    return tuple(replace(one, objective_ids=ids or only) for one, ids in zip(questions, kept, strict=True))


def _parse_questions(text: str, kinds: Sequence[QuestionKind], most: int) -> QuestionsMade | UnusableAnswer:
    found = _parse_json(QuestionList, text)
    if isinstance(found, UnusableAnswer):
        return found
    questions = []
    for number, item in enumerate(found.questions[:most], 1):
        if item.type not in kinds:
            return UnusableAnswer(
                f"question {number} has the type {item.type}; allowed are {', '.join(kinds)}"
            )
        one = _make_question(item)
        if isinstance(one, str):
            return UnusableAnswer(f"question {number} {one}")
        questions.append(one)
    return QuestionsMade(tuple(questions))


def _make_question(item: QuestionItem) -> Question | str:
    """The question, or what is wrong with it."""
    text = clean_text(item.q, LONGEST_QUESTION)
    if not text:
        return "has no text"
    answer = clean_text(item.answer, LONGEST_QUESTION)
    ids = tuple(map(str, item.objective_ids))
    if item.type != "mcq":
        return Question(text, item.type, (), answer, ids)
    choices = tuple(
        _strip_letter(sanitize_line(one), at)[:LONGEST_CHOICE] for at, one in enumerate(item.choices)
    )
    if len(choices) < 2 or len(set(choices)) < len(choices) or not all(choices):
        return "must have two to eight different choices"
    key = find_choice(Question(text, "mcq", choices), answer)
    if key is None:
        return "has an answer that is not one of its choices"
    return Question(text, "mcq", choices, choices[key], ids)


def _strip_letter(choice: str, at: int) -> str:
    """`B) text` as `text`, if B is the letter of this choice."""
    found = re.fullmatch(rf"[(\[]?{LETTERS[at]}[)\].:]\s*(\S.*)", choice)
    return found[1] if found else choice


def _parse_json(model: type[M], text: str) -> M | UnusableAnswer:
    """The first object of an answer that fits, or the fault of the last one."""
    fault = "it is not JSON"
    for value in filter(None, list_objects(text)):
        try:
            return model.model_validate(value)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the answer"
            fault = f"{where}: {first['msg']}"
    return UnusableAnswer(shorten_line(sanitize_line(fault), 300))


_PARSERS: dict[Step, Callable[[SessionState, str], SessionEvent | UnusableAnswer]] = {
    Step.BUILD_CHECK: _parse_check,
    Step.BUILD_QUIZ: _parse_quiz,
    Step.BUILD_TEST: _parse_test,
    Step.JUDGE_CHECK: _parse_reply,
    Step.JUDGE_PROBE: _parse_reply,
    Step.JUDGE_QUIZ: _parse_reply,
    Step.GRADE: parse_scores,
}
