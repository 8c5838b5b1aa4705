"""What happens by the clock. APScheduler's own clock is the real one: it is planned here, and never started."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.clock import SystemClock
from tacitd.handler import Job
from tacitd.schedule import SOON, Schedule, first_pause
from tacitd.testing import FakeClock

HOUR = 3600.0


def _schedule(*jobs: Job, last: float | None = None) -> tuple[Schedule, FakeClock, list[str]]:
    clock, ran = FakeClock(), []
    schedule = Schedule(clock, lambda name, job: ran.append(f"{name}.{job}"))
    for job in jobs:
        schedule.add("x", job, last)
    return schedule, clock, ran


@given(st.floats(60, 1e6), st.none() | st.floats(-1e9, 1e9), st.booleans())
@examples(60)
def test_a_job_first_runs_within_its_interval(every: float, ago: float | None, at_start: bool) -> None:
    """RELIABILITY row 12: at least once in its interval, whatever the clock said when it last ran."""
    now = 2e9
    pause = first_pause(Job("j", every, at_start), None if ago is None else now - ago, now)
    assert SOON <= pause <= max(SOON, every)
    if not at_start and ago is not None and 0 <= ago < every - SOON:
        assert pause == pytest.approx(every - ago), "not before: a restart does not repeat it"


def test_a_job_by_hand_is_not_planned() -> None:
    """`Job.every` infinite: only when a person asks for it."""
    schedule, _, _ = _schedule(Job("j"), Job("k", HOUR), Job("l", HOUR, at_start=True))
    assert schedule.next_in() == {"x.k": HOUR, "x.l": SOON}


@pytest.mark.parametrize("back", [1.0, 2 * HOUR, 365 * 24 * HOUR])
def test_a_clock_that_is_set_back_delays_no_job(back: float) -> None:
    """RELIABILITY row 12: APScheduler would not run at all until the old time is reached again."""
    schedule, clock, _ = _schedule(Job("j", HOUR))
    clock.pass_(HOUR / 2)
    clock.jump(-back)
    assert schedule.next_in()["x.j"] == pytest.approx(HOUR / 2 + back)
    schedule.wake()
    assert schedule.next_in()["x.j"] == pytest.approx(HOUR / 2)
    schedule.wake()
    assert schedule.next_in()["x.j"] == pytest.approx(HOUR / 2)


def test_a_clock_that_is_set_forward_makes_it_due() -> None:
    """RELIABILITY row 12: the interval has passed by the clock that people see; it runs once."""
    schedule, clock, _ = _schedule(Job("j", HOUR))
    clock.jump(365 * 24 * HOUR)
    schedule.wake()
    assert schedule.next_in()["x.j"] < 0


def test_what_ran_is_counted_from() -> None:
    """A jump right after it ran does not make it run again before its interval."""
    schedule, clock, ran = _schedule(Job("j", HOUR, at_start=True))
    clock.pass_(SOON)
    schedule._fire("x.j", "x", "j")
    clock.jump(-HOUR * 5)
    schedule.wake()
    assert ran == ["x.j"] and schedule.next_in()["x.j"] == pytest.approx(HOUR)


def test_it_begins_and_ends() -> None:
    """It ends without waiting, and twice does no harm."""
    ran: list[str] = []
    schedule = Schedule(SystemClock(), lambda name, job: ran.append(job))
    schedule.add("x", Job("j", HOUR), None)
    schedule.stop()
    schedule.start()
    schedule.wake()
    schedule.stop()
    schedule.stop()
    assert ran == []
