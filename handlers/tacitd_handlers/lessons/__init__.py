"""Lessons (seed 004): WHEN -> DO -> BECAUSE rules that agents load and people can override.

This module only declares the plugin. `lesson_log` reads and appends lessons.jsonl, `lesson_origins` says where a lesson came from, and
`lesson_actions`, `promotion` and `lesson_drafts` change what the log says, the last in the daemon. `cli` needs no store and no daemon.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes a tenth of the time of loading the lessons
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tacitd.handler import Footprint
    from tacitd.plugin import PluginSpec

__all__ = ["SCHEMA", "lessons_footprint", "make_plugin"]

SCHEMA = ("tacitd_handlers.lessons:schema.sql",)
"""The steps of its tables; the number of steps is their version."""


def make_plugin() -> PluginSpec:
    """Return the plugin; the entry point `tacitd.handlers` calls it."""
    from tacitd.plugin import PluginSpec

    here = "tacitd_handlers.lessons"
    about = "Add, list and load WHEN -> DO -> BECAUSE rules for agents."
    return PluginSpec(
        "lessons",
        order=25,
        settings={"lessons": f"{here}.promotion:LessonsSettings"},
        schema=SCHEMA,
        one_lane=True,
        run=f"{here}.lesson_drafts:run",
        events=frozenset({"purge"}),
        commands={"lesson": (f"{here}.cli:lesson", about, "More")},
        session_text=f"{here}.lesson_text:make_text",
        status=f"{here}.lesson_text:report_status",
        items=f"{here}.lesson_items",
        why=f"{here}.lesson_items:explain",
        prompt_parts={
            "learning:synthesis": f"{here}.lesson_drafts",
            "person-rules": f"{here}.lesson_text:LessonRules",
            "history": f"{here}.lesson_items:list_changes",
        },
        mcp=f"{here}.cli:LESSONS",
        footprint=f"{here}:lessons_footprint",
    )


def lessons_footprint(environ: Mapping[str, str]) -> Footprint:
    """The files that `uninstall --purge` removes, those that it keeps, and their directories.

    The log and promoted/ belong to the person, and so do the skills and tools that a lesson was promoted into; the index can be made
    from the log.
    """
    import re
    from pathlib import Path

    from tacitd.handler import Footprint
    from tacitd_handlers.lessons.lesson_log import INDEX, PROMOTED_DIR, LessonLog

    log = LessonLog.from_environ(environ)
    place, promoted = log.directory, log.directory / PROMOTED_DIR
    cards = "\n".join(card.read_text("utf-8", "replace") for card in sorted(promoted.glob("*.md")))
    targets = {
        Path(file): "you promoted a lesson into it"
        for file in re.findall(r"^- To: \S+ \((/.+)\)$", cards, re.M)
    }
    kept = [log.path, promoted, *targets]
    return Footprint([place / INDEX], kept, [place, promoted], [promoted, place], targets)
