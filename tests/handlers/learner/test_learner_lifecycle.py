"""What a session does to a weakness: SPEC L-08, L-13 to L-20, L-22."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from support_examples import examples
from tacitd_handlers.learner.vocabulary import IMPROVING, LONG, NEW, RECURRING, SHORT, STATUSES
from tacitd_handlers.learner.weakness_rules import Weakness, record_clean, record_failure, start_weakness

T = [f"2026-03-{day:02d}T10:00" for day in range(1, 29)]


def clean(weakness: Weakness, stamp: str, session: str = "", *, proved: bool = False) -> Weakness:
    return record_clean(weakness, stamp, session or stamp, lambda stamp: proved)


def with_status(status: str, count: int) -> Weakness:
    return Weakness("edge:x", status, T[0], T[5], T[1], T[2] if count else "", count)


@pytest.mark.parametrize("status", STATUSES)
def test_L_14_L_18_L_19_observed_again(status: str) -> None:
    """SPEC L-14, L-18, L-19, L-16's first column: recurring from every status; stamps set, streak emptied, N = 0."""
    w = record_failure(with_status(status, 2), T[9], "later")
    assert (w.status, w.tested, w.failed, w.streak, w.clean) == (RECURRING, T[9], T[9], "", 0)
    assert w.first == T[0]


@pytest.mark.parametrize(
    ("status", "after"),
    [
        (NEW, (NEW, NEW, SHORT)),
        (RECURRING, (RECURRING, IMPROVING, SHORT)),
        (IMPROVING, (IMPROVING, IMPROVING, SHORT)),
    ],
)
def test_L_16_L_20_the_table(status: str, after: tuple[str, ...]) -> None:
    """SPEC L-15, L-16, L-17: every cell for clean sessions, with N = 1, 2 and 3; L-20: new stays new at 1 and 2."""
    for count, wanted in enumerate(after):
        assert clean(with_status(status, count), T[9]).status == wanted


def test_L_16_resolved_rows_of_the_table() -> None:
    """SPEC L-16: short-term becomes long-term if verified, otherwise it stays; long-term stays and its fields are
    updated.
    """
    assert clean(with_status(SHORT, 3), T[9]).status == SHORT
    long_ago = replace(with_status(SHORT, 3), streak="2026-01-01T10:00")
    assert clean(long_ago, T[9]).status == SHORT and clean(long_ago, T[9], proved=True).status == LONG
    after = clean(with_status(LONG, 9), T[9])
    assert (after.status, after.clean, after.tested) == (LONG, 10, T[9])


def test_L_22_a_session_counts_once() -> None:
    """SPEC L-22: several problems in one session: observed in any of them is failed; N rises once; two observations
    count as one.
    """
    w = start_weakness("edge:x", T[0], "a")
    assert record_failure(w, T[0], "a").status == NEW
    assert clean(w, T[0], "a").clean == 0
    once = clean(w, T[1], "b")
    assert clean(once, T[1], "b").clean == 1
    failed = record_failure(once, T[1], "b")
    assert (failed.status, failed.clean) == (RECURRING, 0)
    assert clean(failed, T[1], "b").clean == 0
    # The first session continues after a clean one and shows the gap again.
    later = record_failure(once, T[2], "a")
    assert (later.status, later.clean) == (RECURRING, 0)


@examples(200)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=25))
def test_L_08_L_16_the_invariants_of_any_course(course: list[tuple[bool, bool]]) -> None:
    """SPEC L-08, L-16: N = 0 exactly without a streak; resolved needs three; the first stamp never changes."""
    w = start_weakness("edge:x", "2026-01-01T00:00", "first")
    for at, (seen, proved) in enumerate(course):
        stamp = f"2026-{2 + at // 28:02d}-{1 + at % 28:02d}T10:00"
        w = record_failure(w, stamp, stamp) if seen else clean(w, stamp, proved=proved)
        assert (w.clean == 0) == (w.streak == "")
        assert w.status in STATUSES and w.first == "2026-01-01T00:00" and w.tested == stamp
        assert w.status not in (SHORT, LONG) or w.clean >= 3
        assert w.failed <= w.streak or not w.streak
        assert replace(w) == w
