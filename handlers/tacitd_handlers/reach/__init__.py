"""Reach: how learned text gets to sessions.

Learning's lines are copied into rule files of each work tree (`project_rules`; `copies` has what a person edits in one), what is known of
the person into a file that every session loads (`user_rules`), and `context_files` -> `reach_survey` tell what arrives. The lines about the
person come from the plugins' parts `person-rules`.
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
        run=f"{rules}:run",
        events=frozenset({"session-started", "purge"}),
        jobs=(TimedJob("user-rules", 5.0),),
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
            "doctor": f"{here}.reach_survey:find_problems",
            "banner": f"{here}.reach_status:format_banner_lines",
        },
    )
