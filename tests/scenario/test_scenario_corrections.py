"""Corrections, numbers, refusals and commands in a real daemon: what is reworded, what stays apart, what is never sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support_daemon import EXTRACTION, SYNTHESIS, Daemon, MakeDaemon

pytestmark = pytest.mark.scenario

PNPM, RULE = "Use pnpm, never npm", "Always use pnpm for installs, never npm"
POSTGRES, REDIS = "Postgres listens on port 5432", "Redis listens on port 6379"
EACH_FACT = {
    "match": SYNTHESIS,
    "each": r"^(\d+)\. (?:Corrected: )?([^\n]+)$",
    "reply": "FILE: LEARNED.md\nSECTION: Coding\nFACT: \\g<2>\nFROM: \\g<1>\n",
}


def said(words: str, reply: str) -> dict[str, str]:
    """The answer of stage 1 to a message that begins with these words."""
    return {"match": rf"(?s){EXTRACTION}.*What the person wrote:\n`+\n{words}", "reply": reply}


def learn(daemon: Daemon, session: str, words: str) -> None:
    """Type something in a session, and have lines made."""
    daemon.type_(session, words)
    assert daemon.synthesize() == []


def list_json(daemon: Daemon, *arguments: str) -> list[dict[str, Any]]:
    """What a command prints as JSON in the project."""
    rows: list[dict[str, Any]] = json.loads(daemon.cli(*arguments, "--json", cwd=daemon.project).stdout)
    return rows


def test_the_second_correction_rewords_a_line_once(make: MakeDaemon) -> None:
    """SPEC S-36: `learned` counts, `why` has the words of both corrections, and `undo` brings the old wording back."""
    again = f"{SYNTHESIS}.*Corrected: {PNPM} \\([-0-9]+, an L line, said again\\)"
    daemon = make(
        [
            said("pnpm again", f"[1] Corrected: AGAIN: {PNPM}"),
            said("pnpm once more", f"[1] Corrected: AGAIN: {RULE}"),
            said("no, use pnpm", f"[1] Corrected: {PNPM}"),
            {
                "match": f"(?s){again}",
                "reply": f"FILE: LEARNED.md\nSECTION: Coding\nFACT: {RULE}\nFROM: 1\nREPLACES: {PNPM}",
            },
            EACH_FACT,
        ]
    )
    daemon.start()
    learn(daemon, "s1", "no, use pnpm, never npm")
    learn(daemon, "s2", "pnpm again: never npm for installs")
    assert daemon.learned == [RULE]
    (row,) = list_json(daemon, "learned")
    assert (row["seenCount"], row["corrections"]) == (2, 2)
    why = daemon.cli("why", "pnpm", cwd=daemon.project).stdout
    assert (
        "you said in Claude Code at" in why
        and "no, use pnpm, never npm" in why
        and "pnpm again: never npm" in why
    )
    calls = len(daemon.claude.calls())
    learn(daemon, "s3", "pnpm once more, never npm for installs")
    assert daemon.learned == [RULE] and len(daemon.claude.calls()) == calls + 1, "later never by itself"
    (rewording,) = [
        one for one in list_json(daemon, "history") if any(each["removed"] == PNPM for each in one["lines"])
    ]
    assert daemon.cli("undo", rewording["id"], cwd=daemon.project).returncode == 0
    assert daemon.learned == [PNPM]


def test_lines_with_other_numbers_stand_beside_each_other(make: MakeDaemon) -> None:
    """SPEC S-26: without REPLACES a line about another port replaces nothing."""
    daemon = make(
        [said("postgres", f"[1] {POSTGRES}"), said("redis", f"[1] {REDIS}"), EACH_FACT],
    )
    daemon.start()
    learn(daemon, "s1", "postgres listens on port 5432")
    learn(daemon, "s2", "redis listens on port 6379")
    assert daemon.learned == [POSTGRES, REDIS]


def test_a_refused_fact_is_kept_in_view_and_accepted(make: MakeDaemon) -> None:
    """SPEC S-24, S-67: with the words that it came from; `status` counts it until the decision."""
    daemon = make([said("pnpm please", "[1] Use pnpm 9.9.9"), EACH_FACT])
    daemon.start()
    for session in ("s1", "s2"):
        learn(daemon, session, "pnpm please")
    assert daemon.learned == []
    (item,) = list_json(daemon, "review")
    assert item["text"] == "Use pnpm 9.9.9" and item["words"] == ["pnpm please"]
    assert item["review"].endswith("(2 times)")
    assert daemon.status()["slices"]["learning"]["refused"]["waits"] == 1
    done = daemon.cli("accept", item["id"], cwd=daemon.project)
    assert done.returncode == 0 and daemon.learned == ["Use pnpm 9.9.9"], done.stderr
    assert list_json(daemon, "review") == []
    assert daemon.status()["slices"]["learning"]["refused"]["waits"] == 0


def test_slash_commands_cost_no_call(make: MakeDaemon) -> None:
    """SPEC S-05: a command without words is no prompt; what is short is sent."""
    daemon = make([EACH_FACT])
    daemon.start()
    daemon.type_("s1", "/compact")
    assert daemon.sync() == [] and daemon.extractions() == []
    assert daemon.status()["slices"]["learning"].get("total", {"asked": 0})["asked"] == 0
    daemon.type_("s2", "no")
    assert daemon.sync() == []
    assert "no" in daemon.put_to_model(), "length never decides"
