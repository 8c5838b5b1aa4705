"""A plugin of somebody else, with every hook: it keeps what a person wants to be reminded of, in a list beside the code."""

from __future__ import annotations

from tacitd.plugin import PluginSpec, SharedFileKind, TimedJob


def make_plugin() -> PluginSpec:
    """The entry point."""
    hooks = "reminders.hooks"
    return PluginSpec(
        "reminders",
        order=70,
        settings={"reminders": f"{hooks}:Settings"},
        schema=("reminders:schema.sql",),
        observe=f"{hooks}:observe",
        run="reminders.tasks:run",
        gather=f"{hooks}:gather",
        events=frozenset({"session-started", "session-ended", "compaction"}),
        jobs=(TimedJob("count", 3600.0, each_project=True), TimedJob("tidy", 86_400.0)),
        files=(SharedFileKind("list", f"{hooks}:LIST", f"{hooks}:list_paths", "reminders.tasks:take_edits"),),
        commands={"remind": (f"{hooks}:remind", "Add a reminder.", "Looking")},
        session_text=f"{hooks}:make_session_text",
        status=f"{hooks}:report_status",
        items="reminders.items",
        why=f"{hooks}:explain",
        report=f"{hooks}:report",
        prompt_parts={"reminders:ask": f"{hooks}:TONE"},
        mcp=f"{hooks}:AGENTS",
        footprint=f"{hooks}:find_footprint",
    )
