"""What the model may cost, and what it did cost: looked at before each call, on disk before the child starts.

The log holds three records for each call: `planned`, `begun` and `ended`. A begun call that never ended (the daemon
was killed) counts as a call, with an assumed cost. Days and months are local ones. A clock that was set back frees
nothing: whatever is dated today or later counts for today (SPEC S-64, RELIABILITY 16, ANCHORS P1).

Why two records before the child: a record whose sync failed is visible to the next start although its call was never
made, and nothing can be written to take it back while the disk fails. So `planned` is written and synced first. It
counts for nothing, and if it fails, no call is made. `begun` follows at once. It counts from the moment that its write
returned, and the child starts if and only if it did, whatever becomes of its sync: the record and the child agree at
every point at which the daemon can be killed. A power cut in the few milliseconds between the write and the sync ends
the child too, before it has sent a request (CLAUDE_CODE section 1: 250 ms at least). The log must not read a line
without a newline as a record (`Log.terminated`): the write of such a line failed.

    {"id","at","state":"planned"}                                     counts for nothing
    {"id","at","key","parts","tier","purpose","state":"begun"}
    {"id","at","state":"ended","usd","assumed","in","out","why"}      why "" is an answer
    {"id","at","state":"unused"}                                      nothing came of the answer: it is asked for again
    {"state":"allowed","at","parts"}                                  a person asked for these once more
    {"state":"total","at","calls","usd","in","out"}                   what a compaction folded
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any, Protocol

from tacitd.clock import Clock, local_date
from tacitd.errors import TacitdError, said_by_system
from tacitd.model.port import NoAnswer, Tier, Why
from tacitd.model.tally import Tally

KEPT = 62 * 86400.0
"""Seconds: two months stay in the log call by call."""
HINT = "raise [budget] in the configuration, or wait; `tacitd status` shows what was spent"


class Records(Protocol):
    """What the budget needs of a log: `tacitd.files.log.Log` is one, a list in a test another."""

    def append(self, record: Mapping[str, Any], /) -> object:
        """Add a record."""
        ...

    def read(self) -> Iterable[Mapping[str, Any]]:
        """All records, oldest first."""
        ...

    def flush(self) -> object:
        """Return when everything appended is on the disk."""
        ...

    def compact(self, records: Iterable[Mapping[str, Any]], /) -> object:
        """Put these in the place of all records."""
        ...


class Caps(Protocol):
    """The caps. `BudgetSettings` is one."""

    @property
    def calls_per_minute(self) -> int: ...
    @property
    def calls_per_day(self) -> int: ...
    @property
    def usd_per_day(self) -> float: ...
    @property
    def usd_per_month(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Spent:
    """What was spent. Dollars as the client reported them, or assumed where it could not."""

    calls_today: int
    usd_today: float
    usd_month: float
    calls_total: int
    usd_total: float


@dataclass(frozen=True, slots=True)
class Full:
    """The minute is full: nothing is spent yet, and waiting is all it takes."""

    calls: int
    """How many a minute are allowed."""
    seconds: float
    """Until there is room again, by the monotonic clock."""


class Budget:
    """The caps over a log. Every method may be called from any thread."""

    def __init__(self, log: Records, caps: Caps, clock: Clock) -> None:
        self._log = log
        self._caps = caps
        self._clock = clock
        self._lock = threading.RLock()
        self._minute: list[float] = []
        self._tally = Tally()
        self._unwritten: list[dict[str, Any]] = []
        """Records that are counted in memory and could not be appended yet, oldest first."""
        for record in log.read():
            self._tally.fold(record)

    def recap(self, caps: Caps) -> None:
        """Other caps, from now on. What was spent stays."""
        with self._lock:
            self._caps = caps

    def begin(self, key: str, tier: Tier, purpose: str, parts: Sequence[str] = ()) -> str | Full | NoAnswer:
        """Check, and put the call on record; return its id: then the call must be made. No call without it.

        `Full` only where the minute is all that stands in the way: a reached cap refuses at once.
        """
        with self._lock:
            refused = self._repeated(parts or (key,)) or self.check(self._clock.now()) or self._full()
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
                "state": "begun",
            }
            try:
                self._append_unwritten()
                self._log.append({"id": call, "at": at, "state": "planned"})
                self._log.flush()
                self._log.append(begun)
            except (OSError, TacitdError) as error:
                what, hint = said_by_system(error) if isinstance(error, OSError) else (error.what, error.hint)
                return NoAnswer(Why.BUDGET, f"the budget's log cannot be written: {what}", hint)
            # Trigger: the sync fails, a moment after one that worked. Why: `begun` is visible after a kill and could not
            # be taken back. Outcome: the call is made, so that it was not counted for nothing; the next one is not.
            with suppress(OSError, TacitdError):
                self._log.flush()
            self._tally.fold(begun)
            self._minute.append(self._clock.monotonic())
            return call

    def end(
        self, call: str, *, usd: float | None, tokens_in: int = 0, tokens_out: int = 0, why: str = ""
    ) -> None:
        """Put on record what the call cost. `usd` None: unknown, so it is assumed. `why` "" is an answer.

        Raises nothing: an answer that was paid for is not lost because the log cannot be written. The record then
        waits in memory for `save`.
        """
        with self._lock:
            ended = {
                "id": call,
                "at": self._clock.now(),
                "state": "ended",
                "usd": self._tally.assumed_for(call) if usd is None else usd,
                "assumed": usd is None,
                "in": tokens_in,
                "out": tokens_out,
                "why": why,
            }
            self._record(ended)

    def unused(self, call: str) -> None:
        """Put on record that nothing came of a call's answer, and that this is known: it may be asked for again.

        Without this record a prompt that is asked for again is one whose answer was lost with the daemon.
        """
        with self._lock:
            self._record({"id": call, "at": self._clock.now(), "state": "unused"})

    def allow(self, parts: Sequence[str]) -> None:
        """A person asks for these parts once more: what was lost before counts no more, and each may be paid for twice.

        Durable when it returns. Raises OSError, LogDamagedError: then it must be asked once more. A record that became
        visible all the same does no harm: the person wanted it.
        """
        with self._lock:
            allowed = {"at": self._clock.now(), "state": "allowed", "parts": list(parts)}
            self._append_unwritten()
            self._log.append(allowed)
            self._log.flush()
            self._tally.fold(allowed)

    def save(self) -> None:
        """Append the records that could not be appended before. Raises OSError, LogDamagedError; the rest then waits."""
        with self._lock:
            self._append_unwritten()
            self._log.flush()

    def check(self, now: float) -> NoAnswer | None:
        """None where another call is allowed at `now` (seconds since 1970, UTC); else why not, and until when."""
        with self._lock:
            spent, caps = self.spent(now), self._caps
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

    def spent(self, now: float) -> Spent:
        """What was spent today, this month (local time) and in all. Calls under way count with an assumed cost."""
        today = local_date(now)
        with self._lock:
            calls_today, usd_today = self._tally.since(today)
            _, usd_month = self._tally.since(today[:7])
            calls_total, usd_total = self._tally.since("")
        return Spent(calls_today, usd_today, usd_month, calls_total, usd_total)

    def compact(self) -> bool:
        """Fold what is older than 62 days into one total; whether there was any. Raises OSError: all stands as it was."""
        records = list(self._log.read())
        if not _old(records, self._clock.now()):
            return False
        self._log.compact(self.pruned())
        return True

    def pruned(self) -> Iterator[dict[str, Any]]:
        """The records that a compaction leaves: one total for what is older than 62 days, then the younger ones.

        Older than the newest record and than now: neither a clock that is ahead nor one that is behind makes
        this month's records old. Reads the log when it is consumed, which is under the log's own lock; so it
        takes none of ours, because a call that begins takes the two the other way round.
        """
        records = [dict(record) for record in self._log.read()]
        before, old = _before(records, self._clock.now()), _old(records, self._clock.now())
        folded = Tally()
        kept = []
        for record in records:
            if record.get("state") == "total" or str(record.get("id")) in old:
                folded.fold(record)
            elif record.get("state") != "planned":
                kept.append(record)
        yield from folded.total(before)
        yield from kept

    def _record(self, record: dict[str, Any]) -> None:
        """Count it now and append it when the log can be written. A call ends also where the disk is full."""
        self._tally.fold(record)
        self._unwritten.append(record)
        with suppress(OSError, TacitdError):
            self.save()

    def _append_unwritten(self) -> None:
        while self._unwritten:
            self._log.append(self._unwritten[0])
            del self._unwritten[0]

    def _repeated(self, names: Sequence[str]) -> NoAnswer | None:
        repeated = tuple(name for name in names if self._tally.paid_twice(name))
        if not repeated:
            return None
        what = "this call was begun twice and its answer was lost; it is not paid for again"
        return NoAnswer(Why.REPEATED, what, repeated=repeated)

    def _full(self) -> Full | NoAnswer | None:
        now = self._clock.monotonic()
        self._minute = [at for at in self._minute if at > now - 60.0]
        allowed = self._caps.calls_per_minute
        if len(self._minute) < allowed:
            return None
        if not allowed:
            return NoAnswer(Why.BUDGET, "no call a minute is allowed", HINT)
        return Full(allowed, self._minute[-allowed] + 60.0 - now)


def next_day(now: float) -> float:
    """The next local midnight after `now`; both in seconds since 1970, UTC."""
    day = datetime.fromtimestamp(now).date() + timedelta(days=1)
    return datetime.combine(day, time.min).timestamp()


def next_month(now: float) -> float:
    """The local midnight that begins the next month."""
    day = datetime.fromtimestamp(now).date()
    return datetime.combine((day.replace(day=1) + timedelta(days=32)).replace(day=1), time.min).timestamp()


def _before(records: Sequence[Mapping[str, Any]], now: float) -> float:
    newest = max((at for r in records if (at := _at(r)) is not None), default=0.0)
    return min(newest, now) - KEPT


def _old(records: Sequence[Mapping[str, Any]], now: float) -> set[str]:
    """The ids of calls that began too long ago to be kept one by one."""
    before = _before(records, now)
    return {str(r.get("id")) for r in records if r.get("state") == "begun" and (_at(r) or 0.0) < before}


def _at(record: Mapping[str, Any]) -> float | None:
    at = record.get("at")
    return float(at) if isinstance(at, int | float) and not isinstance(at, bool) else None
