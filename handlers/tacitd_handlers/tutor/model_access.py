"""How the tutor's commands reach the model: through the daemon, or by borrowing the model where none runs.

There is one writer of the budget's log: the daemon, or the process that has its lock. Each call chooses anew, because a
daemon may start or stop during a session.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Mapping
from threading import Event
from typing import Any

from msgspec.structs import asdict

from tacitd.config.settings import load_config
from tacitd.control.client import BusyError, CallFailedError, call_daemon
from tacitd.errors import TacitdError, UnavailableError
from tacitd.model.port import Answer, NoAnswer, Why
from tacitd.model_factory import borrow_model
from tacitd.plugins import find_plugins
from tacitd.state.paths import Paths
from tacitd_handlers.tutor.agent_calls import HALF, make_model_request
from tacitd_handlers.tutor.agent_prompts import AgentRequest
from tacitd_handlers.tutor.settings import TutorSettings

ASK, CANCEL = "tutor.ask", "tutor.cancel"
"""Methods of the socket."""


class ModelAccess:
    """An `AskAgent` for a terminal. `project`: the root for the budget's log, "" for none."""

    def __init__(self, paths: Paths, environ: Mapping[str, str], project: str = "") -> None:
        self._paths = paths
        self._environ = environ
        self._project = project
        found = find_plugins()
        config = load_config(paths.config_file, environ, found.collect_sections(), broken=bool(found.failed))
        self.settings: TutorSettings = config.get_section("tutor")
        given = self.settings.usd_per_day
        self.usd_per_day: float = config.budget.usd_per_day * HALF if given is None else given
        """What the tutor may spend in a day, in US dollars."""

    def __call__(self, request: AgentRequest, cancel: Event) -> Answer | NoAnswer:
        """Ask through the daemon; if none runs, with a borrowed model. Raises TacitdError."""
        try:
            return self._ask_daemon(request, cancel)
        except (BusyError, CallFailedError):
            raise
        except UnavailableError:
            pass
        try:
            with borrow_model(self._paths, self._environ) as model:
                return model.ask(make_model_request(request, self.settings, self._project, cancel))
        except UnavailableError:
            return self._ask_daemon(request, cancel)  # one started between the two

    def _ask_daemon(self, request: AgentRequest, cancel: Event) -> Answer | NoAnswer:
        """Make the call in the daemon. The call is made in a thread, so that `cancel` can end it. Raises TacitdError."""
        ticket = uuid.uuid4().hex
        params = {
            "agent": request.agent,
            "prompt": request.prompt,
            "project": self._project,
            "ticket": ticket,
        }
        call_daemon(self._paths.socket, "ping", timeout=10.0)
        outcome: list[Any] = []

        def work() -> None:
            try:
                outcome.append(call_daemon(self._paths.socket, ASK, params, None))
            except TacitdError as error:
                outcome.append(error)

        thread = threading.Thread(target=work, name="tutor-call", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(0.1)
            if cancel.is_set():
                call_daemon(self._paths.socket, CANCEL, {"ticket": ticket})
                thread.join(10.0)
                break
        said = outcome[0] if outcome else {"why": Why.CANCELLED, "detail": "the call was cancelled"}
        if isinstance(said, TacitdError):
            raise said
        return decode_outcome(said)


def encode_outcome(outcome: Answer | NoAnswer) -> dict[str, Any]:
    """The model's outcome as JSON, for the socket."""
    return asdict(outcome)


def decode_outcome(said: Mapping[str, Any]) -> Answer | NoAnswer:
    """The outcome of `encode_outcome`."""
    if "why" in said:
        at = said.get("retry_at")
        why, detail = Why(str(said["why"])), str(said.get("detail", ""))
        return NoAnswer(why, detail, str(said.get("hint", "")), float(at) if at else None)
    return Answer(str(said["text"]), str(said.get("model", "")), float(said.get("usd", 0.0)))


def system_access(project: str = "") -> ModelAccess:
    """The access for this process's environment. Raises ConfigError."""
    return ModelAccess(Paths.from_env(os.environ), os.environ, project)
