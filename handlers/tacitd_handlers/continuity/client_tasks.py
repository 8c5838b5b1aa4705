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
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from tacitd.text.hashes import sha256
from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.shared.model_text import clean_text

if TYPE_CHECKING:
    from tacitd.events import ToolAnswer, ToolUse

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
            return _replace_all(items, TODO, _list_todos(call))
        case "TaskCreate":
            return _created(items, call, result)
        case "TaskUpdate":
            return _updated(items, call)
        case "TaskList":
            # A client that was restarted has no tasks in memory, although they are open. A deleted task has its own call.
            listed = [*_list_tasks(items, call, (result.data or {}).get("tasks"))]
            return _replace_all(items, TASK, listed) if listed else items
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


def _list_todos(call: ToolCall) -> Iterator[TaskItem]:
    """The tasks of TodoWrite, some versions of which gave the list as a text."""
    given, made = call.input.get("todos"), set[str]()
    if isinstance(given, str):
        with suppress(ValueError, RecursionError):
            given = json.loads(given)
    for raw in given if isinstance(given, list) else ():
        title, named = _title(raw), raw.get("id") if isinstance(raw, dict) else None
        if title:
            is_named = isinstance(named, str | int) and str(named).strip()
            name = clean_text(str(named), 40) if is_named else sha256(title.encode()).hexdigest()[:8]
            id = find_free_id(TODO + name, made)
            made.add(id)
            yield TaskItem(id, title, _status(raw), call.at, call.at)


def _list_tasks(items: Items, call: ToolCall, listed: Any) -> Iterator[TaskItem]:
    """The tasks of TaskList, which makes up for changes that were missed. It may shorten a title; the call that created the task has it
    whole."""
    titles = {one.id: one.title for one in items}
    for raw in listed if isinstance(listed, list) else ():
        if isinstance(raw, dict) and raw.get("id") is not None and _title(raw):
            id, blockers = TASK + str(raw["id"]), tuple(TASK + str(b) for b in _list(raw.get("blockedBy")))
            yield TaskItem(id, titles.get(id) or _title(raw), _status(raw), call.at, call.at, blockers)


def _replace_all(items: Items, prefix: str, given: Iterable[TaskItem]) -> Items:
    """The tasks with those of a prefix replaced. The creation of a task stays, and so does the time of its last change if nothing
    changed. The parts of one that is gone go too."""
    before, made = {one.id: one for one in items}, dict[str, TaskItem]()
    for new in given:
        old = before.get(new.id, new)
        same = replace(new, created=old.created, updated=old.updated, parent=old.parent)
        made[new.id] = old if same == old else replace(same, updated=new.updated)
    others = (one for one in items if not one.id.startswith(prefix))
    return (
        *made.values(),
        *(one for one in others if not one.parent.startswith(prefix) or one.parent in made),
    )


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


def _list(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [] if given is None else [given]


def _with(have: tuple[str, ...], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*have, *more]))
