"""A session's file (seed 001, SPEC P-22 to P-24): its check, its limits, and the transcript's changes applied to it. Pure.

Only what changed since the last write is applied: the difference between what was written and what is known now. So what a person changes in the
file stays until the client changes the same field, and tasks, notes, decisions and keys of their own stay for good (X-07).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, ValidationError

from tacitd.clock import parse_utc, utc_millis
from tacitd.text.converter import Converter, describe_mismatch
from tacitd_handlers.continuity.session_progress import (
    OURS,
    Items,
    Json,
    TaskItem,
    TranscriptProgress,
    Written,
)

MAX_AGE_DAYS, MAX_DECISIONS, MAX_CONTEXT_NOTES = 30, 50, 20
"""The seed's SessionConfig."""
# the check


class _Task(Struct, rename="camel"):
    id: str
    title: str
    status: Literal["pending", "in_progress", "blocked", "completed"]
    created_at: str
    updated_at: str
    notes: str | None = None
    blocked_by: str | None = None
    children: list[str] | None = None


class _Decision(Struct):
    timestamp: str
    decision: str
    rationale: str | None = None
    alternatives: list[str] | None = None


class _Session(Struct, rename="camel"):
    """The seed's form. A key with a default may be absent or null; other keys are allowed."""

    session_id: str
    started_at: str
    last_active_at: str
    tasks: list[_Task]
    decisions: list[_Decision]
    context: list[str]
    project_path: str | None = None
    summary: str | None = None


class _TaskParts(Struct):
    children: list[str] | None = None


class _Lists(Struct):
    """What is enough for showing a document."""

    tasks: list[_TaskParts] = []
    decisions: list[dict[str, Any]] = []
    context: list[str] = []


_SESSION, _LISTS = Converter(_Session), Converter(_Lists)
STATUSES = ("pending", "in_progress", "blocked", "completed")


def find_fault(document: Json) -> str:
    """Return the place and the reason why a document is no session; "" if it is one."""
    try:
        found: _Session = _SESSION.convert(document)
    except ValidationError as error:
        return describe_mismatch(error)
    times = {"startedAt": found.started_at, "lastActiveAt": found.last_active_at}
    for number, task in enumerate(found.tasks):
        times |= {
            f"tasks[{number}].createdAt": task.created_at,
            f"tasks[{number}].updatedAt": task.updated_at,
        }
    times |= {f"decisions[{number}].timestamp": one.timestamp for number, one in enumerate(found.decisions)}
    wrong = next((place for place, time in times.items() if parse_utc(time) is None), None)
    if wrong is not None:
        return f"{wrong}: not an ISO 8601 time"
    ids = Counter(task.id for task in found.tasks)
    twice = next((id for id, count in ids.items() if count > 1), None)
    return f"tasks: the id {twice!r} occurs twice" if twice is not None else ""


def find_list_fault(document: Json) -> str:
    """Return why the lists of a document cannot be read; "" if they can be, which is enough for showing it."""
    try:
        _LISTS.convert(document)
    except ValidationError as error:
        return describe_mismatch(error)
    return ""


def find_dangling(document: Json) -> list[str]:
    """Return children that are not tasks of the session. They deserve a warning, but the file is valid (SPEC P-22)."""
    tasks = document.get("tasks", ())
    ids = {str(task.get("id")) for task in tasks}
    return [child for task in tasks for child in task.get("children") or () if child not in ids]


# what the transcript changes


def apply_progress(document: Json | None, before: TranscriptProgress, now: TranscriptProgress) -> Json:
    """Given a session's file (None if there is none), return it with what changed in the transcript.

    `before`: the state that `now` follows. If it differs from what was written, tacitd ended in a write: nobody knows whether the
    file has it.
    """
    started, written = now.started or 0.0, before.written
    is_unsure = written.items != before.items
    if document is None:  # or a person removed it, and the session goes on
        document, written, is_unsure = new_document(now.session, now.cwd, started), Written(), False
    document = dict(document)
    if now.cwd:
        document["projectPath"] = now.cwd
    first, last = parse_utc(document["startedAt"]), parse_utc(document["lastActiveAt"])
    if first is None or first > started:
        document["startedAt"] = utc_millis(started)
    if last is None or last < (now.last or 0.0) - 0.001:
        document["lastActiveAt"] = utc_millis(now.last or 0.0)
    own = {"", written.summary, before.summary, now.summary}
    if now.summary != written.summary and str(document.get("summary") or "") in own:
        document = with_summary(document, now.summary)
    document["tasks"] = _apply_tasks(document["tasks"], written.items, now.items, now.last, is_unsure)
    document["decisions"] = add_decisions(document["decisions"], now.decisions)
    return document


def note_written(document: Json, now: TranscriptProgress) -> Written:
    """Return what is written in a file: with the person's summary that stayed there, if the transcript has a newer one."""
    if now.summary == now.written.summary:
        return now.as_written(now.written.beside)
    stayed = str(document.get("summary") or "")
    return now.as_written("" if stayed == now.summary else stayed)


def _apply_tasks(
    have: Sequence[Json], before: Items, now: Items, last: float | None, is_unsure: bool
) -> list[Json]:
    """The tasks of a file after a change of the client's list. `is_unsure`: the change was perhaps applied already.

    The client's tasks come first, in its order. One that a person removed comes back when the client changes it. `last`: the
    time of the client's last record.
    """
    old, new = _list_values(before), _list_values(now)
    in_file = {str(task.get("id")): task for task in have}
    kept = {item.id: item for item in now if item.id in in_file or old.get(item.id) != new[item.id]}
    tasks: list[Json] = []
    for id, item in kept.items():
        task: Json = {}
        if id in in_file:
            task = _change_task(in_file[id], old.get(id, {}), new[id], item, is_unsure)
        else:
            task |= {"id": id, "title": item.title, "status": new[id]["status"]}
            task |= {"createdAt": utc_millis(item.created), "updatedAt": utc_millis(item.updated)}
            task |= {name: value for name, value in new[id].items() if value}
        known = list(task.get("children") or ())
        children = [other.id for other in kept.values() if other.parent == id]
        children += [child for child in known if not child.startswith(OURS)]
        if children:
            task["children"] = children
        elif known:
            del task["children"]
        tasks.append(task)
    others = (
        theirs
        for id, theirs in in_file.items()
        if id not in new and (id not in old or _is_later(theirs, last))
    )
    return [*tasks, *others]


def _change_task(
    task: Json, old: Mapping[str, str], new: Mapping[str, str], item: TaskItem, is_unsure: bool
) -> Json:
    """A task of the file after the client's change of it, without those fields that a person changed after the client."""
    is_later, applied = _is_later(task, item.updated), dict[str, str]()
    for name, value in new.items():
        is_ours = str(task.get(name) or "") == old.get(name)
        if value != old.get(name) and (is_ours or not (is_unsure or is_later)):
            applied[name] = value
    if not applied:
        return dict(task)
    changed = task | {name: value for name, value in applied.items() if value}
    if changed.get("status") != "blocked":  # SPEC P-23
        changed.pop("blockedBy", None)
    return changed if is_later else changed | {"updatedAt": utc_millis(item.updated)}


def _list_values(items: Items) -> dict[str, dict[str, str]]:
    """The fields of each task by its id. A pending task is blocked by the titles of the unfinished tasks before it."""
    values: dict[str, dict[str, str]] = {}
    for item in items:
        blockers = (one for one in items if one.id in item.blocked_by and one.status != "completed")
        blocked = "; ".join(one.title for one in blockers) if item.status == "pending" else ""
        status = "blocked" if blocked else item.status
        values[item.id] = {"title": item.title, "status": status, "blockedBy": blocked}
    return values


def _is_later(task: Json, at: float | None) -> bool:
    """Whether a task says that it was changed after a time. The file has whole milliseconds."""
    changed = parse_utc(task.get("updatedAt"))
    return changed is not None and changed > (at or 0.0) + 0.001


# parts of a document


def new_document(session: str, cwd: str, at: float) -> Json:
    """Return a new session's file, keys in the seed's order. `at`: its start, seconds since 1970, UTC."""
    stamp = utc_millis(at)
    document: Json = {"sessionId": session} | ({"projectPath": cwd} if cwd else {})
    return document | {
        "startedAt": stamp, "lastActiveAt": stamp, "tasks": [], "decisions": [], "context": [],
    }  # fmt: skip


def with_summary(document: Json, summary: str) -> Json:
    """Return the file with this summary; a new one is put after `lastActiveAt`, as in the seed."""
    if "summary" in document:
        return document | {"summary": summary}
    made: Json = {}
    for key, value in document.items():
        made[key] = value
        if key == "lastActiveAt":
            made["summary"] = summary
    return made


def add_note(have: Sequence[str], note: str) -> list[str]:
    """Return the last twenty notes, with a new one at the end (SPEC P-24). Each occurs once."""
    return [*have, *([] if note in have else [note])][-MAX_CONTEXT_NOTES:]


def add_decisions(have: Sequence[Json], more: Iterable[Mapping[str, Any]]) -> list[Json]:
    """Return the last fifty decisions (SPEC P-24). New ones are added at the end; each text occurs once."""
    known = {_fold_decision(decision) for decision in have}
    fresh = [dict(decision) for decision in more if _fold_decision(decision) not in known]
    return [*have, *fresh][-MAX_DECISIONS:]


def _fold_decision(decision: Mapping[str, Any]) -> str:
    return " ".join(str(decision.get("decision")).split()).casefold().rstrip(".")


def open_tasks(document: Json) -> list[Json]:
    """Return the unfinished tasks."""
    return [task for task in document.get("tasks", ()) if task.get("status") != "completed"]
