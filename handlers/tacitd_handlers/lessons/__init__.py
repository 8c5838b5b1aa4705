"""Lessons (seed 004): WHEN -> DO -> BECAUSE rules that agents load and people can override.

This module only declares the plugin. The rules
(`pattern`, `scopes`, `lesson_fold`, `load_output`, `error_match`, `drafts`) are pure. `store` does the I/O, `handler` runs in
the daemon, and `commands` is the command line.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes longer than loading the lessons
if TYPE_CHECKING:
    from tacitd.handler import Plugin

__all__ = ["make_plugin"]


def make_plugin() -> Plugin:
    """Return the plugin's declaration, for the entry point."""
    from tacitd.handler import Job, Plugin

    here = "tacitd_handlers.lessons"
    return Plugin(
        "lessons",
        f"{here}.handler:LessonsHandler",
        settings={"lessons": f"{here}.settings:LessonsSettings"},
        jobs=(Job("tidy", 3600.0, at_start=True),),
        uses_model=False,
        reads_records=False,
        single_store=True,
        footprint=f"{here}.lesson_files:lessons_footprint",
        order=50,
        commands={
            "lesson": (
                f"{here}.command_group:lesson",
                "Add, list and load WHEN -> DO -> BECAUSE rules for agents.",
                "More",
            )
        },
        context=f"{here}.context:build_section",
        context_order=20,
        context_budget=2_000,
        context_for_agents=True,
        failure_advice=f"{here}.failure_advice:find_lessons",
        explain=f"{here}.explain_lesson:find_reasons",
        person_rules=f"{here}.lesson_rules:LessonRules",
        prompt_extensions={"learning:synthesis": f"{here}.draft_extension"},
        items=f"{here}.lesson_items:list_items",
        decide=f"{here}.lesson_decisions:decide_lesson",
        purge=f"{here}.purged_lessons:purge_words",
        changes=f"{here}.lesson_changes:list_changes",
        status_lines=f"{here}.render:format_status_lines",
        mcp=f"{here}.mcp_tools:LESSONS",
        activity=f"{here}.lesson_notices:describe_commit",
    )
