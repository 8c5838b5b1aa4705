"""The tutor (seed 002): sessions on the nodes of a knowledge graph, led by a policy, worded by a model.

This module declares the plugin, which has no part in the daemon. The rules are pure: `session_model`, `session_policy`, `mastery`;
`knowledge_graph` reads graphs. `agents` is the border to the model, `session_log` keeps what happened, and
`conversation` calls the model and leads a session in a terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
        commands={
            "tutor": (f"{here}.tutor_commands:tutor", "Learn a topic in a session with a tutor.", "More")
        },
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
