"""The prompts of the five agents: tutor, prerequisite builder, micro-quiz helper, final-test generator, grader (SPEC T-06).

Given a state at a step that waits for the model, `build_request` returns what to send. Only text is made here. Every
answer of the learner, and every text of the model that is sent again, is fenced as data. The grader gets the questions and
answers of the final test and nothing else (SPEC T-14). Temperatures (0.2, and 0 for the grader) are part of the seed, but
the client has no such option, so they are only recorded (SPEC T-07).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Literal

from msgspec import Struct

from tacitd.model.port import Tier
from tacitd.text.redact import redact_secrets
from tacitd_handlers.shared.model_text import fence_text, fill_template
from tacitd_handlers.tutor.session_model import Objective, Question, SessionState, Step
from tacitd_handlers.tutor.session_policy import LETTERS, format_choice

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
