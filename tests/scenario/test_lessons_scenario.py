"""A correction becomes a lesson with its origin, and a lesson that a person marked wrong does not come back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support_daemon import ECHO_FACTS, SYNTHESIS, MakeDaemon

pytestmark = pytest.mark.scenario

WORDS = "no, read tmux.conf first before you edit it: you were layering on wrong assumptions"
PATTERN = "WHEN editing tmux.conf -> DO read it first -> BECAUSE was layering on wrong assumptions"
CORRECTED = ECHO_FACTS | {"reply": r"[1] Corrected: \g<1>"}
"""The stand-in marks each fact as a correction: only from these a lesson is drafted."""
DRAFTS = (CORRECTED, {"match": SYNTHESIS, "reply": f"LESSON: {PATTERN}\nSCOPE: tmux"})


def shown(daemon: Any, id: str) -> dict[str, Any]:
    """The output of `lesson show`."""
    said = daemon.cli("lesson", "show", id, "--json")
    assert said.returncode == 0, said.stderr
    document: dict[str, Any] = json.loads(said.stdout)
    return document


def loaded(daemon: Any) -> str:
    """The lessons that an agent loads."""
    return str(daemon.cli("lesson", "load", "--scope=tmux").stdout)


def test_a_correction_becomes_a_lesson_and_a_wrong_one_stays_away(make: MakeDaemon) -> None:
    """SPEC E-30, E-32: `show` names the session and the person's words; after a person marked the lesson wrong, a
    second session with the same correction does not restore it."""
    daemon = make(DRAFTS)
    daemon.start()
    daemon.type_("s1", WORDS)
    assert daemon.synthesize() == []
    lesson = shown(daemon, "001")
    assert (lesson["pattern"], lesson["scope"], lesson["from"]) == (PATTERN, "tmux", "ai")
    assert lesson["origin"]["session"] == "s1" and WORDS in lesson["origin"]["words"]
    assert 'session: "s1"' in daemon.cli("lesson", "show", "001").stdout
    assert PATTERN in loaded(daemon)
    for asked in ("read it first", "1"):
        said = daemon.cli("why", asked).stdout
        assert (
            "lesson 001 (tmux, active)" in said and "from session s1" in said and f"you said: {WORDS}" in said
        )

    assert daemon.cli("lesson", "wrong", "001", "--reason", "too specific").stdout == "Deleted lesson 001\n"
    daemon.type_("s2", WORDS + ", as I said")
    assert daemon.synthesize() == []
    assert loaded(daemon) == "## Lessons (0 active)\n"
    assert shown(daemon, "001")["status"] == "deleted"
    assert json.loads(daemon.cli("lesson", "list", "--all", "--json").stdout)["lessons"][1:] == []


def test_a_correction_that_had_to_be_repeated_is_counted(make: MakeDaemon) -> None:
    """Evidence: a second session with the same correction counts against the lesson; before, it was unknown."""
    daemon = make(DRAFTS)
    daemon.start()
    daemon.type_("s1", WORDS)
    daemon.synthesize()
    (first,) = json.loads(daemon.cli("lesson", "stats", "--json").stdout)["lessons"]
    assert first["corrected_again"] is None
    daemon.type_("s2", WORDS + ", as I said")
    daemon.synthesize()
    (second,) = json.loads(daemon.cli("lesson", "stats", "--json").stdout)["lessons"]
    assert (second["corrected_again"], second["sessions_looked_at"]) == (1, 1)
