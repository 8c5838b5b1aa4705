"""Lines of two months ago in a file with too many of them: archive, undo and return in a real daemon (SPEC S-54)."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from support_daemon import EXTRACTION, SYNTHESIS, Daemon, MakeDaemon

pytestmark = pytest.mark.scenario

DAY = 86_400.0
GUARD, TWICE, NEW = "Never drop tables in production", "Use uv for installs", "Use ruff for style"
OLD = [f"Use tool{number}x for job{number}y" for number in range(10)]
# The kernel's clock cannot be set by a test, so each process of the earlier daemon gets one that is so many seconds behind.
EARLIER = """
import sys, time, time_machine
behind, *program = sys.argv[1:]
time_machine.travel(time.time() - float(behind), tick=True).start()
sys.argv = ["tacitd", *program[3:]]
from tacitd.cli.program import main
main()
"""
RULES = [
    {
        "match": rf"(?s){EXTRACTION}.*learn all",
        "reply": "\n".join(f"[1] {one}" for one in (GUARD, TWICE, *OLD)),
    },
    {"match": rf"(?s){EXTRACTION}.*uv once more", "reply": f"[1] AGAIN: {TWICE}"},
    {
        "match": rf"(?s){EXTRACTION}.*What the person wrote:\n```\n(Use [^\n]*)",
        "expand": True,
        "reply": r"[1] \g<1>",
    },
    {
        "match": SYNTHESIS,
        "each": r"^\d+\. ([^\n]+)$",
        "reply": "FILE: LEARNED.md\nSECTION: Coding\nFACT: \\g<1>\n",
    },
]


def learned(daemon: Daemon, *options: str) -> list[dict[str, Any]]:
    """`tacitd learned --json` for the project."""
    said = daemon.cli("learned", str(daemon.project), "--json", *options)
    rows: list[dict[str, Any]] = json.loads(said.stdout)
    return rows


def learn(daemon: Daemon, session: str, words: str) -> None:
    """Type something in a session, and have lines made."""
    daemon.type_(session, words)
    assert daemon.synthesize() == []


def test_lines_of_two_months_ago_are_archived_and_come_back(make: MakeDaemon) -> None:
    """One named transaction takes the least confirmed ones; said again, a line returns; `undo` brings the others back."""
    daemon = make(RULES, LEARNING__MAX_LINES="10")
    daemon.before = [sys.executable, "-c", EARLIER, str(60 * DAY)]
    daemon.start()
    learn(daemon, "s1", "learn all: " + ". ".join([GUARD, TWICE, *OLD]))
    learn(daemon, "s2", "uv once more, Use uv for installs")
    assert len(daemon.learned) == 12 and learned(daemon, "--archived") == [], "they are new"
    daemon.stop()
    daemon.before = []
    daemon.start()
    person = "- mine, and I keep it\n"
    file = daemon.project / "LEARNED.md"
    file.write_text(file.read_text() + person)

    learn(daemon, "s3", NEW)
    assert "LEARNED.md has 12 learned lines; it may have 10." in daemon.claude.prompts()[-1]
    gone = [row["line"] for row in learned(daemon, "--archived")]
    assert len({row["id"] for row in learned(daemon, "--archived")}) == len(gone)
    assert len(gone) == 3 and set(gone) < set(OLD)
    listed = daemon.cli("learned", str(daemon.project), "--archived").stdout
    assert gone[0] in listed and "LEARNED.md" in listed and "Z  " not in listed, "times are local"
    assert (
        {GUARD, TWICE, NEW} < set(daemon.learned) and len(daemon.learned) == 11 and person in file.read_text()
    )
    rows = json.loads(daemon.cli("history", "--json", cwd=daemon.project).stdout)
    (archive,) = [row for row in rows if row["what"] == "archive"]
    assert sorted(line["removed"] for line in archive["lines"]) == sorted(gone)
    assert "archive" in daemon.cli("history", cwd=daemon.project).stdout

    learn(daemon, "s4", gone[0])
    assert gone[0] in daemon.learned
    (row,) = [row for row in learned(daemon) if row["line"] == gone[0]]
    assert row["seenCount"] == 2
    there = [row["line"] for row in learned(daemon, "--archived")]
    (other,) = set(there) - set(gone)
    assert gone[0] not in there, "another one made room for it"

    undone = daemon.cli("undo", archive["id"], cwd=daemon.project)
    assert undone.returncode == 0, undone.stderr
    assert set(gone) < set(daemon.learned)
    assert [row["line"] for row in learned(daemon, "--archived")] == [other]
    assert len(daemon.learned) == len(set(daemon.learned)) and person in file.read_text()
    daemon.restart()
    assert daemon.synthesize() == [] and set(gone) < set(daemon.learned), "nothing takes them again"
