"""The tutor (seed 002): sessions on the nodes of a knowledge graph, led by a policy, worded by a model.

This module declares the plugin, which has no part in the daemon. The rules are pure: `session_model`, `session_policy`, `mastery`;
`knowledge_graph` reads graphs. `agent_prompts` and `agent_answers` are the border to the model and `agent_calls` the way to it,
`session_log` keeps what happened, and `conversation` leads a session in a terminal.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes time, and a session's start waits
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tacitd.handler import Footprint
    from tacitd.plugin import PluginSpec
    from tacitd.session_context.context_request import ContextRequest

__all__ = ["make_plugin", "make_text", "tutor_footprint"]

NEWEST = 20
"""Sessions that are read for a session's start, which waits."""


def make_plugin() -> PluginSpec:
    """Return the plugin; the entry point `tacitd.handlers` calls it."""
    from tacitd.plugin import PluginSpec

    here = "tacitd_handlers.tutor"
    return PluginSpec(
        "tutor",
        order=60,
        commands={
            "tutor": (f"{here}.tutor_commands:tutor", "Learn a topic in a session with a tutor.", "More")
        },
        session_text=f"{here}:make_text",
        mcp=f"{here}.tutor_commands:TUTOR",
        footprint=f"{here}:tutor_footprint",
    )


def tutor_footprint(environ: Mapping[str, str]) -> Footprint:
    """For `uninstall --purge`: sessions with their scores belong to the person and stay."""
    from pathlib import Path

    from tacitd.handler import Footprint
    from tacitd.state.paths import data_dir

    place = data_dir(environ) / "tutor"
    sessions = Path(place, "sessions")
    return Footprint([], [sessions], [place, sessions], own=[place, place.parent])


def make_text(request: ContextRequest) -> str:
    """The open sessions of the directory's project; "" if there are none. The hook `session_text`. Raises OSError."""
    import os

    from tacitd.session_context.context_request import cut_text
    from tacitd.state.paths import data_dir

    folder = data_dir(os.environ) / "tutor"
    if not folder.exists():
        return ""
    from tacitd_handlers.tutor.session_log import TutorStore

    store = TutorStore(folder)
    places = {str(one) for one in (request.cwd, *request.cwd.parents)}
    lines = ["## Tutor: what the person learns in this project"]
    for found in reversed(store.list_sessions(NEWEST)):
        title, is_here = found.state.plan.title, found.state.plan.project in places
        if is_here and found.outcome == "ungraded":
            lines.append(f"- waits for its grade: {title} (`tacitd tutor grade`)")
        elif is_here and found.state.is_open:
            lines.append(f"- open session: {title} (`tacitd tutor resume`)")
    text = cut_text("\n".join(lines), request.budget)
    return text if "\n" in text else ""
