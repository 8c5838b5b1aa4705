"""The user profile (seed 001, SPEC P-01 to P-21, P-27 to P-33): preferences that fade unless they are said again.

A finding of learning's call (`profile_finding`) comes as a message to `handler`, which plans a change (`changes`) of what it read
(`profile_files`); the engine writes it. A value belongs to the person unless tacitd wrote it last: it is never replaced, and
does not fade. Nothing heavy is imported here, because a session's start waits for `profile_texts`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not from typing: see above
if TYPE_CHECKING:
    from tacitd.plugin import PluginSpec

__all__ = ["make_plugin"]


def make_plugin() -> PluginSpec:
    """Return the plugin; the entry point `tacitd.handlers` calls it."""
    from tacitd.plugin import PluginSpec, SharedFileKind, TimedJob

    here = "tacitd_handlers.profile"
    edits = (f"{here}.profile_files:list_edited", f"{here}.handler:take_edits")
    about = "Show, set and clear what tacitd knows about you."
    return PluginSpec(
        "profile",
        order=10,
        schema=(f"{here}:schema.sql",),
        one_lane=True,
        run=f"{here}.handler:run",
        events=frozenset({"session-ended", "purge"}),
        jobs=(TimedJob("fade", 3600.0), TimedJob("changelog", 86_400.0), TimedJob("turns", 600.0)),
        files=(SharedFileKind("profile", "json-leaves", *edits),),
        commands={"profile": (f"{here}.cli:profile", about, "More")},
        session_text=f"{here}.profile_texts:make_text",
        status=f"{here}.profile_texts:report_status",
        items=f"{here}.profile_items",
        why=f"{here}.profile_items:explain",
        prompt_parts={
            "learning:extraction": f"{here}.profile_finding",
            "person-rules": f"{here}.profile_texts:ProfileRules",
        },
        mcp=f"{here}.cli:PROFILE",
        footprint="tacitd_handlers.shared.places:profile_footprint",
    )
