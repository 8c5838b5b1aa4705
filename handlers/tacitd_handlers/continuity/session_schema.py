"""A session's file as pydantic models (SPEC P-22): strict, with unknown keys allowed.

The models only check a document. What is written is the document itself, so that nothing in it is lost or reordered.
pydantic takes long to import, so this module is imported inside functions.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from tacitd.clock import parse_utc
from tacitd.files.json_document import NotUnderstoodError


def _is_time(text: str) -> str:
    if parse_utc(text) is None:
        raise ValueError("not an ISO 8601 time")
    return text


Stamp = Annotated[str, AfterValidator(_is_time)]
"""An ISO 8601 time with or without milliseconds (SPEC P-21)."""


class SessionPart(BaseModel):
    """A part of a document: camelCase on disk, strict types, unknown keys allowed."""

    model_config = ConfigDict(strict=True, extra="allow", alias_generator=to_camel)


class TaskState(SessionPart):
    """An entry of `tasks`. `children` are ids of tasks in the same file."""

    id: str
    title: str
    status: Literal["pending", "in_progress", "blocked", "completed"]
    created_at: Stamp
    updated_at: Stamp
    notes: str | None = None
    blocked_by: str | None = None
    children: list[str] | None = None


class DecisionEntry(SessionPart):
    """An entry of `decisions`."""

    timestamp: Stamp
    decision: str
    rationale: str | None = None
    alternatives: list[str] | None = None


class SessionProgress(SessionPart):
    """sessions/session-{id}.json."""

    session_id: str
    project_path: str | None = None
    started_at: Stamp
    last_active_at: Stamp
    summary: str | None = None
    tasks: list[TaskState]
    decisions: list[DecisionEntry]
    context: list[str]


def check_session(document: dict[str, Any], what: object) -> dict[str, Any]:
    """Return the document if it is a session's. Raises NotUnderstoodError with the place in it and the reason.

    `what` is the file, for the message. Task ids must be unique (SPEC P-22).
    """
    try:
        made = SessionProgress.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        reason = first["msg"].removeprefix("Value error, ")
        raise NotUnderstoodError(
            f"{what}: {place}: {reason}", "correct it by hand; nothing was written"
        ) from None
    ids = [task.id for task in made.tasks]
    if twice := next((id for n, id in enumerate(ids) if id in ids[:n]), None):
        raise NotUnderstoodError(
            f"{what}: tasks: the id {twice!r} occurs twice", "give one of them another id"
        )
    return document


def find_dangling(document: dict[str, Any]) -> list[str]:
    """Return children that are not tasks of the session. They deserve a warning, but the file is valid (SPEC P-22)."""
    ids = {str(task.get("id")) for task in document.get("tasks", ())}
    return [
        child
        for task in document.get("tasks", ())
        for child in task.get("children") or ()
        if child not in ids
    ]
