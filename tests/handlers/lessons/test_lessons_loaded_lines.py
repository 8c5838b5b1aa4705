"""A lesson that repeats a line which the session loads is left out of the context (SPEC E-30)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from test_lessons_project_scopes import project

from support_learning import git
from support_lessons import Lessons
from tacitd.session_context.context_request import ContextFile, ContextRequest, find_loaded_lines
from tacitd_handlers.lessons.context import build_section
from tacitd_handlers.lessons.loaded_lines import drop_loaded, read_loaded_lines
from tacitd_handlers.lessons.pattern import parse_pattern
from tacitd_handlers.lessons.similarity import is_opposite, is_said_by

READ = "WHEN editing tmux.conf -> DO read the file first -> BECAUSE was layering on wrong assumptions"
PNPM = "WHEN installing packages -> DO use pnpm -> BECAUSE the lock file is pnpm's"


@pytest.mark.parametrize(
    "line",
    [
        "Read the file first when editing tmux.conf",
        "When editing tmux.conf, read the file first",
        "Read the file first",
        "Read the file before editing tmux.conf",
    ],
)
def test_a_line_that_says_the_same(line: str) -> None:
    assert is_said_by(parse_pattern(READ), line)


@pytest.mark.parametrize(
    "line",
    [
        "Do not read the file first when editing tmux.conf",
        "Read the file first when editing vimrc",
        "Use tabs",
        "",
    ],
)
def test_a_line_that_says_something_else(line: str) -> None:
    assert not is_said_by(parse_pattern(READ), line)


def test_a_clause_of_the_line_counts() -> None:
    assert is_said_by(parse_pattern(PNPM), "Use pnpm, never npm")
    assert not is_said_by(parse_pattern(PNPM.replace("use pnpm", "use npm")), "Use pnpm, never npm")
    turned = parse_pattern(PNPM.replace("DO use", "DO NOT use"))
    assert is_opposite(parse_pattern(PNPM), turned) and not is_opposite(turned, turned)


def test_it_is_left_out_of_the_context_and_of_a_load(
    lessons: Lessons, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line is in LEARNED.md, in a module's AGENTS.md, or in the person's rules; elsewhere the lesson is loaded."""
    root = project(lessons.home / "app")
    (root / "src").mkdir()
    lessons.out("add", READ)
    lessons.out("add", PNPM)
    (root / "LEARNED.md").write_text("# Learned\n\n## Coding\n- Use pnpm, never npm\n")
    (root / "src/AGENTS.md").write_text("- When editing tmux.conf, read the file first\n")
    text = build_section(ContextRequest(root, 9000))
    assert READ in text and PNPM not in text and text.endswith(READ + "\n")
    assert build_section(ContextRequest(root / "src", 9000)) == ""
    monkeypatch.chdir(root)
    loaded = lessons.out("load")
    assert loaded.startswith("## Lessons (1 active)") and PNPM not in loaded
    assert loaded.endswith("(1 more: LEARNED.md or AGENTS.md says the same)\n")
    assert [one["id"] for one in lessons.json("load")["lessons"]] == ["001"]
    monkeypatch.chdir(lessons.home)
    assert "(2 active)" in lessons.out("load")
    rules = lessons.home / ".claude/rules/tacitd.md"
    rules.parent.mkdir()
    rules.write_text(f"## Lessons\n- {READ}\n")
    other = project(lessons.home / "other")
    rule = ContextFile(rules, "start", rules.read_text())
    text = build_section(ContextRequest(other, loaded=find_loaded_lines([rule])))
    assert READ not in text and PNPM in text
    assert "(2 active)" in lessons.out("load"), "an agent that asks need not be one that loads the rules"


def test_a_worktree_has_the_lines_of_its_main_project(tmp_path: Path) -> None:
    root = tmp_path / "app"
    root.mkdir()
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", "x")
    git(root, "worktree", "add", "-q", str(tmp_path / "feature"))
    (root / "LEARNED.md").write_text("- Use pnpm, never npm\n")
    assert read_loaded_lines(str(tmp_path / "feature")) == ["Use pnpm, never npm"]


def test_files_that_cannot_be_read_count_as_missing(tmp_path: Path) -> None:
    """Bad input: a FIFO does not block, a directory and odd bytes do no harm."""
    root = project(tmp_path / "app")
    os.mkfifo(root / "LEARNED.md")
    (root / "AGENTS.md").write_bytes(b"- \xff\xfe\n- Use tabs\n")
    assert "Use tabs" in read_loaded_lines(str(root))
    (root / "AGENTS.md").unlink()
    (root / "AGENTS.md").mkdir()
    assert read_loaded_lines(str(root)) == []
    rows = {"global": [("001", f"- {READ}"), ("002", "- odd")]}
    assert drop_loaded(rows, ["Read the file first"]) == ({"global": [("002", "- odd")]}, 1)
    assert drop_loaded(rows, []) == (rows, 0)
