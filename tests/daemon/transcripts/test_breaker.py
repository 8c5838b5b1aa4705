"""The growth breaker."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.transcripts.breaker import HOUR, Breaker


class Hand:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.at = 0.0

    def monotonic(self) -> float:
        return self.at


def _loop(breaker: Breaker, hand: Hand, sessions: int, *, gap: float = 1.0, first: int = 0) -> None:
    for i in range(first, first + sessions):
        hand.at += gap
        breaker.note("/w", f"s{i}", 1.7e9 + hand.at)


def test_closes_above_the_limit_and_says_so() -> None:
    """RELIABILITY row 16: a hostile loop of self-made sessions stops at the breaker; other directories go on."""
    hand = Hand()
    breaker = Breaker(hand.monotonic)
    _loop(breaker, hand, 30)
    assert not breaker.closed("/w") and breaker.degradations() == []
    _loop(breaker, hand, 1, first=30)
    assert breaker.closed("/w") and not breaker.closed("/other")
    (problem,) = breaker.degradations()
    assert problem.id == "breaker.closed" and "/w" in problem.what and problem.hint


def test_opens_when_the_last_hour_falls_under_half() -> None:
    """DESIGN "The model": it opens by itself when they stop."""
    hand = Hand()
    breaker = Breaker(hand.monotonic)
    _loop(breaker, hand, 40)
    hand.at = HOUR + 25
    assert breaker.closed("/w"), "15 are left"
    hand.at += 1
    assert not breaker.closed("/w") and breaker.degradations() == []


def test_the_same_session_counts_once() -> None:
    """DESIGN: sessions are counted, not records."""
    hand = Hand()
    breaker = Breaker(hand.monotonic)
    for _ in range(100):
        breaker.note("/w", "s", 1.7e9)
    assert not breaker.closed("/w")


def test_catching_up_on_a_week_of_ordinary_work_closes_nothing() -> None:
    """DESIGN: no surprises: the daemon was off, a person was not."""
    breaker = Breaker(lambda: 0.0)
    for i in range(100):
        breaker.note("/w", f"s{i}", 1.7e9 + 200.0 * i * ((-1) ** i))
    assert not breaker.closed("/w")
    for i in range(31):
        breaker.note("/w", f"loop{i}", 1.6e9 - i)
    assert breaker.closed("/w"), "a loop that ran while we were off is a loop all the same"


@given(st.lists(st.floats(1, 2000), min_size=1, max_size=80), st.integers(1, 6))
@examples(40)
def test_closed_only_if_some_hour_held_more_than_the_limit(gaps: list[float], limit: int) -> None:
    """DESIGN: more new sessions per hour than the limit, in any order of gaps."""
    hand = Hand()
    breaker = Breaker(hand.monotonic, limit)
    times: list[float] = []
    for i, gap in enumerate(gaps):
        hand.at += gap
        times.append(hand.at)
        breaker.note("/w", str(i), hand.at)
        lately = sum(1 for time in times if time > hand.at - HOUR)
        if lately > limit:
            assert breaker.closed("/w")
        if 2 * lately < limit:
            assert not breaker.closed("/w")
