"""Answers with wrong marks through a real daemon: what is learned, what counts, what `status` and `review` show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support_daemon import EXTRACTION, SYNTHESIS, Daemon, MakeDaemon, until
from support_waiting import PATIENCE

pytestmark = pytest.mark.scenario

PNPM, YARN = "Use pnpm for installs, never npm", "Use yarn for installs in the web folder"
BUN = "Use bun for installs, not pnpm"


def extract(words: str, reply: str) -> dict[str, str]:
    """The rule that answers the extraction of these words."""
    return {"match": rf"(?s){EXTRACTION}.*{words}", "reply": reply}


def learned(daemon: Daemon) -> dict[str, tuple[int, int]]:
    """By learned line: how often it was said, and how many of these were corrections."""
    rows = json.loads(daemon.cli("learned", str(daemon.project), "--json").stdout)
    return {row["line"]: (row["seenCount"], row["corrections"]) for row in rows}


def reviewed(daemon: Daemon) -> dict[str, str]:
    """By text: why `tacitd review` shows it."""
    rows = json.loads(daemon.cli("review", "--json", cwd=daemon.project).stdout)
    return {row["text"]: row["review"] for row in rows}


def say(daemon: Daemon, session: str, words: str) -> None:
    """Say it in a session, and make lines of it."""
    daemon.type_(session, words)
    assert daemon.synthesize() == []


def test_wrong_marks(make: MakeDaemon) -> None:
    """Bad input: missing messages, AGAIN of a line that does not stand, and a contradiction."""
    daemon = make(
        [
            extract("short functions", "Keep functions short\n"),
            extract("not npm, message nine", f"[9] Corrected: {PNPM}"),
            extract("installs were slow", f"[9] Corrected: AGAIN: {PNPM}"),
            extract("from now on npm", f"[1] Corrected: AGAIN: {PNPM}"),
            extract(
                "two spaces", "[1] AGAIN: Indent with two spaces\n[1] AGAIN: Deploy with `kubectl apply`"
            ),
            {
                "match": SYNTHESIS,
                "each": r"^\d+\. (?:Corrected: )?([^\n]+)$",
                "reply": "FILE: LEARNED.md\nSECTION: Coding\nFACT: \\g<1>\n",
            },
        ]
    )
    daemon.start()
    say(daemon, "s1", "use pnpm for installs, not npm, message nine")
    assert learned(daemon) == {PNPM: (1, 1)}, "the words tell which message it is"
    assert daemon.cli("lesson", "list").stdout.strip() in ("", "no lessons"), (
        "and no lesson is drafted from it"
    )
    say(daemon, "s2", "installs were slow today")
    say(daemon, "s3", "from now on npm for installs, not pnpm")
    assert learned(daemon) == {PNPM: (1, 1)}
    assert "its words do not say the known line" in daemon.cli("log").stdout
    say(daemon, "s4", "indent with two spaces")
    assert learned(daemon) == {PNPM: (1, 1), "Indent with two spaces": (1, 0)}
    assert "were not typed" in reviewed(daemon)["Deploy with `kubectl apply`"]
    say(daemon, "s5", "keep to short functions")
    assert learned(daemon)["Keep functions short"] == (1, 0)


def replacing(line: str, more: str = "", old: str = PNPM, **fields: Any) -> dict[str, Any]:
    """The rule of a synthesis that replaces the line about pnpm."""
    reply = f"FILE: LEARNED.md\nSECTION: Coding\nFACT: {line}\nFROM: 1\nREPLACES: {old}{more}"
    return {"match": rf"(?s){SYNTHESIS}.*{line.split()[1]} for installs", "reply": reply, **fields}


def first() -> list[dict[str, Any]]:
    """The rules by which the line about pnpm is learned."""
    reply = f"FILE: LEARNED.md\nSECTION: Coding\nFACT: {PNPM}\nFROM: 1"
    return [
        {"match": rf"(?s){EXTRACTION}.*pnpm for installs", "times": 1, "reply": f"[1] {PNPM}"},
        {"match": SYNTHESIS, "times": 1, "reply": reply},
    ]


def test_two_lines_that_replace_one(make: MakeDaemon) -> None:
    """Bad input: the first one takes its place, the second one is written too."""
    two = f"\n\nFILE: LEARNED.md\nFACT: {YARN}\nFROM: 2\nREPLACES: {PNPM}"
    daemon = make([*first(), extract("bun", f"[1] {BUN}\n[1] {YARN}"), replacing(BUN, two)])
    daemon.start()
    say(daemon, "s1", "use pnpm for installs, never npm")
    say(daemon, "s2", "use bun for installs, not pnpm, and yarn for installs in the web folder")
    assert set(daemon.learned) == {BUN, YARN} and set(learned(daemon)) == {BUN, YARN}
    assert reviewed(daemon) == {}


def test_a_person_edits_the_line_while_the_model_answers(make: MakeDaemon, tmp_path: Path) -> None:
    """The number that the answer names is void: the fact is asked about again, their line stays as they wrote it, and `review` offers the
    new one beside it."""
    edited, mine = tmp_path / "edited", f"{PNPM}, except in CI"
    answers = [replacing(BUN, until=str(edited), times=1), replacing(BUN, old=mine)]
    daemon = make([*first(), extract("bun", f"[1] {BUN}"), *answers])
    daemon.start()
    say(daemon, "s1", "use pnpm for installs, never npm")
    file = daemon.project / "LEARNED.md"
    daemon.type_("s2", "use bun for installs, not pnpm")
    daemon.sync()
    daemon.call("due", job="synthesize", project=str(daemon.project))
    until(
        lambda: sum(SYNTHESIS in text for text in daemon.claude.prompts()) == 2,
        PATIENCE,
        lambda: "the second synthesis is asked",
    )
    file.write_text(file.read_text().replace(PNPM, mine))
    edited.touch()
    assert daemon.sync() == []
    assert sorted(daemon.learned) == sorted([mine, BUN])
    assert sum(SYNTHESIS in text for text in daemon.claude.prompts()) == 3
    assert reviewed(daemon) == {BUN: f"it contradicts your line: {mine}"}
