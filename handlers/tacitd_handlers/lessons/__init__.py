"""Lessons (seed 004): WHEN -> DO -> BECAUSE rules that agents load and people can override.

This module only declares the plugin. It imports nothing heavy, because agents call `lesson load` often. The rules
(`pattern`, `scopes`, `folding`, `loading`, `relevance`, `drafts`) are pure. `store` does the I/O, `handler` runs in
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
    from tacitd_handlers.lessons.handler import TIDY, LessonsHandler
    from tacitd_handlers.lessons.lesson_files import lessons_footprint
    from tacitd_handlers.lessons.settings import LessonsSettings

    return Plugin(
        "lessons",
        LessonsHandler,
        settings={"lessons": LessonsSettings},
        jobs=(Job(TIDY, 3600.0, at_start=True),),
        uses_model=False,
        footprint=lessons_footprint,
    )
