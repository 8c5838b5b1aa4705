"""The review: SPEC L-53, L-41; due problems, and findings in the files."""

from __future__ import annotations

from datetime import date

import pytest

from support_learner import Desk, row, stamp
from support_learner_skill import format_weakness
from tacitd_handlers.learner.ledger_file import HEADER, format_row, parse_ledger
from tacitd_handlers.learner.profile_text import PROFILE_FORMAT, TEMPLATE, list_entries
from tacitd_handlers.learner.progress_review import build_review, find_problems
from tacitd_handlers.learner.review_dates import find_due


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
    document = build_review(practised.rows, practised.weaknesses, stamp(32), ["edge:z"])
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


def test_L_53_patterns_untouched_for_four_weeks(practised: Desk) -> None:
    """SPEC L-53: 28 days, by date; `unknown` is not a pattern."""
    rows = [*practised.rows, row(6, pattern="unknown")]
    for day, left in ((29, []), (30, ["dp"]), (33, ["dp", "hash_map"])):
        found = build_review(rows, [], stamp(day))["patterns"]
        assert [one["pattern"] for one in found if one["untouched"]] == left


def test_L_41_due_oldest_first_with_the_reason(practised: Desk) -> None:
    """SPEC L-41: the latest row of each problem, from its date on; malformed dates are skipped."""
    rows = [*practised.rows, row(9, problem="odd", review="—")]
    assert not find_due(rows, date(2026, 2, 23))
    found = find_due(rows, date(2026, 2, 24))
    assert [(one.problem, one.days) for one in found] == [("stairs", 0)]
    assert found[0].reason == "learned with solved_with_minor_hints, 3 days later (on 2026-02-21)"
    assert [one.problem for one in find_due(rows, date(2030, 1, 1))] == ["stairs", "two-sum"]


def test_gaps_most_often_first(practised: Desk) -> None:
    """SPEC L-53: with each gap's status in the profile."""
    practised.record(days=7, gaps="edge:b")
    found = build_review(practised.rows, practised.weaknesses, stamp(8))["gaps"]
    assert [(one["tag"], one["seen"], one["status"]) for one in found] == [
        ("edge:b", 2, "recurring"),
        ("dp:base", 1, "new"),
        ("edge:a", 1, "resolved (short-term)"),
    ]


def test_L_55_the_seeds_two_examples_do_not_fight(desk: Desk) -> None:
    """SPEC L-55: one stamp and problem, as learning in the profile and as recall in the ledger: both are kept."""
    seed = row(0, "edge:empty_input", session="abc123", review="2026-02-26")
    desk.write_rows(seed)
    entry = (
        "\n### 2026-02-19T14:30 | two-sum | learning | solved_with_minor_hints\n"
        "Gaps: edge:empty_input; edge:duplicate_values\nReview: 2026-02-22\n---\nForgot empty input check.\n"
    )
    desk.put(TEMPLATE.decode() + entry)
    desk.look()
    assert {(one.mode, one.session) for one in desk.rows} == {("recall", "abc123"), ("learning", "sync-heal")}
    assert desk.rows[0] == seed and len(desk.sessions) == 2 and entry.strip() in desk.text


def test_L_11_a_label_of_ones_own_is_named(practised: Desk) -> None:
    """SPEC L-11: an entry that is no gap's is named in the next steps, with the command that joins it."""
    theirs = format_weakness("Loop end", "goes past it", stamp(0), stamp(0), stamp(0))
    practised.edit("- **edge:a**", f"{theirs}- **edge:a**")
    steps = build_review(practised.rows, practised.weaknesses, stamp(32))["next"]
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
