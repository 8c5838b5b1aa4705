"""The closed set of events, and the data that they contain.

An event is a frozen fact for handlers, without methods that act. Nothing here reads, writes or uses the clock. A new
event becomes a member of `Event`; mypy then reports every `match` without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

__all__ = [
    "CONTEXT_LIMIT",
    "TEXT_LIMIT",
    "Due",
    "Event",
    "Message",
    "NoProject",
    "Project",
    "Prompt",
    "PromptKind",
    "Record",
    "SessionEnded",
    "SessionStarted",
    "SourceChanged",
    "ToolAnswer",
    "ToolUse",
    "TranscriptGrew",
]

from msgspec import Struct

from tacitd.text.hashes import sha256

CONTEXT_LIMIT = 300
"""How many characters of the assistant's text go with a prompt."""
TEXT_LIMIT = 64 << 10
"""How many characters of an assistant's text or of a summary are kept in a record."""

PromptKind = Literal["typed", "command", "bash", "queued", "reject-words", "answers", "steer"]
"""How a person's text came into the transcript.

typed: at the prompt. command: the arguments of a slash command. bash: a `!` command. queued: typed while the
model worked, recorded by the queue. steer: a text block beside a tool's result. reject-words: typed when a tool was
rejected. answers: chosen or typed in answer to the model's question.
"""


class Prompt(Struct, frozen=True):
    """Text that a person typed, without everything that they did not type."""

    kind: PromptKind
    text: str
    session: str
    uuid: str
    """The record's uuid; `uuid#1`, `uuid#2` for further prompts of one record; "" if the record has none."""
    time: float | None
    """Seconds since 1970, UTC; None if the record has no readable time."""
    cwd: str
    """The working directory that the record (or the newest record before it) names; "" if none does."""
    context: str = ""
    """Up to 300 characters: the end of the assistant's preceding text, or the question that was answered."""
    pasted: int = 0
    """The number of characters of marked pastes that were removed from `text`."""
    context_cwd: str = ""
    """The working directory in which the assistant wrote `context`, if it is not `cwd`."""
    context_time: float | None = None
    """When the assistant began `context`: seconds since 1970, UTC; None if it is not known."""

    @property
    def id(self) -> str:
        """Identifies this prompt, also after a restart: the uuid, otherwise a hash of session, text and time."""
        if self.uuid:
            return self.uuid
        return sha256(f"{self.session}\0{self.text}\0{self.time}".encode(errors="replace")).hexdigest()[:32]


class ToolUse(Struct, frozen=True):
    """A tool that the assistant called."""

    id: str
    name: str
    input: bytes
    """The call's input as JSON, at most 256 KB; `{}` if it was longer."""
    skills: tuple[str, ...] = ()
    """The names by which the call starts a skill; () for any other call."""


class ToolAnswer(Struct, frozen=True):
    """A tool's answer to a call."""

    id: str
    """Of the call."""
    error: bool
    """Whether the call was refused."""
    text: str = ""
    """The text that the assistant got, at most 4096 characters."""
    data: Mapping[str, Any] | None = None
    """What the client recorded of the result: `task` and `tasks` of its task tools, and `success`; None if that is not known."""


class Record(Struct, frozen=True):
    """One record of a transcript, usually a line, reduced to what handlers use."""

    start: int
    """Byte offset of its first byte."""
    end: int
    """Byte offset just after its newline, where a position may be. A record without a newline (the last one of an ended
    session, or one with another record on the same line) ends with its last byte."""
    type: str
    """The kind of the record, as the client wrote it."""
    uuid: str = ""
    session: str = ""
    time: float | None = None
    """Seconds since 1970, UTC. For a person's line without a time: that of the nearest line before it with one."""
    cwd: str = ""
    prompts: tuple[Prompt, ...] = ()
    text: str = ""
    """The assistant's text in this record, at most 64 KB."""
    tools: tuple[ToolUse, ...] = ()
    summary: str = ""
    """The summary that a compaction wrote."""
    command: str = ""
    """The slash command that a person ran here, without its slash; its arguments are a prompt."""
    plan: str = ""
    """The plan that the client put into the session because the person accepted it, at most 64 KB from its beginning. It is
    the model's text, not a prompt."""
    branch: str = ""
    """The git branch that a person's record names; "" if it names none."""
    answers: tuple[ToolAnswer, ...] = ()
    """The answers to calls of tools that keep tasks, start agents or edit files. Other tools' answers are left out."""

    @property
    def is_empty(self) -> bool:
        """Whether the record contains nothing that handlers use."""
        return not (
            self.prompts
            or self.text
            or self.tools
            or self.answers
            or self.summary
            or self.command
            or self.plan
        )


class Project(Struct, frozen=True):
    """A directory in which a person works and in which learned facts are stored."""

    root: Path
    """The git top level (the main worktree's, for a linked worktree), otherwise the working directory itself."""
    git: bool


class NoProject(Struct, frozen=True):
    """A working directory that is not a project, with the reason. Nothing is written there."""

    cwd: str
    reason: str
    gone: bool = False
    """Whether the directory does not exist now, or cannot be examined, and may be there again."""
    excluded: bool = False
    """Whether a person excluded it, so that nothing of it may be stored: in the configuration, or as a project that is gone now."""


class TranscriptGrew(Struct, frozen=True):
    """Records of one transcript that this handler has not handled yet, from its position on.

    Offered again with more records as the transcript grows, until the outcome is `Done`.
    """

    stored_name: ClassVar[str] = "TranscriptGrew"
    transcript: Path
    session: str
    project: Project | NoProject
    records: tuple[Record, ...]
    start: int
    """The handler's position: byte offset."""
    end: int
    """The offset up to which `records` reach; `Done(end)` means that all of it is handled."""
    due: bool
    """Whether the handler must not wait for more prompts (`sync`, the session ended, `run --once`)."""


class SessionStarted(Struct, frozen=True):
    """A session's working directory became known, by its first record that names one, or changed.

    Comes once each time the session goes to another project. Sessions that begin in one project before the handler gets to
    it, as when many transcripts are caught up, come as one event: the newest.
    """

    stored_name: ClassVar[str] = "SessionStarted"
    session: str
    transcript: Path
    project: Project | NoProject
    at: float
    """Seconds since 1970, UTC."""


class SessionEnded(Struct, frozen=True):
    """A session ended, or was idle for `session.idle`. May come again after it was resumed.

    Offered after this handler has handled every record of the session.
    """

    stored_name: ClassVar[str] = "SessionEnded"
    session: str
    transcript: Path
    project: Project | NoProject
    at: float
    """The time of its last activity: seconds since 1970, UTC."""
    why: Literal["idle", "gone", "asked"]


class SourceChanged(Struct, frozen=True):
    """A file that the handler's `sources` names was changed, created or removed."""

    stored_name: ClassVar[str] = "SourceChanged"
    project: Project
    path: Path


class Due(Struct, frozen=True):
    """A job of the handler's is due: by the clock, because a person asked for it, or because of a session."""

    stored_name: ClassVar[str] = "Due"
    job: str
    project: Project | None = None
    session: str = ""
    """The session that it is about; "" if it is about none."""


class Message(Struct, frozen=True):
    """A message from another handler, offered after the commit that contains it.

    Offered at least once, until the outcome is `Done`: the same `id` may come again after a crash.
    """

    stored_name: ClassVar[str] = "Told"
    """An earlier name of the event: handlers' logs contain it."""
    sender: str
    """The name of the handler that sent it."""
    id: str
    session: str
    project: Project | NoProject
    at: float
    """When it was committed: seconds since 1970, UTC."""
    data: Mapping[str, Any]
    """JSON. Sender and receiver define its form."""
    by_job: bool = False
    """Whether it comes from a job and not from a session. `session` is the job's name then."""


Event = TranscriptGrew | SessionStarted | SessionEnded | SourceChanged | Due | Message
