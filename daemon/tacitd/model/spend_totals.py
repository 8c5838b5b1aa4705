"""Sums over the budget's records: by day, by call in flight, by key. Pure: no clock, no disk.

Records are folded in the order of the log. A record that is unknown or odd is skipped. The records' form is in budget.py.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from tacitd.clock import local_date
from tacitd.model.call_records import read_number
from tacitd.text.hashes import blake2b

ASSUMED_USD = {"fast": 0.01, "smart": 0.05, "accurate": 0.25}
"""US dollars for a call without a reported cost, by tier, until a call of that tier has reported one."""
RECENT = 20
"""How many of a tier's newest reported costs make up the assumed mean."""


class _OpenCall(Struct):
    day: str
    tier: str
    names: tuple[int, ...]
    """`_shorten` of its parts, or the key of a call without parts; without the parts that a person allowed again since."""
    has_parts: bool
    purpose: str = ""


class _Sum(Struct):
    calls: int = 0
    usd: float = 0.0


class SpendTotals(Struct):
    """Sums over the records folded so far."""

    days: dict[str, _Sum] = field(default_factory=dict)
    """By local date, the ended calls; "" is what a compaction folded."""
    purposes: dict[tuple[str, str], float] = field(default_factory=dict)
    """By local date and purpose, the US dollars of the ended calls."""
    open: dict[str, _OpenCall] = field(default_factory=dict)
    """By id, calls that began and have not ended: in flight, or lost with the daemon."""
    unreturned: dict[int, int] = field(default_factory=dict)
    """By `_shorten` of a key or part, how many calls the end of the daemon cut off."""
    returned: dict[int, int] = field(default_factory=dict)
    """By `_shorten` of a key or part, how many calls returned and cost something."""
    answered: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """By id, the parts of answered calls.

    An answered prompt is only asked again if the handler discarded the answer, or the daemon died before committing it.
    Discarded ones are removed from here, so a part that is asked for again had its answer lost.
    """
    answers: Counter[int] = field(default_factory=Counter)
    """By part, how many calls in `answered` have it."""
    recent: dict[str, deque[float]] = field(default_factory=dict)
    tokens: list[int] = field(default_factory=lambda: [0, 0])

    def fold_record(self, record: Mapping[str, Any]) -> None:
        """Add one record to the sums."""
        match record.get("state"):
            case "begun":
                self._begun(record)
            case "ended":
                self._ended(record)
            case "unused":
                self._unused(str(record.get("id")))
            case "allowed":
                parts = record.get("parts")
                self._allow({_shorten(str(part)) for part in parts} if isinstance(parts, list) else set())
            case "total":
                total = self.days.setdefault("", _Sum())
                total.calls += int(read_number(record.get("calls")))
                total.usd += read_number(record.get("usd"))
                self._count_tokens(record)

    def _begun(self, record: Mapping[str, Any]) -> None:
        call, at = record.get("id"), record.get("at")
        if isinstance(call, str) and isinstance(at, int | float):
            day = _day(at)
            parts = record.get("parts")
            named = tuple(map(str, parts)) if isinstance(parts, list) else ()
            names = tuple(map(_shorten, named or (str(record.get("key", "")),)))
            self.open[call] = _OpenCall(
                day, str(record.get("tier", "")), names, bool(named), str(record.get("purpose", ""))
            )

    def _ended(self, record: Mapping[str, Any]) -> None:
        call = self.open.pop(str(record.get("id")), None)
        if call is None:
            return
        usd = read_number(record.get("usd"))
        day = self.days.setdefault(call.day, _Sum())
        day.calls += 1
        day.usd += usd
        key = call.day, call.purpose
        self.purposes[key] = self.purposes.get(key, 0.0) + usd
        self._count_tokens(record)
        # Only answered calls: one that failed early costs less, and would make the assumed cost too low.
        if not record.get("assumed") and not record.get("why"):
            self.recent.setdefault(call.tier, deque(maxlen=RECENT)).append(usd)
        if call.has_parts and not record.get("why"):
            self.answered[str(record.get("id"))] = call.names
            self.answers.update(call.names)
            return
        for name in call.names:
            self._remember(name, usd, str(record.get("why") or ""))

    def _unused(self, call: str) -> None:
        """The answer was discarded: it counts like any other call that returned."""
        for name in self.answered.pop(call, ()):
            self.answers[name] -= 1
            self.returned[name] = self.returned.get(name, 0) + 1

    def _allow(self, names: set[int]) -> None:
        """A person allowed these parts again: no earlier call counts against them. Their cost still counts."""
        for name in names:
            for counts in (self.unreturned, self.returned, self.answers):
                counts.pop(name, None)
        for call in self.open.values():
            call.names = tuple(name for name in call.names if name not in names)
        for id, parts in self.answered.items():
            self.answered[id] = tuple(name for name in parts if name not in names)

    def _remember(self, name: int, usd: float, why: str) -> None:
        if why == "stopping":
            self.unreturned[name] = self.unreturned.get(name, 0) + 1
        elif usd > 0:
            self.returned[name] = self.returned.get(name, 0) + 1

    def _count_tokens(self, record: Mapping[str, Any]) -> None:
        self.tokens[0] += int(read_number(record.get("in")))
        self.tokens[1] += int(read_number(record.get("out")))

    def paid_twice(self, part: str) -> bool:
        """Whether this key or part was paid for twice, and the result of at least one of the calls was lost."""
        name = _shorten(part)
        lost = self.unreturned.get(name, 0) + self.answers[name]
        # A call without an end is in flight or was cut off by a kill, and may have been paid for.
        lost += sum(name in call.names for call in self.open.values())
        return lost >= 1 and lost + self.returned.get(name, 0) >= 2

    def assume_cost(self, tier: str) -> float:
        """US dollars for a call of this tier with an unknown cost: the mean of the recent ones, otherwise a constant."""
        recent = self.recent.get(tier)
        return sum(recent) / len(recent) if recent else ASSUMED_USD.get(tier, max(ASSUMED_USD.values()))

    def assume_call_cost(self, call: str) -> float:
        """US dollars for a call in flight."""
        begun = self.open.get(call)
        return self.assume_cost(begun.tier) if begun else 0.0

    def sum_since(self, day: str) -> tuple[int, float]:
        """Calls and US dollars dated `day` (`2026-02-19`, `2026-02`) or later; "" for all. Open calls are included."""
        sums = [one for date, one in self.days.items() if date >= day]
        open_calls = [call for call in self.open.values() if call.day >= day]
        usd = sum(one.usd for one in sums) + sum(self.assume_cost(call.tier) for call in open_calls)
        return sum(one.calls for one in sums) + len(open_calls), usd

    def sum_purpose(self, day: str, purpose: str) -> float:
        """US dollars of the calls for one purpose dated `day` (`2026-02-19`) or later. Open calls are included."""
        ended = sum(usd for (date, name), usd in self.purposes.items() if name == purpose and date >= day)
        open_calls = [one for one in self.open.values() if one.purpose == purpose and one.day >= day]
        return ended + sum(self.assume_cost(one.tier) for one in open_calls)

    def make_total(self, at: float) -> list[dict[str, Any]]:
        """The record with the sums of everything that was folded, as a list; empty if there were no calls."""
        calls, usd = self.sum_since("")
        if not calls:
            return []
        tokens = {"in": self.tokens[0], "out": self.tokens[1]}
        return [{"state": "total", "at": at, "calls": calls, "usd": usd, **tokens}]


def _shorten(name: str) -> int:
    """A number of eight bytes for a key or part: 20,000 texts of the last months take three times as much."""
    return int.from_bytes(blake2b(name.encode(errors="replace"), digest_size=8).digest(), "big")


def _day(at: float) -> str:
    """The local date; the earliest date if the time is outside the calendar."""
    try:
        return local_date(at)
    except (ValueError, OverflowError, OSError):
        return "0001-01-01"
