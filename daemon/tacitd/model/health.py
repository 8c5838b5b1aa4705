"""How the model is: what it last could not do, until it can. Wraps a model; asks nothing by itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tacitd.model.port import Answer, Ask, Model, NoAnswer, Why

LASTING = {
    Why.ABSENT: "model.absent",
    Why.TOO_OLD: "model.too-old",
    Why.LOGGED_OUT: "model.logged-out",
    Why.LIMIT: "model.limit",
    Why.CREDIT: "model.credit",
    Why.OVERLOADED: "model.overloaded",
    Why.UNREACHABLE: "model.unreachable",
    Why.NO_SUCH_MODEL: "model.unknown",
    Why.TIMED_OUT: "model.timed-out",
    Why.BAD_ANSWER: "model.bad-answer",
    Why.BUDGET: "model.budget",
}
"""What is true of the model and not of one prompt: a degradation until the next answer."""


class Health:
    """A model that remembers how it is. Thread-safe."""

    def __init__(
        self,
        model: Model,
        program: Callable[[], Path | None],
        running: Callable[[], int],
        sweep: Callable[[], object] = lambda: None,
    ) -> None:
        self._model = model
        self.sweep = sweep
        """End what is left of the model's children. Only when no call can begin any more."""
        self._program = program
        self._running = running
        self._lock = threading.Lock()
        self._wrong: NoAnswer | None = None

    def ask(self, ask: Ask) -> Answer | NoAnswer:
        """Pass the question on, and remember how it went."""
        answer = self._model.ask(ask)
        with self._lock:
            if isinstance(answer, Answer):
                self._wrong = None
            elif answer.why in LASTING:
                self._wrong = answer
        return answer

    def reconfigure(self, settings: object) -> None:
        """Hand new settings on to a model that takes some. What was wrong may be right now, and is found out anew."""
        take = getattr(self._model, "reconfigure", None)
        if take is not None:
            take(settings)
        with self._lock:
            self._wrong = None

    def describe(self) -> dict[str, Any]:
        """For `status`."""
        program = self._program()
        return {"program": str(program) if program else None, "children": self._running()}

    def wrong(self) -> tuple[str, str, str] | None:
        """(id, what, hint) of what is wrong with the model now; None while nothing is known to be."""
        with self._lock:
            wrong = self._wrong
        if wrong is not None and not (wrong.why is Why.ABSENT and self._program() is not None):
            hint = (
                wrong.hint or "run `claude -p hi` by hand to see what it says; `tacitd doctor` looks further"
            )
            return LASTING[wrong.why], f"the model does not answer: {wrong.why}: {wrong.detail}", hint
        if self._program() is None:
            hint = "install Claude Code, or set claude.command to its path; what needs no model goes on"
            return "model.absent", "`claude` was not found: nothing can be learned until it is", hint
        return None
