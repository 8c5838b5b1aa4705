"""Calls of the agents: one request, a second one that names the fault, then the event or why there is none (SPEC T-12, T-17)."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import TypeVar

from msgspec import Struct

from tacitd.model.port import Answer, NoAnswer
from tacitd_handlers.tutor.agent_answers import (
    UnusableAnswer,
    parse_agent_answer,
    parse_scores,
    shorten_spoken,
)
from tacitd_handlers.tutor.agent_prompts import AgentRequest, build_grading, build_request
from tacitd_handlers.tutor.session_model import Scored, SessionEvent, SessionState

AskAgent = Callable[[AgentRequest, Event], Answer | NoAnswer]
"""Asks the model and blocks; setting the event ends the call. Raises TacitdError if the model cannot be reached at all."""
E = TypeVar("E")


class FailedStep(Struct, frozen=True):
    """The model answered twice, and neither answer could be used. `text`: its words, for the learner."""

    fault: str
    text: str = ""


def run_model_step(state: SessionState, ask: AskAgent, cancel: Event) -> SessionEvent | FailedStep | NoAnswer:
    """Ask for what the step waits for, at most twice; return the event, the fault, or why there is no answer."""
    made: SessionEvent | UnusableAnswer | NoAnswer
    made = _ask_twice(build_request(state), lambda text: parse_agent_answer(state, text), ask, cancel)
    if isinstance(made, UnusableAnswer):
        return shorten_spoken(made) or FailedStep(made.fault, made.text)
    return made


def run_grading(state: SessionState, ask: AskAgent, cancel: Event) -> Scored | FailedStep | NoAnswer:
    """The same for the grader, at any step after the test."""
    made = _ask_twice(build_grading(state), lambda text: parse_scores(state, text), ask, cancel)
    return FailedStep(made.fault) if isinstance(made, UnusableAnswer) else made


def _ask_twice(
    request: AgentRequest, parse: Callable[[str], E | UnusableAnswer], ask: AskAgent, cancel: Event
) -> E | UnusableAnswer | NoAnswer:
    """What the first answer means, or the second one, whose request names the fault of the first."""
    parsed: E | UnusableAnswer = UnusableAnswer("")
    for _ in range(2):
        outcome = ask(request, cancel)
        if isinstance(outcome, NoAnswer):
            return outcome
        parsed = parse(outcome.text)
        if not isinstance(parsed, UnusableAnswer):
            return parsed
        request = request.with_error(parsed.fault)
    return parsed
