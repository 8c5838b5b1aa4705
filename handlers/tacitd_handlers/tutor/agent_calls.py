"""Calls of the agents: one request, a second one that names the fault, then the event or why there is none (SPEC T-12, T-17).

The model is behind `AskAgent`: the daemon's, one borrowed by a command, or a script.
"""

from __future__ import annotations

import uuid
from threading import Event
from typing import Protocol

from msgspec import Struct

from tacitd.model.port import Answer, ModelRequest, NoAnswer, PurposeLimit
from tacitd_handlers.tutor.agent_answers import (
    UnusableAnswer,
    parse_agent_answer,
    parse_scores,
    shorten_spoken,
)
from tacitd_handlers.tutor.agent_prompts import AgentRequest, build_grading, build_request
from tacitd_handlers.tutor.session_model import Scored, SessionEvent, SessionState
from tacitd_handlers.tutor.settings import TutorSettings

PURPOSE = "tutor"
"""The purpose of all calls of the tutor in the budget's log."""
HALF = 0.5
"""The part of the day's cap that the tutor may use, unless `tutor.usd_per_day` is set."""


class AskAgent(Protocol):
    """Asks the model. Blocks; `cancel` ends the call."""

    def __call__(self, request: AgentRequest, cancel: Event) -> Answer | NoAnswer:
        """Return the answer, or why there is none. Raises TacitdError if the daemon cannot be reached."""
        ...


class FailedStep(Struct, frozen=True):
    """The model answered twice, and neither answer could be used. `text`: its words, for the learner."""

    fault: str
    text: str = ""


def make_limit(settings: TutorSettings) -> PurposeLimit:
    """The tutor's limit of a day."""
    return (
        PurposeLimit(share=HALF) if settings.usd_per_day is None else PurposeLimit(usd=settings.usd_per_day)
    )


def make_model_request(
    request: AgentRequest, settings: TutorSettings, project: str, cancel: Event | None
) -> ModelRequest:
    """The request as it goes to the model. `cancel` None: nobody waits for the answer."""
    return ModelRequest(
        request.prompt,
        request.tier,
        f"{PURPOSE}:{uuid.uuid4().hex}",  # a person asks again on purpose: no two calls have the same key
        system=request.system,
        purpose=PURPOSE,
        limit=make_limit(settings),
        is_waited_for=cancel is not None,
        cancel=cancel,
        project=project,
    )


def run_model_step(state: SessionState, ask: AskAgent, cancel: Event) -> SessionEvent | FailedStep | NoAnswer:
    """Ask for what the step waits for, at most twice; return the event, the fault, or why there is no answer."""
    request = build_request(state)
    fault = UnusableAnswer("")
    for attempt in (request, None):
        outcome = ask(attempt or request.with_error(fault.fault), cancel)
        if isinstance(outcome, NoAnswer):
            return outcome
        parsed = parse_agent_answer(state, outcome.text)
        if not isinstance(parsed, UnusableAnswer):
            return parsed
        fault = parsed
    return shorten_spoken(fault) or FailedStep(fault.fault, fault.text)


def run_grading(state: SessionState, ask: AskAgent, cancel: Event) -> Scored | FailedStep | NoAnswer:
    """The same for the grader, at any step after the test."""
    request = build_grading(state)
    fault = UnusableAnswer("")
    for attempt in (request, None):
        outcome = ask(attempt or request.with_error(fault.fault), cancel)
        if isinstance(outcome, NoAnswer):
            return outcome
        parsed = parse_scores(state, outcome.text)
        if not isinstance(parsed, UnusableAnswer):
            return parsed
        fault = parsed
    return FailedStep(fault.fault)
