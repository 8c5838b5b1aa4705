"""A project's lessons belong to the project, and never to another folder of its name (SPEC E-13, E-18, E-30)."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from support_lessons import Lessons
from tacitd.handler import load_hook
from tacitd.session_context.context_request import ContextRequest
from tacitd.session_context.plugin_view import explain_text, list_items, make_section
from tacitd_handlers.lessons import lesson_drafts, make_plugin
from tacitd_handlers.lessons.lesson_actions import confirm_lesson
from tacitd_handlers.lessons.lesson_origins import ProjectLessons
from tacitd_handlers.lessons.pattern import SCOPE_LIMIT, normalise_scope

TESTING = "WHEN testing -> DO use pytest -> BECAUSE the house does"
LINE = "When testing, use pytest"
DEPLOYING = "WHEN deploying -> DO NOT skip the checklist -> BECAUSE it broke twice"


def project(root: Path, url: str = "") -> Path:
    (root / ".git").mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git/config").write_text(f'[remote "origin"]\n\turl = {url}\n' if url else "[core]\n")
    return root


def draft(lessons: Lessons, root: Path, text: str, *, scope: str = "app", session: str = "s1") -> list[str]:
    """A synthesis in this project drafts a lesson."""
    told = {
        "found": [{"drafts": [[text, scope]]}],
        "corrected": ["a correction"],
        "words": ["no"],
        "lines": [LINE],
    }
    return lessons.tell(told, root, session)


def test_a_draft_belongs_to_the_project_that_it_came_from(
    lessons: Lessons, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another folder of the same name gets nothing, in the context, in the prompt or from `lesson load`."""
    mine = project(lessons.home / "a/app", "git@github.com:me/app.git")
    other = project(lessons.home / "b/app", "git@github.com:you/app.git")
    copy = project(lessons.home / "c/app", "https://t:oken@github.com/me/app")
    assert draft(lessons, mine, TESTING) == ["001"]
    assert TESTING in lessons.start(mine) and TESTING in lessons.start(copy) and lessons.start(other) == ""
    assert f"001 (app) {TESTING}" in lesson_drafts.render_addition(str(mine))
    assert TESTING not in lesson_drafts.render_addition(str(other))
    for place, count in ((mine, 1), (other, 0), (copy, 1), (lessons.home, 1)):
        monkeypatch.chdir(place)
        assert lessons.out("load", "--scope=app").startswith(f"## Lessons ({count} active)"), place


def test_the_same_lesson_of_two_projects_is_two_lessons(
    lessons: Lessons, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SPEC E-12: what another project of the name has is not loaded here, so it is no duplicate, by command or draft."""
    roots = [project(lessons.home / name / "app") for name in "abc"]
    monkeypatch.chdir(roots[0])
    lessons.out("add", "-s", "app", TESTING)
    assert "already says that" in lessons.run("add", "-s", "app", TESTING).err
    monkeypatch.chdir(roots[1])
    lessons.out("add", "-s", "app", TESTING)
    assert draft(lessons, roots[2], TESTING) == ["003"] and draft(lessons, roots[2], TESTING) == []
    assert draft(lessons, roots[0], TESTING, session="s2") == []
    assert all(lessons.start(root).count(TESTING) == 1 for root in roots) and len(lessons.records()) == 3


def test_without_a_known_root_the_name_decides(lessons: Lessons) -> None:
    """A lesson that was typed outside the projects, or whose origin is lost, holds in each project of the name."""
    roots = [project(lessons.home / "a/app"), project(lessons.home / "b/app")]
    lessons.out("add", "-s", "app", TESTING)
    draft(lessons, roots[0], DEPLOYING)
    assert TESTING in lessons.start(roots[1]) and DEPLOYING not in lessons.start(roots[1])
    with lessons.bench._app.store.write() as tx:
        tx.execute("DELETE FROM lessons_origin")
    assert all(TESTING in lessons.start(root) and DEPLOYING in lessons.start(root) for root in roots)


def test_a_tools_name_is_no_project(lessons: Lessons, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lesson about a tool that came from some project is loaded in a folder of the tool's name too."""
    draft(lessons, project(lessons.home / "app"), TESTING, scope="tmux")
    tmux = project(lessons.home / "tmux")
    monkeypatch.chdir(tmux)
    assert TESTING in lessons.out("load", "--scope=tmux") and TESTING in lessons.start(tmux)


def test_without_a_store_lessons_are_known(lessons: Lessons, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in the log is listed, explained and loaded also before the daemon has run; nothing is made by that."""
    root = project(lessons.home / "app")
    monkeypatch.chdir(lessons.home)
    lessons.out("add", TESTING)
    spec = make_plugin()
    assert [one.id for one in list_items(spec, os.environ, None)] == ["001"]
    assert [one["id"] for one in explain_text(spec, "1", root)] == ["001"]
    assert TESTING in make_section(spec, ContextRequest(root))
    assert len(list(load_hook(spec.prompt_parts["history"])(os.environ))) == 1
    assert {path.name for path in lessons.home.iterdir()} == {".claude", "app"}


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        ("My App!", "my-app"), ("Größe", "größe"), ("...", "project"), ("a  b", "a-b"), ("日本", "日本"),
        ("a@b", "a@b"), ("global", "project"), ("हिन्दी", "हिन्दी"), (unicodedata.normalize("NFD", "über"), "über"), ("a" * 63 + "-b", "a" * 63),
    ],
)  # fmt: skip
def test_a_projects_scope_is_its_folders_name(tmp_path: Path, name: str, scope: str) -> None:
    """What one can type is as it is; otherwise it is one word, in the form in which it is typed."""
    found = ProjectLessons(project(tmp_path / name), {}).name
    assert found == scope and normalise_scope(scope) == scope and len(scope) <= SCOPE_LIMIT


READ = "WHEN editing tmux.conf -> DO read the file first -> BECAUSE was layering on wrong assumptions"
OPEN = "Always open tmux.conf and read it"
RELOAD = "Reload the server when tmux.conf has changed"


def test_other_lessons_stay(lessons: Lessons) -> None:
    """A line about something else, another project's line, and a lesson that a person stated or changed."""
    root = project(lessons.home / "app")
    told = {
        "found": [{"drafts": [[READ, "global"]]}],
        "corrected": ["x"],
        "lines": [OPEN, "Use tabs", RELOAD],
    }
    lessons.tell(told, root)
    lessons.tell(
        {"removed": ["Use tabs", RELOAD, "Do not read the file first when editing tmux.conf"]}, root, "s2"
    )
    lessons.tell({"removed": [OPEN]}, project(lessons.home / "other"), "s2")
    confirm_lesson(lessons.store, "1")
    lessons.out("add", "--firm", READ.replace("tmux.conf", "vimrc"))
    lessons.tell({"removed": [OPEN, "Read the file first when editing vimrc"]}, root, "s2")
    assert [lessons.json("show", id)["status"] for id in ("1", "2")] == ["active", "active"]
