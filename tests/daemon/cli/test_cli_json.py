"""What each command with `--json` prints: a golden file for each, so that a change of it shows in a review.

`TACITD_GOLDEN=write pytest -n 0 tests/daemon/cli/test_cli_json.py` renews them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from support_golden import GOLDEN, assert_golden
from support_tutor import CLIENT_ANSWERS, COURSE, TYPED
from support_world import Fact, Facts, make_world
from tacitd.cli.program import Program
from tacitd.testing import World
from tacitd.testing.world import HOUR

OF_MACHINE = {"doctor", "plugin status"}
"""What they print depends on the machine; `test_doctor` and `test_client_plugin` check it."""
LESSON = "WHEN editing tmux.conf -> DO read first -> BECAUSE avoid wrong assumptions"
FACTS: Facts = {
    "use pnpm": "Use pnpm, not npm",
    "answers short": "Keep answers short",
    "ask first": Fact(
        "When pushing to main, ask first, because others build on it",
        corrected=True,
        lesson="WHEN pushing to main -> DO ask first -> BECAUSE others build on it",
    ),
}
TYPED_WORDS = (
    "use pnpm, not npm",
    "I write Go",
    "keep answers short",
    "no! when pushing to main, ask first, because others build on it",
)
LEDGER = "~/.claude/leetcode-teacher-ledger.md"
PRACTICE = (
    "learner",
    "record",
    "--pattern",
    "hash_map",
    "--mode",
    "recall",
    "--verdict",
    "pass",
    "--observations",
    "Quick.",
)
SETUP = (
    ("lesson", "add", LESSON),
    ("tacitd", *PRACTICE, "--problem", "two-sum", "--gaps", "edge:empty_input", "--session", "s1"),
    ("tacitd", "sessions", "task", "Parse the header", "--status", "in_progress"),
    ("tacitd", "sessions", "decide", "Use JWT", "--because", "the API is stateless"),
    ("tacitd", "project", "alias", "/workspaces/app", "."),
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A person of whom each part of tacitd has learned something, with a daemon."""
    made = make_world(
        tmp_path,
        FACTS,
        profile={"write Go": {"work": {"languages": ["Go"]}}},
        summary={"summary": "Moved the build to pnpm.", "decisions": [{"decision": "Use pnpm"}]},
        answers=tuple(CLIENT_ANSWERS.items()),
    )
    with made:
        made.write("tutor/course.yaml", COURSE).type("s1", *TYPED_WORDS).leave("s1")
        made.edit("LEARNED.md", remove="Keep answers short").type("s2", "keep answers short").leave("s2")
        for command in SETUP:
            program, *arguments = command
            assert made.run_program(program, *arguments).code == 0
        for days, gaps in ((-40, "edge:off_by_one"), (-39, "none"), (-38, "none"), (-37, "none")):
            about = ("--problem", "binary-search", "--gaps", gaps, "--timestamp", made.minutes(days))
            assert made.run(*PRACTICE, *about).code == 0
        made.edit(LEDGER, add="a note of mine")
        made.run("tutor", "start", "two", given="".join(f"{one}\n" for one in TYPED))
        made.fail_calls("absent").type("s3", "use tabs").leave("s3").wait_days(6, step=6 * HOUR)
        yield made


def list_commands(
    command: click.Command, path: str = "", context: click.Context | None = None
) -> Iterator[str]:
    """The commands that have `--json`, with those above them."""
    if any("--json" in option.opts for option in command.params):
        yield path
    if isinstance(command, click.Group):
        context = click.Context(command, context)
        for name in command.list_commands(context):
            if found := command.get_command(context, name):
                yield from list_commands(found, f"{path} {name}".strip(), context)


def find_arguments(world: World, name: str) -> list[str]:
    """What a person types behind a command that needs something."""
    match name:
        case "show" | "undo":
            changes = world.run("history", "--json").json
            return [str(next(one["id"] for one in changes if one["by"] == "learning"))]
        case "why" | "forget":
            return ["pnpm"]
        case "prompts":
            return [str(world.transcript("s1"))]
        case "scan":
            return ["--since", "30d", "--dry-run"]
        case "accept":
            return [str(world.run("review", "--json").json[0]["id"])]
        case _:
            return ARGUMENTS.get(name, [])


ARGUMENTS = {
    "learner record": [*PRACTICE[2:], "--problem", "valid-anagram", "--tested", "edge:empty_input"],
    "lesson add": ["WHEN a test hangs -> DO read its log -> BECAUSE it says why"],
    "lesson search": ["tmux"],
    "lesson show": ["001"],
    "lesson wrong": ["001", "--reason", "no"],
    "lesson promote": ["002", "--to", "skill/git", "--reason", "often needed", "--create"],
    "sessions show": ["s2"],
    "log": ["-n", "30"],
    "spend": ["--by", "purpose"],
    "tutor map": ["--project", "."],
}
REFUSED = {"sync": 75, "learner check": 1}
"""The exit codes of commands that say that something waits, or is wrong."""
LAST = ("accept", "learner record", "lesson add", "lesson wrong", "lesson promote", "undo", "forget")
"""Commands that change what the others show, in this order."""
COMMANDS = [*sorted({*list_commands(Program())} - OF_MACHINE - {*LAST}), *LAST]


def leave_out_weeks(text: str) -> str:
    """The report without weeks in which nothing was: their number depends on the day."""
    report = json.loads(text)
    for section in report["sections"]:
        for part in section["parts"]:
            if part["kind"] == "series":
                part["points"] = [point for point in part["points"] if point[1]]
    return json.dumps(report, indent=2) + "\n"


def make_stable(world: World, text: str) -> str:
    """The text with what differs from run to run replaced: paths, times, ids."""
    text = (
        text.replace(str(world.home), "~")
        .replace(str(world.state), "STATE")
        .replace(sys.executable, "PYTHON")
    )
    for pattern, name in VARYING:
        text = re.sub(pattern, name, text)
    return text


VARYING = (
    (r"\b\d{8}-lesson-", "DATE-lesson-"),
    (r"\b\d{8}T\d{6}-[0-9a-f]{6}\b", "CHANGE"),
    (r"\b1\d{9}\.\d+\b", "TIME"),
    (r"\b[0-9]{8}-[0-9]{4}-4000-[0-9a-f-]+\b", "UUID"),
    (r"\b\d{8}-\d{4}-(\w+)-[0-9a-f]{4}\b", r"\1-SESSION"),
    (r"\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?(\.\d+)?Z?)?", "TIME"),
    (r'(?<="id": ")(t-)?[0-9a-f]{6,8}(?=")', "ID"),
    (r'(?<="pid": )\d+', "0"),
    (r'(?<="usd_month": )[\d.]+', "0.0"),  # the month may end in between
    (r"(\.\d{6})\d+", r"\1"),
)


def test_json(world: World) -> None:
    """Issue "golden files for --json": each is JSON, and what it was."""
    assert {path.stem for path in (GOLDEN / "json").iterdir()} == {
        name.replace(" ", "-") for name in COMMANDS
    }
    for name in COMMANDS:
        ran = world.run(*name.split(), *find_arguments(world, name), "--json")
        assert ran.code == REFUSED.get(name, 0), f"{name}: {ran}"
        for document in ran.out.splitlines() if name == "prompts" else [ran.out]:
            json.loads(document)
        assert_golden(
            f"json/{name.replace(' ', '-')}.json",
            make_stable(world, leave_out_weeks(ran.out) if name == "report" else ran.out),
        )
