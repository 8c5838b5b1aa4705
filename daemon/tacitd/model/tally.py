"""The budget's records folded into sums: by day, by call under way, by key. Pure: no clock, no disk.

Records come in the order of the log. What is not a record of ours, or an odd one, is skipped.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tacitd.clock import local_date

ASSUMED_USD = {"fast": 0.01, "smart": 0.05, "accurate": 0.25}
"""Dollars for a call whose cost nobody reported, as long as no call of its tier has reported one."""
RECENT = 20
"""So many of a tier's reported costs make the mean that is assumed after that."""


@dataclass(slots=True)
class _Call:
    day: str
    tier: str
    names: tuple[str, ...]
    """Its parts; the key of a call without parts. Without those that a person asked for once more since."""
    has_parts: bool


@dataclass(slots=True)
class _Sum:
    calls: int = 0
    usd: float = 0.0


@dataclass(slots=True)
class Tally:
    """Sums over the records folded so far."""

    days: dict[str, _Sum] = field(default_factory=dict)
    """By local date, calls that ended; "" holds what a compaction folded."""
    open: dict[str, _Call] = field(default_factory=dict)
    """By id, calls that began and have not ended: under way, or lost with the daemon."""
    unreturned: dict[str, int] = field(default_factory=dict)
    """By key or part, calls that the daemon's end cut off."""
    returned: dict[str, int] = field(default_factory=dict)
    """By key or part, calls that came back and cost something."""
    answered: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By id, the parts of calls that were answered. Nobody asks again for what became of an answer, but for one that
    was said to be of no use: so a part that comes again had its answer lost with the daemon."""
    answers: Counter[str] = field(default_factory=Counter)
    """By part, the calls in `answered`."""
    recent: dict[str, deque[float]] = field(default_factory=dict)
    tokens: list[int] = field(default_factory=lambda: [0, 0])

    def fold(self, record: Mapping[str, Any]) -> None:
        """Take one record in."""
        match record.get("state"):
            case "begun":
                self._begun(record)
            case "ended":
                self._ended(record)
            case "unused":
                self._unused(str(record.get("id")))
            case "allowed":
                parts = record.get("parts")
                self._allow(set(map(str, parts)) if isinstance(parts, list) else set())
            case "total":
                total = self.days.setdefault("", _Sum())
                total.calls += int(_number(record.get("calls")))
                total.usd += _number(record.get("usd"))
                self._count_tokens(record)

    def _begun(self, record: Mapping[str, Any]) -> None:
        call, at = record.get("id"), record.get("at")
        if isinstance(call, str) and isinstance(at, int | float):
            day = _day(at)
            parts = record.get("parts")
            named = tuple(map(str, parts)) if isinstance(parts, list) else ()
            names = named or (str(record.get("key", "")),)
            self.open[call] = _Call(day, str(record.get("tier", "")), names, bool(named))

    def _ended(self, record: Mapping[str, Any]) -> None:
        call = self.open.pop(str(record.get("id")), None)
        if call is None:
            return
        usd = _number(record.get("usd"))
        day = self.days.setdefault(call.day, _Sum())
        day.calls += 1
        day.usd += usd
        self._count_tokens(record)
        if not record.get("assumed") and not record.get("why"):
            self.recent.setdefault(call.tier, deque(maxlen=RECENT)).append(usd)
        if call.has_parts and not record.get("why"):
            self.answered[str(record.get("id"))] = call.names
            self.answers.update(call.names)
            return
        for name in call.names:
            self._remember(name, usd, str(record.get("why") or ""))

    def _unused(self, call: str) -> None:
        """The answer came and could not be used: it is counted as any call that came back."""
        for name in self.answered.pop(call, ()):
            self.answers[name] -= 1
            self.returned[name] = self.returned.get(name, 0) + 1

    def _allow(self, names: set[str]) -> None:
        """A person asks for these once more: no call up to now counts against them. What it cost still counts."""
        for name in names:
            for counts in (self.unreturned, self.returned, self.answers):
                counts.pop(name, None)
        for call in self.open.values():
            call.names = tuple(name for name in call.names if name not in names)
        for id, parts in self.answered.items():
            self.answered[id] = tuple(name for name in parts if name not in names)

    def _remember(self, name: str, usd: float, why: str) -> None:
        if why == "stopping":
            self.unreturned[name] = self.unreturned.get(name, 0) + 1
        elif usd > 0:
            self.returned[name] = self.returned.get(name, 0) + 1

    def _count_tokens(self, record: Mapping[str, Any]) -> None:
        self.tokens[0] += int(_number(record.get("in")))
        self.tokens[1] += int(_number(record.get("out")))

    def paid_twice(self, name: str) -> bool:
        """Whether this key or part was paid for twice, and what came of at least one of the calls was lost."""
        lost = self.unreturned.get(name, 0) + self.answers[name]
        lost += sum(name in call.names for call in self.open.values())
        return lost >= 1 and lost + self.returned.get(name, 0) >= 2

    def assumed(self, tier: str) -> float:
        """Dollars for a call of this tier whose cost is not known: the mean of the recent ones, else a constant."""
        recent = self.recent.get(tier)
        return sum(recent) / len(recent) if recent else ASSUMED_USD.get(tier, max(ASSUMED_USD.values()))

    def assumed_for(self, call: str) -> float:
        """The same for a call under way."""
        begun = self.open.get(call)
        return self.assumed(begun.tier) if begun else 0.0

    def since(self, day: str) -> tuple[int, float]:
        """Calls and dollars dated `day` (`2026-02-19`, `2026-02`) or later; "" for all. Open calls are included."""
        sums = [one for date, one in self.days.items() if date >= day]
        open_calls = [call for call in self.open.values() if call.day >= day]
        usd = sum(one.usd for one in sums) + sum(self.assumed(call.tier) for call in open_calls)
        return sum(one.calls for one in sums) + len(open_calls), usd

    def total(self, at: float) -> list[dict[str, Any]]:
        """The one record that stands for all that was folded; none where nothing was."""
        calls, usd = self.since("")
        if not calls:
            return []
        tokens = {"in": self.tokens[0], "out": self.tokens[1]}
        return [{"state": "total", "at": at, "calls": calls, "usd": usd, **tokens}]


def _number(value: object) -> float:
    """A number that can be added: finite, not negative; else 0."""
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 <= value < 1e12
        and math.isfinite(value)
    ):
        return float(value)
    return 0.0


def _day(at: float) -> str:
    """The local date; a time that no calendar holds counts as the first day of all."""
    try:
        return local_date(at)
    except (ValueError, OverflowError, OSError):
        return "0001-01-01"
