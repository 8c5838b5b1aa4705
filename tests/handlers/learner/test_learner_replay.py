"""What follows from the ledger, and what a session changes in the entries: SPEC L-11, L-21 to L-23, L-29, L-31, L-40, L-47."""

from __future__ import annotations

from collections.abc import Mapping

from support_learner import row, stamp
from tacitd_handlers.learner.ledger_file import LedgerRow, RowKey
from tacitd_handlers.learner.ledger_replay import in_order, replay
from tacitd_handlers.learner.review_dates import describe_trajectory
from tacitd_handlers.learner.vocabulary import NEW, RECURRING
from tacitd_handlers.learner.weakness_rules import Weakness


def tags(*rows: LedgerRow, tested: Mapping[RowKey, tuple[str, ...]] | None = None) -> dict[str, Weakness]:
    return replay(rows, tested or {}).tags


def test_L_21_the_same_problem_tests_its_gaps() -> None:
    """SPEC L-21: a session on a problem tests the gaps seen before on it; those of other problems do not change."""
    found = tags(row(1, "edge:a"), row(2, "edge:b", "lru"), row(3), row(4, problem="stairs"))
    assert (found["edge:a"].clean, found["edge:a"].tested) == (1, stamp(3))
    assert (found["edge:b"].clean, found["edge:b"].tested) == (0, stamp(2))


def test_L_21_a_gap_of_two_problems_is_tested_by_its_pattern() -> None:
    """SPEC L-21: a gap seen on two problems of a pattern is expected on a third; `unknown` is no pattern."""
    for pattern, clean in (("hash_map", 1), ("unknown", 0)):
        shown = [row(n, "edge:a", f"p{n}", pattern=pattern) for n in (1, 2)]
        assert tags(*shown, row(3, problem="p3", pattern=pattern))["edge:a"].clean == clean
        assert tags(*shown[:1], row(3, problem="p3", pattern=pattern))["edge:a"].clean == 0


def test_L_21_what_a_session_reports_as_tested_counts_instead() -> None:
    """SPEC L-21: reported tags count, also of other problems; an empty list tests nothing; unknown tags make no weakness."""
    rows = [row(1, "edge:a"), row(2, "edge:b", "lru", pattern="dp"), row(3), row(4)]
    found = tags(*rows, tested={rows[2].key: ("edge:b", "edge:never"), rows[3].key: ()})
    assert (found["edge:a"].clean, found["edge:b"].clean) == (0, 1) and set(found) == {"edge:a", "edge:b"}


def test_L_22_two_problems_of_one_session() -> None:
    """SPEC L-22: observed in one problem is failed, in either order; clean in both counts once."""
    first = [row(1, "edge:a", session="s"), row(1, "edge:a", "lru", session="s")]
    for second in (
        [row(2, "edge:a", "lru", session="t"), row(2, session="t")],
        [row(2, session="t"), row(2, "edge:a", "lru", session="t")],
    ):
        found = tags(*first, *second)["edge:a"]
        assert (found.status, found.clean) == (RECURRING, 0)
    assert tags(*first)["edge:a"].status == NEW
    assert tags(*first, row(2, problem="lru", session="t"), row(2, session="t"))["edge:a"].clean == 1


def test_L_22_a_session_that_goes_on_counts_once() -> None:
    """SPEC L-22: sessions are identified by id, also with another session in between; `manual` is no id."""
    rows = [row(1, "edge:a", session="s"), row(2, session="t"), row(3, session="u"), row(4, session="t")]
    assert (tags(*rows)["edge:a"].clean, tags(*rows)["edge:a"].tested) == (2, stamp(4))
    assert tags(*(one._replace(session="manual") for one in rows))["edge:a"].clean == 3


def test_L_23_a_row_twice_counts_once() -> None:
    """SPEC L-23: the key is session, timestamp, problem and mode; the first of equal rows counts."""
    rows = [row(1, "edge:a"), row(2), row(2, "edge:a"), row(2, mode="learning")]
    assert in_order(rows) == [rows[0], rows[1], rows[3]] and tags(*rows)["edge:a"].clean == 1


def test_L_47_the_order_is_that_of_the_stamps_then_of_the_ledger() -> None:
    """SPEC L-47: a row appended late counts at its stamp; rows of one stamp keep the ledger's order."""
    late = [row(1, "edge:a"), row(3), row(2, "edge:a")]
    assert tags(*late) == tags(*sorted(late))
    before, after = row(1, session="b"), row(1, "edge:a", session="a")
    assert in_order([after, before]) == [after, before]
    assert tags(row(0, "edge:a"), before, after)["edge:a"].clean == 0
    assert tags(row(0, "edge:a"), after, before)["edge:a"].clean == 1


def test_L_40_the_trajectory_says_what_the_ledger_says() -> None:
    """SPEC L-40: the last three sessions of the problem, oldest first; a first session is named as such."""
    rows = [row(n, verdict=v) for n, v in enumerate(["needs_work", "borderline", "pass", "strong_pass"])]
    wanted = "borderline (2026-02-20), pass (2026-02-21), strong_pass (2026-02-22)"
    assert describe_trajectory(rows) == f"Trajectory: before this, {wanted}."
    assert describe_trajectory([]) == "Trajectory: first session of this problem."
