"""The model's health: its last lasting failure, until a call succeeds. Wraps a model and makes no calls of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tacitd.model.port import Answer, Model, ModelRequest, NoAnswer, Why

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
"""Failures of the model and not of one prompt, with the id of their degradation, which lasts until the next answer."""


class ModelHealth:
    """A model that records its last lasting failure. Thread-safe."""

    def __init__(
        self,
        model: Model,
        program: Callable[[], Path | None],
        running: Callable[[], int],
        sweep: Callable[[], object] = lambda: None,
    ) -> None:
        self._model = model
        self.reap_children = sweep
        """Ends the remaining children of the model. Called only when no call can begin any more."""
        self._program = program
        self._running = running
        self._lock = threading.Lock()
        self._fault: NoAnswer | None = None
        self._found: Path | None = None
        self._has_looked = False

    def ask(self, ask: ModelRequest) -> Answer | NoAnswer:
        """Pass the request on and record its outcome."""
        answer = self._model.ask(ask)
        self.look()
        with self._lock:
            if isinstance(answer, Answer):
                self._fault = None
            elif answer.why in LASTING:
                self._fault = answer
        return answer

    def look(self) -> None:
        """Look whether the program is there. Not in the loop's thread: a directory of PATH may not answer."""
        self._found, self._has_looked = self._program(), True

    def describe(self) -> dict[str, Any]:
        """The program's path and the number of children."""
        return {"program": str(self._found) if self._found else None, "children": self._running()}

    def get_fault(self) -> tuple[str, str, str] | None:
        """The model's present failure as (degradation id, what, hint); None if none is known."""
        with self._lock:
            wrong = self._fault
        if wrong is not None and not (wrong.why is Why.ABSENT and self._found is not None):
            hint = (
                wrong.hint or "run `claude -p hi` by hand to see its output; `tacitd doctor` runs more checks"
            )
            return LASTING[wrong.why], f"the model does not answer: {wrong.why}: {wrong.detail}", hint
        if self._has_looked and self._found is None:
            hint = (
                "install Claude Code, or set claude.command to its path; work that needs no model continues"
            )
            return "model.absent", "`claude` was not found: nothing is learned until it is installed", hint
        return None
