"""The tutor (seed 002): sessions on the nodes of a knowledge graph, led by a policy, worded by a model.

This module only declares the plugin. The rules are pure: `session_model`, `session_policy`, `knowledge_graph`, `mastery`.
`agent_prompts` and `agent_answers` are the border to the model, `store` does the I/O, `conversation` leads a session in a
terminal, and `handler` runs in the daemon.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes time, and a session's start waits
if TYPE_CHECKING:
    from tacitd.handler import Plugin

__all__ = ["make_plugin"]


def make_plugin() -> Plugin:
    """Return the plugin's declaration, for the entry point."""
    from tacitd.handler import Job, Plugin

    here = "tacitd_handlers.tutor"
    return Plugin(
        "tutor",
        f"{here}.handler:TutorHandler",
        settings={"tutor": f"{here}.settings:TutorSettings"},
        jobs=(Job("grade", 3600.0, at_start=True), Job("expire", 86400.0, at_start=True)),
        uses_model=False,
        reads_records=False,
        footprint=f"{here}.tutor_files:tutor_footprint",
        order=60,
        commands={
            "tutor": (f"{here}.cli:tutor", "Learn a topic in a session with a tutor.", "Learning"),
        },
        context=f"{here}.context:build_section",
        context_order=60,
        status_lines=f"{here}.render:format_status_lines",
        methods={"tutor.ask": f"{here}.handler:ask_agent", "tutor.cancel": f"{here}.handler:cancel_agent"},
        mcp=f"{here}.mcp_tools:TUTOR",
    )
