"""The tutor (seed 002): sessions on the nodes of a knowledge graph, led by a policy, worded by a model.

This module only declares the plugin. The rules are pure: `session_model`, `session_policy`, `knowledge_graph`, `mastery`.
`agent_prompts` and `agent_answers` are the border to the model and `model_access` the way to it, `store` does the I/O, and
`conversation` leads a session in a terminal.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes time, and a session's start waits
if TYPE_CHECKING:
    from tacitd.handler import Plugin

__all__ = ["make_plugin"]


def make_plugin() -> Plugin:
    """Return the plugin's declaration, for the entry point."""
    from tacitd.handler import Plugin

    here = "tacitd_handlers.tutor"
    return Plugin(
        "tutor",
        f"{here}.model_access:TutorHandler",
        settings={"tutor": f"{here}.settings:TutorSettings"},
        uses_model=False,
        reads_records=False,
        footprint=f"{here}.tutor_paths:tutor_footprint",
        order=60,
        commands={
            "tutor": (f"{here}.commands:tutor", "Learn a topic in a session with a tutor.", "More"),
        },
        context=f"{here}.context:build_section",
        context_order=60,
        mcp=f"{here}.mcp_tools:TUTOR",
    )
