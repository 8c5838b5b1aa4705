"""The tutor (seed 002): sessions on the nodes of a knowledge graph, led by a policy, worded by a model.

This module only declares the plugin, which has no part in the daemon. The rules are pure: `session_model`, `session_policy`,
`knowledge_graph`, `mastery`. `agent_prompts` and `agent_answers` are the border to the model and `agent_calls` the way to it,
`session_log` keeps what happened, and `conversation` leads a session in a terminal.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes time, and a session's start waits
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tacitd.handler import Footprint
    from tacitd.plugin import PluginSpec

__all__ = ["make_plugin", "tutor_footprint"]


def make_plugin() -> PluginSpec:
    """Return the plugin; the entry point `tacitd.handlers` calls it."""
    from tacitd.plugin import PluginSpec

    here = "tacitd_handlers.tutor"
    return PluginSpec(
        "tutor",
        order=60,
        settings={"tutor": f"{here}.settings:TutorSettings"},
        commands={"tutor": (f"{here}.commands:tutor", "Learn a topic in a session with a tutor.", "More")},
        session_text=f"{here}.open_sessions:make_text",
        mcp=f"{here}.mcp_tools:TUTOR",
        footprint=f"{here}:tutor_footprint",
    )


def tutor_footprint(environ: Mapping[str, str]) -> Footprint:
    """For `uninstall --purge`: sessions and scores belong to the person and stay."""
    from pathlib import Path

    from tacitd.handler import Footprint
    from tacitd.state.paths import data_dir

    place = data_dir(environ) / "tutor"
    sessions = Path(place, "sessions")
    return Footprint([], [sessions, place / "mastery.jsonl"], [place, sessions], own=[place, place.parent])
