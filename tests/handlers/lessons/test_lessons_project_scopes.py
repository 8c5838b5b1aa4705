"""A project's lessons belong to the project, and never to each folder of its name (SPEC E-30)."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_lessons_handler import Said

from support_lessons import Lessons
from tacitd.events import Project, SessionStarted
from tacitd.session_context.context_request import ContextRequest
from tacitd.testing import START
from tacitd_handlers.lessons import draft_extension
from tacitd_handlers.lessons.context import build_section
from tacitd_handlers.lessons.handler import LessonsHandler
from tacitd_handlers.lessons.lesson_fold import FoldedLessons
from tacitd_handlers.lessons.project_scopes import KnownProject, ProjectRegistry, list_ambiguous, name_scopes
from tacitd_handlers.lessons.render import format_status_lines
from tacitd_handlers.shared.project_identity import identify_project

TESTING = "WHEN testing -> DO use pytest -> BECAUSE the house does"
DEPLOYING = "WHEN deploying -> DO NOT skip the checklist -> BECAUSE it broke twice"


def project(root: Path, url: str = "") -> Path:
    (root / ".git").mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git/config").write_text(f'[remote "origin"]\n\turl = {url}\n' if url else "[core]\n")
    return root


def draft(
    lessons: Lessons, root: Path, text: str, *, scope: str = "app", session: str = "s1"
) -> tuple[str, ...]:
    """A synthesis in this project drafts a lesson."""
    told = {"found": [{"drafts": [[text, scope, []]]}], "corrected": ["a correction"], "words": ["no"]}
    return draft_extension.store_finding(lessons.store, told, session, START, str(root))


def test_a_draft_belongs_to_the_project_that_it_came_from(
    lessons: Lessons, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another folder of the same name gets nothing, in the context, in the prompt or from `lesson load`."""
    mine = project(lessons.home / "a/app", "git@github.com:me/app.git")
    other = project(lessons.home / "b/app", "git@github.com:you/app.git")
    copy = project(lessons.home / "c/copy", "https://t:oken@github.com/me/app")
    assert draft(lessons, mine, TESTING) == ("001",)
    assert TESTING in build_section(ContextRequest(mine, 9000)) and TESTING in build_section(
        ContextRequest(copy, 9000)
    )
    assert build_section(ContextRequest(other, 9000)) == ""
    assert f"001 (app) {TESTING}" in draft_extension.render_addition(str(mine))
    assert TESTING not in draft_extension.render_addition(str(other))
    for place, count in ((mine, 1), (other, 0), (copy, 1), (lessons.home, 1)):
        monkeypatch.chdir(place)
        assert lessons.out("load", "--scope=app").startswith(f"## Lessons ({count} active)"), place


def test_the_scope_is_shown_by_its_name_until_names_collide(
    lessons: Lessons, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = project(lessons.home / "a/app", "git@github.com:me/app.git")
    other = project(lessons.home / "b/app", "git@github.com:you/app.git")
    draft(lessons, mine, TESTING)
    assert "001  app    ai" in lessons.out("list") and "scope: app\n" in lessons.out("show", "1")
    assert "001  app" in lessons.out("list", "--scope=app")
    draft(lessons, other, DEPLOYING, session="s2")
    shown = lessons.out("list")
    for root in (mine, other):
        assert f"  {identify_project(root).scopes[0]}  ai" in shown
    assert lessons.json("list")["lessons"][0]["scope"] == identify_project(mine).scopes[0]
    assert lessons.run("list", "--scope=app").err == "no lessons\n"
    monkeypatch.chdir(lessons.home)
    assert "(0 active)" in lessons.out("load", "--scope=app"), "the name does not say which of the two"
    assert "(1 active)" in lessons.out("load", f"--scope={identify_project(other).scopes[0]}")


def test_an_agents_lesson_for_its_project_belongs_to_it(
    lessons: Lessons, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`lesson add -s app` in the repository app; elsewhere it is the name of a tool."""
    mine = project(lessons.home / "a/app", "git@github.com:me/app.git")
    monkeypatch.chdir(mine)
    lessons.out("add", "-s", "app", TESTING)
    lessons.out("add", "-s", "tmux", DEPLOYING)
    assert [one["scope"] for one in lessons.records()] == [identify_project(mine).scopes[0], "tmux"]
    monkeypatch.chdir(lessons.home)
    lessons.out("add", "-s", "app", DEPLOYING)
    assert lessons.json("show", "3")["scope"] == "app"


def test_a_lesson_with_a_plain_name_goes_to_the_only_project_that_fits(
    lessons: Lessons, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lessons of older versions stay readable; of several projects of the name none gets it, and `status` asks."""
    lessons.out("add", "-s", "app", TESTING)
    mine = project(lessons.home / "a/app", "git@github.com:me/app.git")
    assert f"### app\n- {TESTING}" in build_section(ContextRequest(mine, 9000))
    assert LessonsHandler().status()["ambiguous"] == []
    other = project(lessons.home / "b/app", "git@github.com:you/app.git")
    tools = Said().tools()
    handler = LessonsHandler()
    handler.handle(SessionStarted("s2", lessons.home / "s2.jsonl", Project(other, True), START), tools)
    for root in (mine, other):
        assert build_section(
            ContextRequest(root, 9000)
        ) == "" and TESTING not in draft_extension.render_addition(str(root))
        monkeypatch.chdir(root)
        assert "(0 active)" in lessons.out("load", "--scope=app")
    assert TESTING in lessons.out("list", "--scope=app")
    assert handler.status()["ambiguous"] == ["001"]
    assert any("lesson 001: several projects" in line for line in format_status_lines(handler.status()))
    monkeypatch.chdir(mine)
    lessons.out("wrong", "1")
    lessons.out("add", "--firm", "--scope", "app", TESTING)
    assert (
        TESTING in build_section(ContextRequest(mine, 9000))
        and build_section(ContextRequest(other, 9000)) == ""
    )
    assert handler.status()["ambiguous"] == []


def test_the_origin_decides_between_projects_of_one_name(lessons: Lessons) -> None:
    """A lesson that an older version drafted has the plain name, and its project in its origin."""
    mine = project(lessons.home / "a/app", "git@github.com:me/app.git")
    other = project(lessons.home / "b/app", "git@github.com:you/app.git")
    for root in (mine, other):
        build_section(ContextRequest(root, 9000))
    draft(lessons, mine, TESTING)
    text = lessons.log.read_text().replace(identify_project(mine).scopes[0], "app")
    lessons.log.write_text(text)
    assert lessons.records()[0]["scope"] == "app"
    assert (
        TESTING in build_section(ContextRequest(mine, 9000))
        and build_section(ContextRequest(other, 9000)) == ""
    )
    assert LessonsHandler().status()["ambiguous"] == []


def test_the_log_of_projects_tolerates_foreign_records(tmp_path: Path) -> None:
    registry = ProjectRegistry(tmp_path)
    root = project(tmp_path / "app")
    for _ in range(2):
        registry.add_if_new(identify_project(root))
    file = tmp_path / "projects.jsonl"
    assert file.read_text().count("\n") == 1
    file.write_text(
        '{"scope":1}\n[]\nnonsense\n' + file.read_text() + '{"scope":"x","names":"y","root":"z"}\n'
    )
    assert [one.names for one in registry.read_all()] == [("app",)]


def test_names_that_collide_are_shown_whole() -> None:
    one, other = "app-11111111", "app-22222222"
    assert name_scopes(["global", "tmux", one]) == {"global": "global", "tmux": "tmux", one: "app"}
    assert name_scopes([one, other]) == {one: one, other: other}
    assert name_scopes([one, "app"]) == {one: one, "app": "app"}
    assert name_scopes([one], [KnownProject(other, ("app",), "/b")]) == {one: one}
    assert list_ambiguous(FoldedLessons(), [], ()) == []
