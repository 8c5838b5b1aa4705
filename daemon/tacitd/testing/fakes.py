"""Fakes of the clock and the model."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

from msgspec import Struct, field
from msgspec.structs import replace

from tacitd.model.budget import Budget
from tacitd.model.call_caps import MinuteFull
from tacitd.model.port import Answer, Model, ModelRequest, NoAnswer, Why

DAY = 86_400.0
START = time.time() // DAY * DAY + 4.5 * 3600
"""Default time of a FakeClock: 04:30 UTC of the current day (seconds since 1970).

It is not a fixed date, because files that a test writes have the kernel's time, and the two would drift apart. A test in
which a date matters names the date.
"""
Reply = str | NoAnswer | Callable[[ModelRequest], str | NoAnswer]


class FakeClock(Struct):
    """A clock that moves only when a test moves it."""

    wall: float = field(default_factory=lambda: START)
    """Seconds since 1970, UTC."""
    mono: float = 1000.0
    """Monotonic seconds."""

    def now(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.mono

    def advance(self, seconds: float) -> None:
        """Move both clocks forward."""
        self.wall += seconds
        self.mono += seconds

    def jump(self, seconds: float) -> None:
        """Move the wall clock only, forward or back."""
        self.wall += seconds


class ScriptedModel(Struct):
    """A model that answers by rules and records the requests. Thread-safe."""

    rules: Sequence[tuple[str, Reply]] = ()
    """(regular expression, reply): the first that is found in the prompt (with DOTALL) gives the reply."""
    default: Reply = "NONE"
    """The reply if no rule matches."""
    usd: float = 0.001
    """Dollars that each call costs."""
    asked: list[ModelRequest] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, ask: ModelRequest) -> Answer | NoAnswer:
        with self._lock:
            self.asked.append(ask)
        reply = next(
            (r for pattern, r in self.rules if re.search(pattern, ask.prompt, re.DOTALL)), self.default
        )
        said = reply(ask) if callable(reply) else reply
        if isinstance(said, NoAnswer):
            return said
        return Answer(said, "scripted", self.usd, len(ask.prompt) // 4, len(said) // 4)

    @property
    def prompts(self) -> list[str]:
        """The prompt of each request, in order."""
        return [ask.prompt for ask in self.asked]


# --- A model in this process whose calls are counted in the real budget.


class CountedModel:
    """Asks another model within the caps, and stores what became of each call."""

    def __init__(self, model: Model, budget: Budget) -> None:
        self._model = model
        self._budget = budget

    def ask(self, ask: ModelRequest) -> Answer | NoAnswer:
        call = self._budget.begin_call(ask)
        if isinstance(call, MinuteFull):
            return NoAnswer(Why.BUDGET, f"{call.calls} calls a minute")
        if isinstance(call, NoAnswer):
            return call
        answer = self._model.ask(ask)
        if isinstance(answer, NoAnswer):
            self._budget.end_call(call, "failed", usd=0.0, reason=str(answer.why))
            return answer
        self._budget.end_call(
            call,
            "answered",
            usd=answer.usd,
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
            model=answer.model,
            answer=answer.text if ask.about else None,
        )
        return replace(answer, call=str(call))


class InlineExecutor(Executor):
    """Runs work at once, in the caller's thread."""

    def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN201
        fn(*args, **kwargs)
