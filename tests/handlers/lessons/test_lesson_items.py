"""Lessons as items that a person can forget, and their log as changes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tacitd.errors import TacitdError, UsageError
from tacitd.handler import Decided, Decision, Handler, Tools
from tacitd.testing import FakeClock
from tacitd_handlers.lessons.lesson_items import decide_lesson, list_changes, list_items
from tacitd_handlers.lessons.lesson_operations import KnownLesson, add_lesson
from tacitd_handlers.lessons.lesson_origins import LessonOrigins, Provenance
from tacitd_handlers.lessons.pattern import parse_pattern
from tacitd_handlers.lessons.store import LessonStore

ONE, TWO = ("WHEN one -> DO it -> BECAUSE it helps", "WHEN two -> DO it -> BECAUSE it helps")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LessonStore:
    """A drafted lesson with its words, and one that the person stated."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "TACITD_STATE_DIR"):
        monkeypatch.delenv(name, raising=False)
    made = LessonStore.from_environ({"HOME": str(tmp_path)}, FakeClock())
    add_lesson(made, parse_pattern(ONE), "global", "ai")
    LessonOrigins(made.state_dir).add(
        "001", Provenance("s1", FakeClock().now(), "/home/me/app", ("u1",), ("no, do it",))
    )
    add_lesson(made, parse_pattern(TWO), "global", "user")
    return made


def decide(choice: Any, id: str, text: str = "") -> Decided:
    tools = cast("Tools", SimpleNamespace(clock=FakeClock()))
    return decide_lesson(cast("Handler", None), tools, Decision(id, choice, None, text))


def items(tmp_path: Path) -> dict[str, tuple[str, bool]]:
    return {one.id: (one.state, one.by_person) for one in list_items({"HOME": str(tmp_path)}, None)}


def test_a_forgotten_lesson_is_marked_wrong_and_restored(store: LessonStore, tmp_path: Path) -> None:
    """It is not drafted again meanwhile; its words are named for a purge; a firm lesson asks first."""
    assert items(tmp_path) == {"001": ("stored", False), "002": ("stored", True)}
    assert decide("drop", "001").texts == ("no, do it",)
    assert items(tmp_path)["001"] == ("forgotten", False)
    assert isinstance(add_lesson(store, parse_pattern(ONE), "global", "ai"), KnownLesson)
    assert "active again" in decide("restore", "001").what
    assert items(tmp_path)["001"] == ("stored", False) and "stays" in decide("keep", "001").what
    with pytest.raises(UsageError, match="not marked wrong"):
        decide("restore", "001")
    with pytest.raises(TacitdError, match="no lesson 009"):
        decide("drop", "009")


def test_the_log_is_a_list_of_changes(store: LessonStore, tmp_path: Path) -> None:
    """Added, edited, removed and restored, with the origin of a draft; foreign records are not changes."""
    decide("edit", "002", "WHEN two -> DO NOT it -> BECAUSE it harms")
    decide("drop", "001")
    decide("restore", "001")
    store.log.append({"id": "x", "when": "no lesson"})
    made = list(list_changes({"HOME": str(tmp_path)}))
    edited = "WHEN two -> DO NOT it -> BECAUSE it harms"
    found = [
        (one["lines"][0]["added"].replace(" [firm]", ""), one["lines"][0]["removed"].replace(" [firm]", ""))
        for one in made
    ]
    assert found == [(ONE, ""), (TWO, ""), (edited, TWO), ("", ONE), (ONE, "")]
    assert (made[0]["root"], made[0]["sessions"], made[0]["facts"]) == ("/home/me/app", ["s1"], ["no, do it"])
    assert made[1]["root"] == "" and len({one["id"] for one in made}) == 5
