"""Twenty years: a confidence is a function of the times of its sightings, however often decay ran (SPEC P-11 to P-16)."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_profile import DAY, Box
from tacitd.testing import START, FakeClock
from tacitd_handlers.profile import profile_confidence

YEARS = 20 * 365
EDGE = 30 * math.log2(10)
"""Days after which a value that was said once goes."""


def expect(said: list[float], at: float) -> float:
    """The closed formula: half after each 30 days, 0.3 more at each sighting, at most 1. A value that went begins again."""
    value, since = 1.0, said[0]
    for moment in said[1:]:
        left = value * 2 ** (-(moment - since) / (30 * DAY))
        value, since = (1.0 if left < 0.1 else min(1.0, left + 0.3)), moment
    return float(value * 2 ** (-(at - since) / (30 * DAY)))


@examples(30)
@given(
    st.lists(st.integers(1, YEARS - 1), min_size=1, max_size=60, unique=True).map(sorted),
    st.sampled_from([1, 3, 17, 90, 400]),
)
def test_decay_depends_on_the_time_that_passed(days: list[int], every: int) -> None:
    """P-13: run daily, monthly or once a year, the result is that of the closed formula."""
    meta = profile_confidence.new_metadata("u", START)
    said: list[float] = []
    for day in range(1, YEARS + 1):
        now = START + day * DAY
        if day in days:
            # A value that went is a new one: the job runs before the value is needed.
            meta = profile_confidence.decay_metadata(meta, now)[0]
            said.append(now)
            meta = profile_confidence.add_sightings(meta, ["tools.editor"], now)
        elif day % every == 0:
            meta = profile_confidence.decay_metadata(meta, now)[0]
        if said and day % 30 == 0:
            found = profile_confidence.read_confidences(meta).get("tools.editor")
            wanted = expect(said, now)
            assert (found.confidence_at(now) if found else 0.0) == pytest.approx(
                wanted if found else 0.0, rel=1e-9
            )
            assert found is not None or wanted < 0.1


def test_twenty_years_in_the_engine(tmp_path: Path) -> None:
    """P-13 to P-16, X-06: findings, restarts, kills and hours without a daemon; each value is what the formula says, and goes on
    its day."""
    rng, said = random.Random(7), dict[str, list[float]]()
    fields = {"tools.editor": {"tools": {"editor": "vi"}}, "work.role": {"work": {"role": "dev"}}}
    with Box(tmp_path, FakeClock(START)) as box:
        begin = box.clock.now()
        while box.clock.now() < begin + YEARS * DAY:
            box.wait(rng.choice([1, 9, 40, 75, 99, 130, 300]) * DAY)
            box.bench.type("hello")  # the client's record confirms the clock, also after years
            box.wait(3600.0)
            path = rng.choice([*fields, "", ""])
            if path:
                box.find(fields[path])
                said.setdefault(path, []).append(box.clock.now())
            if rng.random() < 0.2:
                box.bench.restart(kill=rng.random() < 0.5)
            box.wait(3600.0)
            now = box.clock.now()
            for name, moments in said.items():
                entry = profile_confidence.read_confidences(box.read("profile-meta.json")).get(name)
                wanted = expect(moments, now)
                assert (entry is not None) == (wanted >= 0.1)
                if entry is not None:
                    assert entry.confidence_at(now) == pytest.approx(wanted, rel=1e-6)
            there = {
                "tools.editor": "editor" in box.profile.get("tools", {}),
                "work.role": "role" in box.profile.get("work", {}),
            }
            assert there == {name: name in said and expect(said[name], now) >= 0.1 for name in there}


def test_a_clock_that_is_not_believed_suspends_decay(box: Box) -> None:
    """P-13, DESIGN "Control and service": a day in the year 2100 or 1970 removes nothing; what is said then counts from the last known
    time, and afterwards everything goes on."""
    box.learn(tools__editor="vi")
    before = box.meta["tools.editor"]
    for jump in (74 * 365 * DAY, -40 * 365 * DAY):
        box.clock.jump(jump)
        box.wait(3600.0).fade()
        assert box.profile["tools"] == {"editor": "vi"} and box.meta["tools.editor"] == before
        assert any("the clock" in what for what in box.bench.degraded)
        assert box.bench.status["suspended"]
        box.clock.jump(-jump)
    box.clock.jump(74 * 365 * DAY)
    box.learn(tools__editor="vi")
    assert box.meta["tools.editor"]["lastSeen"] == before["lastSeen"]
    box.clock.jump(-74 * 365 * DAY)
    box.wait(3600.0)
    assert not any("the clock" in what for what in box.bench.degraded)
    box.wait((EDGE + 1) * DAY).fade()
    assert "tools" not in box.profile


def test_a_value_goes_within_an_hour_of_its_day(box: Box) -> None:
    """P-14, P-16: 99.66 days after it was said once; a minute before, it is there."""
    box.learn(tools__editor="vi")
    box.wait(EDGE * DAY - 60).fade()
    assert box.profile["tools"]["editor"] == "vi"
    box.wait(3700.0)
    assert "tools" not in box.profile and box.changelog[-1]["removed"] == ["tools.editor"]
