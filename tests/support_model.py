"""The model's adapter with its parts, and the stand-in for the client."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from support_calls import list_calls
from support_claude import StandIn
from tacitd.clock import Clock, SystemClock
from tacitd.config.settings import BudgetSettings, ClaudeSettings
from tacitd.model.budget import Budget
from tacitd.model.claude import ClaudeModel
from tacitd.model.port import Answer, NoAnswer, Why
from tacitd.model.process import run_process
from tacitd.store import Store


@dataclass
class House:
    """An adapter with all its parts in one temporary directory."""

    root: Path
    stand_in: StandIn
    store: Store
    stop: threading.Event = field(default_factory=threading.Event)
    pauses: list[float] = field(default_factory=list)

    def model(
        self,
        *,
        environ: Mapping[str, str] | None = None,
        caps: Mapping[str, Any] | None = None,
        clock: Clock | None = None,
        **settings: Any,
    ) -> ClaudeModel:
        """The adapter. Settings that are not given have their defaults, but pauses take no time."""
        clock = clock or SystemClock()
        home = {
            "HOME": str(self.root / "home"),
            "PATH": self.stand_in.path(),
            "USER": "dev",
            "LOGNAME": "dev",
        }
        return ClaudeModel(
            ClaudeSettings(**settings),
            Budget(self.store, BudgetSettings(**(caps or {})), clock),
            clock=clock,
            environ={**home, **(environ or {})},
            work=self.root / "state" / "model",
            stop=self.stop,
            pause=self.paused,
            stop_grace=0.0,
            runner=partial(run_process, grace=0.2),
        )

    def paused(self, seconds: float) -> bool:
        """No time passes."""
        self.pauses.append(seconds)
        return self.stop.is_set()

    def calls(self) -> list[dict[str, Any]]:
        """The rows of the calls, oldest first."""
        return list_calls(self.root / "store")


def why(outcome: Answer | NoAnswer) -> Why | None:
    """The reason, or None for an answer."""
    return outcome.why if isinstance(outcome, NoAnswer) else None
