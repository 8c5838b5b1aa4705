"""Calls of the agents: one request, a second one that names the fault, then the event or why there is none (SPEC T-12, T-17).

The tutor's commands call the model in their own process, within the one budget of the store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from msgspec.structs import replace

from tacitd.config.settings import load_config
from tacitd.contract import Part
from tacitd.errors import TacitdError
from tacitd.model.budget import Budget
from tacitd.model.port import Answer, ModelRequest, NoAnswer
from tacitd.model_factory import open_model
from tacitd.state.paths import Paths
from tacitd.text.hashes import sha256
from tacitd_handlers.tutor.agent_answers import UnusableAnswer, parse_agent_answer
from tacitd_handlers.tutor.agent_prompts import AGENTS, AgentRequest, build_request
from tacitd_handlers.tutor.session_model import SessionEvent, SessionState, Step

AskAgent = Callable[[AgentRequest], Answer | NoAnswer]
"""Asks the model and blocks. Raises KeyboardInterrupt if Ctrl-C ended the call, and TacitdError if there is no store."""
PURPOSE = "tutor"
"""The plugin and the purpose of all calls of the tutor."""


class ModelAccess:
    """An `AskAgent` for a terminal. `project`: the root that a call is counted for, "" for none."""

    def __init__(self, environ: Mapping[str, str], project: str = "") -> None:
        """Read the settings. Raises ConfigError."""
        self._paths = Paths.from_env(environ)
        self._environ = environ
        self._project = project
        self._config = load_config(self._paths.config_file, environ, broken=True)
        self.usd_per_day = self._config.budget.usd_per_day / 2
        """What the tutor may spend in a day, in US dollars."""
        self._answered: list[int] = []

    def __call__(self, request: AgentRequest) -> Answer | NoAnswer:
        """Ask. An answer that was paid for is kept with its prompt until the next call or `settle`: if a kill comes before what it
        means is recorded, asking the same again returns it without a call."""
        digest = sha256(request.prompt.encode(errors="replace")).hexdigest()
        part = Part("work", 0, f"{request.agent} {digest}", request.prompt)
        tier, _, system = AGENTS[request.agent]
        asked = ModelRequest(
            request.prompt,
            tier,
            system=system,
            purpose=PURPOSE,
            usd_per_day=self.usd_per_day,
            project=self._project,
            plugin=PURPOSE,
            about=(part,),
        )
        with open_model(self._paths, self._environ, self._config) as (model, budget):
            self._settle(budget)
            answer: Answer | NoAnswer | None = budget.find_answer(PURPOSE, PURPOSE, asked.about)
            if answer is None:
                budget.allow_again(asked.about)  # a person asks again on purpose
                answer = model.ask(asked)
            self._answered = [int(answer.call)] if isinstance(answer, Answer) and answer.call else []
            return answer

    def settle(self) -> None:
        """Forget the last answer, which is recorded or was of no use. If the store cannot be written, it stays."""
        if self._answered:
            with (
                suppress(TacitdError, OSError),
                open_model(self._paths, self._environ, self._config) as (_, budget),
            ):
                self._settle(budget)

    def _settle(self, budget: Budget) -> None:
        if self._answered:
            budget.settle(self._answered, used=True)
        self._answered = []


def run_model_step(state: SessionState, ask: AskAgent) -> SessionEvent | UnusableAnswer | NoAnswer:
    """Ask for what the step waits for, a second time with the fault of the first answer if it cannot be used (SPEC T-12)."""
    request = build_request(state)
    outcome = ask(request)
    if isinstance(outcome, NoAnswer):
        return outcome
    parsed = parse_agent_answer(state, outcome.text)
    if not isinstance(parsed, UnusableAnswer):
        return parsed
    outcome = ask(request.with_error(parsed.fault))
    return outcome if isinstance(outcome, NoAnswer) else parse_agent_answer(state, outcome.text, is_last=True)


def run_grading(state: SessionState, ask: AskAgent) -> SessionEvent | UnusableAnswer | NoAnswer:
    """The same for the grader, at any step after the test was handed in."""
    return run_model_step(replace(state, step=Step.GRADE), ask)
