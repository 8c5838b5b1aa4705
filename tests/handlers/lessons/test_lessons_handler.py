"""The slice: what the daemon does for lessons, its status, and the session-start context."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from support_lessons import Lessons
from tacitd.events import Due
from tacitd.handler import Degradation, Done, Tools
from tacitd.testing import FakeClock
from tacitd_handlers.lessons import hits, places
from tacitd_handlers.lessons import slice as lessons_slice
from tacitd_handlers.lessons.context import LINES, scope_of, section
from tacitd_handlers.lessons.handler import DAMAGED, TIDY
from tacitd_handlers.lessons.handler import Lessons as Handler
from tacitd_handlers.lessons.settings import LessonsSettings


class Said:
    """The tools that this handler uses, and what it degraded."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.wrong: dict[str, Degradation] = {}

    def tools(self) -> Tools:
        def degrade(what: Degradation) -> None:
            self.wrong[what.id] = what

        def clear(id: str) -> None:
            self.wrong.pop(id, None)

        return cast(Tools, SimpleNamespace(clock=self.clock, degrade=degrade, clear=clear))


def test_the_slice_needs_no_model() -> None:
    """DESIGN: a slice is a folder; this one never pays."""
    made = lessons_slice()
    assert (made.name, made.pays, made.settings) == ("lessons", False, {"lessons": LessonsSettings})
    assert isinstance(made.make(), Handler) and [job.name for job in made.jobs] == [TIDY]


def test_status_counts_lessons_without_reading_the_log(lessons: Lessons) -> None:
    """Slice of status: from the index; a stale one is said to be stale."""
    handler = Handler()
    assert handler.status()["index"] == "none"
    lessons.given("history")
    assert handler.status()["index"] == "stale"
    handler.handle(Due(TIDY), Said().tools())
    assert handler.status() == {
        "index": "fresh", "active": 1, "ai": 0, "user": 1, "deleted": 1, "promoted": 0,
        "says": ["1 in force, 1 of them stated by people"],
    }  # fmt: skip


def test_tidying_makes_the_index_folds_the_counts_and_says_what_is_damaged(
    lessons: Lessons, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job `tidy`: harmless as often as it runs."""
    monkeypatch.setattr(hits, "COMPACT_AT", 100)
    lessons.given("load")
    for _ in range(5):
        lessons.out("load")
    with lessons.log.open("a") as log:
        log.write("nonsense\n")
    said, handler = Said(), Handler()
    for _ in range(2):
        assert handler.handle(Due(TIDY), said.tools()) == Done()
    assert "1 lines" in said.wrong[DAMAGED].what
    assert (lessons.store.beside / places.HITS).read_text().count("\n") == 1
    assert lessons.json("stats")["lessons"][0]["loaded"] == 5
    lessons.log.write_text(lessons.log.read_text().replace("nonsense\n", ""))
    handler.handle(Due(TIDY), said.tools())
    assert said.wrong == {}


def test_a_directory_in_the_way_degrades(lessons: Lessons) -> None:
    """A source that is degraded is said, and stops nothing."""
    (lessons.home / ".claude").mkdir()
    lessons.directory.write_text("in the way")
    said = Said()
    assert Handler().handle(Due(TIDY), said.tools()) == Done()
    assert str(lessons.directory) in said.wrong[DAMAGED].what


def project(home: Path, name: str) -> Path:
    root = home / name
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / "src").mkdir()
    return root


def test_a_session_is_told_global_lessons_and_its_projects(lessons: Lessons) -> None:
    """The session-start context: at most 15 lines, from any folder of the project, and it counts as loaded."""
    root = project(lessons.home, "My App")
    assert section(root, 9000) == ""
    lessons.given("load")
    lessons.out("add", "-s", "my-app", "WHEN testing -> DO use pytest -> BECAUSE the house does")
    text = section(root / "src", 9000)
    assert text.startswith("## Lessons (2 active)\n\n### Global\n") and "### my-app\n- WHEN testing" in text
    assert lessons.json("stats")["lessons"][0]["loaded"] == 1
    for n in range(40):
        lessons.out("add", f"WHEN case {n} -> DO b -> BECAUSE c")
    told = section(root / "src" / "gone", 9000)
    assert len(told.splitlines()) == LINES and "[firm]" in told and "my-app" in told and "left out" in told
    assert len(section(root, 300)) <= 300 and section(root, 20) == ""


@pytest.mark.parametrize(
    "name, scope", [("app", "app"), ("My App!", "my-app"), ("Größe", "größe"), ("...", ""), ("a", "a")]
)
def test_the_scope_of_a_project_is_its_folders_name(tmp_path: Path, name: str, scope: str) -> None:
    """`context` and drafts: one word, whatever the folder is called."""
    (tmp_path / name).mkdir()
    assert scope_of(tmp_path / name) == scope


def test_every_setting_is_described() -> None:
    """The configuration reference is generated from the descriptions."""
    fields: dict[str, Any] = dict(LessonsSettings.model_fields)
    assert all(field.description for field in fields.values())
