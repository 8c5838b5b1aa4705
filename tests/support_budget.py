"""A store, a clock and caps, for tests of the budget."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from support_store import CrashSteps
from tacitd.config.settings import BudgetSettings
from tacitd.contract import Part
from tacitd.model.budget import (
    Budget,
    Spending,
    mark_used,
    read_spending,
)
from tacitd.model.port import ModelRequest, NoAnswer
from tacitd.store import Store
from tacitd.testing import FakeClock

DAY_SECONDS = 86_400
NOON = datetime.now().replace(hour=12, minute=0, second=0, microsecond=0).timestamp()


class Limits(BudgetSettings):
    """Caps of a test."""

    calls_per_minute: int = 100
    calls_per_day: int = 1000
    usd_per_day: float = 100.0
    usd_per_month: float = 1000.0


def make_part(row: str, text: str = "use pnpm", number: int = 1) -> Part:
    """A prompt that a call is about."""
    return Part("prompt", number, row, text)


CALL = ModelRequest("?", "fast", purpose="extraction", plugin="learning", about=(make_part("p1"),))
PLAIN = replace(CALL, about=())
"""About nothing that could be paid for twice."""
SCAN = replace(PLAIN, priority="scan")


class World:
    """A store, a clock and caps; `restart` is the next process."""

    def __init__(self, state: Path) -> None:
        self.state, self.clock, self.caps = state, FakeClock(wall=NOON), Limits()
        self.store = Store.open(state, self.clock)
        self.calls = Budget(self.store, self.caps, self.clock)

    def restart(self) -> int:
        """End without a word, begin again, and return how many calls are lost."""
        self.store.close()
        self.store = Store.open(self.state, self.clock)
        self.calls = Budget(self.store, self.caps, self.clock)
        return self.calls.mark_lost()

    def crash_at(self, step: int) -> CrashSteps:
        """Let the process end at this durable step from now on."""
        steps = CrashSteps()
        self.store.close()
        self.store = Store.open(self.state, self.clock, on_step=steps)
        self.calls = Budget(self.store, self.caps, self.clock)
        steps.arm(step)
        return steps

    def begin(self, call: ModelRequest = PLAIN) -> int:
        number = self.calls.begin_call(call)
        assert isinstance(number, int)
        return number

    def spend(self, usd: float, call: ModelRequest = PLAIN, **more: Any) -> int:
        number = self.begin(call)
        self.calls.end_call(number, "answered", usd=usd, answer="NONE", **more)
        self.mark(number)
        return number

    def spending(self) -> Spending:
        return read_spending(self.store.rows, self.clock.now())

    def mark(self, number: int, used: bool = True) -> None:
        with self.store.write() as tx:
            mark_used(tx, [number], used=used)

    def refuse(self, call: ModelRequest = PLAIN) -> NoAnswer:
        refused = self.calls.begin_call(call)
        assert isinstance(refused, NoAnswer)
        return refused
