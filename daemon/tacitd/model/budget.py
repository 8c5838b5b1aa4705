"""The caps on calls and cost: checked before each call, and recorded on disk before the child starts (S-64).

The log has three records for each call: `planned`, `begun` and `ended`. A begun call that never ended (the daemon was
killed) counts as a call with an assumed cost. Days and months are local. A clock that was set back does not free any
budget: every call dated today or later counts for today (RELIABILITY 16, ANCHORS P1).

Why two records before the child: if the sync of a record fails, the next start may still read that record although its
call was never made, and while the disk fails no record can cancel it. So `planned` is written and synced first. It counts
for nothing, and if it fails, no call is made. `begun` follows at once. It counts from the moment its write returns, and
the child starts if and only if that write returned, whether or not the sync succeeds. So record and child agree at every
point at which the daemon can be killed. A power cut in the few milliseconds between write and sync also ends the child,
before it has sent a request (CLAUDE_CODE section 1: 250 ms at least). The log must not accept a line without a newline as
a record (`Log.terminated`), because the write of such a line failed.

    {"id","at","state":"planned"}                                     counts for nothing
    {"id","at","key","parts","tier","purpose","project","state":"begun"}      without parts or project if there are none
    {"id","at","state":"ended","usd","assumed","in","out","why","model"}      why "" is an answer; then with its model
    {"id","at","state":"unused"}                                      the answer was discarded; it may be asked for again
    {"state":"allowed","at","parts"}                                  a person allowed these parts again
    {"state":"total","at","calls","usd","in","out"}                   the sum of what a compaction folded

`at` is in seconds since 1970, UTC. The sums over these records are in spend_totals.py; making the call is in claude.py.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, time, timedelta
from typing import Any, Protocol

from msgspec import Struct

from tacitd.clock import Clock, find_latest_time, local_date
from tacitd.errors import TacitdError, describe_failure
from tacitd.model.port import NoAnswer, PurposeLimit, Tier, Why
from tacitd.model.spend_totals import SpendTotals

KEPT = 62 * 86400.0
"""Seconds for which the records of a call stay in the log; older ones are folded into the total."""
HINT = "raise [budget] in the configuration, or wait; `tacitd status` shows the cost so far"


class Records(Protocol):
    """The operations that the budget needs of a log: those of `tacitd.files.log.Log`, or of a list in a test."""

    def append(self, record: Mapping[str, Any], /) -> object:
        """Add a record. Raises OSError or LogDamagedError."""
        ...

    def read(self) -> Iterable[Mapping[str, Any]]:
        """All records, oldest first."""
        ...

    def flush(self) -> object:
        """Return when everything appended is durable. Raises OSError."""
        ...

    def compact(self, records: Iterable[Mapping[str, Any]], /) -> object:
        """Replace all records with these."""
        ...


class Caps(Protocol):
    """The caps; `BudgetSettings` implements it. Dollars are US dollars, days and months are local."""

    @property
    def calls_per_minute(self) -> int: ...
    @property
    def calls_per_day(self) -> int: ...
    @property
    def usd_per_day(self) -> float: ...
    @property
    def usd_per_month(self) -> float: ...


class Spending(Struct, frozen=True):
    """What was spent, in US dollars: as the client reported it, or assumed if it did not."""

    calls_today: int
    usd_today: float
    usd_month: float
    calls_total: int
    usd_total: float


class MinuteFull(Struct, frozen=True):
    """The cap on calls a minute is reached. Nothing is spent yet; waiting is enough."""

    calls: int
    """The cap: calls a minute."""
    seconds: float
    """Seconds until there is room again, by the monotonic clock."""


class RunningCall(Struct, frozen=True):
    """A call that was begun and has not ended."""

    purpose: str
    project: str
    """Root of the project; "" if there is none."""
    since: float
    """Seconds since 1970, UTC."""


class EndedCall(Struct, frozen=True):
    """A call that ended, for a person who watches."""

    purpose: str
    project: str
    usd: float
    """US dollars."""
    assumed: bool
    """Whether the cost is assumed, because the client reported none."""
    why: str
    """"": it was answered; otherwise why not."""
    model: str


class Budget:
    """The caps, applied to a log of calls. Thread-safe."""

    def __init__(
        self,
        log: Records,
        caps: Caps,
        clock: Clock,
        on_ended: Callable[[EndedCall], None] = lambda call: None,
    ) -> None:
        """`on_ended` is called after each call, in the thread that made it; it must not raise."""
        self._log = log
        self._caps = caps
        self._clock = clock
        self._lock = threading.RLock()
        self._on_ended = on_ended
        self._running: dict[str, RunningCall] = {}
        self._minute: list[float] = []
        self._tally = SpendTotals()
        self._unwritten: list[dict[str, Any]] = []
        """Records that are counted in memory and could not be appended yet, oldest first."""
        for record in log.read():
            self._tally.fold_record(record)

    def set_caps(self, caps: Caps) -> None:
        """Set other caps for the following calls. What was spent still counts."""
        with self._lock:
            self._caps = caps

    def begin_call(
        self,
        key: str,
        tier: Tier,
        purpose: str,
        parts: Sequence[str] = (),
        project: str = "",
        limit: PurposeLimit | None = None,
    ) -> str | MinuteFull | NoAnswer:
        """Check the caps and record the call; return its id. The caller must then make the call, and must not call without it.

        Returns `MinuteFull` only if the minute is the only obstacle: a reached cap refuses at once. Returns `NoAnswer` if the call
        is refused, or if the log cannot be written.
        """
        with self._lock:
            refused = (
                self._check_repeated(parts or (key,))
                or self.check_caps(self._clock.now())
                or self._check_purpose(purpose, limit)
                or self._check_minute()
            )
            if refused is not None:
                return refused
            call, at = uuid.uuid4().hex, self._clock.now()
            begun = {
                "id": call,
                "at": at,
                "key": key,
                **({"parts": list(parts)} if parts else {}),
                "tier": tier,
                "purpose": purpose,
                **({"project": project} if project else {}),
                "state": "begun",
            }
            try:
                self._append_unwritten()
                # The module's docstring says why there are two records, and why only this one must be synced.
                self._log.append({"id": call, "at": at, "state": "planned"})
                self._log.flush()
                self._log.append(begun)
            except (OSError, TacitdError) as error:
                what, hint = describe_failure(error)
                return NoAnswer(Why.BUDGET, f"the budget's log cannot be written: {what}", hint)
            # Trigger: this sync fails although the one before succeeded.
            # Why: after a kill the next start may read `begun`, and nothing can cancel it.
            # Outcome: the call is made, so that it is not counted for nothing. The next call is refused.
            with suppress(OSError, TacitdError):
                self._log.flush()
            self._tally.fold_record(begun)
            self._minute.append(self._clock.monotonic())
            self._running[call] = RunningCall(purpose, project, at)
            return call

    def end_call(
        self,
        call: str,
        *,
        usd: float | None,
        tokens_in: int = 0,
        tokens_out: int = 0,
        why: str = "",
        model: str = "",
    ) -> None:
        """Record what the call cost. `usd` None: unknown, so a cost is assumed. `why` "" means an answer.

        Raises nothing, so that an answer that was paid for is not lost because the log cannot be written. The record then
        waits in memory for `save_unwritten`.
        """
        with self._lock:
            ended: dict[str, Any] = {
                "id": call,
                "at": self._clock.now(),
                "state": "ended",
                "usd": self._tally.assume_call_cost(call) if usd is None else usd,
                "assumed": usd is None,
                "in": tokens_in,
                "out": tokens_out,
                "why": why,
                **({"model": model} if model else {}),
            }
            self._record(ended)
            begun = self._running.pop(call, None)
        if begun is not None:
            # Outside the lock, because this runs the caller's code, and another thread may want to begin a call.
            self._on_ended(EndedCall(begun.purpose, begun.project, ended["usd"], usd is None, why, model))

    def list_running(self) -> list[RunningCall]:
        """The calls of this process that have not ended, oldest first."""
        with self._lock:
            return list(self._running.values())

    def mark_discarded(self, call: str) -> None:
        """Record that a call's answer was discarded, so that its parts may be asked for again.

        Without this record, a prompt that is asked for again counts as one whose answer was lost when the daemon ended.
        """
        with self._lock:
            self._record({"id": call, "at": self._clock.now(), "state": "unused"})

    def allow_again(self, parts: Sequence[str]) -> None:
        """Record that a person allows these parts again: what was lost before no longer counts, so each may be paid for twice.

        Durable when it returns. Raises OSError or LogDamagedError: then the person must repeat the request. A record that is
        visible all the same does no harm, because the person wanted it.
        """
        with self._lock:
            allowed = {"at": self._clock.now(), "state": "allowed", "parts": list(parts)}
            self._append_unwritten()
            self._log.append(allowed)
            self._log.flush()
            self._tally.fold_record(allowed)

    def save_unwritten(self) -> None:
        """Append the records that could not be appended before. Raises OSError or LogDamagedError; the rest then waits."""
        with self._lock:
            self._append_unwritten()
            self._log.flush()

    def check_caps(self, now: float) -> NoAnswer | None:
        """None if another call is allowed at `now` (seconds since 1970, UTC); otherwise the reason, and when to try again."""
        with self._lock:
            spent, caps = self.get_spending(now), self._caps
        # The month first: a call that waits for tomorrow would only be refused again.
        if spent.usd_month >= caps.usd_per_month:
            what = f"${spent.usd_month:.2f} of ${caps.usd_per_month:.2f} spent this month"
            return NoAnswer(Why.BUDGET, what, HINT, next_month(now))
        if spent.usd_today >= caps.usd_per_day:
            what = f"${spent.usd_today:.2f} of ${caps.usd_per_day:.2f} spent today"
            return NoAnswer(Why.BUDGET, what, HINT, next_day(now))
        if spent.calls_today >= caps.calls_per_day:
            what = f"{spent.calls_today} of {caps.calls_per_day} calls made today"
            return NoAnswer(Why.BUDGET, what, HINT, next_day(now))
        return None

    def get_spending(self, now: float) -> Spending:
        """What was spent today, this month (local time) and in total. Calls in flight count with an assumed cost."""
        today = local_date(now)
        with self._lock:
            calls_today, usd_today = self._tally.sum_since(today)
            _, usd_month = self._tally.sum_since(today[:7])
            calls_total, usd_total = self._tally.sum_since("")
        return Spending(calls_today, usd_today, usd_month, calls_total, usd_total)

    def compact_log(self) -> bool:
        """Fold the records older than 62 days into one total. Returns whether there were any. Raises OSError; the log is then
        unchanged.
        """
        records = list(self._log.read())
        if not _old_calls(records, self._clock.now()):
            return False
        # Read again inside the log's lock: what another thread appended since must not be lost.
        self._log.compact(self.prune_records())
        return True

    def prune_records(self) -> Iterator[Mapping[str, Any]]:
        """The records that a compaction leaves: one total for calls older than 62 days, then the younger records.

        The age is measured as `find_latest_time` says. So neither a clock that is ahead nor one that is behind makes this
        month's records old. The log is read when this is consumed, which is under the log's own
        lock. So this must not take the budget's lock, because `begin_call` takes the two in the opposite order.
        """
        records = list(self._log.read())
        before, old = _cutoff_time(records, self._clock.now()), _old_calls(records, self._clock.now())
        folded = SpendTotals()
        kept = []
        for record in records:
            if record.get("state") == "total" or str(record.get("id")) in old:
                folded.fold_record(record)
            # A planned call that never began cost nothing.
            elif record.get("state") != "planned":
                kept.append(record)
        yield from folded.make_total(before)
        yield from kept

    def _record(self, record: dict[str, Any]) -> None:
        """Count the record now, and append it when the log can be written, because a call also ends on a full disk."""
        self._tally.fold_record(record)
        self._unwritten.append(record)
        with suppress(OSError, TacitdError):
            self.save_unwritten()

    def _append_unwritten(self) -> None:
        while self._unwritten:
            self._log.append(self._unwritten[0])
            del self._unwritten[0]

    def _check_purpose(self, purpose: str, limit: PurposeLimit | None) -> NoAnswer | None:
        """None if another call for this purpose is allowed today; otherwise the reason. Any earlier call of today counts."""
        if limit is None:
            return None
        now, cap = self._clock.now(), limit.usd
        cap = self._caps.usd_per_day * limit.share if cap is None else cap
        spent = self._tally.sum_purpose(local_date(now), purpose)
        if spent < cap:
            return None
        what = f"${spent:.2f} of ${cap:.2f} a day for `{purpose}` spent"
        return NoAnswer(Why.BUDGET, what, f"raise {purpose}.usd_per_day or [budget], or wait", next_day(now))

    def _check_repeated(self, names: Sequence[str]) -> NoAnswer | None:
        repeated = tuple(name for name in names if self._tally.paid_twice(name))
        if not repeated:
            return None
        what = "this call was begun twice and its answer was lost; it is not made a third time"
        return NoAnswer(Why.REPEATED, what, repeated=repeated)

    def _check_minute(self) -> MinuteFull | NoAnswer | None:
        # Not the wall clock: if that is set back, calls of the last minute would count for as long as it was set back.
        now = self._clock.monotonic()
        self._minute = [at for at in self._minute if at > now - 60.0]
        allowed = self._caps.calls_per_minute
        if len(self._minute) < allowed:
            return None
        if not allowed:
            return NoAnswer(Why.BUDGET, "the configuration allows 0 calls a minute", HINT)
        # Not the oldest: after a reload with a lower cap, more calls than `allowed` are in the minute.
        return MinuteFull(allowed, self._minute[-allowed] + 60.0 - now)


def next_day(now: float) -> float:
    """The next local midnight after `now`; both in seconds since 1970, UTC."""
    day = datetime.fromtimestamp(now).date() + timedelta(days=1)
    return datetime.combine(day, time.min).timestamp()


def next_month(now: float) -> float:
    """The local midnight at which the next month begins; both in seconds since 1970, UTC."""
    day = datetime.fromtimestamp(now).date()
    return datetime.combine((day.replace(day=1) + timedelta(days=32)).replace(day=1), time.min).timestamp()


def _cutoff_time(records: Sequence[Mapping[str, Any]], now: float) -> float:
    return find_latest_time(now, (at for r in records if (at := _record_time(r)) is not None)) - KEPT


def _old_calls(records: Sequence[Mapping[str, Any]], now: float) -> set[str]:
    """The ids of calls that began before the limit of `KEPT`."""
    before = _cutoff_time(records, now)
    return {
        str(r.get("id")) for r in records if r.get("state") == "begun" and (_record_time(r) or 0.0) < before
    }


def _record_time(record: Mapping[str, Any]) -> float | None:
    at = record.get("at")
    return float(at) if isinstance(at, int | float) and not isinstance(at, bool) else None
