"""Reach: what every session loads about the person, and which learned text reaches a session in a directory.

Pure rules (`rules_text`, `rules_merge`, `rules_plan`) -> `rules_file`, `reach_survey` -> `handler`, `cli`. The lines come from the plugins' hooks
`person_rules`; no plugin is named here.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would slow down the fast commands
if TYPE_CHECKING:
    from tacitd.handler import Plugin

__all__ = ["make_plugin"]


def make_plugin() -> Plugin:
    """Return the plugin; the entry point `tacitd.handlers` calls it."""
    from tacitd.handler import Job, Plugin

    here = "tacitd_handlers.reach"
    return Plugin(
        "reach",
        f"{here}.handler:ReachHandler",
        settings={"reach": "tacitd_handlers.shared.reach_settings:ReachSettings"},
        jobs=(Job("user-rules", 20.0, at_start=True), Job("reach-check", 3600.0, at_start=True)),
        uses_model=False,
        reads_records=False,
        single_store=True,
        footprint=f"{here}.rules_file:rules_footprint",
        order=60,
        commands={
            "reach": (
                f"{here}.cli:reach",
                "Show which learned text a session in a directory loads.",
                "More",
            )
        },
        context_files=f"{here}.context_files:list_context_files",
        purge=f"{here}.purged_rules:purge_words",
        changes=f"{here}.rules_history:list_changes",
        findings=f"{here}.reach_checks:find_problems",
        banner_lines=f"{here}.render:format_banner_lines",
        status_lines=f"{here}.render:format_status_lines",
    )
