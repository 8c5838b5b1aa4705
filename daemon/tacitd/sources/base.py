"""What a source says of its transcripts, its sessions and its clients, beside the records of events.py."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from tacitd.events import Prompt, PromptKind


class OwnCalls(Struct, frozen=True):
    """What identifies the daemon's own calls of the client (S-60, S-61). Each of these is enough alone."""

    cwd: str = ""
    """The private directory that its calls run in; "" for none."""
    sentinel: str = ""
    """The beginning of all its prompts; "" for none."""
    sessions: Container[str] = field(default_factory=frozenset)
    """Its own session ids; may be a set that grows."""

    def is_own_record(self, session: str, cwd: str) -> bool:
        """Whether a record of this session, from this directory, is the daemon's own."""
        if session and session in self.sessions:
            return True
        return bool(self.cwd) and (cwd == self.cwd or cwd.startswith(self.cwd + "/"))


class PersonWords(Struct, frozen=True):
    """A person's words in one record."""

    kind: PromptKind
    text: str
    pasted: int = 0
    """Length in characters of the marked pastes that were removed from `text`."""
    context: str | None = None
    """The question that they answer. None: the assistant's text before is the context."""


class PromptVerdict(Struct, frozen=True):
    """The number of the rule that decided, the words, and the reason in a sentence for a person."""

    rule: int
    words: tuple[PersonWords, ...]
    reason: str


class JudgedLine(Struct, frozen=True):
    """A line that might contain a person's words, with its verdict and its prompts."""

    start: int
    """Byte offset of the line."""
    verdict: PromptVerdict
    """Without `words` if they were left out; `reason` has the cause."""
    prompts: tuple[Prompt, ...] = ()


class Recognition(Struct, frozen=True):
    """Whether the prompts of a transcript are written in a way that the source knows."""

    recognised: bool
    """Whether the last prompt was recognised."""
    answers: int
    """How many texts the assistant wrote in turns of a person's session that began with nothing recognised; 0 in a program's."""
    version: str
    """The client's version; "" if no record names it."""
    refusal: str
    """The rule that refused what may have been a prompt, in words for a person."""


class SessionClaim(Struct, frozen=True):
    """A process of this machine claims to run this session."""

    pid: int
    session: str
    cwd: str


class ClientUse(Struct, frozen=True):
    """A client that wrote into a transcript last."""

    version: str
    """As the client gives it: `2.1.328`."""
    cwd: str
    """The directory of the session; "" if the end of the transcript does not name it."""
    headless: bool
    """Whether a program drove the session."""
    at: float
    """When the transcript changed last: seconds since 1970, UTC."""


class SessionHint(Struct, frozen=True):
    """What a client's hook says about a session. It may be wrong, late or missing; the transcript is the truth."""

    session: str
    transcript: Path
    """An absolute path that the hook claims; it may be anything."""
    ended: bool
    """Whether the client says that the session ended; otherwise it goes on."""
    compacts: bool = False
    """Whether the client is about to compact the session."""


class HookQuestion(Struct, frozen=True):
    """What a client's hook may be answered with a text for the session. It may be wrong, as a `SessionHint`."""

    event: str
    """The client's name of it."""
    kind: Literal["context", "failure"]
    """`context`: a session or a sub-agent starts. `failure`: a call of a tool failed."""
    session: str
    transcript: Path
    cwd: str
    source: str = ""
    """Why the session starts, as the client calls it."""
    agent: str = ""
    """The kind of a sub-agent that starts; "" for a session."""
    tool: str = ""
    error: str = ""
