"""The fold of the ledger: SPEC L-21 to L-23, L-40, L-43, L-47."""

from __future__ import annotations

from collections.abc import Sequence

from support_learner import row, stamp
from tacitd_handlers.learner.formats.ledger_md import LedgerRow
from tacitd_handlers.learner.rules.ledger_fold import (
    LAST,
    FoldedLedger,
    FoldInputs,
    Override,
    describe_trajectory,
    fold_row,
    in_order,
    replay_overrides,
)
from tacitd_handlers.learner.rules.lifecycle import Weakness
from tacitd_handlers.learner.rules.vocabulary import IMPROVING, NEW, RECURRING, SHORT


def folded(
    *rows: LedgerRow, beside: FoldInputs | None = None, overrides: Sequence[Override] = ()
) -> FoldedLedger:
    state, waiting = FoldedLedger(), sorted(overrides)
    for one in in_order(rows):
        replay_overrides(state, waiting, one)
        fold_row(state, one, beside or FoldInputs())
    replay_overrides(state, waiting, None)
    return state


def test_L_21_the_pattern_says_what_was_tested() -> None:
    """SPEC L-21: a session tests the gaps seen before with its pattern; gaps of other patterns do not change."""
    state = folded(row(1, "edge:a"), row(2, "edge:b", pattern="dp"), row(3), row(4, pattern="unknown"))
    assert (state.tags["edge:a"].clean, state.tags["edge:a"].tested) == (1, stamp(3))
    assert (state.tags["edge:b"].clean, state.tags["edge:b"].tested) == (0, stamp(2))


def test_L_21_rows_nobody_gave_a_pattern_prove_nothing() -> None:
    """SPEC L-21: `unknown` is not a pattern: two sync-heal rows have nothing in common."""
    state = folded(row(1, "edge:a", pattern="unknown"), row(2, pattern="unknown"))
    assert state.tags["edge:a"].clean == 0


def test_L_21_what_a_session_says_it_tested_counts_instead() -> None:
    """SPEC L-21: recorded tags count, also of other patterns; an empty list tests nothing; unknown tags are not
    created.
    """
    said = {stamp(3): ("edge:b", "edge:never"), stamp(4): ()}
    beside = FoldInputs(tested=lambda one: said.get(one.stamp))
    state = folded(row(1, "edge:a"), row(2, "edge:b", pattern="dp"), row(3), row(4), beside=beside)
    assert (state.tags["edge:a"].clean, state.tags["edge:b"].clean) == (0, 1)
    assert set(state.tags) == {"edge:a", "edge:b"}


def test_L_22_two_problems_of_one_session() -> None:
    """SPEC L-22: observed in one problem is failed, in either order; clean in both counts once."""
    first = row(1, "edge:a", session="s")
    for second in (
        [row(2, "edge:a", "lru", session="t"), row(2, "none", "two-sum", session="t")],
        [row(2, "none", "two-sum", session="t"), row(2, "edge:a", "lru", session="t")],
    ):
        state = folded(first, *second)
        assert (state.tags["edge:a"].status, state.tags["edge:a"].clean) == (RECURRING, 0)
    both = [row(2, problem="lru", session="t"), row(2, problem="two-sum", session="t")]
    assert folded(first, *both).tags["edge:a"].clean == 1


def test_L_22_seen_twice_in_its_first_session_is_new() -> None:
    """SPEC L-22: one session is one observation."""
    state = folded(row(1, "edge:a", session="s"), row(1, "edge:a", "lru", session="s"))
    assert state.tags["edge:a"].status == NEW


def test_L_22_a_session_that_goes_on_counts_once() -> None:
    """SPEC L-22: sessions are identified by id, also with a second stamp and another session in between; `manual` is
    not an id.
    """
    rows = [row(1, "edge:a", session="s"), row(2, session="t"), row(3, session="u"), row(4, session="t")]
    state = folded(*rows)
    assert (state.tags["edge:a"].clean, state.tags["edge:a"].tested) == (2, stamp(4))
    manual = folded(*(one._replace(session="manual") for one in rows))
    assert manual.tags["edge:a"].clean == 3


def test_L_23_a_row_twice_counts_once() -> None:
    """SPEC L-23: the key is session, timestamp, problem and mode."""
    rows = [row(1, "edge:a"), row(2), row(2), row(2, mode="learning", verdict="solved_independently")]
    assert folded(*rows).rows == 3
    state = FoldedLedger()
    for one in (row(1, "edge:a"), row(2), row(2)):
        fold_row(state, one, FoldInputs())
    assert state.rows == 2 and state.tags["edge:a"].clean == 1


def test_L_47_the_order_is_that_of_the_stamps_then_of_the_ledger() -> None:
    """SPEC L-47: a row appended late is folded at its stamp; rows of one stamp keep the ledger's order.

    Two sessions an hour apart have one stamp when daylight saving time ends (2026-10-25T02:30 in Amsterdam).
    """
    late = [row(1, "edge:a"), row(3), row(2, "edge:a")]
    assert folded(*late) == folded(*sorted(late))
    twice = "2026-10-25T02:30"
    before, after = (
        row(1, session="b", problem="b")._replace(stamp=twice),
        row(1, "edge:a")._replace(stamp=twice),
    )
    assert in_order([after, before]) == [after, before]
    state = folded(row(0, "edge:a"), before, after)
    assert (state.tags["edge:a"].status, state.tags["edge:a"].clean) == (RECURRING, 0)
    state = folded(row(0, "edge:a"), after, before)
    assert (state.tags["edge:a"].status, state.tags["edge:a"].clean) == (RECURRING, 1)


def test_L_40_the_trajectory_says_what_the_ledger_says() -> None:
    """SPEC L-40: the last three sessions of the problem, oldest first; a first session is named as such."""
    verdicts = ["needs_work", "borderline", "pass", "strong_pass"]
    state = folded(*(row(n, verdict=v) for n, v in enumerate(verdicts)))
    said = describe_trajectory(state.problems["two-sum"])
    assert (
        said
        == "Trajectory: before this, borderline (2026-02-20), pass (2026-02-21), strong_pass (2026-02-22)."
    )
    assert describe_trajectory(None) == "Trajectory: first session of this problem."


def test_L_43_the_interval_of_the_latest_row_that_has_one() -> None:
    """SPEC L-43: rows of any mode count; rows without a date are skipped; None if there is no such row."""
    rows = [
        row(0, review="2026-03-01"),
        row(1, review="—", mode="learning"),
        row(2, problem="lru", review="soon"),
    ]
    state = folded(*rows)
    assert state.problems["two-sum"].interval == 10 and state.problems["lru"].interval is None


def test_L_31_an_override_holds_until_the_next_session() -> None:
    """SPEC L-31: an override is replayed after the rows before it and before those after it."""
    rows = [row(1, "edge:a"), row(2), row(5), row(6)]
    state = folded(*rows[:2], overrides=[Override(stamp(2), 1, "edge:a", SHORT)])
    assert state.tags["edge:a"].status == SHORT
    state = folded(*rows, overrides=[Override(stamp(2), LAST, "edge:a", RECURRING)])
    assert (state.tags["edge:a"].status, state.tags["edge:a"].clean) == (SHORT, 3)
    state = folded(*rows[:3], overrides=[Override(stamp(2), LAST, "edge:a", RECURRING)])
    assert state.tags["edge:a"].status == IMPROVING


def test_a_weakness_that_only_the_profile_knew() -> None:
    """SPEC L-31: it continues from what the person wrote; a row that the entry already includes does not count again."""
    theirs = Weakness("edge:a", SHORT, "2025-01-01T10:00", stamp(0), stamp(-9), stamp(-3), 3)
    state = folded(row(1, "edge:a"), beside=FoldInputs(given={"edge:a": theirs}))
    assert (state.tags["edge:a"].status, state.tags["edge:a"].first) == (RECURRING, "2025-01-01T10:00")
    state = folded(row(0, "edge:a"), beside=FoldInputs(given={"edge:a": theirs}))
    assert (state.tags["edge:a"].status, state.tags["edge:a"].first) == (NEW, stamp(0))
