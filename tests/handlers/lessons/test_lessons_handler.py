"""The plugin: what the daemon does for lessons, the status, and the session-start text."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from support_lessons import Lessons
from tacitd.events import Due, Message, NoProject
from tacitd.handler import Commit, Degradation, Done, Later, Notice, Tools
from tacitd.session_context.context_request import ContextRequest, FailedCall
from tacitd.testing import FakeClock
from tacitd_handlers.lessons import lesson_drafts, lesson_origins
from tacitd_handlers.lessons import make_plugin as lessons_slice
from tacitd_handlers.lessons.error_match import find_lessons
from tacitd_handlers.lessons.handler import DAMAGED, TIDY, format_status_lines
from tacitd_handlers.lessons.handler import LessonsHandler as Handler
from tacitd_handlers.lessons.lesson_origins import Origin, add_origin, read_origins
from tacitd_handlers.lessons.session_text import LINES, build_section
from tacitd_handlers.lessons.settings import LessonsSettings


class Said:
    """The tools that this handler uses, with the degradations it reported."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.wrong: dict[str, Degradation] = {}

    def tools(self) -> Tools:
        def degrade(what: Degradation) -> None:
            self.wrong[what.id] = what

        def clear(id: str) -> None:
            self.wrong.pop(id, None)

        return cast(Tools, SimpleNamespace(clock=self.clock, degrade=degrade, clear=clear))


def test_a_drafted_lesson_is_said(lessons: Lessons) -> None:
    """One notice for each drafted lesson; a lesson that no longer exists is skipped."""
    lessons.given("list")
    heard: list[Notice] = []
    tools = cast(Tools, SimpleNamespace(clock=FakeClock(), announce=heard.append))
    handler = Handler()
    for added in (["002", "999"], []):
        handler.committed(Commit(0.0, "Told", "", "s", -1, {"added": added}), tools)
    (notice,) = heard
    assert notice.text.startswith("WHEN editing tmux.conf -> DO read first")
    assert (notice.did, notice.where) == ("learned", "lesson 002")


def test_the_slice_needs_no_model() -> None:
    """DESIGN "Plugins": a plugin declares whether it calls the model; this one does not."""
    made = lessons_slice()
    assert (made.name, made.uses_model) == ("lessons", False)
    assert made.load_settings() == {"lessons": LessonsSettings}
    assert isinstance(made.make_handler(), Handler) and [job.name for job in made.jobs] == [TIDY]


def test_status_counts_lessons(lessons: Lessons) -> None:
    """Of each kind, as the log has them."""
    handler = Handler()
    assert handler.status()["active"] == 0
    lessons.given("history")
    assert handler.status() == {
        "active": 1, "ai": 0, "user": 1, "deleted": 1, "promoted": 0,
    }  # fmt: skip
    assert list(format_status_lines(handler.status())) == ["1 active, stated by a person"]


def test_tidying_makes_the_index_and_says_what_is_damaged(lessons: Lessons) -> None:
    """The job `tidy` is idempotent."""
    lessons.given("load")
    with lessons.log.open("a") as log:
        log.write("nonsense\n")
    said, handler = Said(), Handler()
    for _ in range(2):
        assert handler.handle(Due(TIDY), said.tools()) == Done()
    assert "1 line of" in said.wrong[DAMAGED].what
    lessons.log.write_text(lessons.log.read_text().replace("nonsense\n", ""))
    handler.handle(Due(TIDY), said.tools())
    assert said.wrong == {}


def test_a_directory_in_the_way_degrades(lessons: Lessons) -> None:
    """A degradation is reported, and nothing else stops."""
    (lessons.home / ".claude").mkdir()
    lessons.directory.write_text("in the way")
    said = Said()
    assert Handler().handle(Due(TIDY), said.tools()) == Done()
    assert str(lessons.directory) in said.wrong[DAMAGED].what


@pytest.mark.parametrize(
    "event", [Due(TIDY), Message("learning", "1", "s", NoProject("/h", "home"), 0.0, {})]
)
def test_a_full_disk_is_said_with_its_cure(
    lessons: Lessons, monkeypatch: pytest.MonkeyPatch, event: Due | Message
) -> None:
    """Owner and mode are irrelevant here: the hint is the one for the system's error."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(lessons.log))

    monkeypatch.setattr("tacitd_handlers.lessons.handler.store_finding", full)
    monkeypatch.setattr("tacitd_handlers.lessons.lesson_log.LessonLog.read", full)
    said = Said()
    outcome = Handler().handle(event, said.tools())
    found = outcome if isinstance(outcome, Later) else said.wrong[DAMAGED]
    what = found.reason if isinstance(found, Later) else found.what
    assert "free space" in found.hint and str(lessons.log) in what and "No space left" in what
    assert "Errno" not in what


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
    call = FailedCall(root / "src", "s1", "Bash", "pytest failed: 3 errors")
    assert [key for key, _ in find_lessons(call)] == ["002", "001"]
    assert next(iter(find_lessons(call)))[1].startswith("- WHEN pytest fails -> DO read")
    assert list(find_lessons(replace(call, error="no such file"))) == []


def test_lessons_in_the_rules_file_are_not_repeated(lessons: Lessons) -> None:
    """The client loads them by itself, with or without [firm]."""
    root = project(lessons.home, "My App")
    lessons.out("add", "--firm", "WHEN a -> DO b -> BECAUSE c")
    lessons.out("add", "-s", "my-app", "WHEN d -> DO e -> BECAUSE f")
    loaded = frozenset({"WHEN a -> DO b -> BECAUSE c"})
    text = build_section(ContextRequest(root, loaded=loaded))
    assert "WHEN a" not in text and "WHEN d" in text


def test_a_session_is_told_global_lessons_and_its_projects(lessons: Lessons) -> None:
    """The session-start text: at most 15 lines, from any folder of the project."""
    root = project(lessons.home, "My App")
    assert build_section(ContextRequest(root, 9000)) == ""
    lessons.given("load")
    lessons.out("add", "-s", "my-app", "WHEN testing -> DO use pytest -> BECAUSE the house does")
    text = build_section(ContextRequest(root / "src", 9000))
    assert text.startswith("## Lessons (2 active)\n\n### Global\n") and "### my-app\n- WHEN testing" in text
    for n in range(40):
        lessons.out("add", f"WHEN case {n} -> DO b -> BECAUSE c")
    told = build_section(ContextRequest(root / "src" / "gone", 9000))
    assert len(told.splitlines()) == LINES and "[firm]" in told and "my-app" in told and "left out" in told
    assert (
        len(build_section(ContextRequest(root, 300))) <= 300 and build_section(ContextRequest(root, 20)) == ""
    )


@pytest.mark.parametrize(("name", "scope"), [("app", "app"), ("My App!", "my-app")])
def test_a_draft_is_asked_for_in_the_scope_that_is_loaded(lessons: Lessons, name: str, scope: str) -> None:
    """SPEC E-30: lessons for one project are drafted under the scope by which its sessions load them."""
    root = project(lessons.home, name)
    lessons.out("add", "-s", scope, "WHEN testing -> DO use pytest -> BECAUSE the house does")
    asked = lesson_drafts.render_addition(str(root))
    assert f"{scope} where it holds for this project only" in asked
    assert f"001 ({scope}) WHEN testing" in asked


def test_what_an_agent_adds_in_a_session_is_of_that_session(
    lessons: Lessons, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The correction for which a lesson was added gives it its words when it is synthesised later."""
    text = "WHEN editing tmux.conf -> DO read the file first -> BECAUSE was layering on wrong assumptions"
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s-1")
    lessons.out("add", text)
    assert 'origin:\n  session: "s-1"\n' in lessons.out("show", "1")
    store = lessons.store
    for session in ("s-1", "s-2"):
        told = {
            "found": [{"drafts": [[text.replace("the file", "file"), "global"]]}],
            "words": ["no, read it"],
            "corrected": ["Read the file first"],
        }
        assert lesson_drafts.store_finding(store, told, session, store.clock.now(), "/p") == ()
    assert '  words:\n    - "no, read it"\n' in lessons.out("show", "1")


@pytest.mark.parametrize(("corrected", "added"), [(["Read tmux.conf first"], ("001",)), ([], ())])
def test_a_lesson_is_made_of_a_correction_only(
    lessons: Lessons, corrected: list[str], added: tuple[str, ...]
) -> None:
    """SPEC E-30: a draft from facts without a correction is dropped; the facts became lines."""
    text = "WHEN editing tmux.conf -> DO read the file first -> BECAUSE was layering on wrong assumptions"
    told = {
        "found": [{"drafts": [[text, "global"]]}],
        "facts": ["Read tmux.conf first"],
        "corrected": corrected,
    }
    assert lesson_drafts.store_finding(lessons.store, told, "s-1", 0.0, "/p") == added


def test_half_a_secret_is_a_secret(lessons: Lessons) -> None:
    """DESIGN "Model", S-67: a person's words are redacted before they are cut, not after."""
    words = "look " * 58 + "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    add_origin(lessons.store, "1", Origin("s", 0.0, words=(words,)))
    assert "ghp_" not in (lessons.store.notes / lesson_origins.FILE).read_text()


def test_every_setting_is_described() -> None:
    """The configuration reference is generated from the descriptions."""
    fields: dict[str, Any] = dict(LessonsSettings.model_fields)
    assert all(field.description for field in fields.values())


def test_what_is_noted_of_lessons_leaves_no_file_open(lessons: Lessons) -> None:
    """A daemon that runs for months would have no descriptors left."""
    before = len(os.listdir("/dev/fd"))
    add_origin(lessons.store, "001", Origin("s", 1.0, "/p", ("u1",), ("no",)))
    assert len(os.listdir("/dev/fd")) == before
    assert len(read_origins(lessons.store)) == 1
