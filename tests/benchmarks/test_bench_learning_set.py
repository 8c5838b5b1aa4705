"""The labelled set itself: large enough, every message labelled, every label of a message that exists."""

from __future__ import annotations

import re

from label_scores import parse_labels
from labelled_sessions import load_projects
from learning import SET

PROJECTS = load_projects(SET / "sessions")
LABELS = parse_labels((SET / "labels.txt").read_text("utf-8"))
MESSAGES = {
    f"{session.id}.{step.number}": step
    for project in PROJECTS
    for session in project.sessions
    for step in session.messages
}


def test_the_set_is_large_enough() -> None:
    """At least 120 messages in 15 sessions of several projects."""
    assert len(MESSAGES) >= 120
    assert sum(len(project.sessions) for project in PROJECTS) >= 15 and len(PROJECTS) >= 8


def test_every_message_has_a_label() -> None:
    """A message without one would count neither way."""
    assert set(MESSAGES) == {one.id for one in LABELS}
    assert {one.other for one in LABELS} - {""} <= set(MESSAGES)


def test_every_kind_of_message_is_there() -> None:
    """Durable statements, one-offs, questions, repetitions, contradictions, exceptions, profile values, known facts."""
    counts = {kind: sum(one.kind == kind for one in LABELS) for kind in {one.kind for one in LABELS}}
    assert counts["durable"] >= 50 and counts["one-off"] >= 30 and counts["nothing"] >= 25
    assert counts["again"] >= 8 and counts["supersedes"] >= 2 and counts["keeps"] >= 2
    assert counts["profile"] >= 3 and counts["known"] >= 1
    kinds = {step.kind for step in MESSAGES.values()}
    assert kinds == {"typed", "command"} and any("<pasted_content" in step.text for step in MESSAGES.values())


def test_there_are_four_languages() -> None:
    """English, German, Spanish and Japanese."""
    text = "\n".join(step.text for step in MESSAGES.values())
    found = [re.search(word, text) for word in (r"\bplease\b", r"\bbitte\b", r"\bporfa\b", "ください")]
    assert all(found)


def test_folders_of_labels_exist() -> None:
    """A module's line needs its folder; a folder above it counts too. The person's own file is in no project."""
    for label in LABELS:
        project = next(one for one in PROJECTS if one.sessions[0].id.rpartition("-")[0] == label.project)
        for file in (one for one in label.files if not one.startswith("~/")):
            folder = file.rpartition("/")[0]
            assert not folder or any(f"{one}/".startswith(f"{folder}/") for one in project.folders), label
