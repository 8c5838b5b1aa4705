"""A lesson that contradicts another one: nothing hides it, `add` warns, and `review` asks (SPEC E-12)."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_lessons_project_lessons import project

from support_lessons import Lessons

OLD = "WHEN committing -> DO squash first -> BECAUSE the history stays short"
TURNED = "WHEN Committing -> DO NOT squash first -> BECAUSE reviews need the steps"


def questions(lessons: Lessons) -> dict[str, str]:
    """What `review` asks, by id."""
    return {id: one.review for id, one in lessons.items().items() if one.review}


@pytest.fixture
def root(lessons: Lessons) -> Path:
    """A project with lesson 001, drafted there."""
    made = project(lessons.home / "app")
    assert lessons.draft(OLD, made, scope="app") == ["001"]
    return made


def test_both_are_loaded_and_asked_about(lessons: Lessons, root: Path) -> None:
    """A later correction in other words: the statuses stay the seed's three, and the person decides."""
    for _ in range(2):
        lessons.draft(TURNED, root, scope="app", session="s2")
    text = lessons.start(root)
    assert OLD in text and TURNED in text
    assert [one["status"] for one in lessons.records()] == ["active", "active"]
    asked = questions(lessons)
    assert set(asked) == {"001", "002"} and asked["001"].endswith(f"says the opposite: {TURNED}")
    lessons.bench.decide("001", "drop")
    assert questions(lessons) == {} and OLD not in lessons.start(root)


def test_a_persons_lesson_is_not_asked_about(lessons: Lessons) -> None:
    """Who states both has an exception in mind; of an agent's and a person's only the agent's is asked about."""
    lessons.out("add", "--firm", OLD)
    lessons.out("add", "-s", "tmux", TURNED)
    assert set(questions(lessons)) == {"002"}
    lessons.out("wrong", "2")
    lessons.out("add", "--firm", "-s", "tmux", TURNED)
    assert questions(lessons) == {}


def test_a_lesson_is_printed_once_with_the_line_of_the_same_words(lessons: Lessons) -> None:
    """SPEC E-30: a draft knows its line; where the client loads that, the session text leaves the draft out."""
    made = project(lessons.home / "app")
    told = {
        "found": [{"drafts": [[OLD, "app"]]}], "corrected": ["x"], "words": ["no"],
        "lines": ["When committing, squash first"],
    }  # fmt: skip
    lessons.tell(told, made)
    loaded = frozenset({"When committing, squash first"})
    assert OLD in lessons.start(made)
    assert lessons.start(made, loaded=loaded) == ""
    lessons.out("add", "--firm", "-s", "global", OLD)
    assert OLD in lessons.start(made, loaded=loaded)
