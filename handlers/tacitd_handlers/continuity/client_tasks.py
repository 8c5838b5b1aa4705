"""The calls of Claude Code's task tools as changes of a list of tasks. Pure.

Observed by running the client:
- TodoWrite (up to 2.0, and if the newer tools are off) contains the whole list each time. Old versions give ids and
  priorities, later ones do not.
- TaskCreate and TaskUpdate (2.1) change one task; TaskList returns all. The id of a created task is only in the tool's
  answer, and two tasks that are created at once may get their ids in either order (2.1.63).
- A refused call looks like an accepted one in the transcript. Only its answer differs.
- The work of a sub-agent that is started while a task is in progress is a part of that task.

Which record has a call or an answer belongs to `session_fold`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from itertools import chain, count
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from tacitd.events import ToolAnswer, ToolUse
from tacitd.text.hashes import sha256
from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.shared.model_text import clean_text

Status = Literal["pending", "in_progress", "completed"]
TODO, TASK, AGENT = "todo-", "task-", "agent-"
"""The prefixes of the ids that tacitd gives to tasks, by the tool that made the task."""
OURS = (TODO, TASK, AGENT)
EDITS = {"Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path"}
"""The tools that edit a file, with the key of its path in their input."""
TOOLS = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "Task", "Agent", *EDITS})
"""The tools whose calls are read."""
TITLE = 200
"""Characters of a title."""
_CREATED = compile_lazily(r"Task #(\S+) created")
_STATUSES: dict[str, Status] = {name: name for name in ("pending", "in_progress", "completed")}


class TaskItem(Struct, frozen=True):
    """A task, as the client's tools describe it. Times are seconds since 1970, UTC."""

    id: str
    title: str
    status: Status
    created: float
    updated: float
    blocked_by: tuple[str, ...] = ()
    """Ids of tasks that must be done before."""
    parent: str = ""
    """The id of the task that it is a part of."""


Items = tuple[TaskItem, ...]


class ToolCall(Struct, frozen=True):
    id: str
    name: str
    input: Mapping[str, Any]
    at: float
    """Seconds since 1970, UTC."""


def read_call(use: ToolUse, at: float) -> ToolCall | None:
    """The call of a tool; None if it is no task tool, or its input is not an object. `at`: its time, seconds since 1970, UTC."""
    if use.name not in TOOLS:
        return None
    try:
        found = json.loads(use.input)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    if use.name in EDITS:  # of an edit only the path is kept, not the text
        found = {EDITS[use.name]: found.get(EDITS[use.name])}
    return ToolCall(use.id, use.name, found, at)


def edited_file(call: ToolCall, result: ToolAnswer) -> str:
    """The path of the file that an answered call edited; "" if it edited none or was refused."""
    path = call.input.get(EDITS.get(call.name, ""))
    return path if isinstance(path, str) and not _is_refused(result) else ""


def _is_refused(result: ToolAnswer) -> bool:
    return result.error or (result.data or {}).get("success") is False


def finish_call(items: Items, call: ToolCall, result: ToolAnswer) -> Items:
    """The tasks after an answered call. A refused call changes nothing, except that its sub-agent is removed."""
    if _is_refused(result):
        return tuple(one for one in items if one.id != AGENT + call.id)
    match call.name:
        case "TodoWrite":
            return replace_todos(items, call)
        case "TaskCreate":
            return _created(items, call, result)
        case "TaskUpdate":
            return _updated(items, call)
        case "TaskList":
            return _listed(items, (result.data or {}).get("tasks"), call.at)
        case name if name in EDITS:
            return items
        case _:
            return tuple(replace(one, status="completed", updated=call.at) if one.id == AGENT + call.id else one
                         for one in items)  # fmt: skip


def start_call(items: Items, call: ToolCall) -> Items:
    """The tasks after a call without an answer yet: a started sub-agent is a part of the task in progress."""
    doing = next((one for one in reversed(items) if one.status == "in_progress" and not one.parent), None)
    title = clean_text(call.input.get("description"), TITLE)
    is_known = any(one.id == AGENT + call.id for one in items)
    if call.name not in ("Task", "Agent") or doing is None or not title or is_known:
        return items
    return (*items, TaskItem(AGENT + call.id, title, "in_progress", call.at, call.at, parent=doing.id))


def replace_todos(items: Items, call: ToolCall) -> Items:
    """The tasks after TodoWrite: its list replaces the previous one. Tasks of other tools stay."""
    before = {one.id: one for one in items if one.id.startswith(TODO)}
    made: dict[str, TaskItem] = {}
    for raw in _todos(call.input.get("todos")):
        title, status = _title(raw), _status(raw)
        if title:
            given = raw.get("id") if isinstance(raw, dict) else None
            is_named = isinstance(given, str | int) and str(given).strip()
            name = clean_text(str(given), 40) if is_named else sha256(title.encode()).hexdigest()[:8]
            id = find_free_id(TODO + name, made)
            made[id] = _kept(before.get(id), TaskItem(id, title, status, call.at, call.at))
    others = [one for one in items if not one.id.startswith(TODO)]
    there = {*made, *(one.id for one in others)}
    return (*made.values(), *(one for one in others if not one.parent or one.parent in there))


def _todos(given: Any) -> list[Any]:
    """The list. Some versions gave it as a text."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return []
    return given if isinstance(given, list) else []


def _title(raw: Any) -> str:
    if isinstance(raw, str):
        return clean_text(raw, TITLE)
    names = ("content", "subject", "title", "activeForm")
    found = (clean_text(raw.get(name), TITLE) for name in names) if isinstance(raw, dict) else ()
    return next((one for one in found if one), "")


def _status(raw: Any) -> Status:
    said = raw.get("status") if isinstance(raw, dict) else None
    return _STATUSES.get(said, "pending") if isinstance(said, str) else "pending"


def find_free_id(id: str, taken: Collection[str]) -> str:
    """The id, or `id-2`, `id-3`, … if it is taken."""
    return next(made for made in chain([id], (f"{id}-{n}" for n in count(2))) if made not in taken)


def _kept(before: TaskItem | None, after: TaskItem) -> TaskItem:
    """The new state of a task. Its creation stays, and so does the time of its last change if nothing changed."""
    if before is None:
        return after
    same = replace(after, created=before.created, updated=before.updated)
    return before if same == before else replace(after, created=before.created)


def _created(items: Items, call: ToolCall, result: ToolAnswer) -> Items:
    task = (result.data or {}).get("task")
    task = task if isinstance(task, dict) else {}
    found = _CREATED.search(result.text)
    id = str(task.get("id") or (found[1] if found else ""))
    title = clean_text(task.get("subject"), TITLE) or _title(dict(call.input))
    if not id or not title:
        return items
    new = TaskItem(TASK + id, title, "pending", call.at, call.at)
    return (*(one for one in items if one.id != new.id), new)


def _updated(items: Items, call: ToolCall) -> Items:
    given, id = call.input, TASK + str(call.input.get("taskId", ""))
    if given.get("status") == "deleted":
        return tuple(replace(one, blocked_by=tuple(b for b in one.blocked_by if b != id))
                     for one in items if one.id != id and one.parent != id)  # fmt: skip
    blocks = {TASK + str(one) for one in _list(given.get("addBlocks"))}
    made = []
    for one in items:
        new = one
        if one.id == id:
            new = replace(
                one,
                title=clean_text(given.get("subject"), TITLE) or one.title,
                status=_status(given) if "status" in given else one.status,
                blocked_by=_with(one.blocked_by, (TASK + str(b) for b in _list(given.get("addBlockedBy")))),
            )
        elif one.id in blocks:
            new = replace(one, blocked_by=_with(one.blocked_by, [id]))
        made.append(replace(new, updated=call.at) if new != one else one)
    return tuple(made)


def _listed(items: Items, listed: Any, at: float) -> Items:
    """TaskList returns the state of all tasks, so changes that were missed before are made up for."""
    # A client that was restarted has no tasks in memory, although they are open. A deleted task has its own call.
    if not isinstance(listed, list) or not listed:
        return items
    before, made = {one.id: one for one in items}, []
    for raw in listed:
        if not isinstance(raw, dict) or raw.get("id") is None or not _title(raw):
            continue
        id, blockers = TASK + str(raw["id"]), tuple(TASK + str(b) for b in _list(raw.get("blockedBy")))
        old = before.get(id)
        # TaskList may shorten the title; the call that created the task has it whole.
        title = old.title if old is not None else _title(raw)
        new = TaskItem(id, title, _status(raw), at, at, blockers, old.parent if old is not None else "")
        made.append(_kept(old, new))
    there = {one.id for one in made}
    others = (one for one in items if not one.id.startswith(TASK))
    return (*made, *(one for one in others if not one.parent.startswith(TASK) or one.parent in there))


def _list(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [] if given is None else [given]


def _with(have: tuple[str, ...], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*have, *more]))
