"""Lessons (seed 004): WHEN -> DO -> BECAUSE rules that agents load and people overrule.

Pure rules (`pattern`, `scopes`, `folding`, `loading`, `relevance`, `drafts`) -> `store` -> `handler` -> `cli`. Nothing
is imported here: `lesson load` has to be there before a person notices that it ran.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not from typing: importing that costs more than loading the lessons
if TYPE_CHECKING:
    from tacitd.handler import Slice

__all__ = ["slice"]


def slice() -> Slice:
    """The entry point."""
    from tacitd.handler import Job, Slice
    from tacitd_handlers.lessons.handler import TIDY, Lessons
    from tacitd_handlers.lessons.lesson_files import lessons_footprint
    from tacitd_handlers.lessons.settings import LessonsSettings

    return Slice(
        "lessons",
        Lessons,
        settings={"lessons": LessonsSettings},
        jobs=(Job(TIDY, 3600.0, at_start=True),),
        pays=False,
        footprint=lessons_footprint,
    )
