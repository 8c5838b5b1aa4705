"""`tacitd learner …`, as a person and as the skill call it, and what it reports: SPEC L-11, L-27, L-35, L-41, L-48 to L-55."""

from __future__ import annotations

import json
from datetime import date, datetime
from pathlib import Path

import pytest

from support_cli import Cli
from support_learner import Desk, row, stamp
from support_learner_skill import TeachingSkill, format_weakness
from tacitd.clock import SystemClock
from tacitd_handlers.learner.ledger_file import HEADER, format_row, parse_ledger
from tacitd_handlers.learner.practice_report import find_due
from tacitd_handlers.learner.profile_text import PROFILE_FORMAT, TEMPLATE, list_entries
from tacitd_handlers.learner.progress_review import build_review, find_problems

# --- `tacitd learner …`, as a person and as the skill call it: issue, commands; SPEC L-35, L-48 to L-53.


SESSION = "5f0c1a77-8d9e-4a55-9a3e-0b6a4f1f2c11"


def record(cli: Cli, problem: str = "two-sum", *more: str) -> str:
    given = ("--problem", problem, "--pattern", "hash_map", "--mode", "recall", "--verdict", "pass")
    said = cli.run("learner", "record", *given, *more)
    assert said.code == 0, said.err
    return said.out


def ledger(cli: Cli) -> str:
    return (cli.config_dir / "leetcode-teacher-ledger.md").read_text()


def test_L_52_what_record_prints(cli: Cli) -> None:
    """SPEC L-52; issue: one line without the profile's content; as JSON the row."""
    assert record(cli) == "two-sum (recall, pass) recorded; review on 2026-02-24\n"
    said = json.loads(record(cli, "lru", "--gaps", "edge:a", "--json"))
    assert said["row"]["gaps"] == "edge:a" and said["again"] is False


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


def test_L_53_looking(cli: Cli) -> None:
    """SPEC L-53; issue: review, due and retests, as text and as stable JSON."""
    record(cli, "two-sum", "--timestamp", "2026-01-10T10:00")
    assert (
        cli.run("learner", "due").out
        == "DUE ON      PROBLEM  REASON\n2026-01-15  two-sum  recalled with pass, 5 days later (on 2026-01-10)\n"
    )
    assert cli.run("learner", "due", "--on", "2026-01-14", "--json").json == []
    assert cli.run("learner", "due", "--on", "soon").code == 2
    assert "1 review of 1 problem" in cli.run("learner", "review").out
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


def test_L_30_no_name_is_no_gap(cli: Cli) -> None:
    """SPEC L-30: an empty name, as of an unset variable, forgets nothing, and the hint names the gaps."""
    record(cli, "two-sum", "--gaps", "edge:off_by_one")
    for name in ("", " "):
        said = cli.run("learner", "forget", name)
        assert said.code == 1 and "known: edge:off_by_one\n" in said.err


def test_a_profile_in_a_conflict_waits(cli: Cli) -> None:
    """SPEC L-37: the row is written; the exit code shows that the profile is not updated yet."""
    record(cli)
    path = cli.config_dir / "leetcode-teacher-profile.md"
    path.write_text("<<<<<<< ours\n" + path.read_text())
    said = cli.run("learner", "record", "--problem", "lru", "--mode", "recall", "--verdict", "pass")
    assert said.code == 75 and "conflict" in said.err and "| lru |" in ledger(cli)


def test_L_01_the_configuration_counts(cli: Cli, tmp_path: Path) -> None:
    """SPEC L-01: configured paths; an invalid value is refused with its key."""
    cli.set(TACITD_LEARNER__LEDGER=str(tmp_path / "mine.md"))
    record(cli)
    assert (tmp_path / "mine.md").exists() and not (cli.config_dir / "leetcode-teacher-ledger.md").exists()
    cli.set(TACITD_LEARNER__LONGEST_INTERVAL="soon")
    said = cli.run("learner", "record", "--problem", "lru", "--mode", "recall", "--verdict", "pass")
    assert said.code == 78 and "learner.longest_interval" in said.err
    cli.set(
        TACITD_LEARNER__LONGEST_INTERVAL="30",
        TACITD_LEARNER__LEDGER="",
        CLAUDE_CONFIG_DIR=str(tmp_path / "c"),
    )
    record(cli, "lru")
    assert {path.name for path in (tmp_path / "c").glob("leetcode-*")} == {
        "leetcode-teacher-profile.md",
        "leetcode-teacher-ledger.md",
    }


# --- Commands that a notice, an error or `check` names work as they are printed, whatever a label contains (SPEC L-11, L-27).


LABELS = ("Loop end", "-1 isn't an index", 'Says "done" early; $HOME')
TAGS = {"edge:off_by_one": LABELS[0], "edge:bad_slice": LABELS[1], "edge:no_base": LABELS[2]}


@pytest.fixture
def skill(cli: Cli) -> TeachingSkill:
    cli.config_dir.mkdir()
    return TeachingSkill(
        cli.config_dir / "leetcode-teacher-profile.md", cli.config_dir / "leetcode-teacher-ledger.md"
    )


def test_L_11_an_alias_moves(cli: Cli, skill: TeachingSkill) -> None:
    """SPEC L-11: the last alias of a gap holds, and the entry that had it before is the person's own again, with its text."""
    skill.write_session("2026-02-19T14:30", gaps=TAGS)
    for label in (LABELS[1], LABELS[0]):
        assert cli.run("learner", "alias", "--", label, "edge:bad_slice").code == 0
    review = cli.run("learner", "review", "--json").json
    assert {one["label"]: one["tag"] for one in review["weaknesses"]} == {
        LABELS[0]: "edge:bad_slice", LABELS[1]: None, LABELS[2]: None,
    }  # fmt: skip


# --- The review: SPEC L-53, L-41; due problems, and findings in the files.


@pytest.fixture
def practised(desk: Desk) -> Desk:
    made = desk
    made.record("two-sum", days=0, gaps="edge:a", verdict="needs_work")
    made.record("two-sum", days=1)
    made.record(
        "stairs", days=2, pattern="dp", mode="learning", verdict="solved_with_minor_hints", gaps="dp:base"
    )
    for days in (3, 4, 5):
        made.record("two-sum", days=days, gaps="edge:b" if days == 5 else "none")
    return made


def test_L_53_the_review(practised: Desk) -> None:
    """SPEC L-53: totals, verdicts, patterns, trajectories, retests, next steps."""
    document = build_review(practised.rows, practised.weaknesses, stamp(30), ["edge:z"], {})
    assert document["totals"] == {
        "sessions": 6,
        "rows": 6,
        "problems": 2,
        "patterns": 2,
        "first": stamp(0),
        "last": stamp(5),
    }
    assert document["verdicts"]["recall"] == {"strong_pass": 0, "pass": 4, "borderline": 0, "needs_work": 1}
    assert document["verdicts"]["learning"]["solved_with_minor_hints"] == 1
    assert [(one["pattern"], one["untouched"]) for one in document["patterns"]] == [
        ("dp", True),
        ("hash_map", False),
    ]
    by_label = {one["label"]: one for one in document["weaknesses"]}
    assert by_label["edge:a"]["trajectory"] == "seen 1 time, last on 2026-02-19, 4 clean since"
    assert [one["label"] for one in document["retests"]] == ["edge:a"]
    assert document["next"] == [
        "Review stairs, two-sum: due.",
        "Retest edge:a: optional.",
        "Practise dp: untouched for four weeks or more.",
        "Archive a weakness; waiting for room: edge:z.",
    ]


def test_L_41_due_oldest_first_with_the_reason(practised: Desk) -> None:
    """SPEC L-41: the latest row of each problem, from its date on; malformed dates are skipped."""
    rows = [*practised.rows, row(9, problem="odd", review="—")]
    assert not find_due(rows, date(2026, 2, 23))
    found = find_due(rows, date(2026, 2, 24))
    assert [(one["problem"], one["days"]) for one in found] == [("stairs", 0)]
    assert found[0]["reason"] == "learned with solved_with_minor_hints, 3 days later (on 2026-02-21)"
    assert [one["problem"] for one in find_due(rows, date(2030, 1, 1))] == ["stairs", "two-sum"]


def test_L_11_a_label_of_ones_own_is_named(practised: Desk) -> None:
    """SPEC L-11: an entry that is no gap's is named in the next steps, with the command that joins it."""
    theirs = format_weakness("Loop end", "goes past it", stamp(0), stamp(0), stamp(0))
    practised.edit("- **edge:a**", f"{theirs}- **edge:a**")
    steps = build_review(practised.rows, practised.weaknesses, stamp(30), [], {})["next"]
    joins = "`tacitd learner alias 'Loop end' TAG`"
    assert f"Join a label of your own with its gap, if it is one: {joins}." in steps


def test_check_names_what_only_a_person_can_correct(practised: Desk) -> None:
    """SPEC L-10, L-09, L-35: lines that are no rows, verdicts that do not exist, vague descriptions, lists that are too long."""
    table = parse_ledger(practised.where.ledger.read_bytes())
    assert list(find_problems(table, practised.weaknesses)) == []
    odd = row(1, verdict="solved it")
    ledger = b"notes\n" + HEADER.split(b"\n\n")[1] + format_row(odd).encode() + b"\n| 2026-02-19T14:30 | torn"
    own = [format_weakness(f"Habit {n}", "rushes in loops", stamp(0), stamp(0), stamp(0)) for n in range(31)]
    own[0] = "- **Edge** — bad at edge cases.\n  Status: soon\n"
    text = "".join(own[:20] + own[20:21]) + "\n### Resolved\n\n" + "".join(own[21:])
    leaves = PROFILE_FORMAT.read_leaves(TEMPLATE.decode().replace("### Resolved", text, 1).encode())
    found = find_problems(parse_ledger(ledger), list_entries(leaves))
    assert [(file, where, what.split(";")[0].split(":")[0]) for file, where, what in found] == [
        ("ledger", "line 1", "is skipped"),
        ("ledger", "line 5", "is skipped"),
        ("ledger", stamp(1), "'solved it' is not a verdict of the mode 'recall'"),
        ("profile", "Edge", "cannot be read"),
        ("profile", "Edge", "the description names no input class or code pattern"),
        ("profile", "Known Weaknesses", "21 entries"),
    ]
