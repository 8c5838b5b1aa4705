"""The port: what the rest of tacitd knows about a language model. The only adapter is claude.py."""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from tacitd.contract import Part, Priority

SENTINEL = "tacitd background request, not a person's words."
"""The first line of every prompt that tacitd sends. The reader skips such sessions. It also keeps a prompt from starting with `/`,
which the client would treat as a command (CLAUDE_CODE 3.3, RELIABILITY 19)."""
ABSENT_HINT = "install Claude Code, or set claude.command to its path; work that needs no model continues"
__all__ = ["SENTINEL", "Answer", "Model", "ModelRequest", "NoAnswer", "Tier", "Why", "frame_prompt"]

Tier = Literal["fast", "smart", "accurate"]


class ModelRequest(Struct, frozen=True):
    prompt: str
    """The whole prompt, at most 400 KB. The child gets it on standard input."""
    tier: Tier
    system: str = "Answer only in the form asked for."
    """The system prompt. Short, because every call pays for it; the task is in the prompt."""
    purpose: str = ""
    """One word: `extraction`, `synthesis`, `summary`."""
    usd_per_day: float | None = None
    """A cap in US dollars for all calls with the same purpose; None: only the budget's own caps hold."""
    project: str = ""
    """The root of the project that the call is for; "" if it is for none."""
    plugin: str = ""
    """The plugin that asks. The engine sets it, and the next two."""
    about: tuple[Part, ...] = ()
    """What each number in the answer stands for. A part that was paid for twice without a use of the answer is refused; one of
    the kind `work` only completes the request, and counts if there is no other. With parts the answer is stored until the task that
    asked is committed."""
    priority: Priority = "live"


class Answer(Struct, frozen=True):
    """The model's text and its cost: US dollars, tokens, seconds."""

    text: str
    model: str = ""
    usd: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    call: str = ""
    """The call's number in the store; "" if it has none."""


class Why(StrEnum):
    """Why there is no answer."""

    ABSENT = "absent"
    """The `claude` program was not found."""
    TOO_OLD = "too old"
    """The client does not know the options that keep a call private."""
    LOGGED_OUT = "not logged in"
    LIMIT = "usage limit"
    CREDIT = "no credit"
    OVERLOADED = "overloaded"
    UNREACHABLE = "unreachable"
    NO_SUCH_MODEL = "no such model"
    TOO_LONG = "prompt too long"
    TIMED_OUT = "timed out"
    BAD_ANSWER = "bad answer"
    """The client ended without a readable answer."""
    BUDGET = "budget"
    """The cap of the month, the day or the minute is reached."""
    REPEATED = "begun twice"
    MANY_SESSIONS = "more new sessions an hour than a person starts"
    """The growth breaker is closed."""
    STOPPING = "stopping"
    CANCELLED = "cancelled"
    """Ctrl-C ended the call."""


class NoAnswer(Struct, frozen=True):
    """Why the model did not answer, the hint that fixes it, and when to ask again."""

    why: Why
    detail: str
    hint: str = ""
    retry_at: float | None = None
    """Seconds since 1970, UTC, if the time is known (a limit's reset, the next day)."""
    repeated: tuple[str, ...] = ()
    """The parts of the request that were begun twice."""

    @property
    def reason(self) -> str:
        """The reason in one line for a person."""
        return f"{self.why}: {self.detail}" if self.detail else str(self.why)

    @property
    def blames_the_prompt(self) -> bool:
        """Whether the prompt itself is the cause, so that a smaller one may succeed. A client that hangs or ends without output proves
        nothing about the prompt."""
        return self.why in (Why.TOO_LONG, Why.REPEATED)


class Model(Protocol):
    """The port. Calls block, may come from several threads, and raise nothing."""

    def ask(self, ask: ModelRequest) -> Answer | NoAnswer:
        """Send one request and wait for the answer, or for the reason why there is none."""
        ...


def frame_prompt(prompt: str) -> str:
    """The prompt as it is sent: the sentinel on a line of its own, then the text."""
    return f"{SENTINEL}\n\n{prompt}"


# --- the model's health


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
        sweep: Callable[[], object] = lambda: None,
    ) -> None:
        """`sweep` ends the remaining children; it is called only when no call can begin any more."""
        self._model = model
        self.reap_children = sweep
        self._program = program
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

    @property
    def program(self) -> str:
        """The program's path; "" if it was not found."""
        return str(self._found or "")

    def get_fault(self) -> tuple[str, str, str] | None:
        """The model's present failure as (degradation id, what, hint); None if none is known."""
        with self._lock:
            wrong = self._fault
        if wrong is not None and not (wrong.why is Why.ABSENT and self._found is not None):
            hint = wrong.hint or "run `claude -p hi` by hand to see its output; see `tacitd doctor`"
            return LASTING[wrong.why], f"the model does not answer: {wrong.why}: {wrong.detail}", hint
        if self._has_looked and self._found is None:
            what = "`claude` was not found: nothing is learned until it is installed"
            return "model.absent", what, ABSENT_HINT
        return None
