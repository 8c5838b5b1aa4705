"""Sessions that can be resumed (seed 001, SPEC P-22 to P-26): tasks, what blocks them, decisions, notes, a summary.

Pure rules (`client_tasks`, `session_fold`, `session_file`, `session_edits`, `resume_text`) -> `store`, `last_session`,
`summaries` -> `handler` and `cli`.
Only the summary and the decisions need the model; the rest comes from the transcript. Nothing heavy is imported here,
because a session's start waits for `context`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not from typing: see above
if TYPE_CHECKING:
    from tacitd.handler import Plugin

__all__ = ["make_plugin"]


def make_plugin() -> Plugin:
    """Return the plugin; the entry point `tacitd.handlers` calls it."""
    from tacitd.handler import COMPACTION, Job, Plugin

    here = "tacitd_handlers.continuity"
    return Plugin(
        "continuity",
        f"{here}.handler:ContinuityHandler",
        settings={"continuity": f"{here}.settings:ContinuitySettings"},
        jobs=(Job("sessions", 86400.0, at_start=True), Job("pauses", 300.0), Job(COMPACTION)),
        uses_model=False,
        lanes=2,
        gather=f"{here}.settings:choose_gather",
        footprint="tacitd_handlers.shared.memory_files:sessions_footprint",
        order=40,
        commands={
            "sessions": (
                f"{here}.cli:sessions",
                "List sessions, resume one, record decisions and notes.",
                "More",
            )
        },
        purge=f"{here}.store:purge_words",
        status_lines=f"{here}.resume_text:format_status_lines",
        context=f"{here}.last_session:build_section",
        context_order=30,
        context_budget=2_500,
        mcp=f"{here}.mcp_tools:CONTINUITY",
    )
