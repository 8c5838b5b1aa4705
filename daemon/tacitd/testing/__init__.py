"""Fakes for the clock and the model: those with which our own handlers are tested, for yours too.

clock = FakeClock(wall=1_700_000_000)
model = ScriptedModel([("Message:", "Prefers pnpm over npm")])
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tacitd.model.port import Answer, Ask, NoAnswer

__all__ = ["FakeClock", "ScriptedModel"]

DAY = 86_400.0
START = time.time() // DAY * DAY + 4.5 * 3600
"""Where a FakeClock starts that is given no time: 04:30 UTC of the current day (seconds since 1970).

Not a date written down: files that a test writes have the kernel's time, and a date that is past some day makes the two
drift apart. A test in which a date matters names it."""
Reply = str | NoAnswer | Callable[[Ask], str | NoAnswer]


@dataclass(slots=True)
class FakeClock:
    """A clock that moves only when told to."""

    wall: float = field(default_factory=lambda: START)
    """Seconds since 1970, UTC."""
    mono: float = 1000.0

    def now(self) -> float:
        """Wall time."""
        return self.wall

    def monotonic(self) -> float:
        """The time that only moves forward."""
        return self.mono

    def pass_(self, seconds: float) -> None:
        """Let both go on."""
        self.wall += seconds
        self.mono += seconds

    def jump(self, seconds: float) -> None:
        """Set the wall clock, and only that."""
        self.wall += seconds


@dataclass(slots=True)
class ScriptedModel:
    """Answers by rules: the first whose regular expression is found in the prompt. Remembers what it was asked."""

    rules: Sequence[tuple[str, Reply]] = ()
    default: Reply = "NONE"
    usd: float = 0.001
    asked: list[Ask] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, ask: Ask) -> Answer | NoAnswer:
        """Answer, and remember."""
        with self._lock:
            self.asked.append(ask)
        reply = next(
            (r for pattern, r in self.rules if re.search(pattern, ask.prompt, re.DOTALL)), self.default
        )
        said = reply(ask) if callable(reply) else reply
        return (
            said
            if isinstance(said, NoAnswer)
            else Answer(said, "scripted", self.usd, len(ask.prompt) // 4, len(said) // 4)
        )

    @property
    def prompts(self) -> list[str]:
        """Every prompt, in order."""
        return [ask.prompt for ask in self.asked]
