"""A session's file as pydantic models (SPEC P-22). Strict, unknown keys allowed; the document itself is what is written."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from tacitd.clock import parse_utc
from tacitd_handlers.usermemory.document import NotUnderstoodError


def _is_time(text: str) -> str:
    if parse_utc(text) is None:
        raise ValueError("no ISO 8601 time")
    return text


Stamp = Annotated[str, AfterValidator(_is_time)]


class Part(BaseModel):
    """camelCase on disk; absent stays absent, unknown keys are somebody else's."""

    model_config = ConfigDict(strict=True, extra="allow", alias_generator=to_camel)


class TaskState(Part):
    """A task."""

    id: str
    title: str
    status: Literal["pending", "in_progress", "blocked", "completed"]
    created_at: Stamp
    updated_at: Stamp
    notes: str | None = None
    blocked_by: str | None = None
    children: list[str] | None = None


class DecisionEntry(Part):
    """A decision."""

    timestamp: Stamp
    decision: str
    rationale: str | None = None
    alternatives: list[str] | None = None


class SessionProgress(Part):
    """sessions/session-{id}.json."""

    session_id: str
    project_path: str | None = None
    started_at: Stamp
    last_active_at: Stamp
    summary: str | None = None
    tasks: list[TaskState]
    decisions: list[DecisionEntry]
    context: list[str]


def check(document: dict[str, Any], what: object) -> dict[str, Any]:
    """The document, if it is a session's. Raises NotUnderstoodError with the place in it and the reason."""
    try:
        made = SessionProgress.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        reason = first["msg"].removeprefix("Value error, ")
        raise NotUnderstoodError(
            f"{what}: {place}: {reason}", "mend it by hand; nothing was written"
        ) from None
    ids = [task.id for task in made.tasks]
    if twice := next((id for n, id in enumerate(ids) if id in ids[:n]), None):
        raise NotUnderstoodError(
            f"{what}: tasks: the id {twice!r} stands there twice", "give one of them another"
        )
    return document


def dangling(document: dict[str, Any]) -> list[str]:
    """Children that are no tasks of the session: worth a warning, no reason to refuse."""
    ids = {str(task.get("id")) for task in document.get("tasks", ())}
    return [
        child
        for task in document.get("tasks", ())
        for child in task.get("children") or ()
        if child not in ids
    ]
