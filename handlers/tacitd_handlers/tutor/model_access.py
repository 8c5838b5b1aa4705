"""How the tutor's commands reach the model: they call it themselves, within the one budget of the store.

Nothing else of the tutor knows how a call is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Event as Flag

from tacitd.config.settings import load_config
from tacitd.events import Event
from tacitd.handler import BaseHandler, Done, Outcome, Tools
from tacitd.model.port import Answer, ModelRequest, NoAnswer, PurposeLimit
from tacitd.model_factory import open_model
from tacitd.plugins import find_plugins
from tacitd.state.paths import Paths
from tacitd_handlers.tutor.agent_prompts import AgentRequest
from tacitd_handlers.tutor.settings import TutorSettings

PURPOSE = "tutor"
"""The plugin and the purpose of all calls of the tutor."""
HALF = 0.5
"""The part of the day's cap that the tutor may use, unless `tutor.usd_per_day` is set."""


class ModelAccess:
    """Asks the model for a terminal. `project`: the root that a call is counted for, "" for none."""

    def __init__(self, environ: Mapping[str, str], project: str = "") -> None:
        """Read the settings. Raises ConfigError."""
        self._paths = Paths.from_env(environ)
        self._environ = environ
        self._project = project
        found = find_plugins()
        sections, broken = found.collect_sections(), bool(found.failed)
        self._config = load_config(self._paths.config_file, environ, sections, broken=broken)
        self.settings: TutorSettings = self._config.get_section("tutor")
        given = self.settings.usd_per_day
        self.usd_per_day: float = self._config.budget.usd_per_day * HALF if given is None else given
        """What the tutor may spend in a day, in US dollars."""

    def __call__(self, request: AgentRequest, cancel: Flag) -> Answer | NoAnswer:
        """Ask. Raises TacitdError."""
        with open_model(self._paths, self._environ, self._config) as model:
            return model.ask(_make_request(request, self.settings, self._project, cancel))


class TutorHandler(BaseHandler):
    """The daemon's side: it has nothing to handle."""

    def handle(self, event: Event, tools: Tools) -> Outcome:
        """Nothing is to be done."""
        return Done()


def _make_request(request: AgentRequest, settings: TutorSettings, project: str, cancel: Flag) -> ModelRequest:
    given = settings.usd_per_day
    return ModelRequest(
        request.prompt,
        request.tier,
        "",  # a person asks again on purpose
        system=request.system,
        purpose=PURPOSE,
        limit=PurposeLimit(share=HALF) if given is None else PurposeLimit(usd=given),
        is_waited_for=True,
        cancel=cancel,
        project=project,
        plugin=PURPOSE,
    )
