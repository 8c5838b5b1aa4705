"""`tacitd learner …`, as a person and as the skill call it: issue, commands; SPEC L-35, L-48 to L-53."""

from __future__ import annotations

import json
import time
from datetime import datetime
from pathlib import Path

import pytest

from support_cli import Cli
from tacitd.clock import SystemClock

SESSION = "5f0c1a77-8d9e-4a55-9a3e-0b6a4f1f2c11"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    made = Cli(tmp_path, monkeypatch, capsys)
    made.set(TZ="Europe/Amsterdam")
    time.tzset()
    begun = datetime(2026, 2, 19, 14, 30).timestamp() - time.monotonic()
    monkeypatch.setattr(SystemClock, "now", lambda self: begun + time.monotonic())
    return made


def record(cli: Cli, problem: str = "two-sum", *more: str) -> str:
    given = ("--problem", problem, "--pattern", "hash_map", "--mode", "recall", "--verdict", "pass")
    said = cli.run("learner", "record", *given, *more)
    assert said.code == 0, said.err
    return said.out


def ledger(cli: Cli) -> str:
    return (cli.config_dir / "leetcode-teacher-ledger.md").read_text()


def test_L_52_what_record_prints(cli: Cli) -> None:
    """SPEC L-52; issue: one line without the profile's content; as JSON the row and what became of it."""
    assert record(cli) == "two-sum (recall, pass) recorded; review on 2026-02-24\n"
    given = (
        "--gaps",
        "edge:a",
        "--describe",
        "edge:a=bad at it",
        "--timestamp",
        "2026-02-18T10:00",
        "--json",
    )
    said = json.loads(record(cli, "lru", *given))
    assert said["row"]["gaps"] == "edge:a" and said["vague"] == ["edge:a"] and said["moves"] == []
    assert (said["in_profile"], said["again"], said["trouble"]) == (True, False, "")


def test_the_history_is_for_a_person(cli: Cli) -> None:
    """DESIGN "Priorities", 3: what was done, in words, and the entries line by line, without the headings that were made."""
    record(cli, "two-sum", "--gaps", "edge:a", "--describe", "edge:a=misses a in loops")
    cli.run("learner", "forget", "edge:a")
    lines = [line.strip() for line in cli.run("history", "--all").out.splitlines()]
    assert "practice was recorded" in "".join(lines) and "you forgot it" in "".join(lines)
    assert "+ - **edge:a** — misses a in loops." in lines and "-   Status: new" in lines
    assert not any("About Me" in line or "\\n" in line for line in lines)


def test_L_48_L_49_the_session_that_calls(cli: Cli) -> None:
    """SPEC L-48, L-49: every write of a session has the stamp that was printed at its start."""
    cli.set(CLAUDE_CODE_SESSION_ID=SESSION)
    started = cli.run("learner", "context")
    assert f"Session ID: {SESSION}\nSession Timestamp: 2026-02-19T14:30\n" in started.out
    later = datetime(2026, 2, 19, 16, 0).timestamp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SystemClock, "now", lambda self: later)
        record(cli)
        record(cli, "lru")
    rows = ledger(cli).splitlines()[4:]
    assert all(row.startswith(f"| 2026-02-19T14:30 | {SESSION} |") for row in rows) and len(rows) == 2


def test_context_is_told_its_session(cli: Cli) -> None:
    """SPEC L-49: the option sets the session; without it and without a hook it is `manual`."""
    assert "Session ID: abc\n" in cli.run("learner", "context", "--session-id", "abc").out
    assert "Session ID: manual\n" in cli.run("learner", "context").out


def test_L_53_looking(cli: Cli) -> None:
    """SPEC L-53; issue: review, due and retests, as text and as stable JSON."""
    for command in ("review", "due", "retests"):
        assert cli.run("learner", command).code == 0
    record(cli, "two-sum", "--gaps", "edge:empty_input", "--timestamp", "2026-01-10T10:00")
    record(cli, "lru", "--timestamp", "2026-02-18T10:00")
    assert (
        cli.run("learner", "due").out
        == "DUE ON      PROBLEM  REASON\n2026-01-15  two-sum  recalled with pass, 5 days later (on 2026-01-10)\n"
    )
    assert [one["problem"] for one in cli.run("learner", "due", "--on", "2026-03-01", "--json").json] == [
        "two-sum",
        "lru",
    ]
    assert cli.run("learner", "due", "--on", "soon").code == 2
    review = cli.run("learner", "review", "--json").json
    assert review["schema"] == 1 and review["totals"]["rows"] == 2 and review["as_of"] == "2026-02-19T14:30"
    assert "2 reviews of 2 problems" in cli.run("learner", "review").out
    assert review["gaps"][0]["tag"] == "edge:empty_input"
    assert cli.run("learner", "retests", "--json").json == []


def test_check_and_fix(cli: Cli) -> None:
    """Issue: problems are reported with exit code 1; `--fix` repairs what it can; nothing is invented."""
    record(cli, "two-sum", "--observations", "Fine.")
    assert cli.run("learner", "check").code == 0
    path = cli.config_dir / "leetcode-teacher-profile.md"
    path.write_text(path.read_text().replace("| pass\n", "| borderline\n"))
    assert cli.run("learner", "check", "--fix").code == 0 and "| pass\n" in path.read_text()
    with (cli.config_dir / "leetcode-teacher-ledger.md").open("a") as file:
        file.write("a note of mine\n")
    told = cli.run("learner", "check", "--fix", "--json")
    assert told.code == 1 and told.json[0]["where"] == "line 6" and "a note of mine\n" in ledger(cli)
    assert "1 line of the ledger cannot be read as rows" in cli.run("learner", "due").err


def test_L_11_alias(cli: Cli) -> None:
    """SPEC L-11: joins a label with a gap and parts them; what is wrong is refused with a hint."""
    record(cli, "two-sum", "--gaps", "edge:off_by_one")
    path = cli.config_dir / "leetcode-teacher-profile.md"
    path.write_text(path.read_text().replace("**edge:off_by_one** — off", "**Loop end** — goes on"))
    path.write_text(path.read_text().replace("T14:30. Last tested", "T14:00. Last tested"))
    assert cli.run("learner", "alias", "Loop end").code == 2
    unknown = cli.run("learner", "alias", "Loop end", "edge:nope")
    assert unknown.code == 1 and "known gaps: edge:off_by_one" in unknown.err
    assert cli.run("learner", "alias", "loop end", "edge:off_by_one").out == "Loop end is edge:off_by_one\n"
    (joined,) = cli.run("learner", "review", "--json").json["weaknesses"]
    assert (joined["label"], joined["tag"]) == ("Loop end", "edge:off_by_one")
    assert "edge:off_by_one**" not in path.read_text()
    assert cli.run("learner", "alias", "--remove", "Loop end").out == "Loop end is not edge:off_by_one\n"
    assert "**Loop end** — goes on" in path.read_text()


def test_a_profile_in_a_conflict_waits(cli: Cli) -> None:
    """SPEC L-37: the row is written; the exit code shows that the profile is not updated yet."""
    record(cli)
    path = cli.config_dir / "leetcode-teacher-profile.md"
    path.write_text("<<<<<<< ours\n" + path.read_text())
    said = cli.run("learner", "record", "--problem", "lru", "--mode", "recall", "--verdict", "pass")
    assert said.code == 75 and "conflict" in said.err and "| lru |" in ledger(cli)


def test_L_01_L_45_the_configuration_counts(cli: Cli, tmp_path: Path) -> None:
    """SPEC L-01, L-45: configured paths and a longest interval; an invalid value is refused with its key."""
    cli.set(TACITD_LEARNER__LEDGER=str(tmp_path / "mine.md"), TACITD_LEARNER__LONGEST_INTERVAL="3")
    assert "review on 2026-02-22" in record(cli)
    assert (tmp_path / "mine.md").exists() and not (cli.config_dir / "leetcode-teacher-ledger.md").exists()
    cli.set(TACITD_LEARNER__LONGEST_INTERVAL="soon")
    said = cli.run("learner", "record", "--problem", "lru", "--mode", "recall", "--verdict", "pass")
    assert said.code == 78 and "learner.longest_interval" in said.err
    cli.set(
        TACITD_LEARNER__LONGEST_INTERVAL="3", TACITD_LEARNER__LEDGER="", CLAUDE_CONFIG_DIR=str(tmp_path / "c")
    )
    record(cli, "lru")
    assert {path.name for path in (tmp_path / "c").glob("leetcode-*")} == {
        "leetcode-teacher-profile.md",
        "leetcode-teacher-ledger.md",
    }
