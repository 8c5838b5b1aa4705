"""The global lessons for every session, and how a deletion there marks one wrong."""

from __future__ import annotations

from pathlib import Path

from tacitd.testing import FakeClock
from tacitd_handlers.lessons.lesson_actions import add_lesson, confirm_lesson
from tacitd_handlers.lessons.lesson_log import LessonLog
from tacitd_handlers.lessons.lesson_text import LessonRules
from tacitd_handlers.lessons.pattern import parse_pattern


def make(tmp_path: Path) -> tuple[LessonRules, LessonLog]:
    environ = {"HOME": str(tmp_path)}
    return LessonRules(environ, FakeClock()), LessonLog.from_environ(environ, FakeClock())


def add(store: LessonLog, text: str, scope: str = "global", source: str = "ai") -> None:
    add_lesson(store, parse_pattern(f"WHEN {text} -> DO it -> BECAUSE it helps"), scope, source)


def test_without_lessons_there_are_no_lines(tmp_path: Path) -> None:
    """Nothing is created by looking or withdrawing."""
    rules, _ = make(tmp_path)
    rules.withdraw_rule("001")
    assert list(rules.list_rules()) == [] and list(tmp_path.iterdir()) == []


def test_global_lessons_firm_ones_first_then_the_newest(tmp_path: Path) -> None:
    """Lessons of tools and projects are loaded where they apply, not everywhere."""
    rules, store = make(tmp_path)
    add(store, "one")
    add(store, "two", source="user")
    add(store, "three", scope="tmux")
    add(store, "four")
    found = rules.list_rules()
    assert [rule.id for rule in found] == ["002", "004", "001"]
    assert found[0].text == "WHEN two -> DO it -> BECAUSE it helps"
    assert [rule.by_person for rule in found] == [True, False, False]
    confirm_lesson(store, "001", parse_pattern("WHEN one -> DO NOT it -> BECAUSE no"))
    assert [(rule.id, rule.by_person) for rule in rules.list_rules()] == [
        ("002", True), ("001", True), ("004", False),
    ]  # fmt: skip


def test_a_withdrawn_lesson_is_marked_wrong(tmp_path: Path) -> None:
    """It is neither loaded nor drafted again; one that is not active any more is ignored."""
    rules, store = make(tmp_path)
    add(store, "one")
    for _ in range(2):
        rules.withdraw_rule("001")
    rules.withdraw_rule("999")
    lesson = store.read_lessons().all["001"]
    assert (lesson.status, lesson.reason) == ("deleted", "the line was deleted in rules/tacitd.md")
    assert list(rules.list_rules()) == []
