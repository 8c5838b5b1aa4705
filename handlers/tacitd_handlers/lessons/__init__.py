"""Lessons (seed 004): WHEN -> DO -> BECAUSE rules that agents load and people can override.

This module only declares the plugin. `pattern`, `lesson_text` and `error_match` are pure; `lesson_log` reads and appends
lessons.jsonl, and `lesson_actions`, `promotion`, `lesson_drafts` and `decisions` change what it says. `lesson_commands` is the command
line, and `handler` is what the daemon runs.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes a tenth of the time of loading the lessons
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tacitd.handler import Footprint, Plugin

__all__ = ["lessons_footprint", "make_plugin"]


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
        footprint=f"{here}:lessons_footprint",
        order=50,
        commands={
            "lesson": (
                f"{here}.lesson_commands:lesson",
                "Add, list and load WHEN -> DO -> BECAUSE rules for agents.",
                "More",
            )
        },
        context=f"{here}.session_text:build_section",
        context_order=20,
        context_budget=2_000,
        context_for_agents=True,
        failure_advice=f"{here}.error_match:find_lessons",
        explain=f"{here}.lesson_history:find_reasons",
        person_rules=f"{here}.session_text:LessonRules",
        prompt_extensions={"learning:synthesis": f"{here}.lesson_drafts"},
        items=f"{here}.decisions:list_items",
        decide=f"{here}.decisions:decide_lesson",
        purge=f"{here}.decisions:purge_words",
        changes=f"{here}.lesson_history:list_changes",
        status_lines=f"{here}.handler:format_status_lines",
        mcp=f"{here}.mcp_tools:LESSONS",
        activity=f"{here}.lesson_history:describe_commit",
    )


def lessons_footprint(environ: Mapping[str, str]) -> Footprint:
    """The files that `uninstall --purge` removes, those that it keeps, and their directories.

    The log and promoted/ belong to the person; the index can be made from the log.
    """
    from tacitd.handler import Footprint
    from tacitd_handlers.lessons.lesson_log import INDEX, PROMOTED_DIR, LessonLog

    log = LessonLog.from_environ(environ)
    place, promoted = log.directory, log.directory / PROMOTED_DIR
    return Footprint([place / INDEX], [log.path, promoted], [place, promoted], [promoted, place])
