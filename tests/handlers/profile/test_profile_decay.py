"""Decay and the changelog: SPEC P-11 to P-16, P-20, P-21, RELIABILITY row 12."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_profile import DAY, NOW, Box
from tacitd.clock import doubt_clock, utc_millis
from tacitd.testing import START
from tacitd_handlers.profile import profile_confidence, profile_files
from tacitd_handlers.profile import profile_confidence as metas
from tacitd_handlers.profile.fields import Json

# --- The rules of decay: the properties of SPEC P-11 to P-16 and RELIABILITY row 12.


T0 = START
confidences = st.floats(0.1, 1.0)


def doc(confidence: float, seen: float = T0) -> Json:
    made = metas.new_metadata("u", seen)
    stamp = utc_millis(seen)
    entry = {"path": "bio", "firstSeen": stamp, "lastSeen": stamp, "confidence": confidence, "seenCount": 1}
    return made | {"preferences": [entry]}


def value(meta: Json) -> float | None:
    found = metas.read_confidences(meta).get("bio")
    return found.confidence if found else None


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


# --- Twenty years: a confidence is a function of the times of its sightings, however often decay ran (SPEC P-11 to P-16).


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
        box.clock.jump(-jump)
    box.clock.jump(74 * 365 * DAY)
    box.learn(tools__editor="vi")
    assert box.meta["tools.editor"]["lastSeen"] == before["lastSeen"]
    box.clock.jump(-74 * 365 * DAY)
    box.wait(3600.0)
    assert not any("the clock" in what for what in box.bench.degraded)
    box.wait((EDGE + 1) * DAY).fade()
    assert "tools" not in box.profile


# --- The changelog: its format, its limits, and malformed lines.


def fill(path: Path, *lines: object) -> Path:
    texts = [one if isinstance(one, str) else json.dumps(one) for one in lines]
    path.write_text("".join(text + "\n" for text in texts))
    return path


def entry(age_days: float, name: str = "x", millis: bool = True) -> dict[str, object]:
    stamp = utc_millis(NOW - age_days * DAY)
    return {"timestamp": stamp if millis else stamp[:19] + "Z", "action": "update", "source": "mcp/tool", "changes": {},
            "n": name}  # fmt: skip


def prune(log: Path) -> list[object]:
    profile_files.prune_changelog(log, NOW)
    return [one["n"] for one in profile_files.read_entries(log, 10_000)]


def test_older_than_90_days_goes_and_exactly_90_stays(tmp_path: Path) -> None:
    """SPEC P-20, P-21: ages are compared as times, not as text."""
    log = fill(
        tmp_path / "c.jsonl", entry(90.001, "old"), entry(90, "edge"), entry(89.9, "young", millis=False)
    )
    assert prune(log) == ["edge", "young"]


def test_the_last_1000_stay_and_the_prune_logs_nothing(tmp_path: Path) -> None:
    """SPEC P-20: first by age, then the last 1,000. If nothing is removed, the file is not rewritten."""
    log = fill(tmp_path / "c.jsonl", entry(100, "old"), *(entry(1, str(n)) for n in range(1005)))
    assert prune(log) == [str(n) for n in range(5, 1005)]
    inode = log.stat().st_ino
    prune(log)
    assert log.stat().st_ino == inode


def test_garbage_is_put_aside(tmp_path: Path) -> None:
    """SPEC P-20: garbage lines, half a line at the end and one of 3 MB are quarantined; unknown actions stay."""
    long = "x" * (3 << 20)
    other = entry(1, "other") | {"action": "think"}
    log = fill(
        tmp_path / "c.jsonl", entry(1, "a"), "garbage", '{"half', long, "[1]", "", other, {"n": "untimed"}
    )
    with log.open("a") as out:
        out.write('{"timestamp": "2026')
    assert prune(log) == ["a", "other", "untimed"]
    aside = (tmp_path / profile_files.QUARANTINE).read_text().splitlines()
    assert aside == ["garbage", '{"half', long, "[1]", '{"timestamp": "2026']
    with log.open("a") as out:
        out.write(json.dumps(entry(0, "b")) + "\n")
    assert prune(log) == ["a", "other", "untimed", "b"]


@pytest.mark.parametrize("jump", [-50 * 365 * DAY, 74 * 365 * DAY])
def test_a_clock_that_is_not_believed_prunes_nothing(box: Box, jump: float) -> None:
    """A clock in 1970 or 2100."""
    box.learn(tools__editor="vi")
    box.clock.jump(jump)
    box.bench.run_job("changelog")
    assert len(box.changelog) == 1
