"""The rules of decay: the properties of SPEC P-11 to P-16 and RELIABILITY row 12."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_profile import DAY, Box
from tacitd.clock import doubt_clock, utc_millis
from tacitd.testing import START
from tacitd_handlers.profile import profile_confidence as metas
from tacitd_handlers.profile.fields import Json

T0 = START
times = st.floats(0, 4e7).map(lambda s: T0 + s)
confidences = st.floats(0.1, 1.0)


def doc(confidence: float, seen: float = T0) -> Json:
    made = metas.new_metadata("u", seen)
    stamp = utc_millis(seen)
    entry = {"path": "bio", "firstSeen": stamp, "lastSeen": stamp, "confidence": confidence, "seenCount": 1}
    return made | {"preferences": [entry]}


def value(meta: Json) -> float | None:
    found = metas.read_confidences(meta).get("bio")
    return found.confidence if found else None


def test_the_constants_are_the_seeds() -> None:
    """SPEC P-32: 30, 0.1, 0.3."""
    assert (metas.HALF_LIFE_DAYS, metas.MIN_CONFIDENCE, metas.REINFORCE_BOOST) == (30.0, 0.1, 0.3)


@examples(100)
@given(confidences, times, times)
def test_two_runs_equal_one(confidence: float, one: float, other: float) -> None:
    """SPEC P-13: decay(t1) then decay(t2) is decay(t2); twice at one instant is once."""
    first, last = sorted((one, other))
    once = value(metas.decay_metadata(doc(confidence), last)[0])
    twice = value(metas.decay_metadata(metas.decay_metadata(doc(confidence), first)[0], last)[0])
    assert (once is None) == (twice is None) or math.isclose(
        metas.fade_confidence(confidence, T0, last), 0.1, rel_tol=1e-9
    )
    if once is not None and twice is not None:
        assert math.isclose(once, twice, rel_tol=1e-12)
    again = metas.decay_metadata(doc(confidence), last)[0]
    assert metas.decay_metadata(again, last)[0] == again


@given(confidences, st.lists(st.floats(-1e9, 1e9).map(lambda s: T0 + s), max_size=8))
@examples(60)
def test_no_order_and_no_clock_ever_raises(confidence: float, clocks: list[float]) -> None:
    """SPEC P-13, RELIABILITY row 12: whatever the clock shows, a confidence only falls and lastDecay only rises."""
    meta, before, decayed = doc(confidence), confidence, T0
    for now in clocks:
        meta = metas.decay_metadata(meta, now)[0]
        after = value(meta) or 0.0
        assert after <= before
        assert (metas.last_decay(meta) or 0.0) >= decayed
        before, decayed = after, metas.last_decay(meta) or 0.0


def test_a_fresh_one_is_forgotten_after_99_66_days() -> None:
    """SPEC P-14: a confidence of 1.0 is first under 0.1 after 99.66 days; 0.1 itself stays."""
    edge = 30 * math.log2(10)
    assert round(edge, 2) == 99.66
    assert metas.decay_metadata(doc(1.0), T0 + (edge - 0.001) * DAY)[1] == ()
    assert metas.decay_metadata(doc(1.0), T0 + (edge + 0.001) * DAY)[1] == ("bio",)
    assert metas.decay_metadata(doc(0.1), T0)[1] == ()


def test_said_again_fades_first_and_then_rises() -> None:
    """SPEC P-12: at day 75 the result is 0.477 and not the original's 0.55; 0.5 becomes 0.8 at once; never over 1."""
    day_75 = metas.add_sightings(doc(1.0), ["bio"], T0 + 75 * DAY)
    assert value(day_75) == pytest.approx(0.5 ** (75 / 30) + 0.3)
    assert value(metas.add_sightings(doc(0.5), ["bio"], T0)) == pytest.approx(0.8)
    assert value(metas.add_sightings(doc(0.9), ["bio"], T0)) == 1.0
    assert metas.read_confidences(day_75)["bio"].seen_count == 2


def test_days_left_is_when_it_goes() -> None:
    """SPEC P-14: the days until a confidence is under 0.1."""
    fresh, low = (metas.read_confidences(doc(one))["bio"] for one in (1.0, 0.2))
    assert fresh.days_left(T0) == pytest.approx(99.658, abs=1e-3)
    assert [low.days_left(T0 + days * DAY) for days in (0, 10, 31)] == [
        pytest.approx(30.0),
        pytest.approx(20.0),
        0.0,
    ]


@pytest.mark.parametrize(
    ("now", "known", "doubted"),
    [
        (T0, T0, False), (T0, None, False), (0.0, None, True), (0.0, T0, True), (4.1e9, T0, True),
        (T0 + 399 * DAY, T0, False), (T0 + 401 * DAY, T0, True), (T0 - 7200, T0, False),
        (T0 - 2 * DAY, T0, True),
    ],
)  # fmt: skip
def test_a_clock_that_is_not_believed(now: float, known: float | None, doubted: bool) -> None:
    """SPEC P-13, RELIABILITY row 12: a clock before the last run, or 400 days after the newest known time."""
    assert bool(doubt_clock(now, known)) is doubted


def test_last_decay_moves_only_when_decay_is_written(box: Box) -> None:
    """SPEC P-15: a sighting leaves lastDecay alone; a missing one counts as now, so nothing decays by it."""
    box.learn(tools__editor="vi")
    first = box.read("profile-meta.json")["lastDecay"]
    box.clock.advance(DAY / 2)
    box.learn(tools__editor="vi", work__role="dev")
    assert box.read("profile-meta.json")["lastDecay"] == first
    box.clock.advance(DAY)
    box.fade()
    written = box.read("profile-meta.json")["lastDecay"]
    assert written > first
    document = box.read("profile-meta.json")
    del document["lastDecay"]
    box.put("profile-meta.json", document)
    before = box.meta["work.role"]["confidence"]
    box.clock.advance(10 * DAY)
    box.learn(interests=("tea",)).notice()
    assert box.read("profile-meta.json")["lastDecay"] > written
    box.fade()
    assert box.meta["work.role"]["confidence"] == pytest.approx(before, rel=1e-6)
