"""Lessons of two projects of one name through the daemon."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support_daemon import ECHO_FACTS, EXTRACTION, SYNTHESIS, MakeDaemon

pytestmark = pytest.mark.scenario

CORRECTED = ECHO_FACTS | {"reply": r"[1] Corrected: \g<1>"}
"""The stand-in marks each fact as a correction: only from these a lesson is drafted."""


def shown(daemon: Any, id: str) -> dict[str, Any]:
    """The output of `lesson show`."""
    said = daemon.cli("lesson", "show", id, "--json")
    assert said.returncode == 0, said.stderr
    document: dict[str, Any] = json.loads(said.stdout)
    return document


def test_a_projects_lessons_through_the_daemon(make: MakeDaemon) -> None:
    """SPEC E-12, E-30, E-32: scope, context, contradiction and a line deleted by hand, with two folders of one name."""
    squash = "WHEN committing in billing -> DO squash the commits first -> BECAUSE the history stays short"
    steps = "WHEN committing in billing -> DO NOT squash the commits first -> BECAUSE reviews need the steps"
    line = "Squash the commits before committing in billing"
    contrary = "Do not squash the commits before committing in billing, reviews need the steps"
    said = "no, squash the commits first when committing in billing: the history stays short"
    back = "no, keep: do not squash the commits first when committing in billing, reviews need the steps"
    again = f"(?s){SYNTHESIS}.*an L line, said again"
    daemon = make(
        [
            {
                "match": f"(?s){EXTRACTION}.*I said:.*reviews need",
                "reply": f"[1] Corrected: AGAIN: {contrary}",
            },
            {"match": f"(?s){EXTRACTION}.*I said:", "reply": f"[1] Corrected: AGAIN: {line}"},
            CORRECTED,
            {"match": f"(?s){SYNTHESIS}.*reviews need.*said again", "reply": f"LESSON: {steps}\nSCOPE: app"},
            {
                "match": f"(?s){SYNTHESIS}.*reviews need",
                "reply": f"FILE: LEARNED.md\nFACT: {contrary}\nFROM: 1",
            },
            {"match": again, "reply": f"LESSON: {squash}\nSCOPE: app"},
            {"match": SYNTHESIS, "reply": f"FILE: LEARNED.md\nFACT: {line}\nFROM: 1"},
        ]
    )
    daemon.start()
    mine, other = daemon.new_project("a/app"), daemon.new_project("b/app")

    def correct(session: str, words: str, project: Path) -> None:
        """The person corrects the same twice."""
        for name, text in ((session, words), (f"{session}-again", words.replace("no,", "no, I said:"))):
            daemon.type_(name, text, project)
            assert daemon.synthesize(project) == []

    correct("s1", said, mine)
    lesson = shown(daemon, "001")
    assert lesson["scope"] == "app" and "you said: no, I said: squash" in daemon.cli("why", "001").stdout
    assert f"- {line}" in (mine / "LEARNED.md").read_text()
    context = daemon.cli("context", str(mine)).stdout
    assert line not in context and squash not in context, (
        "the client loads the line, so the lesson is not given"
    )
    assert squash not in daemon.cli("context", str(other)).stdout
    assert "001  app" in daemon.cli("lesson", "list").stdout

    correct("s2", back, mine)
    assert shown(daemon, "001")["status"] == "active"
    assert steps not in daemon.cli("context", str(mine)).stdout, "its line is loaded"
    asked = json.loads(daemon.cli("review", str(mine), "--json").stdout)
    assert {one["id"]: one["review"] for one in asked}[
        "001"
    ] == f"lesson 002 ({shown(daemon, '002')['scope']}) says the opposite: {steps}"

    other_line = other / "LEARNED.md"
    correct("s3", said, other)
    assert shown(daemon, "003")["status"] == "active" and shown(daemon, "003")["scope"] == "app"
    other_line.write_text(other_line.read_text().replace(f"- {line}\n", "- mine\n"))
    daemon.sync()
    daemon.wait_until(lambda _: shown(daemon, "003")["status"] == "deleted", "the lesson of a deleted line")
    assert shown(daemon, "003")["reason"] == "its line was deleted by hand"
    assert shown(daemon, "002")["status"] == "active"

    copy = mine / ".claude" / "rules" / "tacitd-learned.md"
    copy.write_text(copy.read_text().replace(f"- {contrary}\n", ""))
    daemon.sync()
    daemon.wait_until(
        lambda _: shown(daemon, "002")["status"] == "deleted", "the line was deleted in its copy"
    )
