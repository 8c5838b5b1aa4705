"""The user profile (seed 001, SPEC P-01 to P-21): preferences that decay unless they are repeated, and their changelog.

Pure rules (`dot_paths`, `profile_operations`, `merge`, `profile_confidence`, `ownership`, `own_writes`,
`profile_changes`, `intents`) -> `store`, `changelog`, `turn_counts` -> `handler` -> `cli`.
The findings come from the learning's model call: `profile_extension` extends its prompt and takes the profile's part out of the
answer. Nothing heavy is imported here, because a session's start waits for `context`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not from typing: see above
if TYPE_CHECKING:
    from tacitd.handler import Plugin

__all__ = ["make_plugin"]


def make_plugin() -> Plugin:
    """Return the plugin; the entry point `tacitd.handlers` calls it."""
    from tacitd.handler import Job, Plugin

    here = "tacitd_handlers.profile"
    return Plugin(
        "profile",
        f"{here}.handler:ProfileHandler",
        jobs=(
            Job("fade", 3600.0, at_start=True),
            Job("changelog", 86400.0, at_start=True),
            Job("turns", 600.0),
        ),
        uses_model=False,
        single_store=True,
        footprint="tacitd_handlers.shared.memory_files:profile_footprint",
        order=30,
        commands={
            "profile": (f"{here}.cli:profile", "Show, set and clear what tacitd knows about you.", "More")
        },
        context=f"{here}.context:build_section",
        context_order=10,
        context_budget=1_200,
        person_rules=f"{here}.profile_rules:ProfileRules",
        explain=f"{here}.profile_items:find_reasons",
        items=f"{here}.profile_items:list_items",
        decide=f"{here}.profile_decisions:decide_value",
        purge=f"{here}.purged_changelog:purge_words",
        changes=f"{here}.profile_items:list_changes",
        status_lines=f"{here}.render:format_status_lines",
        activity=f"{here}.profile_notices:describe_commit",
        prompt_extensions={"learning:extraction": f"{here}.profile_extension"},
        mcp=f"{here}.mcp_tools:PROFILE",
    )
