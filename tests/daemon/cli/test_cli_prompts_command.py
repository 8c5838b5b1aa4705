"""`tacitd prompts`: what a person typed in a file, and why the rest was left out."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support_cli import Cli

FIXTURES = Path(__file__).parents[2] / "fixtures" / "client"
KEYS = ["kind", "time", "session", "project", "uuid", "text"]


def record(words: str, **fields: object) -> bytes:
    made: dict[str, object] = {
        "type": "user",
        "uuid": words,
        "sessionId": "s",
        "cwd": "/nowhere/app",
        "version": "2.1.328",
    }
    made |= {"timestamp": "2026-11-20T04:30:00.000Z", "message": {"role": "user", "content": words}}
    return json.dumps(made | fields).encode() + b"\n"


def test_one_object_a_line_with_the_promised_keys(cli: Cli) -> None:
    """Issue "one object a line with at least `kind`, `time`, `session`, `project`, `uuid`, `text`", on every version."""
    said = cli.run("prompts", FIXTURES, "--json")
    assert said.code == 0 and said.err == ""
    assert len(said.lines) > 20 and all(list(one)[:6] == KEYS for one in said.lines)
    assert {one["kind"] for one in said.lines} >= {"typed", "command", "queued"}


def test_explain_says_which_rule_left_a_line_out(cli: Cli) -> None:
    """Issue "and why something was left out with `--explain`"."""
    plain = cli.run("prompts", FIXTURES / "2.0.76", "--json").lines
    said = cli.run("prompts", FIXTURES / "2.0.76", "--json", "--explain").lines
    assert [one["text"] for one in said if "text" in one] == [one["text"] for one in plain]
    left = [one for one in said if "left_out" in one]
    assert left and all(one["rule"] and one["left_out"] and "at" in one for one in left)
    assert "sub-agent" in " ".join(one["left_out"] for one in left)


@pytest.mark.parametrize(
    ("name", "why"), [("nowhere.jsonl", "No such file"), ("x" * 300, "File name too long")]
)
def test_a_path_that_is_not_there_is_named_and_the_others_are_read(
    cli: Cli, tmp_path: Path, name: str, why: str
) -> None:
    """Exit code 1, and the path on stderr; also of one that cannot be examined."""
    good = tmp_path / "a.jsonl"
    good.write_bytes(record("use pnpm"))
    said = cli.run("prompts", tmp_path / name, good)
    assert said.code == 1 and str(tmp_path / name) in said.err and why in said.err
    assert said.out == "2026-11-20T04:30:00.000Z typed: use pnpm\n"


@pytest.mark.parametrize("odd", ["fifo", "directory"])
def test_what_is_no_file_hangs_nothing(cli: Cli, tmp_path: Path, odd: str) -> None:
    """Bad input: a FIFO named x.jsonl."""
    path = tmp_path / "x.jsonl"
    os.mkfifo(path) if odd == "fifo" else path.mkdir()
    said = cli.run("prompts", path)
    assert said.code == (1 if odd == "fifo" else 0) and said.out == ""


def test_a_cwd_that_is_not_on_this_machine_is_no_obstacle(cli: Cli, tmp_path: Path) -> None:
    """Issue "on any path, also where the record's `cwd` is not on this machine"."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(record("use pnpm"))
    assert cli.run("prompts", path, "--json").lines[0]["project"] == "/nowhere/app"


def test_a_fork_is_shown_once(cli: Cli, tmp_path: Path) -> None:
    """Issue "Dedupe by uuid across files (forks)": `--explain` shows the duplicate."""
    (tmp_path / "a.jsonl").write_bytes(record("use pnpm"))
    (tmp_path / "b.jsonl").write_bytes(record("use pnpm", sessionId="fork"))
    assert len(cli.run("prompts", tmp_path, "--json").lines) == 1
    explained = cli.run("prompts", tmp_path, "--json", "--explain").lines
    assert "already in another" in explained[1]["left_out"]


def test_escapes_of_a_terminal_are_shown_not_sent(cli: Cli, tmp_path: Path) -> None:
    """Text may contain any characters; one prompt is one line."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(record("red \x1b[31m\nand more"))
    said = cli.run("prompts", path)
    assert "\x1b" not in said.out and said.out.count("\n") == 1


def test_nothing_is_written_and_no_state_is_made(cli: Cli) -> None:
    """Issue "work without a daemon and without claude"."""
    cli.run("prompts", FIXTURES, "--json", "--explain")
    assert list(cli.home.iterdir()) == []
