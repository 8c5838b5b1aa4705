"""What is known of a session from its transcript, as it is stored: tasks, calls without an answer, its end, its summary. Pure.

A session's start reads it, and needs nothing of what folds it (`session_fold`, `client_tasks`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field, to_builtins

from tacitd.text.converter import Converter

Json = dict[str, Any]
Status = Literal["pending", "in_progress", "completed"]

TODO, TASK, AGENT = "todo-", "task-", "agent-"
"""The prefixes of the ids that tacitd gives to tasks, by the tool that made the task."""
OURS = (TODO, TASK, AGENT)


class TaskItem(Struct, frozen=True):
    """A task, as the client's tools describe it."""

    id: str
    title: str
    status: Status
    created: float
    """Seconds since 1970, UTC."""
    updated: float
    """Seconds since 1970, UTC."""
    blocked_by: tuple[str, ...] = ()
    """Ids of tasks that must be done before."""
    parent: str = ""
    """The id of the task that it is a part of."""


class ToolCall(Struct, frozen=True):
    """A call of a tool."""

    id: str
    name: str
    input: Mapping[str, Any]
    at: float
    """Seconds since 1970, UTC."""
    start: int
    """Byte offset of its record."""


Items = tuple[TaskItem, ...]


class Written(Struct, frozen=True):
    """What tacitd wrote into a session's file. Only what differs from it is written, so that what a person changes stays."""

    items: Items = ()
    summary: str = ""
    beside: str = ""
    """The person's summary that stayed in the file instead of this one; "" if this one was written."""


class TranscriptProgress(Struct, frozen=True):
    """The state of one session, from its transcript."""

    session: str
    cwd: str = ""
    started: float | None = None
    """The time of the first record: seconds since 1970, UTC."""
    last: float | None = None
    """The time of the last record: seconds since 1970, UTC."""
    prompts: int = 0
    """The number of prompts that a person typed, and of plans that they accepted."""
    items: Items = ()
    open: tuple[ToolCall, ...] = ()
    """Tool calls without an answer yet."""
    summary: str = ""
    written: Written = Written()
    """What was written to the file last."""
    decisions: tuple[Mapping[str, Any], ...] = ()
    """The model's decisions that are not written to the file yet."""
    ids: tuple[str, ...] = ()
    """The ids of the newest counted prompts."""
    branch: str = ""
    """The git branch at the last record that names one."""
    typed: tuple[str, ...] = ()
    """The first lines of the last prompts; of an accepted plan its title."""
    replied: str = ""
    """The question that the last prompt answers, if it is a short one."""
    said: str = ""
    """The end of the assistant's last text."""
    answered: bool = False
    """Whether that text came after the last prompt."""
    edits: Mapping[str, int] = field(default_factory=dict)
    """How often each file was edited, by path: relative to `cwd` if it is below it."""
    turns: int = 0
    """The number of the assistant's texts."""
    size: int = 0
    """Bytes of the records that were read. What the client writes for itself, most of a transcript, is not among them."""
    upto: int = 0
    """The byte offset up to which the transcript was read."""
    transcript: str = ""
    """The path of the transcript."""
    compacted: bool = False
    """Whether the session was compacted since a summary was last asked for."""
    asked_turns: int = 0
    """The value of `turns` when a summary was last asked for."""
    asked_size: int = 0
    """The value of `size` at that time."""
    asked_upto: int = 0
    """The byte offset up to which that summary reaches."""
    asked_at: float | None = None
    """When it was asked for: seconds since 1970, UTC."""
    tries: int = 0
    """Unusable answers about what is new since then."""

    def as_written(self, beside: str = "") -> Written:
        """Return what the file has after this state was written."""
        return Written(self.items, self.summary, beside)


def as_data(progress: TranscriptProgress) -> Json:
    """Return the state as a JSON object."""
    data: Json = to_builtins(progress)
    return data


_PROGRESS = Converter(TranscriptProgress)


def from_data(data: Mapping[str, Any]) -> TranscriptProgress:
    """Return the state from its JSON object. Raises ValueError for another object."""
    progress: TranscriptProgress = _PROGRESS.convert(data)
    return progress
