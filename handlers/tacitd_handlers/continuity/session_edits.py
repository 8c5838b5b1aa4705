"""A person's changes of a session: a task, a decision, a note. Pure; times are seconds since 1970, UTC.

Changes that come from the transcript belong to `tasks` and `render`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import sha256
from typing import Any

from msgspec import Struct

from tacitd.clock import utc_millis
from tacitd.errors import UsageError
from tacitd_handlers.continuity.render import add_decisions, add_notes
from tacitd_handlers.continuity.stored_progress import Json

STATUSES = ("pending", "in_progress", "blocked", "completed")


class TaskChange(Struct, frozen=True):
    """The new values of a task; None leaves a value as it is."""

    id: str
    title: str | None = None
    status: str | None = None
    blocked_by: str | None = None
    notes: str | None = None
    parent: str | None = None


def new_id(title: str, document: Json) -> str:
    """Return an id that no task of the session has, made from the title."""
    taken = {str(one.get("id")) for one in document["tasks"]}
    base = f"t-{sha256(title.encode()).hexdigest()[:6]}"
    return next(id for id in (base, *(f"{base}-{n}" for n in range(2, len(taken) + 3))) if id not in taken)


def with_task(document: Json, said: TaskChange, at: float) -> Json:
    """Return the session with this task changed, or created if its id is new and it has a title (SPEC P-22, P-23).

    Raises UsageError if the id is unknown and there is no title, or if the parent is not another task of the session.
    """
    tasks = [dict(one) for one in document["tasks"]]
    one = next((task for task in tasks if task.get("id") == said.id), None)
    if one is None:
        if said.title is None:
            raise UsageError(f"there is no task {said.id!r}", "tacitd sessions show")
        one = {
            "id": said.id,
            "title": said.title,
            "status": "pending",
            "createdAt": utc_millis(at),
            "updatedAt": "",
        }
        tasks.append(one)
    _apply_change(one, said, at)
    if said.parent is not None:
        _set_parent(tasks, said.parent, said.id)
    return document | {"tasks": tasks}


def _apply_change(one: dict[str, Any], said: TaskChange, at: float) -> None:
    if said.title is not None:
        one["title"] = said.title
    if said.notes is not None:
        one["notes"] = said.notes
    status = said.status or ("blocked" if said.blocked_by is not None else None)
    if status is not None:
        one["status"] = status
    if said.blocked_by is not None:
        one["blockedBy"] = said.blocked_by
    if one["status"] != "blocked":
        one.pop("blockedBy", None)
    one["updatedAt"] = utc_millis(at)


def _set_parent(tasks: list[dict[str, Any]], parent: str, child: str) -> None:
    holder = next((task for task in tasks if task.get("id") == parent), None)
    if holder is None or parent == child:
        raise UsageError(f"there is no task {parent!r} that can be the parent", "tacitd sessions show")
    # A task has one parent, so the child leaves the one before.
    for task in tasks:
        left = [one for one in task.get("children") or () if one != child]
        if task is holder:
            task["children"] = [*left, child]
        elif "children" in task and left:
            task["children"] = left
        else:
            task.pop("children", None)


def with_decision(document: Json, decision: str, rationale: str, others: Sequence[str], at: float) -> Json:
    """Return the session with one more decision; the last fifty are kept (SPEC P-24)."""
    made: Json = {"timestamp": utc_millis(at), "decision": decision}
    made |= {"rationale": rationale} if rationale else {}
    made |= {"alternatives": list(others)} if others else {}
    return document | {"decisions": add_decisions(document["decisions"], [made])}


def with_note(document: Json, note: str, own: Collection[str] = ()) -> Json:
    """Return the session with one more note; the last twenty are kept (SPEC P-24), and all of a person's.

    `own`: the notes that tacitd wrote.
    """
    return document | {"context": add_notes(document["context"], [note], own)}
