"""The plugin: what the daemon does for lessons, the status, and the session-start text."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from support_lessons import Lessons
from tacitd.session_context.context_request import ContextRequest
from tacitd.session_context.plugin_view import give_advice
from tacitd.testing import FakeClock
from tacitd_handlers.lessons.lesson_actions import confirm_lesson
from tacitd_handlers.lessons.lesson_origins import Origin
from tacitd_handlers.lessons.lesson_text import START_LINES, LessonRules
from tacitd_handlers.lessons.pattern import parse_pattern

READ = "WHEN editing tmux.conf -> DO read the file first -> BECAUSE was layering on wrong assumptions"


def test_a_drafted_lesson_is_said(lessons: Lessons) -> None:
    """One line of the log for each lesson that is drafted or withdrawn; none for a draft that adds nothing."""
    told = {
        "found": [{"drafts": [[READ, "tmux"]]}],
        "corrected": ["x"],
        "lines": ["Read the file tmux.conf first"],
    }
    root = lessons.bench.project
    assert lessons.tell(told, root) == ["001"] and lessons.tell(told, root) == []
    lessons.tell({"removed": told["lines"]}, root)
    sql = "SELECT did, text, place, about FROM activity WHERE plugin = 'lessons' ORDER BY number"
    assert lessons.bench.rows(sql) == [
        ("learned", READ, "lesson 001", ""),
        ("withdrawn", READ, "lesson 001", "its line was deleted by hand"),
    ]


def test_status_counts_lessons_and_says_what_waits_or_is_damaged(lessons: Lessons) -> None:
    """SPEC E-23: one that a person marked wrong waits for nothing."""
    assert lessons.bench.status_lines == []
    lessons.given("history")
    waits = {"id": "008", "from": "ai", "status": "deleted", "reason": "of a page"}
    waits |= {"when": "Testing", "action": "do", "do": "run it", "because": "it breaks"}
    wrong = waits | {"id": "009", "updated": "2026-01-03"}
    with lessons.log.open("a") as log:
        log.write(f"{json.dumps(waits)}\n{json.dumps(wrong)}\nnonsense\n")
    assert lessons.bench.status_lines == [
        "1 active, 1 of them stated by a person",
        "! 1 lesson waiting for your decision: `tacitd review`",
        f"! 1 line of {lessons.log} make no lesson and are skipped; they are kept: correct or remove them",
    ]


def find_waiting(lessons: Lessons, kind: str) -> tuple[str, str]:
    """Why a task waits, and what helps."""
    ((reason, hint),) = lessons.bench.rows(
        "SELECT reason, hint FROM task WHERE kind = ? AND reason <> ''", kind
    )
    return reason, hint


@pytest.mark.parametrize("fault", ["a directory in the way", "a full disk"])
def test_a_draft_waits_while_the_log_cannot_be_written(
    lessons: Lessons, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """The task waits with the reason and the hint for the system's error, and is done later."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(lessons.log))

    bench = lessons.bench
    (lessons.home / ".claude").mkdir(exist_ok=True)
    with monkeypatch.context() as faults:
        if fault == "a full disk":
            faults.setattr("tacitd_handlers.lessons.lesson_log.LessonLog.begin_change", full)
        else:
            lessons.directory.write_text("in the way")
        lessons.queue({"found": [{"drafts": [[READ, "tmux"]]}], "corrected": ["x"]}, bench.project)
        bench.settle(0.001)
        what, hint = find_waiting(lessons, "message")
        assert str(lessons.directory) in what and "Errno" not in what
        assert fault != "a full disk" or ("free space" in hint and "No space left" in what)
    if fault != "a full disk":
        lessons.directory.unlink()
    bench.settle(3600.0)
    assert [one["do"] for one in lessons.records()] == ["read the file first"]


def project(home: Path, name: str) -> Path:
    root = home / name
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / "src").mkdir()
    return root


def test_lessons_that_fit_a_failed_call(lessons: Lessons) -> None:
    """SPEC E-31: global ones and the project's, the best first; no other project's."""
    root = project(lessons.home, "My App")
    lessons.out("add", "WHEN pytest fails with timeout -> DO raise it -> BECAUSE CI is slow")
    lessons.out("add", "-s", "my-app", "WHEN pytest fails -> DO read the log -> BECAUSE it is long")
    lessons.out("add", "-s", "other", "WHEN pytest fails -> DO nothing -> BECAUSE it is another's")
    call = ContextRequest(root / "src", occasion="failure", error="pytest failed: 3 errors")
    (key, first), (other, second) = give_advice(lessons.bench.plugin, call)
    assert first.startswith("- WHEN pytest fails -> DO read") and "DO raise it" in second and key != other
    assert give_advice(lessons.bench.plugin, replace(call, error="no such file")) == []


def test_a_session_is_told_global_lessons_and_its_projects(lessons: Lessons) -> None:
    """The session-start text: at most 15 lines, from any folder of the project."""
    root = project(lessons.home, "My App")
    assert lessons.start(root, 9000) == ""
    lessons.given("load")
    lessons.out("add", "-s", "my-app", "WHEN testing -> DO use pytest -> BECAUSE the house does")
    text = lessons.start(root / "src", 9000)
    assert text.startswith("## Lessons (2 active)\n\n### Global\n") and "### my-app\n- WHEN testing" in text
    for n in range(40):
        lessons.out("add", f"WHEN case {n} -> DO b -> BECAUSE c")
    told = lessons.start(root / "src" / "gone", 9000)
    assert (
        len(told.splitlines()) == START_LINES and "[firm]" in told and "my-app" in told and "left out" in told
    )
    assert len(lessons.start(root, 300)) <= 300 and lessons.start(root, 20) == ""


def test_what_an_agent_adds_in_a_session_is_of_that_session(
    lessons: Lessons, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The correction for which a lesson was added gives it its words when it is synthesised later."""
    text = "WHEN editing tmux.conf -> DO read the file first -> BECAUSE was layering on wrong assumptions"
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s-1")
    lessons.out("add", text)
    assert lessons.origin(1).session == "s-1"
    for session in ("s-1", "s-2"):
        told = {
            "found": [{"drafts": [[text.replace("the file", "file"), "global"]]}],
            "words": ["no, read it"],
            "corrected": ["Read the file first"],
        }
        assert lessons.tell(told, lessons.bench.project, session) == []
    assert lessons.origin(1).words == ("no, read it",)


@pytest.mark.parametrize(("corrected", "added"), [(["Read tmux.conf first"], ["001"]), ([], [])])
def test_a_lesson_is_made_of_a_correction_only(
    lessons: Lessons, corrected: list[str], added: list[str]
) -> None:
    """SPEC E-30: a draft from facts without a correction is dropped; the facts became lines."""
    text = "WHEN editing tmux.conf -> DO read the file first -> BECAUSE was layering on wrong assumptions"
    told = {
        "found": [{"drafts": [[text, "global"]]}],
        "facts": ["Read tmux.conf first"],
        "corrected": corrected,
    }
    assert lessons.tell(told, lessons.bench.project, "s-1") == added


def test_half_a_secret_is_a_secret(lessons: Lessons) -> None:
    """DESIGN "Model", S-67: a person's words are redacted before they are cut, not after."""
    words = "look " * 58 + "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    lessons.note("1", Origin("s", 0.0, words=(words,)))
    ((stored,),) = lessons.bench.rows("SELECT words FROM lessons_origin")
    assert "ghp_" not in stored and len(stored) < 310


def test_global_lessons_firm_ones_first_then_the_newest(lessons: Lessons) -> None:
    """Lessons of tools and projects are loaded where they apply, not everywhere."""
    rules = LessonRules(os.environ, FakeClock())
    assert rules.list_rules() == []
    for options in (["one"], ["two", "--firm"], ["three", "-s", "tmux"], ["four"]):
        lessons.out("add", "-w", options[0], "-d", "it", "-b", "it helps", *options[1:])
    found = rules.list_rules()
    assert [rule.id for rule in found] == ["002", "004", "001"]
    assert found[0].text == "WHEN two -> DO it -> BECAUSE it helps"
    assert [rule.by_person for rule in found] == [True, False, False]
    confirm_lesson(lessons.store, "001", parse_pattern("WHEN one -> DO NOT it -> BECAUSE no"))
    assert [(rule.id, rule.by_person) for rule in rules.list_rules()] == [
        ("002", True), ("001", True), ("004", False),
    ]  # fmt: skip
