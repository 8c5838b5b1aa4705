"""The port: what the rest of tacitd knows about a language model.

One request has one answer or one reason why there is none. Which model or program answers does not belong here; the only
adapter is claude.py.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from tacitd.contract import Part, Priority

SENTINEL = "tacitd background request, not a person's words."
"""The first line of every prompt that tacitd sends. The reader recognises it and skips such sessions. It also keeps a prompt
from starting with `/`, which the client would treat as a command (CLAUDE_CODE 3.3, RELIABILITY 19).
"""
__all__ = ["SENTINEL", "Answer", "Model", "ModelRequest", "NoAnswer", "Tier", "Why", "frame_prompt"]

Tier = Literal["fast", "smart", "accurate"]


class ModelRequest(Struct, frozen=True):
    """A request to the model."""

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
    the kind `work` only completes the request, and counts if there is no other. With
    parts the answer is stored until the task that asked is committed."""
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
    """Calls about a part of the request were begun twice and an answer was lost. It is not paid for a third time."""
    MANY_SESSIONS = "more new sessions an hour than a person starts"
    """The growth breaker is closed."""
    STOPPING = "stopping"
    """The daemon is stopping."""
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
        """Whether the prompt itself is the cause, so that a smaller one may succeed.

        A client that hangs or ends without output proves nothing about the prompt. A broken installation must not cost a
        person's prompts, so such work waits instead.
        """
        return self.why in (Why.TOO_LONG, Why.REPEATED)


class Model(Protocol):
    """The port. Calls block, may come from several threads, and raise nothing."""

    def ask(self, ask: ModelRequest) -> Answer | NoAnswer:
        """Send one request and wait for the answer, or for the reason why there is none."""
        ...


def frame_prompt(prompt: str) -> str:
    """The prompt as it is sent: the sentinel on a line of its own, then the text."""
    return f"{SENTINEL}\n\n{prompt}"
