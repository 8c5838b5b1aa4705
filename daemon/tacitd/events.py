"""The closed set of events, and the words of the field that they carry.

An event is a fact about the world that a handler may care about: frozen, complete, without a way to act.
Nothing here reads, writes, or asks the time. A new event is a new member of `Event`, and mypy then shows
every `match` that has to know it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

CONTEXT_LIMIT = 300
"""How many characters of the assistant's text go with a prompt."""
TEXT_LIMIT = 64 << 10
"""How many characters of an assistant's text or of a summary are kept in a record."""

PromptKind = Literal["typed", "command", "bash", "queued", "reject-words", "answers", "steer"]
"""How a person's words came into the transcript.

typed: at the prompt. command: the arguments of a slash command. bash: a `!` command. queued: typed while the
model worked, recorded by the queue. steer: a text block beside a tool's result. reject-words: said while
rejecting a tool. answers: chosen or typed in answer to the model's question.
"""


@dataclass(frozen=True, slots=True)
class Prompt:
    """Words that a person typed, with everything that they did not type taken out."""

    kind: PromptKind
    text: str
    session: str
    uuid: str
    """The record's uuid; `uuid#1`, `uuid#2` for further prompts of one record; "" where the record has none."""
    time: float | None
    """Seconds since 1970, UTC; None where the record has no readable time."""
    cwd: str
    """The working directory that the record (or the newest record before it) names; "" if none does."""
    context: str = ""
    """Up to 300 characters: the end of what the assistant said just before, or the question answered."""
    pasted: int = 0
    """How many characters of marked pastes were taken out of `text`."""

    @property
    def id(self) -> str:
        """What tells this prompt from every other, also after a restart: the uuid, else a hash of its words."""
        if self.uuid:
            return self.uuid
        return sha256(f"{self.session}\0{self.text}\0{self.time}".encode(errors="replace")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool that the assistant called."""

    id: str
    name: str
    input: bytes
    """The call's input as JSON, at most 256 KB; `{}` where it was longer."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """A tool's answer to a call."""

    error: bool
    """Whether the call was refused."""
    text: str = ""
    """The text that the assistant got, at most 4096 characters."""
    data: Mapping[str, Any] | None = None
    """The tool's result as an object, if the client recorded it."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a transcript, usually a line, reduced to what a handler may want of it."""

    start: int
    """Byte offset of its first byte."""
    end: int
    """Byte offset just after its newline: a position may be here. A record without a newline (the last one of a session
    that is over, or one with another record on the same line) ends with its last byte."""
    type: str
    """The kind of the record, as the client wrote it."""
    uuid: str = ""
    session: str = ""
    time: float | None = None
    """Seconds since 1970, UTC. Where a person's line has none: of the nearest before it that has."""
    cwd: str = ""
    prompts: tuple[Prompt, ...] = ()
    text: str = ""
    """What the assistant said in this record, at most 64 KB."""
    tools: tuple[ToolUse, ...] = ()
    summary: str = ""
    """The summary that a compaction wrote."""
    command: str = ""
    """The slash command that a person ran here, without its slash; its arguments are a prompt."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left in it that a handler may want."""
        return not (self.prompts or self.text or self.tools or self.summary or self.command)


@dataclass(frozen=True, slots=True)
class Project:
    """A place where work happens and where what was learned is kept."""

    root: Path
    """The git top level (the main worktree's, for a linked worktree), else the working directory itself."""
    git: bool


@dataclass(frozen=True, slots=True)
class NoProject:
    """Why a working directory is none: nothing is ever written there."""

    cwd: str
    reason: str
    gone: bool = False
    """True where the directory does not exist now, and may again."""


@dataclass(frozen=True, slots=True)
class TranscriptGrew:
    """Records of one transcript that this handler has not handled yet, from its position on.

    Offered again with more records as the transcript grows, until the handler answers `Done`.
    """

    transcript: Path
    session: str
    project: Project | NoProject
    records: tuple[Record, ...]
    start: int
    """The handler's position: byte offset."""
    end: int
    """The offset up to which `records` reach; `Done(end)` means that all of it is handled."""
    due: bool
    """True: do not gather any longer (`sync`, the session ended, `run --once`)."""


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """A session's working directory is known: it was announced by the first record that names one, or changed.

    Comes once for each project that the session goes to, one after the other.
    """

    session: str
    transcript: Path
    project: Project | NoProject
    at: float
    """Seconds since 1970, UTC."""


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """A session ended, or nobody worked in it for `session.idle`. May come again when it was resumed.

    Offered after this handler has handled every record of the session.
    """

    session: str
    transcript: Path
    project: Project | NoProject
    at: float
    """When it was last active: seconds since 1970, UTC."""
    why: Literal["idle", "gone", "asked"]


@dataclass(frozen=True, slots=True)
class SourceChanged:
    """A file that the handler named as a source of its own was changed, made or removed."""

    project: Project
    path: Path


@dataclass(frozen=True, slots=True)
class Due:
    """A job of the handler's is due by the clock."""

    job: str
    project: Project | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """Something that another handler found for this one, after the commit in which it stands.

    Offered at least once, until the answer is `Done`: the same `id` may come again after a crash.
    """

    sender: str
    """The name of the handler that found it."""
    id: str
    session: str
    project: Project | NoProject
    at: float
    """When it was committed: seconds since 1970, UTC."""
    data: Mapping[str, Any]
    """JSON, as the two of them agreed."""
    by_job: bool = False
    """Whether it was found in a job, not in a session: `session` is the job's name then."""


Event = TranscriptGrew | SessionStarted | SessionEnded | SourceChanged | Due | Told
