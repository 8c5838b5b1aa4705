"""What a transcript says, as frozen facts: records, prompts, and the projects in which they were typed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

__all__ = [
    "CONTEXT_LIMIT",
    "TEXT_LIMIT",
    "NoProject",
    "Project",
    "Prompt",
    "PromptKind",
    "Record",
    "ToolAnswer",
    "ToolUse",
]

from msgspec import Struct

from tacitd.text.hashes import blake2b

CONTEXT_LIMIT = 300
"""How many characters of the assistant's text go with a prompt."""
TEXT_LIMIT = 64 << 10
"""How many characters of an assistant's text or of a summary are kept in a record."""

PromptKind = Literal["typed", "command", "bash", "queued", "reject-words", "answers", "steer"]
"""typed: at the prompt. command: the arguments of a slash command. bash: a `!` command. queued: typed while the model worked.
steer: a text block beside a tool's result. reject-words: typed when a tool was rejected. answers: chosen or typed in answer
to the model's question."""


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
    """Characters of marked pastes that were removed from `text`."""
    context_cwd: str = ""
    """The working directory in which the assistant wrote `context`, if it is not `cwd`."""
    context_time: float | None = None
    """When the assistant began `context`: seconds since 1970, UTC; None if it is not known."""

    @property
    def id(self) -> str:
        """The same in all transcripts: the uuid; without one, `~` and a digest of its text and time, or of its session if it
        has no time. So a fork of a queued message is the same prompt."""
        if self.uuid:
            return self.uuid
        key = f"{self.text}\0{self.time if self.time is not None else self.session}"
        return "~" + blake2b(key.encode(errors="replace"), digest_size=16).hexdigest()


class ToolUse(Struct, frozen=True):
    id: str
    name: str
    input: bytes
    """The call's input as JSON, at most 256 KB; `{}` if it was longer."""
    skills: tuple[str, ...] = ()
    """The names by which the call starts a skill; () for any other call."""


class ToolAnswer(Struct, frozen=True):
    id: str
    """Of the call."""
    error: bool
    """Whether the call was refused."""
    text: str = ""
    """At most 4096 characters."""
    data: Mapping[str, Any] | None = None
    """What the client recorded: `task` and `tasks` of its task tools, and `success`; None if that is not known."""


class Record(Struct, frozen=True):
    """One record of a transcript, usually a line, reduced to what handlers use."""

    start: int
    end: int
    """Byte offset just after its newline, where a position may be. A record without a newline ends with its last byte."""
    type: str
    uuid: str = ""
    session: str = ""
    time: float | None = None
    """Seconds since 1970, UTC. For a person's line without a time: that of the nearest line before it with one."""
    cwd: str = ""
    prompts: tuple[Prompt, ...] = ()
    text: str = ""
    """The assistant's, at most 64 KB."""
    tools: tuple[ToolUse, ...] = ()
    summary: str = ""
    """That a compaction wrote."""
    command: str = ""
    """The slash command that a person ran here, without its slash; its arguments are a prompt."""
    plan: str = ""
    """The plan that the client put into the session because the person accepted it, at most 64 KB: the model's text."""
    branch: str = ""
    """That a person's record names."""
    answers: tuple[ToolAnswer, ...] = ()
    """The answers to calls of tools that keep tasks, start agents or edit files. Other tools' answers are left out."""


class Project(Struct, frozen=True):
    """A directory in which a person works and in which learned facts are stored."""

    root: Path
    """The git top level (the main worktree's), otherwise the working directory itself."""
    git: bool


class NoProject(Struct, frozen=True):
    """A working directory that is not a project, with the reason. Nothing is written there."""

    cwd: str
    reason: str
    gone: bool = False
    """Whether the directory does not exist now, or cannot be examined, and may be there again."""
    excluded: bool = False
    """Whether a person excluded it, so that nothing of it may be stored."""
