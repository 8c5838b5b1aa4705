"""Timed jobs: what is due depends on the injected clock only."""

from __future__ import annotations

import math
import time
import tracemalloc
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.plugin import TimedJob
from tacitd.schedule import SOON, Schedule, first_pause
from tacitd.testing import FakeClock

HOUR = 3600.0
YEAR = 365 * 24 * HOUR
EVERY = 60.0
LOOP = 60.0
"""Maximum seconds between two passes of the engine's loop (`engine.MAX_SLEEP`)."""


def _schedule(
    *jobs: TimedJob, ran: bool = True, clock: FakeClock | None = None
) -> tuple[Schedule, FakeClock]:
    clock = clock or FakeClock()
    schedule = Schedule(clock)
    for job in jobs:
        schedule.add_job("x", job, clock.now() if ran else None)
    return schedule, clock


@given(st.floats(60, 1e6), st.none() | st.floats(-1e9, 1e9))
@examples(60)
def test_a_job_first_runs_within_its_interval(every: float, ago: float | None) -> None:
    """RELIABILITY row 12: at least once in its interval, whatever the clock was when it last ran."""
    now = 2e9
    pause = first_pause(every, None if ago is None else now - ago, now)
    assert SOON <= pause <= max(SOON, every)
    if ago is not None and 0 <= ago < every - SOON:
        assert pause == pytest.approx(every - ago), "not before: a restart does not repeat it"


def test_a_job_by_hand_is_not_planned() -> None:
    """`Job.every` infinite: only when a person asks for it."""
    schedule, clock = _schedule(TimedJob("j", math.inf), TimedJob("k", HOUR), TimedJob("l", HOUR), ran=False)
    assert schedule.next_in() == pytest.approx(SOON)
    clock.advance(10 * HOUR)
    assert schedule.take_due() == [("x", "k"), ("x", "l")]


def test_summer_time_ends_without_a_second_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY row 12: an hour occurs twice on local clocks, and intervals are counted in UTC."""
    monkeypatch.setenv("TZ", "Europe/Amsterdam")
    time.tzset()
    try:
        # 2026-10-25T00:00Z.
        schedule, clock = _schedule(TimedJob("j", HOUR), clock=FakeClock(wall=1_792_886_400.0))
        runs = []
        for _ in range(4 * 4):
            clock.advance(HOUR / 4)
            runs.append(schedule.take_due())
    finally:
        monkeypatch.undo()
        time.tzset()
    assert runs == [[], [], [], [("x", "j")]] * 4


@given(
    st.lists(
        st.tuples(st.floats(0.1, LOOP), st.sampled_from([0.0, 0.0, 1.0, -1.0, 7200.0, -7200.0, YEAR, -YEAR]))
    )
)
@examples(100)
def test_any_jumps_keep_each_job_within_its_interval(steps: Sequence[tuple[float, float]]) -> None:
    """RELIABILITY row 12: never twice within an interval on the clock on which it passed; never later than the interval
    and one pass of the loop; at most one run for each jump."""
    schedule, clock = _schedule(TimedJob("j", EVERY))
    ran = started = FakeClock(clock.wall, clock.mono)
    runs = forward = 0
    for seconds, jump in steps:
        clock.advance(seconds)
        clock.jump(jump)
        forward += jump > 0
        if schedule.take_due():
            runs += 1
            assert max(clock.wall - ran.wall, clock.mono - ran.mono) >= EVERY - 1e-3
            ran = FakeClock(clock.wall, clock.mono)
        assert clock.mono - ran.mono <= EVERY + LOOP
    assert runs <= (clock.mono - started.mono) / EVERY + forward + 1


def test_a_jump_of_56_years_costs_nothing() -> None:
    """A machine that boots in 1970 and then receives the date: a job of one minute was missed 29 million times."""
    schedule, clock = _schedule(*(TimedJob(f"j{n}", EVERY) for n in range(10)), clock=FakeClock(wall=0.0))
    clock.advance(EVERY)
    schedule.take_due()
    tracemalloc.start()
    try:
        clock.jump(56 * YEAR)
        due = schedule.take_due()
        clock.jump(-56 * YEAR)
        assert schedule.take_due() == []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(due) == 10 and peak < 20_000


@pytest.mark.parametrize("wall", [-1e12, 1e12])
def test_a_date_that_cannot_be_expressed_stops_no_job(wall: float) -> None:
    """`datetime` ends at the year 9999: the monotonic clock decides then."""
    schedule, clock = _schedule(TimedJob("j", HOUR), TimedJob("never", 1e300))
    clock.advance(HOUR)
    assert schedule.take_due() == [("x", "j")]
    clock.wall = wall
    schedule.take_due()
    clock.advance(HOUR)
    assert schedule.take_due() == [("x", "j")]
