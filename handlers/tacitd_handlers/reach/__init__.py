"""Reach: what every session loads about the person, and which learned text reaches a session in a directory.

Pure rules (`rules_text`) -> `user_rules`; `context_files` -> `reach_survey` -> `reach_checks`, `cli`. The lines come from the plugins' parts `person-rules`; no plugin is
named here.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would slow down the fast commands
if TYPE_CHECKING:
    from tacitd.plugin import PluginSpec

__all__ = ["make_plugin"]


def make_plugin() -> PluginSpec:
    """Return the plugin; the entry point `tacitd.handlers` calls it."""
    from tacitd.plugin import PluginSpec, SharedFileKind, TimedJob

    here = "tacitd_handlers.reach"
    rules = f"{here}.user_rules"
    return PluginSpec(
        "reach",
        order=60,
        settings={"reach": "tacitd_handlers.learning.settings:ReachSettings"},
        schema=(f"{here}:schema.sql",),
        run=f"{here}.reach_checks:run",
        events=frozenset({"session-started", "purge"}),
        jobs=(TimedJob("user-rules", 5.0), TimedJob("reach-check", 3600.0)),
        files=(SharedFileKind("user rules", f"{rules}:LIST", f"{rules}:list_paths", f"{rules}:take_edits"),),
        commands={
            "reach": (
                f"{here}.reach_survey:reach",
                "Show which learned text a session in a directory loads.",
                "More",
            )
        },
        status=f"{here}.reach_status:report_status",
        footprint=f"{rules}:find_footprint",
        prompt_parts={
            "context-files": f"{here}.context_files:list_context_files",
            "doctor": f"{here}.reach_checks:find_problems",
            "banner": f"{here}.reach_status:format_banner_lines",
        },
    )
