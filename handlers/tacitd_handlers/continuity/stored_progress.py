"""The state of a session as it is stored: tasks, calls without an answer, and what is known from the transcript. Pure.

A session's start reads it, and needs nothing of what folds it (`session_progress`, `tasks`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field, to_builtins

from tacitd.text.converter import Converter

MAX_AGE_DAYS = 30
"""Days after which a session's file is deleted."""
SHORT = 40
"""Characters. A shorter prompt (`yes`, `go on`) says little without the question before it."""
NEWER = "Summary since then: "
"""The beginning of the note with a summary that is newer than the one that a person wrote, which stays in its field."""

Json = dict[str, Any]
Status = Literal["pending", "in_progress", "completed"]


class TaskItem(Struct, frozen=True):
    """A task, as the tools describe it."""

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

_STORED_NAMES = {
    "written_summary": "told",
    "written_tasks": "told_tasks",
    "written_notes": "told_notes",
}
"""The keys in stored states of fields that had other names once."""


class TranscriptProgress(Struct, frozen=True, rename=_STORED_NAMES):
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
    notes: tuple[str, ...] = ()
    summary: str = ""
    summary_at: float | None = None
    """The time of the last record that the summary covers: seconds since 1970, UTC."""
    summary_turns: int = 0
    """The value of `turns` at that time."""
    written_summary: str = ""
    """The summary that was written to the file last. Only another one is written, so that an edit by hand stays."""
    written_tasks: Mapping[str, Mapping[str, Sequence[str]]] | None = None
    """The values that were written of each task, see `task_merge`; None if that is not known."""
    written_notes: tuple[str, ...] = ()
    """The notes that were written to the file. Each is written once, so that one that a person removes stays removed."""
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
    """The end of the assistant's last text: whole sentences and list items."""
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
    asked_turns: int = 0
    """The value of `turns` when a summary was last asked for."""
    asked_size: int = 0
    """The value of `size` at that time."""
    asked_upto: int = 0
    """The byte offset up to which that summary reaches."""
    asked_at: float | None = None
    """When it was asked for: seconds since 1970, UTC."""


def list_summary_notes(now: TranscriptProgress) -> frozenset[str]:
    """Return the notes with which tacitd put a summary beside a person's."""
    return frozenset(NEWER + one for one in (now.written_summary, now.summary) if one)


def as_data(now: TranscriptProgress) -> dict[str, Any]:
    """Return the state as a JSON object."""
    made: dict[str, Any] = to_builtins(now)
    return made


_PROGRESS = Converter(TranscriptProgress)


def from_data(data: Mapping[str, Any]) -> TranscriptProgress:
    """Return the state from its JSON object. Raises ValueError for another object."""
    found: TranscriptProgress = _PROGRESS.convert(data)
    return found
