"""The caps of the model's calls, whoever calls and whatever happens."""

from __future__ import annotations

import os
import threading
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from support_budget import CALL, DAY_SECONDS, NOON, PLAIN, SCAN, Limits, World, make_part
from support_examples import examples
from tacitd.model.budget import Budget
from tacitd.model.call_caps import MinuteFull
from tacitd.model.port import NoAnswer, Why
from tacitd.store import Store
from tacitd.testing import DAY


def test_the_row_and_its_parts_are_there_before_the_call(world: World) -> None:
    """DESIGN "The model": what a call is about is committed with its row before it begins, with an assumed cost."""
    number = world.begin(replace(CALL, about=(make_part("p1"), make_part("p2", "no", 2))))
    ((plugin, ended, usd, process),) = world.store.rows("SELECT plugin, ended, usd, process FROM call")
    assert (plugin, ended, usd, process) == ("learning", None, 0.01, os.getpid())
    assert world.store.rows("SELECT call, kind, number, row, length(digest) FROM call_part") == [
        (number, "prompt", 1, "p1", 8),
        (number, "prompt", 2, "p2", 8),
    ]


@pytest.mark.parametrize(
    ("caps", "says", "until"),
    [
        (Limits(usd_per_day=0.30), "$0.30 of $0.30 spent today", "day"),
        (Limits(usd_per_month=0.30), "$0.30 of $0.30 spent this month", "month"),
        (Limits(calls_per_day=1), "1 of 1 calls made today", "day"),
    ],
)
def test_a_reached_cap_refuses_and_says_until_when(world: World, caps: Limits, says: str, until: str) -> None:
    """S-64: a cap of the day or the month refuses at once, and says when to ask again, in local time."""
    world.calls._caps = caps
    world.spend(0.30)
    refused = world.refuse()
    assert refused.why is Why.BUDGET and says in refused.detail and refused.hint
    assert refused.retry_at is not None
    again = datetime.fromtimestamp(refused.retry_at)
    assert (again.hour, again.minute) == (0, 0)
    today = datetime.fromtimestamp(NOON).date()
    if until == "day":
        assert again.date() == today + timedelta(days=1)
    else:
        assert again.day == 1 and again.date() > today
    world.clock.jump(refused.retry_at - world.clock.now())
    world.begin()


def test_a_clock_that_goes_back_over_midnight_frees_no_budget(world: World) -> None:
    """RELIABILITY 16: calls of the next day, or month, count if they are at most 24 hours ahead."""
    world.calls._caps = Limits(usd_per_day=0.30, usd_per_month=9.0)
    first = datetime.fromtimestamp(NOON).replace(day=1, hour=0, minute=30)
    world.clock.jump(first.timestamp() - world.clock.now())
    world.spend(0.30)
    for back in (0, 3600, DAY - 3600):
        world.clock.jump(-back)
        assert world.refuse().why is Why.BUDGET
        assert world.spending().usd_today == world.spending().usd_month == 0.30


@pytest.mark.parametrize("ahead", [2 * DAY, 40 * DAY, 3650 * DAY])
def test_a_clock_that_was_ahead_for_a_moment_takes_no_budget(world: World, ahead: float) -> None:
    """Otherwise its calls would count as today's, and this month's, for years."""
    world.calls._caps = Limits(usd_per_day=0.30, usd_per_month=9.0)
    capped = replace(PLAIN, usd_per_day=0.30)
    world.clock.jump(datetime.fromtimestamp(NOON).replace(day=1).timestamp() - NOON)
    world.clock.jump(ahead)
    world.spend(0.30, capped)
    world.clock.jump(-ahead)
    assert (world.spending().calls_today, world.spending().usd_today) == (0, 0.0)
    assert world.spending().usd_month == (0.30 if ahead == 2 * DAY else 0.0)
    world.spend(0.30, capped)
    assert world.refuse(capped).why is Why.BUDGET


def test_open_calls_count_with_what_the_last_ones_cost(world: World) -> None:
    """S-64: a call without a reported cost counts with the mean of the recent ones of its tier."""
    for usd in (0.2, 0.4):
        world.spend(usd)
    world.calls.end_call(world.begin(), "failed")
    world.begin()
    assert world.spending().usd_today == pytest.approx(0.2 + 0.4 + 0.3 + 0.3)
    assert world.spending().calls_total == 4
    world.begin(replace(PLAIN, tier="accurate"))
    assert world.spending().usd_month == pytest.approx(1.2 + 0.25)
    world.clock.advance(400 * DAY)
    spent = world.spending()
    assert spent.usd_today == spent.usd_month == 0.0 and spent.usd_total == pytest.approx(1.45)


@pytest.mark.parametrize(
    "caps", [Limits(usd_per_day=1.0), Limits(usd_per_month=1.0), Limits(calls_per_day=4)]
)
def test_a_quarter_of_each_cap_is_kept_for_live_work(world: World, caps: Limits) -> None:
    """DESIGN "Work": what `scan` asked for gives way to what a person types now."""
    world.calls._caps = caps
    for _ in range(3):
        world.spend(0.26, SCAN)
    assert "for what you type" in world.refuse(SCAN).detail
    world.begin()


def test_a_quarter_of_the_minute_and_of_a_purpose_is_kept_too(world: World) -> None:
    """DESIGN "Work": the same holds for the cap of the minute and for the limit of one purpose."""
    world.calls._caps = Limits(calls_per_minute=4)
    for _ in range(3):
        world.spend(0.26, replace(SCAN, usd_per_day=1.0))
    assert isinstance(world.calls.begin_call(SCAN), MinuteFull)
    world.begin(replace(PLAIN, usd_per_day=1.0))
    world.clock.advance(61.0)
    assert isinstance(world.calls.begin_call(replace(SCAN, usd_per_day=1.0)), NoAnswer)
    world.begin(SCAN)


def test_the_minute_is_waited_for(world: World) -> None:
    """S-64: a full minute is no refusal. A clock that was set back does not make it last."""
    world.calls._caps = Limits(calls_per_minute=2)
    world.begin()
    world.clock.advance(20.0)
    world.begin()
    world.clock.advance(10.0)
    assert world.calls.begin_call(PLAIN) == MinuteFull(2, 30.0)
    world.clock.jump(-3600.0)
    world.begin()
    world.calls._caps = Limits(calls_per_minute=0)
    assert world.refuse().why is Why.BUDGET


def test_one_purpose_has_a_limit_of_its_own(world: World) -> None:
    """A purpose may have a cap of its own beside that of the day."""
    world.calls._caps = Limits(usd_per_day=1.0)
    world.spend(0.3)
    limited = replace(PLAIN, usd_per_day=0.3)
    assert "`extraction`" in world.refuse(limited).detail
    world.begin(replace(limited, purpose="synthesis"))


def test_any_process_draws_on_one_budget(world: World) -> None:
    """DESIGN "The model": a command that calls while the daemon runs counts, and sees what the daemon spent."""
    world.calls._caps = Limits(calls_per_day=2)
    other = Store.open(world.state, world.clock, owner=False)
    theirs = Budget(other, Limits(calls_per_day=2), world.clock)
    assert isinstance(theirs.begin_call(PLAIN), int)
    world.begin()
    assert isinstance(theirs.begin_call(PLAIN), NoAnswer) and world.refuse().why is Why.BUDGET
    other.close()


def test_many_threads_never_pass_the_cap(world: World) -> None:
    """S-64: calls come from several threads."""
    world.calls._caps = Limits(calls_per_day=20, calls_per_minute=1000)
    made: list[object] = []
    threads = [
        threading.Thread(target=lambda: made.extend(world.calls.begin_call(PLAIN) for _ in range(8)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 32 and sum(isinstance(one, int) for one in made) == 20


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["answered", "failed", "stopped", "crash"]),
        st.sampled_from([None, 0.0, 0.01, 0.3]),
        st.integers(-3 * DAY_SECONDS, 3 * DAY_SECONDS),
    ),
    max_size=25,
)


@examples(40)
@given(STEPS)
def test_whatever_happens_the_caps_hold(steps: list[tuple[Any, float | None, int]]) -> None:
    """RELIABILITY 16: with any mix of calls, crashes and clock jumps, no date has more calls than allowed, or costs more than
    allowed and one call."""
    with TemporaryDirectory() as folder:
        world = World(Path(folder) / "state")
        world.caps = Limits(calls_per_day=4, usd_per_day=0.5)
        world.calls._caps = world.caps
        for outcome, usd, jump in steps:
            number = world.calls.begin_call(PLAIN)
            if isinstance(number, int) and outcome == "crash":
                world.restart()
            elif isinstance(number, int):
                world.calls.end_call(number, outcome, usd=usd)
            world.clock.jump(jump)
        days = world.store.rows("SELECT count(*), total(usd), max(usd) FROM call GROUP BY day")
        assert all(calls <= 4 and usd < 0.5 + most for calls, usd, most in days)
        world.store.close()
