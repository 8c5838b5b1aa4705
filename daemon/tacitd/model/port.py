"""What the rest of tacitd knows about a language model: one question, one answer, or one reason why not.

Nothing here knows which model or which program answers; `claude.py` is the one adapter.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol

Tier = Literal["fast", "smart", "accurate"]


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to the model."""

    prompt: str
    """The whole prompt. It goes to the child on standard input; at most 400 KB."""
    tier: Tier
    key: str
    """What this call is for. One whose call was begun twice and never came back is refused."""
    system: str = "Answer only in the form asked for."
    """Short, because it is paid for with every call; what is wanted stands in the prompt."""
    parts: tuple[str, ...] = ()
    """Ids of what goes together in this call (prompts), where that changes from one try to the next: then each of them
    is looked at instead of the key, and the answer names those that were begun twice. An answer counts as lost if the
    same part is asked for again, unless the handler found it of no use (`Later` with blame "work", or `Wait`)."""
    purpose: str = ""
    """One word for the budget's log: `extraction`, `synthesis`, `summary`."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said, and what it cost."""

    text: str
    model: str = ""
    usd: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    call: str = ""
    """The call's id in the budget's log."""


class Why(StrEnum):
    """Why there is no answer."""

    ABSENT = "absent"
    """No `claude` on PATH."""
    TOO_OLD = "too old"
    """The client does not know the switches that keep a call private."""
    LOGGED_OUT = "not logged in"
    LIMIT = "usage limit"
    CREDIT = "no credit"
    OVERLOADED = "overloaded"
    UNREACHABLE = "unreachable"
    NO_SUCH_MODEL = "no such model"
    TOO_LONG = "prompt too long"
    TIMED_OUT = "timed out"
    BAD_ANSWER = "bad answer"
    """The client ended without an answer that can be read."""
    BUDGET = "budget"
    """The day's or the month's cap is reached, or the minute's."""
    REPEATED = "begun twice"
    """A call with this key was begun twice and what came of it was lost: it is not paid for a third time."""
    MANY_SESSIONS = "more new sessions an hour than a person starts"
    """The growth breaker is closed."""
    STOPPING = "stopping"
    """The daemon is on its way out."""


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why the model did not answer, what mends it, and when to ask again."""

    why: Why
    detail: str
    hint: str = ""
    retry_at: float | None = None
    """Seconds since 1970, UTC, where the answer is known (a limit's reset, the next day)."""
    repeated: tuple[str, ...] = ()
    """Of `Ask.parts`, those that were begun twice."""

    @property
    def reason(self) -> str:
        """Why, in one line for a person."""
        return f"{self.why}: {self.detail}" if self.detail else str(self.why)

    @property
    def blames_the_prompt(self) -> bool:
        """True where the prompt itself is the cause, so that a smaller one may pass.

        A client that hangs or ends without a word says nothing of the prompt: a broken installation must not cost a
        person's words, so that waits for the world.
        """
        return self.why in (Why.TOO_LONG, Why.REPEATED)


class Model(Protocol):
    """The port. Calls block; they may come from several threads; they raise nothing."""

    def ask(self, ask: Ask) -> Answer | NoAnswer:
        """Put one question and wait for the answer."""
        ...
