"""What is said a second time: in the same words, in other words, from another folder, after a hand deletion, too often."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support_daemon import EXTRACTION, SYNTHESIS, Daemon, MakeDaemon, append, bullets, line, tool_record

pytestmark = pytest.mark.scenario

WORDS = "no, use pnpm for installs, never npm"
LINE = "Use pnpm for installs, never npm"
RULES = [
    {"match": rf"(?s){EXTRACTION}.*[0-9][.] {LINE}.*What the person wrote", "reply": f"[1] AGAIN: {LINE}"},
    {"match": rf"(?s){EXTRACTION}.*pnpm", "reply": f"[1] Corrected: {LINE}"},
    {"match": SYNTHESIS, "reply": f"FILE: LEARNED.md\nSECTION: Coding\nFACT: {LINE}\nFROM: 1"},
]
"""The stand-in recognises the line if the known facts have it, and otherwise takes the words for a correction."""


def learned(daemon: Daemon, *options: str) -> list[dict[str, Any]]:
    """`tacitd learned --json` for the project."""
    rows: list[dict[str, Any]] = json.loads(
        daemon.cli("learned", str(daemon.project), "--json", *options).stdout
    )
    return rows


def say(daemon: Daemon, session: str, words: str, folder: Path | None = None) -> str:
    """A session in which this is said; it edits a file of the folder. Returns the prompt of stage 1."""
    daemon.type_(session, words)
    if folder is not None:
        record = tool_record(session, folder / "a.ts", str(daemon.project))
        append(daemon.transcript(session), line(record))
    assert daemon.synthesize() == []
    return daemon.extractions()[-1]


def reviewed(daemon: Daemon) -> list[dict[str, Any]]:
    """`tacitd review --json` in the project."""
    rows: list[dict[str, Any]] = json.loads(daemon.cli("review", "--json", cwd=daemon.project).stdout)
    return rows


def test_what_is_said_again_counts_and_a_deleted_line_stays_away(make: MakeDaemon) -> None:
    """SPEC S-28, S-36, S-54: the files, `learned`, `why`, `review`, `status` and the next prompt's known facts, each time."""
    daemon = make(RULES)
    daemon.start()
    (daemon.project / "web").mkdir()
    first = say(daemon, "s1", WORDS)
    assert LINE not in first.partition("Message 1")[0]
    file = daemon.project / "LEARNED.md"
    written = file.read_bytes()
    assert bullets(file) == [LINE]
    times = [
        ("s2", WORDS, None),
        ("s3", "installs go through pnpm, as I told you", None),
        ("s4", "here too: pnpm installs everything", daemon.project / "web"),
    ]
    for count, (session, words, folder) in enumerate(times, 2):
        prompt = say(daemon, session, words, folder)
        assert f". {LINE}\n" in prompt.partition("Message 1")[0], (
            "the known facts of this prompt have the line"
        )
        assert file.read_bytes() == written and not (daemon.project / "web/AGENTS.md").exists()
        (row,) = learned(daemon)
        assert (row["line"], row["seenCount"], row["corrections"]) == (LINE, count, 1)
        assert f"said {count} times in {count} sessions" in daemon.cli("learned", str(daemon.project)).stdout
        why = daemon.cli("why", "pnpm for installs", cwd=daemon.project).stdout
        assert WORDS in why and "LEARNED.md" in why
        assert reviewed(daemon) == [], "what is only confirmed needs no decision"
    calls = len([text for text in daemon.claude.prompts() if SYNTHESIS in text])
    assert calls == 1, "a repetition costs no synthesis"

    removed = written.replace(f"- {LINE}\n".encode(), b"")
    file.write_bytes(removed)
    daemon.restart()
    prompt = say(daemon, "s5", WORDS)
    assert LINE not in prompt.partition("Message 1")[0], "a deleted line is not known any more"
    assert file.read_bytes() == removed and learned(daemon) == []
    (item,) = reviewed(daemon)
    assert (item["kind"], item["text"]) == ("withheld line", LINE) and "LEARNED.md" in item["where"]
    assert item["review"] == "you removed it, and said it again since"
    assert daemon.status()["slices"]["learning"]["withheld"] == 1
    why = daemon.cli("why", "pnpm for installs", cwd=daemon.project).stdout
    assert "you removed it, and said it again since" in why and WORDS in why


def test_too_many_lines_and_a_line_of_three_projects(make: MakeDaemon) -> None:
    """SPEC S-27, S-54, S-55: `status` says that there are too many; the offer, and the rules file after it is taken."""
    facts = [
        "Use ruff for style",
        "Never drop tables in production",
        *(f"Use tool{n}x for job{n}y" for n in range(10)),
    ]
    rules = [
        {"match": rf"(?s){EXTRACTION}.*learn all", "reply": "\n".join(f"[1] {fact}" for fact in facts)},
        {"match": EXTRACTION, "reply": "[1] Use ruff for style"},
        {
            "match": SYNTHESIS,
            "each": r"^\d+\. ([^\n]+)$",
            "reply": "FILE: LEARNED.md\nSECTION: Coding\nFACT: \\g<1>\n",
        },
    ]
    daemon = make(rules, LEARNING__MAX_LINES="10")
    daemon.start()
    daemon.type_("s1", "learn all: " + ". ".join(facts))
    assert daemon.synthesize() == []
    assert daemon.learned[:2] == facts[:2] and len(daemon.learned) == 12
    degraded = [one["what"] for one in daemon.status()["degraded"]]
    assert any("LEARNED.md has 12 learned lines, more than 10" in what for what in degraded)
    for number in range(2):
        other = daemon.new_project(f"p{number}")
        daemon.type_(f"t{number}", "Use ruff for style", other)
        assert daemon.synthesize(other) == []
    said = daemon.wait_until(lambda status: status["slices"]["learning"]["offers"] == 1, "an offer")
    assert any("tacitd review" in text for text in said["slices"]["learning"]["says"])
    (offer,) = [one for one in reviewed(daemon) if one["kind"] == "rule offer"]
    taken = daemon.cli("accept", offer["id"])
    assert taken.returncode == 0 and "every session of every project loads it" in taken.stderr
    rules_file = daemon.home / ".claude/rules/tacitd.md"
    daemon.wait_until(
        lambda _: rules_file.exists() and "- Use ruff for style" in rules_file.read_text(), "the rule"
    )
    assert [one for one in reviewed(daemon) if one["kind"] == "rule offer"] == []
