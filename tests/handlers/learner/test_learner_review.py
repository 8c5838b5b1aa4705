"""The review: SPEC L-53, L-41; due problems, and findings in the files."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from support_learner import Desk, row, stamp
from tacitd_handlers.learner.findings import CheckFinding, check_files
from tacitd_handlers.learner.formats.ledger_md import HEADER, format_row
from tacitd_handlers.learner.formats.profile_md import TEMPLATE, parse_profile
from tacitd_handlers.learner.review import build_review, find_due, list_gaps, list_patterns
from tacitd_handlers.learner.review_view import format_review
from tacitd_handlers.learner.state import LearnerState


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    made.record("two-sum", days=0, gaps="edge:a", verdict="needs_work")
    made.record("two-sum", days=1)
    made.record(
        "stairs", days=2, pattern="dp", mode="learning", verdict="solved_with_minor_hints", gaps="dp:base"
    )
    for days in (3, 4, 5):
        made.record("two-sum", days=days, gaps="edge:b" if days == 5 else "none")
    return made


def test_L_53_the_review(desk: Desk) -> None:
    """SPEC L-53: totals, verdicts over time, patterns, trajectories, retests, next steps."""
    document = build_review(desk.rows, desk.profile, stamp(32), ["edge:z"])
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
    assert document["months"] == [{"month": "2026-02", "rows": 6, "without_help": 4}]
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


def test_L_53_patterns_untouched_for_four_weeks(desk: Desk) -> None:
    """SPEC L-53: 28 days, by date; `unknown` is not a pattern."""
    rows = [*desk.rows, row(6, pattern="unknown")]
    for day, left in ((29, []), (30, ["dp"]), (33, ["dp", "hash_map"])):
        found = list_patterns(rows, date.fromisoformat(stamp(day)[:10]))
        assert [one.pattern for one in found if one.untouched] == left


def test_L_53_on_a_terminal_and_in_a_pipe(desk: Desk) -> None:
    """SPEC L-53; issue: bars on a terminal, plain text elsewhere; the same numbers."""
    document = build_review(desk.rows, desk.profile, stamp(32))
    plain, barred = list(format_review(document, bars=False)), list(format_review(document, bars=True))
    assert not any("█" in line for line in plain) and any("█" in line for line in barred)
    assert "  pass                                     4" in plain
    assert list(format_review(build_review([], None, stamp(0)), bars=True)) == ["Nothing is recorded yet."]


def test_L_41_due_oldest_first_with_the_reason(desk: Desk) -> None:
    """SPEC L-41: the latest row of each problem, from its date on; malformed dates are skipped."""
    rows = [*desk.rows, row(9, problem="odd", review="—")]
    assert not find_due(rows, date(2026, 2, 23))
    found = find_due(rows, date(2026, 2, 24))
    assert [(one.problem, one.days) for one in found] == [("stairs", 0)]
    assert found[0].reason == "learned with solved_with_minor_hints, 3 days later (on 2026-02-21)"
    assert [one.problem for one in find_due(rows, date(2030, 1, 1))] == ["stairs", "two-sum"]


def test_gaps_most_often_first(desk: Desk) -> None:
    """SPEC L-53: with each gap's status in the profile."""
    desk.record(days=7, gaps="edge:b")
    found = list_gaps(desk.rows, desk.profile)
    assert [(one.tag, one.seen, one.status) for one in found] == [
        ("edge:b", 2, "recurring"),
        ("dp:base", 1, "new"),
        ("edge:a", 1, "resolved (short-term)"),
    ]


def test_findings_name_everything_and_touch_nothing(desk: Desk) -> None:
    """Issue, bad input: torn and foreign rows, invalid verdicts, duplicates, incomplete entries and vague
    descriptions are reported.
    """
    assert not [
        one
        for one in check_files(desk.where.profile.read_bytes(), desk.ledger.encode(), desk.state)
        if one.fixable
    ]
    ledger = (
        b"notes\n"
        + HEADER.split(b"\n\n")[1].split(b"\n")[1]
        + b"\n"
        + "".join(format_row(one) + "\n" for one in (row(0), row(0), row(1, verdict="solved it"))).encode()
        + b"| 2026-02-19T14:30 | torn"
    )
    profile = TEMPLATE.decode().replace(
        "### Resolved", "- **Edge** — bad at edge cases.\n  Status: soon\n\n### Resolved"
    )
    profile += "\n### 2026-02-19T14:30 | two-sum | recall | strong_pass\nGaps: none\nReview: 2026-12-24\n---\nWords.\n"
    profile += "\n### 2026-01-01T10:00 | lru | recall | great\nIt went well.\n\n## Session History\n"
    said = {
        (one.file, one.where, one.what.split(";")[0].split(":")[0])
        for one in check_files(profile.encode(), ledger, LearnerState())
    }
    for wanted in (
        ("ledger", "line 1", "the table has no header"),
        ("ledger", "line 1", "is skipped"),
        ("ledger", "line 6", "is skipped"),
        ("ledger", "last line", "has no newline"),
        ("ledger", stamp(0), "two-sum occurs 2 times"),
        ("ledger", stamp(1), "'solved it' is not a verdict of the mode 'recall'"),
        ("profile", "Session History", "occurs 2 times"),
        ("profile", stamp(0), "strong_pass, none, 2026-12-24"),
        ("profile", stamp(1), "two-sum is only in the ledger"),
        ("profile", "2026-01-01T10:00", "'great' is not a verdict of the mode 'recall'"),
        ("profile", "2026-01-01T10:00", "Gaps, Review, --- missing"),
        ("profile", "Edge", "the description names no input class or code pattern"),
    ):
        assert wanted in said, sorted(said)
    assert CheckFinding("profile", "", "does not exist", True) in check_files(
        None, desk.ledger.encode(), LearnerState()
    )
    assert check_files(b"\xff", b"", LearnerState())[0].what.startswith("the profile is not UTF-8")


def test_check_fix_leaves_nothing_that_it_can_mend(desk: Desk) -> None:
    """SPEC L-38: findings marked as fixable are gone after `--fix`."""
    desk.write_rows(row(9, "edge:q"))
    desk.edit("| pass\nGaps: none", "| borderline\nGaps: edge:x")
    before = check_files(desk.where.profile.read_bytes(), desk.ledger.encode(), desk.state)
    assert sum(one.fixable for one in before) == 2
    desk.look()
    assert not [
        one
        for one in check_files(desk.where.profile.read_bytes(), desk.ledger.encode(), desk.state)
        if one.fixable
    ]
    assert parse_profile(desk.where.profile.read_bytes()).sessions[0].session.stamp == stamp(9)


def test_L_55_the_seeds_two_examples_do_not_fight(tmp_path: Path) -> None:
    """SPEC L-55: one stamp and problem, as learning in the profile and as recall in the ledger: both are kept."""
    desk = Desk(tmp_path)
    seed = row(0, "edge:empty_input", session="abc123", review="2026-02-26")
    desk.write_rows(seed)
    entry = (
        "\n### 2026-02-19T14:30 | two-sum | learning | solved_with_minor_hints\n"
        "Gaps: edge:empty_input; edge:duplicate_values\nReview: 2026-02-22\n---\nForgot empty input check.\n"
    )
    desk.where.profile.write_text(TEMPLATE.decode() + entry)
    desk.look()
    assert {(one.mode, one.session) for one in desk.rows} == {("recall", "abc123"), ("learning", "sync-heal")}
    assert desk.rows[0] == seed and len(desk.profile.sessions) == 2 and entry.strip() in desk.text
