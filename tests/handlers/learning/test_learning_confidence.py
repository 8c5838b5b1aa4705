"""How a learned line's confidence rises and decays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.learning.confidence import (
    LineConfidence,
    current_confidence,
    is_stale,
    record_sighting,
)

DAY = 86_400.0
START = 1_700_000_000.0
NEW = LineConfidence(START, START, 1.0, 1)


def test_a_new_line() -> None:
    """S-54, P-11: after the first sighting first = last = now, confidence 1.0, count 1."""
    assert record_sighting(None, START) == NEW


def test_half_life() -> None:
    """P-13: it halves in 30 days."""
    assert current_confidence(NEW, START + 30 * DAY) == pytest.approx(0.5)
    assert current_confidence(NEW, START + 60 * DAY) == pytest.approx(0.25)


def test_reinforced_after_decaying() -> None:
    """P-12: it decays first, then rises by 0.3: 0.477 at day 75, 0.8 from a half, at most 1."""
    later = record_sighting(NEW, START + 75 * DAY)
    assert later.confidence == pytest.approx(0.477, abs=0.001)
    assert later.seen_count == 2 and later.last_seen == START + 75 * DAY and later.first_seen == START
    assert record_sighting(LineConfidence(START, START, 0.5, 1), START).confidence == pytest.approx(0.8)
    assert record_sighting(NEW, START).confidence == 1.0


@pytest.mark.parametrize("said", [1, 2, 3])
def test_stale_after_a_hundred_days_for_each_time_it_was_said(said: int) -> None:
    """S-54: a line that was said three times, every 80 days, is stale 300 days after the last time, not before."""
    line = NEW
    for times in range(1, said):
        line = record_sighting(line, START + times * 80 * DAY)
    assert not is_stale(line, line.last_seen + said * 100 * DAY)
    assert is_stale(line, line.last_seen + said * 100 * DAY + 1)
    assert not is_stale(line, START - 400 * DAY)


@given(st.lists(st.floats(0, 400 * DAY), min_size=1, max_size=8), st.floats(-400 * DAY, 400 * DAY))
@examples(80)
def test_stays_within_bounds_and_asking_changes_nothing(times: list[float], ask: float) -> None:
    """P-13: it is between 0 and 1 whatever the clock does; time alone never raises it."""
    standing: LineConfidence | None = None
    for at in times:
        standing = record_sighting(standing, START + at)
    assert standing is not None and standing.seen_count == len(times)
    assert 0.0 <= current_confidence(standing, START + ask) <= standing.confidence <= 1.0
    assert current_confidence(standing, START + ask + DAY) <= current_confidence(standing, START + ask)
