"""Who deletes a line by hand withdraws the lesson that was drafted with it (SPEC E-32)."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_lessons_handler import Said
from test_lessons_project_lessons import project

from support_lessons import Lessons
from tacitd.events import Message, Project
from tacitd.handler import Done
from tacitd.testing import START
from tacitd_handlers.lessons import lesson_drafts
from tacitd_handlers.lessons.handler import LessonsHandler
from tacitd_handlers.lessons.lesson_actions import confirm_lesson

READ = "WHEN editing tmux.conf -> DO read the file first -> BECAUSE was layering on wrong assumptions"
LINE = "Always open tmux.conf and read it"


@pytest.fixture
def root(lessons: Lessons) -> Path:
    """A project with lesson 001, drafted beside a line in other words."""
    made = project(lessons.home / "app")
    told = {"found": [{"drafts": [[READ, "global"]]}], "corrected": ["x"], "lines": [LINE, "Use tabs"]}
    lesson_drafts.store_finding(lessons.store, told, "s1", START, str(made))
    return made


def remove(root: Path, *lines: str) -> None:
    event = Message("learning", "1", "s2", Project(root, True), START, {"removed": list(lines)})
    assert LessonsHandler().handle(event, Said().tools()) == Done()


def test_a_deleted_line_withdraws_its_lesson(lessons: Lessons, root: Path) -> None:
    """The line that was made of the same words. The lesson is not drafted again."""
    for _ in range(2):
        remove(root, LINE)
    shown = lessons.json("show", "1")
    assert (shown["status"], shown["reason"]) == ("deleted", "its line was deleted by hand")
    told = {"found": [{"drafts": [[READ, "global"]]}], "corrected": ["x"]}
    assert lesson_drafts.store_finding(lessons.store, told, "s3", START, str(root)) == ()


def test_other_lessons_stay(lessons: Lessons, root: Path) -> None:
    """A line about something else, another project's line, and a lesson that a person stated or changed."""
    remove(root, "Use tabs", "Do not read the file first when editing tmux.conf")
    remove(project(lessons.home / "other"), LINE)
    confirm_lesson(lessons.store, "1")
    lessons.out("add", "--firm", READ.replace("tmux.conf", "vimrc"))
    remove(root, LINE, "Read the file first when editing vimrc")
    assert [lessons.json("show", id)["status"] for id in ("1", "2")] == ["active", "active"]
