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

__all__ = ["Answer", "Model", "ModelRequest", "NoAnswer", "PurposeLimit", "Tier", "Why"]

Tier = Literal["fast", "smart", "accurate"]


class PurposeLimit(Struct, frozen=True):
    """What the calls of one purpose may cost in one local day. The caps of the budget hold beside it."""

    share: float = 1.0
    """The part of the day's cap in dollars, 0 to 1."""
    usd: float | None = None
    """US dollars instead of a part of the day's cap."""


class ModelRequest(Struct, frozen=True):
    """A request to the model."""

    prompt: str
    """The whole prompt, at most 400 KB. The child gets it on standard input."""
    tier: Tier
    key: str
    """Names the call. Without parts: if a call with this key was begun twice and an answer was lost, it is refused. "": it has no
    name."""
    system: str = "Answer only in the form asked for."
    """The system prompt. Short, because every call pays for it; the task is in the prompt."""
    parts: tuple[str, ...] = ()
    """Ids of what this call combines (prompts), if that can differ from one try to the next.

    With parts, each part is checked instead of the key, and the refusal names the parts that were begun twice. An answer
    counts as lost if the same part is asked for again, unless the handler discarded it (`Later` with blame
    "work").
    """
    purpose: str = ""
    """One word: `extraction`, `synthesis`, `summary`."""
    limit: PurposeLimit | None = None
    """A limit for all calls with the same purpose; None: only the budget's own caps hold."""
    is_waited_for: bool = False
    """A person waits for the answer: the call goes before those that wait for nobody."""
    project: str = ""
    """The root of the project that the call is for; "" if it is for none."""
    plugin: str = ""
    """The plugin that asks. The engine sets it, and the next two."""
    about: tuple[Part, ...] = ()
    """What each number in the answer stands for. With it the answer is stored until the task that asked is committed."""
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
    """A call with this key was begun twice and its result was lost. It is not paid for a third time."""
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
