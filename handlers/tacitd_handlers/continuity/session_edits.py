"""A person's changes of a session: a task, a decision, a note. Pure; times are seconds since 1970, UTC.

Changes that come from the transcript belong to `session_document`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from tacitd.clock import utc_millis
from tacitd.errors import UsageError
from tacitd_handlers.continuity.session_document import MAX_CONTEXT_NOTES, Json, add_decisions


def new_id(title: str, document: Json) -> str:
    """Return an id that no task of the session has, made from the title."""
    taken = {task["id"] for task in document["tasks"]}
    base = f"t-{sha256(title.encode()).hexdigest()[:6]}"
    return next(id for id in (base, *(f"{base}-{n}" for n in range(2, len(taken) + 3))) if id not in taken)


def with_task(
    document: Json, id: str, given: Mapping[str, str | None], parent: str | None, at: float
) -> Json:
    """Return the session with this task changed, or created if its id is new and it has a title (SPEC P-22, P-23).

    `given`: the new values by key; None leaves one as it is. Raises UsageError if the id is unknown and there is no title, or if the
    parent is not another task of the session.
    """
    stamp = utc_millis(at)
    tasks: list[Json] = [dict(task) for task in document["tasks"]]
    task = next((one for one in tasks if one["id"] == id), None)
    if task is None:
        if given.get("title") is None:
            raise UsageError(f"there is no task {id!r}", "tacitd sessions show")
        task = {"id": id, "title": "", "status": "pending", "createdAt": stamp, "updatedAt": stamp}
        tasks.append(task)
    task |= {"updatedAt": stamp} | {key: value for key, value in given.items() if value is not None}
    if task["status"] != "blocked":
        task.pop("blockedBy", None)
    if parent is not None:
        _set_parent(tasks, parent, id)
    return document | {"tasks": tasks}


def _set_parent(tasks: list[Json], parent: str, child: str) -> None:
    if parent == child or all(task["id"] != parent for task in tasks):
        raise UsageError(f"there is no task {parent!r} that can be the parent", "tacitd sessions show")
    # A task has one parent, so the child leaves the one before.
    for task in tasks:
        before = list(task.get("children") or ())
        children = [one for one in before if one != child] + ([child] if task["id"] == parent else [])
        if children:
            task["children"] = children
        else:
            task.pop("children", None)


def with_decision(document: Json, decision: str, rationale: str, others: Sequence[str], at: float) -> Json:
    """Return the session with one more decision; the last fifty are kept (SPEC P-24)."""
    entry: Json = {"timestamp": utc_millis(at), "decision": decision}
    entry |= {"rationale": rationale} if rationale else {}
    entry |= {"alternatives": list(others)} if others else {}
    return document | {"decisions": add_decisions(document["decisions"], [entry])}


def with_note(document: Json, note: str) -> Json:
    """Return the session with one more note; the last twenty are kept (SPEC P-24). Each occurs once."""
    have = document["context"]
    return document | {"context": [*have, *([] if note in have else [note])][-MAX_CONTEXT_NOTES:]}
