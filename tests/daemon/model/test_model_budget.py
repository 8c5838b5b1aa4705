"""The budget (S-64, RELIABILITY 16, ANCHORS P1)."""

from __future__ import annotations

import errno
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.clock import local_date
from tacitd.config.model_settings import BudgetSettings
from tacitd.files.log import Log
from tacitd.model.budget import Budget, MinuteFull, next_day, next_month
from tacitd.model.port import NoAnswer, PurposeLimit, Why
from tacitd.model.spend_totals import ASSUMED_USD
from tacitd.testing import FaultyDisk

NOON = datetime(2026, 2, 19, 12, 0).timestamp()
DAY = 86400.0


@dataclass
class Clock:
    """A clock that shows the time that a test sets."""

    at: float = NOON
    mono: float = 0.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.mono


@dataclass
class Memory:
    """A log in a list; what is not flushed is lost in a crash."""

    records: list[dict[str, Any]] = field(default_factory=list)
    durable: int = 0
    full: bool = False

    def append(self, record: Mapping[str, Any], /) -> None:
        if self.full:
            raise OSError(28, "No space left on device")
        self.records.append(dict(record))

    def read(self) -> Iterable[Mapping[str, Any]]:
        return list(self.records)

    def flush(self) -> None:
        self.durable = len(self.records)

    def compact(self, records: Iterable[Mapping[str, Any]], /) -> None:
        self.records = [dict(record) for record in records]


def budget(log: Memory | None = None, clock: Clock | None = None, **caps: Any) -> Budget:
    """A budget with room in the minute unless a test sets other caps."""
    return Budget(log or Memory(), BudgetSettings(**{"calls_per_minute": 1000, **caps}), clock or Clock())


def call(
    of: Budget, key: str = "k", usd: float | None = 0.01, why: str = "", tier: Any = "fast"
) -> NoAnswer | None:
    """Begin and end one call; return the refusal, or None if it was allowed."""
    begun = of.begin_call(key, tier, "extraction")
    assert not isinstance(begun, MinuteFull)
    if isinstance(begun, NoAnswer):
        return begun
    of.end_call(begun, usd=usd, tokens_in=10, tokens_out=1, why=why)
    return None


def test_on_disk_before_the_child() -> None:
    """ANCHORS P1: counted before the call, durable when `begin_call` returns; the form of the records."""
    log = Memory()
    begun = budget(log).begin_call("batch-1", "fast", "extraction")
    assert log.durable == 2
    assert log.records[0] == {"id": begun, "at": NOON, "state": "planned"}
    assert log.records[1] == {
        "id": begun,
        "at": NOON,
        "key": "batch-1",
        "tier": "fast",
        "purpose": "extraction",
        "state": "begun",
    }


@pytest.mark.parametrize(
    ("caps", "usd", "allowed", "until"),
    [
        ({"calls_per_day": 3}, 0.0, 3, next_day(NOON)),
        ({"usd_per_day": 0.05}, 0.02, 3, next_day(NOON)),
        ({"usd_per_month": 0.05, "usd_per_day": 9}, 0.02, 3, next_month(NOON)),
        ({"calls_per_day": 0}, 0.0, 0, next_day(NOON)),
        ({"usd_per_day": 0}, 0.0, 0, next_day(NOON)),
    ],
)
def test_caps(caps: dict[str, Any], usd: float, allowed: int, until: float) -> None:
    """S-64: above a cap the call is refused, with the time when it may be tried again."""
    one = budget(**caps)
    assert [call(one, f"k{n}", usd) for n in range(allowed)] == [None] * allowed
    refused = call(one)
    assert refused is not None and (refused.why, refused.retry_at) == (Why.BUDGET, until)
    assert one.get_spending(NOON).calls_total == allowed


def test_the_next_day_and_month() -> None:
    """Local midnight, the first of the next month; December has one too."""
    assert next_day(NOON) == datetime(2026, 2, 20).timestamp()
    assert next_month(NOON) == datetime(2026, 3, 1).timestamp()
    assert next_month(datetime(2026, 12, 31, 23, 59).timestamp()) == datetime(2027, 1, 1).timestamp()


def test_a_new_day_is_free_again() -> None:
    """The day's cap applies to one day; the month's continues."""
    clock = Clock()
    one = budget(clock=clock, usd_per_day=0.05, usd_per_month=0.09)
    assert call(one, usd=0.05) is None and call(one) is not None
    clock.at += DAY
    assert call(one, usd=0.05) is None
    clock.at += DAY
    refused = call(one)
    assert refused is not None and refused.retry_at == next_month(clock.at)


def test_twelve_a_minute() -> None:
    """S-64: 12 a minute by the monotonic clock; the answer has the seconds until there is room."""
    clock = Clock()
    one = Budget(Memory(), BudgetSettings(), clock)
    for n in range(12):
        clock.mono = float(n)
        assert call(one, f"k{n}") is None
    assert one.begin_call("k", "fast", "") == MinuteFull(12, 49.0)
    clock.mono = 60.0
    assert call(one) is None


def test_a_reached_cap_is_said_before_a_full_minute() -> None:
    """S-64: nothing waits a minute for a call that the day's cap refuses."""
    one = budget(calls_per_minute=1, calls_per_day=1)
    assert call(one, "a") is None
    refused = call(one, "b")
    assert refused is not None and refused.retry_at == next_day(NOON)


def test_no_call_a_minute() -> None:
    """A cap of 0 is a refusal, because waiting makes no room."""
    refused = call(budget(calls_per_minute=0))
    assert refused is not None and refused.why is Why.BUDGET and refused.retry_at is None


def test_failed_calls_count() -> None:
    """S-64: a failing call is a call."""
    one = budget(calls_per_day=2)
    assert call(one, "a", 0.0, "overloaded") is None and call(one, "b", 0.0, "bad answer") is None
    assert call(one, "c") is not None


def test_calls_under_way_are_reserved() -> None:
    """RELIABILITY 16: two calls at once cannot both use the rest of a cap."""
    one = budget(usd_per_day=0.005)
    assert isinstance(one.begin_call("a", "fast", ""), str)
    assert isinstance(one.begin_call("b", "fast", ""), NoAnswer)


def test_a_lost_call_counts_with_an_assumed_cost() -> None:
    """RELIABILITY 16: killed during the call; after the restart it counts with the mean cost of the tier's recent calls."""
    log = Memory()
    first = budget(log)
    first.begin_call("a", "smart", "")
    assert budget(log).get_spending(NOON).usd_today == ASSUMED_USD["smart"]
    call(first, "b", 0.2, tier="smart")
    call(first, "c", 0.4, tier="smart")
    after = budget(log).get_spending(NOON)
    assert after.calls_today == 3 and after.usd_today == pytest.approx(0.2 + 0.4 + 0.3)


def test_an_unknown_cost_is_assumed() -> None:
    """A call that was killed reports no cost and may have been paid for."""
    one = budget()
    call(one, usd=None, why="timed out")
    assert one.get_spending(NOON).usd_today == ASSUMED_USD["fast"]


def test_a_key_is_paid_for_at_most_twice() -> None:
    """RELIABILITY 16: killed during every call."""
    log = Memory()
    for _ in range(2):
        assert isinstance(budget(log).begin_call("a", "fast", ""), str)
    refused = budget(log).begin_call("a", "fast", "")
    assert isinstance(refused, NoAnswer) and refused.why is Why.REPEATED and refused.blames_the_prompt
    assert isinstance(budget(log).begin_call("b", "fast", ""), str)


def test_a_stop_in_the_middle_counts_as_lost() -> None:
    """RELIABILITY 16: it may have been paid for, and its answer never came. The same holds for an answer that was lost."""
    one = budget()
    assert call(one, "a", None, "stopping") is None and call(one, "a", None, "stopping") is None
    refused = call(one, "a")
    assert refused is not None and refused.why is Why.REPEATED
    assert call(one, "b") is None and call(one, "b", None, "stopping") is None
    assert call(one, "b") is not None


def test_answers_that_came_back_may_be_asked_again() -> None:
    """The handler judges a bad answer: nothing was lost, so nothing is refused here."""
    one = budget()
    assert [call(one, "a", 0.01, "bad answer") for _ in range(4)] == [None] * 4
    assert call(one, "b", 0.0, "overloaded") is None


@pytest.mark.parametrize("back", [3600.0, DAY, 40 * DAY, 400 * DAY])
def test_a_clock_set_back_frees_nothing(back: float) -> None:
    """RELIABILITY 12, 16: a call with a later date counts for today."""
    clock = Clock()
    one = budget(clock=clock, usd_per_day=0.05, usd_per_month=99)
    assert call(one, usd=0.05) is None
    clock.at -= back
    assert call(one) is not None


def test_a_day_in_the_far_future_does_not_starve_the_present() -> None:
    """One boot in the year 2100 with a few calls leaves the rest of each later day's budget."""
    clock = Clock(NOON + 74 * 365 * DAY)
    one = budget(clock=clock, calls_per_day=10)
    call(one, usd=0.001)
    clock.at = NOON
    assert [call(one, f"k{n}", 0.001) for n in range(9)] == [None] * 9
    clock.at += DAY
    assert call(one, usd=0.001) is None


def test_a_full_disk_stops_the_spending_not_the_answer() -> None:
    """Without a record there is no call; a record of the end that cannot be written is kept in memory."""
    log = Memory()
    one = budget(log)
    begun = one.begin_call("a", "fast", "")
    assert isinstance(begun, str)
    log.full = True
    one.end_call(begun, usd=0.5)
    refused = one.begin_call("b", "fast", "")
    assert isinstance(refused, NoAnswer) and refused.why is Why.BUDGET and "No space" in refused.detail
    assert one.get_spending(NOON).usd_today == 0.5


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize(("torn", "short_by"), [(False, 0), (True, 0), (False, 1)])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_a_call_that_never_started_is_void_after_a_restart(
    tmp_path: Path, code: int, torn: bool, short_by: int, lasting: bool
) -> None:
    """RELIABILITY 3, 16: every write to the disk fails in turn, and the daemon is killed after each failure. A call is refused
    as repeated only if two children ran for it.
    """
    for at in range(1, 12):
        path, ran = tmp_path / str(at) / "budget.jsonl", 0
        for _ in range(6):
            disk = FaultyDisk(fail_at=at, code=code, torn=torn, short_by=short_by, lasting=lasting)
            begun = Budget(Log(path, disk, terminated=True), BudgetSettings(), Clock()).begin_call(
                "a", "fast", "", ("a", "b")
            )
            if isinstance(begun, str):
                ran += 1
                continue
            assert isinstance(begun, NoAnswer)
            assert begun.why is (Why.REPEATED if ran == 2 else Why.BUDGET), (at, begun)
            assert begun.repeated == (("a", "b") if ran == 2 else ())
        assert ran <= 2
        again = Budget(Log(path, terminated=True), BudgetSettings(), Clock())
        assert again.get_spending(NOON).calls_today == ran, at
        for _ in range(2 - ran):
            assert isinstance(
                Budget(Log(path, terminated=True), BudgetSettings(), Clock()).begin_call(
                    "a", "fast", "", ("a",)
                ),
                str,
            )
        refused = Budget(Log(path, terminated=True), BudgetSettings(), Clock()).begin_call(
            "a", "fast", "", ("a",)
        )
        assert isinstance(refused, NoAnswer) and refused.why is Why.REPEATED


def test_an_end_that_could_not_be_written_is_written_when_the_disk_works(tmp_path: Path) -> None:
    """RELIABILITY 3: a call that was not paid for stays unpaid after a restart, and a discarded answer stays discarded."""
    path, disk = tmp_path / "budget.jsonl", FaultyDisk(lasting=True)
    one = Budget(Log(path, disk, terminated=True), BudgetSettings(), Clock())
    for why in ("overloaded", ""):
        begun = one.begin_call("a", "fast", "", ("a",))
        assert isinstance(begun, str)
        disk.fail_again(1, errno.ENOSPC)
        one.end_call(begun, usd=0.0 if why else 0.01, why=why)
        if not why:
            one.mark_discarded(begun)
        disk.mend()
        one.save_unwritten()
        one = Budget(Log(path, disk, terminated=True), BudgetSettings(), Clock())
    assert [r["state"] for r in Log(path).read()] == ["planned", "begun", "ended"] * 2 + ["unused"]
    assert isinstance(one.begin_call("a", "fast", "", ("a",)), str)


def test_a_kill_between_record_and_child_counts(tmp_path: Path) -> None:
    """RELIABILITY 16: a kill can come after the child started, so a record that was written counts, whatever failed after it."""
    path = tmp_path / "budget.jsonl"
    for _ in range(2):
        assert isinstance(
            Budget(Log(path, terminated=True), BudgetSettings(), Clock()).begin_call("a", "fast", ""), str
        )
    assert isinstance(
        Budget(Log(path, terminated=True), BudgetSettings(), Clock()).begin_call("a", "fast", ""), NoAnswer
    )


def test_what_a_person_asks_for_again_is_paid_for_twice_more() -> None:
    """RELIABILITY 16: `tacitd rescue retry`: what was lost before no longer counts, but what is lost afterwards does."""
    log = Memory()
    for _ in range(2):
        budget(log).begin_call("a", "fast", "", ("a", "b"))
    assert isinstance(budget(log).begin_call("a", "fast", "", ("a",)), NoAnswer)
    budget(log).allow_again(["a"])
    for _ in range(2):
        assert isinstance(budget(log).begin_call("a", "fast", "", ("a",)), str)
    assert isinstance(budget(log).begin_call("a", "fast", "", ("a",)), NoAnswer)
    assert isinstance(budget(log).begin_call("b", "fast", "", ("b",)), NoAnswer)


def test_odd_records_are_skipped() -> None:
    """A damaged log must not prevent the daemon from starting."""
    odd: list[dict[str, Any]] = [{}, {"state": "begun"}, {"state": "begun", "id": 3, "at": 1}, {"state": "ended", "id": "x", "usd": "1"}, {"state": "total", "calls": None}, {"state": "begun", "id": "y", "at": 1e300}, {"state": 1}]  # fmt: skip
    assert budget(Memory(odd)).get_spending(NOON).calls_today == 0


def test_compaction_keeps_the_sums(tmp_path: Path) -> None:
    """Two months are kept call by call, the rest is one record; with the real log."""
    clock, log = Clock(NOON - 90 * DAY), Log(tmp_path / "budget.jsonl", terminated=True)
    one = Budget(log, BudgetSettings(calls_per_minute=1000), clock)
    for n in range(4):
        call(one, f"k{n}", 0.25)
        clock.at += 30 * DAY
    clock.at = NOON + DAY
    before = one.get_spending(clock.at)
    assert one.compact_log()
    records = list(log.read())
    assert [r["state"] for r in records] == ["total", *["begun", "ended"] * 3]
    assert (records[0]["calls"], records[0]["usd"], records[0]["in"]) == (1, 0.25, 10)
    again = Budget(log, BudgetSettings(), clock)
    assert again.get_spending(clock.at) == before
    assert not again.compact_log() and list(log.read()) == records
    log.close()


def test_a_wrong_clock_does_not_make_this_month_old() -> None:
    """A machine that boots in 1970 or 2100 and compacts must not free the budget."""
    for wrong in (0.0, NOON + 74 * 365 * DAY):
        clock, log = Clock(), Memory()
        one = budget(log, clock)
        call(one)
        clock.at = wrong
        assert not one.compact_log() and [r["state"] for r in log.records] == ["planned", "begun", "ended"]
        call(one, "b")  # and then starts once more with this clock
        assert not one.compact_log() and len(log.records) == 6


def test_a_damaged_id_stops_no_compaction() -> None:
    """A log may contain anything; it is kept as it is."""
    clock, odd = Clock(), {"id": ["x"], "state": "begun", "at": NOON}
    log = Memory(
        [{"id": "a", "state": "begun", "at": NOON - 90 * DAY}, {**odd}, {"id": {}, "state": "ended"}]
    )
    assert budget(log, clock).compact_log()
    assert log.records[1:] == [odd, {"id": {}, "state": "ended"}] and log.records[0]["state"] == "total"


def test_only_what_was_begun_twice_is_refused() -> None:
    """RELIABILITY 16: prompts that joined a call later are not rejected with those that were paid for twice."""
    clock, log = Clock(), Memory()
    budget(log, clock).begin_call("a", "fast", "", ("a", "b"))
    budget(log, clock).begin_call("a", "fast", "", ("a", "b", "c"))
    third = budget(log, clock)
    refused = third.begin_call("a", "fast", "", ("a", "b", "c", "d"))
    assert isinstance(refused, NoAnswer) and refused.why is Why.REPEATED and refused.repeated == ("a", "b")
    assert isinstance(third.begin_call("c", "fast", "", ("c", "d")), str)


def test_an_answer_that_was_lost_with_the_daemon_counts() -> None:
    """RELIABILITY 16: killed twice after the answer came and before it was committed."""
    log = Memory()
    for _ in range(2):
        one = budget(log)
        begun = one.begin_call("a", "fast", "", ("a", "b"))
        assert isinstance(begun, str)
        one.end_call(begun, usd=0.01)
    refused = budget(log).begin_call("a", "fast", "", ("a", "c"))
    assert isinstance(refused, NoAnswer) and refused.repeated == ("a",)


def test_an_answer_of_no_use_may_be_asked_for_again() -> None:
    """The handler judges a bad answer, also if the daemon was restarted in between; a lost call still counts."""
    log = Memory()
    for _ in range(4):
        one = budget(log)
        begun = one.begin_call("a", "fast", "", ("a",))
        assert isinstance(begun, str)
        one.end_call(begun, usd=0.01)
        one.mark_discarded(begun)
    assert isinstance(budget(log).begin_call("a", "fast", "", ("a",)), str)
    refused = budget(log).begin_call("a", "fast", "", ("a",))
    assert isinstance(refused, NoAnswer) and refused.repeated == ("a",)


def test_a_call_without_parts_is_asked_again_as_often_as_wanted() -> None:
    """Its key names its purpose, which recurs: a summary is made again when its source changed."""
    one = budget()
    assert [call(one, "summary") for _ in range(4)] == [None] * 4


STEP = st.tuples(
    st.sampled_from("abc"),
    st.sampled_from([0.0, 0.03, 0.2, None]),
    st.sampled_from(["", "stopping", "crash"]),
    st.integers(-2, 2),
)


@examples(50)
@given(st.lists(STEP, max_size=30))
def test_whatever_happens_the_caps_hold(steps: list[tuple[str, float | None, str, int]]) -> None:
    """RELIABILITY 16: with any mix of calls, crashes and clock jumps, no date has more calls than allowed, or costs more than
    the cap and one call; and the log gives the same sums.
    """
    log, clock = Memory(), Clock()
    one = budget(log, clock, usd_per_day=0.3, usd_per_month=100, calls_per_day=8)
    for key, usd, how, days in steps:
        clock.at += days * DAY
        begun = one.begin_call(key, "fast", "")
        if isinstance(begun, str) and how != "crash":
            one.end_call(begun, usd=usd, why=how)
        if how == "crash":
            one = budget(log, clock, usd_per_day=0.3, usd_per_month=100, calls_per_day=8)
    dates = Counter(local_date(r["at"]) for r in log.records if r["state"] == "begun")
    assert all(calls <= 8 for calls in dates.values())
    costs = [one.get_spending(at).usd_today for at in (clock.at + n * DAY for n in range(-70, 70))]
    # The cost of a call that never returned is assumed, and later calls change the assumed cost.
    revised = 0.2 * sum(how == "crash" or usd is None for _, usd, how, _ in steps)
    assert all(now - later <= 0.3 + 0.2 + revised + 1e-9 for now, later in pairwise(costs))
    assert budget(log, clock).get_spending(clock.at) == one.get_spending(clock.at)


def test_many_threads_never_pass_the_cap() -> None:
    """Calls come from several threads."""
    one = budget(calls_per_day=20)
    granted: list[str | MinuteFull | NoAnswer] = []
    threads = [
        threading.Thread(target=lambda: granted.extend(one.begin_call(f"{n}", "fast", "") for n in range(10)))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(one, str) for one in granted) == 20


@pytest.mark.parametrize("limit", [PurposeLimit(share=0.5), PurposeLimit(usd=0.5)])
def test_a_purpose_has_a_limit_of_its_own(limit: PurposeLimit) -> None:
    """SPEC T-07: calls of one purpose take at most their part of the day's cap; others go on, and tomorrow it is free again."""
    clock, log = Clock(), Memory()
    one = budget(log, clock, usd_per_day=1.0)
    for key in ("a", "b"):
        call = one.begin_call(key, "fast", "lecture", limit=limit)
        assert isinstance(call, str)
        one.end_call(call, usd=0.25)
    again = budget(log, clock, usd_per_day=1.0)  # after a restart
    for each in (one, again):
        refused = each.begin_call("c", "fast", "lecture", limit=limit)
        assert isinstance(refused, NoAnswer) and refused.why is Why.BUDGET
        assert "$0.50 of $0.50" in refused.detail and refused.retry_at == next_day(NOON)
    assert isinstance(again.begin_call("d", "fast", "other", limit=limit), str)
    clock.at += DAY
    assert isinstance(again.begin_call("e", "fast", "lecture", limit=limit), str)
