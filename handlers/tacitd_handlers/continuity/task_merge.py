"""The tasks of a session's file: the transcript's list merged with what a person changed there (SPEC P-22, P-23, X-07). Pure.

What a person changes stays: a title, a status, what blocks a task, its removal, each by itself, until the client changes the
same later. A person's change is one that differs from what was written last, which is kept with the session's state. Tasks
with a person's own ids, and unknown keys, always stay. What the client's calls mean belongs to `tasks`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacitd.clock import parse_utc, utc_millis
from tacitd_handlers.continuity.stored_progress import TaskItem, TranscriptProgress
from tacitd_handlers.continuity.tasks import OURS

Json = dict[str, Any]
TaskValues = Mapping[str, Mapping[str, Sequence[str]]]
"""For each task the values of each field that may have been written last: several if a crash interrupted a write."""
TITLE, STATUS, BLOCKED_BY = "title", "status", "blockedBy"


def list_task_values(items: Sequence[TaskItem], before: TaskValues | None = None) -> TaskValues:
    """Return the values of the transcript's tasks, added to those of `before`."""
    made: dict[str, dict[str, list[str]]] = {
        id: {name: list(values) for name, values in one.items()} for id, one in (before or {}).items()
    }
    for item in items:
        known = made.setdefault(item.id, {})
        for name, value in _values(item, items).items():
            if value not in known.setdefault(name, []):
                known[name].append(value)
    return made


def merge_tasks(have: Sequence[Any], now: TranscriptProgress) -> list[Any]:
    """Given the tasks in the file, return them with the transcript's merged in."""
    known = now.written_tasks
    in_file = {_id(one): one for one in have if isinstance(one, Mapping)}
    ours = [
        one
        for one in now.items
        if one.id in in_file
        or known is None
        or one.id not in known
        or _is_changed(one, now.items, known[one.id])
    ]
    kept = {one.id for one in ours}
    made = [_merge(one, now, kept, in_file.get(one.id)) for one in ours]
    ids = {one.id for one in now.items}
    # A task of ours that left the transcript's list is dropped, unless a person changed it later or put it in.
    others = [
        one
        for one in have
        if not _is_ours(one)
        or (
            _id(one) not in ids
            and (_changed_later(one, now.last) or (known is not None and _id(one) not in known))
        )
    ]
    return [*made, *others]


def _merge(item: TaskItem, now: TranscriptProgress, kept: set[str], before: Mapping[str, Any] | None) -> Json:
    made: Json = dict(before or {})
    values: Mapping[str, str] = _values(item, now.items)
    if before is not None:
        known = now.written_tasks.get(item.id) if now.written_tasks is not None else None
        values = _merge_values(values, before, known, is_later=_changed_later(before, item.updated))
    updated = made.get("updatedAt") if before is not None and _changed_later(before, item.updated) else None
    made |= {
        "id": item.id,
        TITLE: values[TITLE],
        STATUS: values[STATUS],
        "createdAt": made.get("createdAt") or utc_millis(item.created),
        "updatedAt": updated or utc_millis(item.updated),
    }
    _set(made, BLOCKED_BY, values[BLOCKED_BY])
    theirs = [one for one in made.get("children") or () if not str(one).startswith(OURS)]
    children = (one.id for one in now.items if one.parent == item.id and one.id in kept)
    _set(made, "children", [*children, *theirs])
    return made


def _merge_values(
    fresh: Mapping[str, str],
    before: Mapping[str, Any],
    known: Mapping[str, Sequence[str]] | None,
    *,
    is_later: bool,
) -> Mapping[str, str]:
    """The values of a task. `is_later`: whether the file's task says that it was changed after the client's last change."""
    made, own = dict(fresh), set[str]()
    for name, value in fresh.items():
        theirs = str(before.get(name) or "")
        written = known.get(name, ()) if known is not None else None
        # If it is not known what was written, the task's own time decides.
        if is_later if written is None else theirs not in written and (value in written or is_later):
            made[name] = theirs
            own.add(name)
    # What blocks is over with the status (SPEC P-23), unless a person wrote it beside the status that is still the same.
    if made[STATUS] != "blocked" and (
        BLOCKED_BY not in own or (known and fresh[STATUS] not in known.get(STATUS, ()))
    ):
        made[BLOCKED_BY] = ""
    return made


def _values(item: TaskItem, items: Sequence[TaskItem]) -> dict[str, str]:
    blocked = _blocked_by(item, items)
    return {TITLE: item.title, STATUS: "blocked" if blocked else item.status, BLOCKED_BY: blocked}


def _is_changed(item: TaskItem, items: Sequence[TaskItem], known: Mapping[str, Sequence[str]]) -> bool:
    return any(value not in known.get(name, ()) for name, value in _values(item, items).items())


def _blocked_by(item: TaskItem, items: Sequence[TaskItem]) -> str:
    """The titles of the unfinished tasks that block this one; "" if there are none, or it is not pending (SPEC P-23)."""
    if item.status != "pending":
        return ""
    return "; ".join(one.title for one in items if one.id in item.blocked_by and one.status != "completed")


def _is_ours(one: Any) -> bool:
    return _id(one).startswith(OURS)


def _id(one: Any) -> str:
    return str(one.get("id", "")) if isinstance(one, Mapping) else ""


def _changed_later(one: Any, at: float | None) -> bool:
    changed = parse_utc(one.get("updatedAt")) if isinstance(one, Mapping) else None
    return changed is not None and changed > (at or 0.0) + 0.001  # the file has whole milliseconds


def _set(made: Json, key: str, value: Any) -> None:
    """Set a key, or remove it if the value is empty (SPEC P-05: no nulls)."""
    made.pop(key, None)
    if value:
        made[key] = value
