"""Who deletes a line by hand withdraws the lesson that was drafted with it (SPEC E-32)."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_lessons_project_lessons import project

from support_lessons import Lessons
from tacitd_handlers.lessons.lesson_actions import confirm_lesson

READ = "WHEN editing tmux.conf -> DO read the file first -> BECAUSE was layering on wrong assumptions"
LINE = "Always open tmux.conf and read it"


@pytest.fixture
def root(lessons: Lessons) -> Path:
    """A project with lesson 001, drafted beside a line in other words."""
    made = project(lessons.home / "app")
    told = {"found": [{"drafts": [[READ, "global"]]}], "corrected": ["x"], "lines": [LINE, "Use tabs"]}
    lessons.tell(told, made)
    return made


def test_a_deleted_line_withdraws_its_lesson(lessons: Lessons, root: Path) -> None:
    """The line that was made of the same words. The lesson is not drafted again."""
    for _ in range(2):
        lessons.tell({"removed": [LINE]}, root, "s2")
    shown = lessons.json("show", "1")
    assert (shown["status"], shown["reason"]) == ("deleted", "its line was deleted by hand")
    assert lessons.draft(READ, root, session="s3") == []


def test_other_lessons_stay(lessons: Lessons, root: Path) -> None:
    """A line about something else, another project's line, and a lesson that a person stated or changed."""
    lessons.tell({"removed": ["Use tabs", "Do not read the file first when editing tmux.conf"]}, root, "s2")
    lessons.tell({"removed": [LINE]}, project(lessons.home / "other"), "s2")
    confirm_lesson(lessons.store, "1")
    lessons.out("add", "--firm", READ.replace("tmux.conf", "vimrc"))
    lessons.tell({"removed": [LINE, "Read the file first when editing vimrc"]}, root, "s2")
    assert [lessons.json("show", id)["status"] for id in ("1", "2")] == ["active", "active"]
