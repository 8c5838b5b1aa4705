"""A crash, and a full disk, before every system call of adding, marking and promoting."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support_faulty_disk import ERRORS, Crash, FaultyDisk
from tacitd.testing import FakeClock
from tacitd_handlers.lessons import lesson_actions
from tacitd_handlers.lessons.lesson_log import LessonLog, build_index
from tacitd_handlers.lessons.pattern import Pattern
from tacitd_handlers.lessons.promotion import parse_target, promote_lesson


def bench(root: Path) -> LessonLog:
    """Two lessons and a skill."""
    store = LessonLog(root / "lessons", FakeClock())
    for n in (1, 2):
        lesson_actions.add_lesson(store, Pattern(f"case {n}", "do", "b", "c"), "global", "ai")
    (root / "skills" / "s").mkdir(parents=True)
    (root / "skills" / "s" / "SKILL.md").write_text("# S\n\nmine\n")
    return store


def add(store: LessonLog, root: Path) -> None:
    lesson_actions.add_lesson(store, Pattern("case 3", "do", "b", "c"), "global", "ai")


def wrong(store: LessonLog, root: Path) -> None:
    lesson_actions.mark_wrong(store, "2", "no")


def promoting(store: LessonLog, root: Path) -> None:
    promote_lesson(store, "2", parse_target("skill/s", root / "skills", root / "tools"))


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("what", [add, wrong, promoting], ids=lambda one: one.__name__)
def test_a_crash_anywhere_leaves_it_done_or_undone(
    tmp_path: Path, what: Callable[[LessonLog, Path], None], torn: bool
) -> None:
    """RELIABILITY row 2: log and index agree, and repeating the command completes it once."""
    for at in range(1, 100):
        root = tmp_path / str(at)
        bench(root)
        disk = FaultyDisk(crash_at=at, torn=torn)
        try:
            what(LessonLog(root / "lessons", FakeClock(), disk), root)
        except Crash:
            check(root, what)
        else:
            assert at > 5
            return
    raise AssertionError("it never ended")


@pytest.mark.parametrize("code", ERRORS)
@pytest.mark.parametrize("what", [add, wrong, promoting], ids=lambda one: one.__name__)
def test_a_failing_disk_is_an_error_and_nothing_worse(
    tmp_path: Path, what: Callable[[LessonLog, Path], None], code: int
) -> None:
    """RELIABILITY row 3: an error is reported, or tolerated if it concerns only the index; afterwards everything
    works.
    """
    for at in range(1, 100):
        root = tmp_path / str(at)
        bench(root)
        disk = FaultyDisk(fail_at=at, code=code, torn=True)
        try:
            what(LessonLog(root / "lessons", FakeClock(), disk), root)
        except OSError as error:
            assert error.errno == code
        check(root, what)
        if len(disk.trail) < at:
            return
    raise AssertionError("it never ended")


def check(root: Path, what: Callable[[LessonLog, Path], None]) -> None:
    store = LessonLog(root / "lessons", FakeClock())
    what(store, root)
    folded = store.read_lessons()
    expected = "active" if what is add else "deleted" if what is wrong else "promoted"
    assert folded.all["003" if what is add else "002"].status == expected
    assert len(folded.all) == (3 if what is add else 2)
    lines = (root / "skills" / "s" / "SKILL.md").read_text().splitlines()
    assert sum("case 2" in line for line in lines) == (what is promoting) and "mine" in lines
    lesson_actions.mark_wrong(store, "1", "")
    assert (root / "lessons" / "index.json").read_bytes() == build_index(store.read_lessons())
    sound = [
        line for line in (root / "lessons" / "lessons.jsonl").read_text().splitlines() if line.endswith("}")
    ]
    assert len({json.dumps(json.loads(line)) for line in sound}) == len(sound)
