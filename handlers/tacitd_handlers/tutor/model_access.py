"""How the tutor's commands reach the model: through the daemon, or by borrowing the model where none runs.

There is one writer of the budget's log: the daemon, or the process that has its lock. Each call chooses anew, because a
daemon may start or stop during a session. Nothing else of the tutor knows how a call is made.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping
from threading import Event as Flag
from typing import Any

from msgspec.structs import asdict

from tacitd.config.settings import load_config
from tacitd.control.client import BusyError, CallFailedError, call_daemon
from tacitd.errors import TacitdError, UnavailableError, UsageError
from tacitd.events import Event
from tacitd.handler import BaseHandler, Done, Outcome, Tools
from tacitd.model.port import Answer, ModelRequest, NoAnswer, PurposeLimit, Why
from tacitd.model_factory import borrow_model
from tacitd.plugins import find_plugins
from tacitd.state.paths import Paths
from tacitd.text.converter import Converter
from tacitd_handlers.tutor.agent_prompts import AGENTS, AgentRequest
from tacitd_handlers.tutor.settings import TutorSettings

PURPOSE = "tutor"
"""The purpose of all calls of the tutor in the budget's log."""
HALF = 0.5
"""The part of the day's cap that the tutor may use, unless `tutor.usd_per_day` is set."""
_TICKET = "ticket"
_ANSWER, _NO_ANSWER = Converter(Answer), Converter(NoAnswer)


class ModelAccess:
    """Asks the model for a terminal. `project`: the root for the budget's log, "" for none."""

    def __init__(self, environ: Mapping[str, str], project: str = "") -> None:
        """Read the settings. Raises ConfigError."""
        self._paths = Paths.from_env(environ)
        self._environ = environ
        self._project = project
        found = find_plugins()
        sections, broken = found.collect_sections(), bool(found.failed)
        config = load_config(self._paths.config_file, environ, sections, broken=broken)
        self.settings: TutorSettings = config.get_section("tutor")
        given = self.settings.usd_per_day
        self.usd_per_day: float = config.budget.usd_per_day * HALF if given is None else given
        """What the tutor may spend in a day, in US dollars."""

    def __call__(self, request: AgentRequest, cancel: Flag) -> Answer | NoAnswer:
        """Ask through the daemon; if none runs, with a borrowed model. Raises TacitdError."""
        try:
            return self._ask_daemon(request, cancel)
        except (BusyError, CallFailedError):
            raise
        except UnavailableError:
            pass
        try:
            with borrow_model(self._paths, self._environ) as model:
                return model.ask(_make_request(request, self.settings, self._project, cancel))
        except UnavailableError:
            return self._ask_daemon(request, cancel)  # one started between the two

    def _ask_daemon(self, request: AgentRequest, cancel: Flag) -> Answer | NoAnswer:
        """Make the call in the daemon, in a thread, so that `cancel` can end it. Raises TacitdError."""
        ticket = uuid.uuid4().hex
        params = {"agent": request.agent, "prompt": request.prompt, "project": self._project, _TICKET: ticket}
        call_daemon(self._paths.socket, "ping", timeout=10.0)
        outcome: list[Any] = []

        def work() -> None:
            try:
                outcome.append(call_daemon(self._paths.socket, "tutor.ask", params, None))
            except TacitdError as error:
                outcome.append(error)

        thread = threading.Thread(target=work, name="tutor-call", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(0.1)
            if cancel.is_set():
                call_daemon(self._paths.socket, "tutor.cancel", {_TICKET: ticket})
                thread.join(10.0)
                break
        said = outcome[0] if outcome else asdict(NoAnswer(Why.CANCELLED, "the call was cancelled"))
        if isinstance(said, TacitdError):
            raise said
        made: Answer | NoAnswer = (_NO_ANSWER if "why" in said else _ANSWER).convert(said)
        return made


class TutorHandler(BaseHandler):
    """The daemon's side: it has the running calls, and nothing to handle."""

    def __init__(self) -> None:
        self.calls: dict[str, Flag] = {}
        """The flag that cancels a call, by its ticket. Single operations on it are thread-safe."""

    def handle(self, event: Event, tools: Tools) -> Outcome:
        """Nothing is to be done."""
        return Done()


def ask_agent(handler: TutorHandler, tools: Tools, params: Mapping[str, Any]) -> dict[str, Any]:
    """The socket's method `tutor.ask`: a call that a person waits for. Raises UsageError for an unknown agent."""
    agent, ticket, project = params["agent"], str(params[_TICKET]), str(params.get("project", ""))
    if agent not in AGENTS:
        raise UsageError(f"there is no agent {agent!r}")
    flag = handler.calls.setdefault(ticket, Flag())
    request = AgentRequest(agent, str(params["prompt"]))
    try:
        return asdict(tools.model.ask(_make_request(request, tools.settings["tutor"], project, flag)))
    finally:
        handler.calls.pop(ticket, None)


def cancel_agent(handler: TutorHandler, tools: Tools, params: Mapping[str, Any]) -> dict[str, bool]:
    """The socket's method `tutor.cancel`: end the call with this ticket."""
    flag = handler.calls.get(str(params[_TICKET]))
    if flag is not None:
        flag.set()
    return {"cancelled": flag is not None}


def _make_request(request: AgentRequest, settings: TutorSettings, project: str, cancel: Flag) -> ModelRequest:
    given = settings.usd_per_day
    return ModelRequest(
        request.prompt,
        request.tier,
        f"{PURPOSE}:{uuid.uuid4().hex}",  # a person asks again on purpose: no two calls have the same key
        system=request.system,
        purpose=PURPOSE,
        limit=PurposeLimit(share=HALF) if given is None else PurposeLimit(usd=given),
        is_waited_for=True,
        cancel=cancel,
        project=project,
    )
