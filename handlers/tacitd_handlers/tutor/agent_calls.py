"""Calls of the agents: one request, a second one that names the fault, then the event or why there is none (SPEC T-12, T-17).

The tutor's commands call the model in their own process, within the one budget of the store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from msgspec import Struct

from tacitd.config.settings import load_config
from tacitd.model.port import Answer, ModelRequest, NoAnswer
from tacitd.model_factory import open_model
from tacitd.plugins import find_plugins
from tacitd.state.paths import Paths
from tacitd_handlers.tutor.agent_answers import (
    UnusableAnswer,
    parse_agent_answer,
    parse_scores,
    shorten_spoken,
)
from tacitd_handlers.tutor.agent_prompts import AgentRequest, build_grading, build_request
from tacitd_handlers.tutor.session_model import Scored, SessionEvent, SessionState
from tacitd_handlers.tutor.settings import TutorSettings

AskAgent = Callable[[AgentRequest], Answer | NoAnswer]
"""Asks the model and blocks. Raises KeyboardInterrupt if Ctrl-C ended the call, and TacitdError if there is no store."""
E = TypeVar("E")
PURPOSE = "tutor"
"""The plugin and the purpose of all calls of the tutor."""
HALF = 0.5
"""The part of the day's cap that the tutor may use, unless `tutor.usd_per_day` is set."""


class ModelAccess:
    """An `AskAgent` for a terminal. `project`: the root that a call is counted for, "" for none."""

    def __init__(self, environ: Mapping[str, str], project: str = "") -> None:
        """Read the settings. Raises ConfigError."""
        self._paths = Paths.from_env(environ)
        self._environ = environ
        self._project = project
        plugins = find_plugins()
        sections, broken = plugins.collect_sections(), bool(plugins.failed)
        self._config = load_config(self._paths.config_file, environ, sections, broken=broken)
        self.settings: TutorSettings = self._config.get_section("tutor")
        given = self.settings.usd_per_day
        self.usd_per_day: float = self._config.budget.usd_per_day * HALF if given is None else given
        """What the tutor may spend in a day, in US dollars."""

    def __call__(self, request: AgentRequest) -> Answer | NoAnswer:
        """Ask."""
        asked = ModelRequest(
            request.prompt,
            request.tier,
            system=request.system,
            purpose=PURPOSE,
            usd_per_day=self.usd_per_day,
            project=self._project,
            plugin=PURPOSE,
        )
        with open_model(self._paths, self._environ, self._config) as model:
            return model.ask(asked)


class FailedStep(Struct, frozen=True):
    """The model answered twice, and neither answer could be used. `text`: its words, for the learner."""

    fault: str
    text: str = ""


def run_model_step(state: SessionState, ask: AskAgent) -> SessionEvent | FailedStep | NoAnswer:
    """Ask for what the step waits for, at most twice; return the event, the fault, or why there is no answer."""
    made: SessionEvent | UnusableAnswer | NoAnswer
    made = _ask_twice(build_request(state), lambda text: parse_agent_answer(state, text), ask)
    if isinstance(made, UnusableAnswer):
        return shorten_spoken(made) or FailedStep(made.fault, made.text)
    return made


def run_grading(state: SessionState, ask: AskAgent) -> Scored | FailedStep | NoAnswer:
    """The same for the grader, at any step after the test."""
    made = _ask_twice(build_grading(state), lambda text: parse_scores(state, text), ask)
    return FailedStep(made.fault) if isinstance(made, UnusableAnswer) else made


def _ask_twice(
    request: AgentRequest, parse: Callable[[str], E | UnusableAnswer], ask: AskAgent
) -> E | UnusableAnswer | NoAnswer:
    """What the first answer means, or the second one, whose request names the fault of the first."""
    parsed: E | UnusableAnswer = UnusableAnswer("")
    for _ in range(2):
        outcome = ask(request)
        if isinstance(outcome, NoAnswer):
            return outcome
        parsed = parse(outcome.text)
        if not isinstance(parsed, UnusableAnswer):
            return parsed
        request = request.with_error(parsed.fault)
    return parsed
