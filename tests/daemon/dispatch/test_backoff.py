"""When failed work is retried, and when it is given up."""

from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from support_examples import examples
from tacitd.dispatch.backoff import FURTHEST, Backoff, GiveUp, Halve, Parked, decide_retry, replan_parked
from tacitd.handler import Later

BACKOFF = Backoff(first=30.0, longest=21600.0)
WORLD = Later("no model")
WORK = Later("cannot be read", blame="work")


def _parked(later: Later = WORLD, before: Parked | None = None, now: float = 0.0) -> Parked:
    made = decide_retry(before, later, 4, now, now, BACKOFF)
    assert isinstance(made, Parked)
    return made


@given(st.integers(1, 10_000))
@examples(50)
def test_delays_grow_up_to_a_limit(attempts: int) -> None:
    """DESIGN "Handlers and events": parked work is retried with growing delays."""
    assert BACKOFF.get_delay(attempts) <= BACKOFF.get_delay(attempts + 1) <= 21600.0
    assert BACKOFF.get_delay(1) == 30.0 and BACKOFF.get_delay(2) == 120.0 and BACKOFF.get_delay(99) == 21600.0


def test_work_that_waits_for_something_outside_is_never_given_up() -> None:
    """Issue "Dispatch": `world` is neither halved nor rejected, and keeps the time since when it waits."""
    parked: Parked | None = None
    dues = []
    for i in range(50):
        parked = _parked(before=parked, now=float(i))
        dues.append(parked.due - i)
    assert parked is not None and parked.attempts == 50 and parked.since == 0.0
    assert dues == sorted(dues) and dues[-1] == 21600.0


def test_a_try_before_its_time_does_not_lengthen_the_delay() -> None:
    """Unless each try may be paid for: then it counts."""
    parked = _parked(before=_parked())
    assert _parked(before=replace(parked, is_early=True)).attempts == parked.attempts == 2
    failed = replace(_parked(WORK), is_early=True)
    assert _parked(WORK, failed).attempts == 2
    assert _parked(before=failed).attempts == 1


def test_work_waits_until_the_time_in_its_reason() -> None:
    """DESIGN "Model": after a usage limit, work waits until the reset time."""
    assert _parked(Later("limit", not_before=5000.0), now=1000.0).due == 5000.0


@pytest.mark.parametrize("named", [0.0, 999.0, 1001.0, nan, -inf])
def test_a_past_time_makes_no_loop(named: float) -> None:
    """RELIABILITY row 16: a reset time in the past must not lead to call after call."""
    parked: Parked | None = None
    delays = []
    for _ in range(3):
        parked = _parked(Later("limit", not_before=named), parked, now=1000.0)
        delays.append(parked.due - 1000.0)
    assert delays == [30.0, 120.0, 480.0]


@pytest.mark.parametrize("named", [1e12, inf])
def test_a_time_too_far_ahead_is_limited(named: float) -> None:
    """RELIABILITY row 12: a clock that was wrong for a minute does not park work for a century."""
    assert _parked(Later("limit", not_before=named)).due == FURTHEST


def test_another_kind_of_failure_is_counted_from_one() -> None:
    """Issue "Dispatch": three tries of the batch itself, not two outages and one."""
    outage = _parked(before=_parked())
    assert outage.attempts == 2
    assert _parked(WORK, outage).attempts == 1


@pytest.mark.parametrize(
    ("records", "halved", "last"),
    [
        (9, False, Halve(4)),
        (1, False, GiveUp("cannot be read")),
        (9, True, Halve(4)),
        (1, True, GiveUp("cannot be read")),
    ],
)
def test_work_that_fails_is_tried_three_times_and_a_half_of_it_twice(
    records: int, halved: bool, last: Halve | GiveUp
) -> None:
    """Issue "Dispatch": each try may be paid for, so their number is a promise."""
    parked: Parked | None = None
    for number in range(1, 2 if halved else 3):
        made = decide_retry(parked, WORK, records, 0.0, 0.0, BACKOFF, halved=halved)
        assert isinstance(made, Parked) and made.attempts == number
        parked = made
    assert decide_retry(parked, WORK, records, 0.0, 0.0, BACKOFF, halved=halved) == last


@given(st.floats(-1e7, 1e7), st.none() | st.floats(-1e7, 1e9))
@examples(50)
def test_a_clock_jump_only_brings_work_forward(jump: float, named: float | None) -> None:
    """RELIABILITY row 12: work that waits for a time of day is planned again, and not later than before."""
    before = _parked(Later("limit", not_before=named), now=1000.0)
    after = replan_parked(before, 1000.0 + jump, 1000.0, jump)
    assert after.due <= before.due
    assert after.due == before.due if named is None else after.due >= 1000.0
    if named is not None and jump <= 0:
        assert after.due == 1000.0, "set back: it is tried at once"


@given(
    st.lists(st.booleans(), min_size=1, max_size=60),
    st.integers(1, 60),
)
@examples(60)
def test_halving_rejects_exactly_the_failing_records(failing: list[bool], offered: int) -> None:
    """Issue "Dispatch": a batch that keeps failing is halved until the failing record is alone. Only that record is
    rejected, every other is handled in order, and the number of tries is bounded."""
    handled: list[int] = []
    rejected: list[int] = []
    position = tries = 0
    parked: Parked | None = None
    limit, limit_end = None, 0
    while position < len(failing):
        halved = limit is not None and position < limit_end
        size = min(offered, len(failing) - position, limit if halved and limit is not None else 1000)
        batch = range(position, position + size)
        tries += 1
        if not any(failing[i] for i in batch):
            handled += batch
            position, parked = position + size, None
            continue
        match decide_retry(parked, WORK, size, 0.0, 0.0, BACKOFF, halved=halved):
            case Parked() as again:
                parked = again
            case Halve(half):
                parked, limit = None, half
                limit_end = max(limit_end if halved else 0, position + size)
            case GiveUp():
                rejected += batch
                position, parked = position + size, None
    assert rejected == [i for i, bad in enumerate(failing) if bad]
    assert handled == [i for i, bad in enumerate(failing) if not bad]
    assert tries <= 3 + len(failing) * 3 + 2 * 7 * sum(failing)


def test_an_event_without_records_is_never_given_up() -> None:
    """Issue "Dispatch": there is no record to reject; it stays in `status`."""
    assert isinstance(decide_retry(_parked(WORK, _parked(WORK)), WORK, 0, 0.0, 0.0, BACKOFF), Parked)
