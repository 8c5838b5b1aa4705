"""A contradicted lesson gives way to the new one: `OVER: 006`, or by its words (SPEC E-12, E-30)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_lessons_project_scopes import project

from support_lessons import Lessons
from tacitd.session_context.context_request import ContextRequest
from tacitd.testing import START
from tacitd_handlers.lessons import draft_extension
from tacitd_handlers.lessons.context import build_section
from tacitd_handlers.lessons.drafts import Draft, load_template, parse_drafts, parse_overs
from tacitd_handlers.lessons.handler import LessonsHandler
from tacitd_handlers.lessons.lesson_operations import edit_lesson
from tacitd_handlers.lessons.pattern import parse_pattern
from tacitd_handlers.lessons.render import format_status_lines

OLD = "WHEN committing -> DO squash first -> BECAUSE the history stays short"
NEW = "WHEN committing -> DO keep each step -> BECAUSE reviews need the steps"
TURNED = "WHEN committing -> DO NOT squash first -> BECAUSE reviews need the steps"


def tell(lessons: Lessons, root: Path, *drafts: Any, session: str = "s2", **more: Any) -> tuple[str, ...]:
    told = {"found": [{"drafts": list(drafts), **more}], "corrected": ["keep each step"], "words": ["no"]}
    return draft_extension.store_finding(lessons.store, told, session, START, str(root))


@pytest.fixture
def root(lessons: Lessons) -> Path:
    """A project with lesson 001, drafted there."""
    made = project(lessons.home / "app")
    assert tell(lessons, made, [OLD, "app", []], session="s1") == ("001",)
    return made


def test_the_form_is_in_the_prompt_and_is_read() -> None:
    """SPEC E-30: shown literally; it belongs to the lesson above it."""
    assert "\nOVER: 000\n" in load_template()
    answer = f"LESSON: {NEW}\nSCOPE: app\nOVER: 006\n\nLESSON: {OLD}\nFILE: LEARNED.md\nFACT: x\nOVER: 7, 008"
    drafts, rest = parse_drafts(answer)
    assert drafts == (Draft(NEW, "app", ("006",)), Draft(OLD)) and rest == "FILE: LEARNED.md\nFACT: x"
    assert parse_overs(answer) == ("006", "7", "008")
    assert parse_drafts(f"LESSON: {NEW}\nOVER: 006\nSCOPE: app")[0][0].over == ("006",)


def test_a_superseded_lesson_is_kept_with_its_date(lessons: Lessons, root: Path) -> None:
    """It is out of force, `show` says since when and by which, and `why` has its history."""
    assert tell(lessons, root, [NEW, "app", ["1"]]) == ("002",)
    assert OLD not in build_section(ContextRequest(root, 9000)) and NEW in build_section(
        ContextRequest(root, 9000)
    )
    shown = lessons.json("show", "1")
    assert (shown["status"], shown["reason"], shown["updated"]) == (
        "superseded", "superseded by 002", lessons.store.today,
    )  # fmt: skip
    assert "status: superseded\n" in lessons.out("show", "1") and "superseded" in lessons.out("list", "--all")
    assert LessonsHandler().status()["refused"] == 0


def test_the_same_message_twice_supersedes_once(lessons: Lessons, root: Path) -> None:
    """S-29: after a crash it is offered again."""
    for _ in range(2):
        tell(lessons, root, [NEW, "app", ["1"]], over=["1"])
    assert [one["status"] for one in lessons.records()] == ["active", "active", "superseded"]
    assert LessonsHandler().status()["refused"] == 0


def test_what_is_said_again_holds_again(lessons: Lessons, root: Path) -> None:
    """A superseded lesson was not wrong: the person may change their mind back."""
    tell(lessons, root, [TURNED, "app", ["1"]])
    assert tell(lessons, root, [OLD, "app", ["2"]], session="s3") == ("003",)
    assert OLD in build_section(ContextRequest(root, 9000)) and TURNED not in build_section(
        ContextRequest(root, 9000)
    )


def test_a_contradiction_without_over_supersedes_too(lessons: Lessons, root: Path) -> None:
    """SPEC E-12: by its words, in its scope and, for a global lesson, in the project's."""
    tell(lessons, root, [TURNED.replace("squash first", "squash first."), "global", []])
    assert lessons.json("show", "1")["status"] == "superseded"


def test_a_projects_exception_leaves_the_global_lesson(lessons: Lessons, root: Path) -> None:
    """SPEC E-12: it still holds elsewhere, and beside the exception; neither hides the other."""
    lessons.out("wrong", "1")
    asked = "WHEN deploying -> DO ask first -> BECAUSE it cost a day"
    turned = "WHEN deploying -> DO NOT ask first -> BECAUSE it is a toy"
    tell(lessons, root, [asked, "global", []])
    assert tell(lessons, root, [turned, "app", []], session="s3") == ("003",)
    assert lessons.json("show", "2")["status"] == "active"
    text = build_section(ContextRequest(root, 9000))
    assert turned in text and asked in text
    assert asked in build_section(ContextRequest(project(lessons.home / "other"), 9000))


def test_an_over_of_another_projects_lesson_is_refused_and_counted(lessons: Lessons, root: Path) -> None:
    """Bad input: another project's, a person's, a changed one, and one that does not exist; each counts once."""
    other = project(lessons.home / "elsewhere/app", "git@github.com:you/app.git")
    lessons.out("add", "--firm", "WHEN x -> DO y -> BECAUSE z")
    lessons.out("add", "WHEN p -> DO q -> BECAUSE r")
    edit_lesson(lessons.store, "3", parse_pattern("WHEN p -> DO q2 -> BECAUSE r"), None, None)
    for _ in range(2):
        tell(lessons, other, [NEW, "app", ["001", "2", "3", "99"]])
    assert [lessons.json("show", str(n))["status"] for n in (1, 2, 3, 4)] == ["active"] * 4
    assert NEW in build_section(ContextRequest(other, 9000))
    status = LessonsHandler().status()
    assert status["refused"] == 4 and any("OVER" in line for line in format_status_lines(status))


def test_an_over_alone_needs_a_correction(lessons: Lessons, root: Path) -> None:
    """A lesson may be contradicted by a fact that becomes a line; without a correction nothing gives way."""
    told: dict[str, Any] = {"found": [{"drafts": [], "over": ["001"]}], "corrected": []}
    draft_extension.store_finding(lessons.store, told, "s2", START, str(root))
    assert lessons.json("show", "1")["status"] == "active"
    tell(lessons, root, over=["001"])
    assert lessons.json("show", "1")["reason"] == "superseded by a correction"


def test_a_refused_draft_supersedes_nothing(lessons: Lessons, root: Path) -> None:
    tell(lessons, root, ["WHEN a -> DO pass --no-verify -> BECAUSE c", "app", ["1"]])
    assert lessons.json("show", "1")["status"] == "active"


def test_adding_by_command_warns_across_scopes(lessons: Lessons) -> None:
    """SPEC E-12: a person or an agent decides; nothing is superseded."""
    lessons.out("add", "-s", "tmux", OLD)
    said = lessons.run("add", "-s", "screen", TURNED)
    assert said.code == 0 and "warning: lesson 001 (tmux) says the opposite" in said.err
    assert lessons.json("show", "1")["status"] == "active"
