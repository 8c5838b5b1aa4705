"""The document of a session's file (seed 001, SPEC P-22 to P-24): its check, its limits, what a transcript or a
command changes in it; and the files of all sessions. Times are seconds since 1970, UTC.

Only what the client changed since the file was written last is applied. So what a person changes in the file stays until the client
changes the same field, and tasks, notes, decisions and keys of their own stay for good (X-07).
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, ValidationError

from tacitd.clock import parse_utc, utc_millis
from tacitd.errors import TacitdError, UsageError
from tacitd.files import json_document
from tacitd.files.formats import JsonLeaves
from tacitd.text.converter import Converter, describe_mismatch
from tacitd.text.hashes import sha256
from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.continuity.client_tasks import OURS, Items, find_free_id
from tacitd_handlers.continuity.session_fold import TranscriptState
from tacitd_handlers.shared.places import memory_dir

if TYPE_CHECKING:
    from tacitd.contract import Decide, Edits, Leaf, Rows

Json = dict[str, Any]
DAY = 86_400.0
"""Seconds."""
MAX_AGE_DAYS, MAX_DECISIONS, MAX_CONTEXT_NOTES = 30, 50, 20
"""The seed's SessionConfig."""
KEYS = (
    "sessionId", "projectPath", "startedAt", "lastActiveAt", "summary", "tasks", "decisions", "context",
)  # fmt: skip
"""In the seed's order."""
LEAVES = JsonLeaves(KEYS)
STATUSES = ("pending", "in_progress", "blocked", "completed")


# --- the check


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


_SESSION = Converter(_Session)


def find_fault(document: Json) -> str:
    """Return the place and the reason why a document is no session; "" if it is one."""
    try:
        found: _Session = _SESSION.convert(document)
    except ValidationError as error:
        return describe_mismatch(error)
    times = {"startedAt": found.started_at, "lastActiveAt": found.last_active_at}
    for at, task in enumerate(found.tasks):
        times |= {f"tasks[{at}].createdAt": task.created_at, f"tasks[{at}].updatedAt": task.updated_at}
    times |= {f"decisions[{at}].timestamp": one.timestamp for at, one in enumerate(found.decisions)}
    wrong = [f"{place}: not an ISO 8601 time" for place, time in times.items() if parse_utc(time) is None]
    ids = Counter(task.id for task in found.tasks)
    wrong += [f"tasks: the id {id!r} occurs twice" for id, count in ids.items() if count > 1]
    return next(iter(wrong), "")


# --- its leaves


def list_leaves(document: Json) -> Mapping[Leaf, str]:
    """The leaves of a document. Its tasks are one leaf, and so are its decisions; each note is one."""
    return LEAVES.read_leaves(json.dumps(document).encode())


def decide_document(change: Callable[[Json | None], Json]) -> Decide:
    """The decision that makes the document of a file what `change` returns; it gets None if there is no file."""

    def decide(now: Mapping[Leaf, str], edits: Edits) -> Mapping[Leaf, str | None]:
        after = list_leaves(change(json.loads(LEAVES.splice(None, now)) if now else None))
        gone: dict[Leaf, str | None] = {leaf: None for leaf in now if leaf not in after and leaf != _NO_NOTES}
        return gone | {leaf: value for leaf, value in after.items() if now.get(leaf) != value}

    return decide


_NO_NOTES = json.dumps(["context"])
"""The leaf of an empty list, which a first note fills."""


# --- what the transcript changes


def update_document(
    document: Json | None, state: TranscriptState, decisions: Iterable[Mapping[str, Any]] = ()
) -> Json:
    """A session's document (None: there is no file) with what changed in the transcript since it was written, and the model's
    decisions."""
    written, summary = state.written, state.file_summary
    if document is None:  # or a person removed the file, and the session goes on
        written, summary, stamp = (), "", utc_millis(state.started)
        document = {"sessionId": state.id, "startedAt": stamp, "lastActiveAt": stamp}
        document |= {"tasks": [], "decisions": [], "context": []}
    changed: Json = {"projectPath": state.cwd} if state.cwd else {}
    if (parse_utc(document["startedAt"]) or 0.0) > state.started:
        changed["startedAt"] = utc_millis(state.started)
    if (parse_utc(document["lastActiveAt"]) or 0.0) < state.last - 0.001:
        changed["lastActiveAt"] = utc_millis(state.last)
    if state.summary != summary and str(document.get("summary") or "") in ("", summary):
        changed["summary"] = state.summary
    changed["tasks"] = _update_tasks(document["tasks"], written, state.tasks)
    changed["decisions"] = add_decisions(document["decisions"], decisions)
    return document | changed


def _update_tasks(have: Sequence[Json], before: Items, now: Items) -> list[Json]:
    """The tasks of a file after a change of the client's list, which come first, in its order. A task that a person removed comes back
    when the client changes it; one that the client removed goes."""
    old, new = _list_values(before), _list_values(now)
    in_file = {str(task.get("id")): task for task in have}
    kept = [item for item in now if item.id in in_file or old.get(item.id) != new[item.id]]
    tasks: list[Json] = []
    for item in kept:
        task = {"id": item.id, "title": "", "status": "", "createdAt": utc_millis(item.created)}
        task, known = (
            in_file.get(item.id, task),
            old.get(item.id, {}) if item.id in in_file else {"blockedBy": ""},
        )
        changed = {name: value for name, value in new[item.id].items() if value != known.get(name)}
        if changed:
            task = _unblock(task | {"updatedAt": utc_millis(item.updated)} | changed)
        children = [other.id for other in kept if other.parent == item.id]
        children += [child for child in task.get("children") or () if not child.startswith(OURS)]
        tasks.append(_with_children(task, children))
    return [*tasks, *(theirs for id, theirs in in_file.items() if id not in new and id not in old)]


def _with_children(task: Json, children: list[str]) -> Json:
    without = {key: value for key, value in task.items() if key != "children"}
    return without | ({"children": children} if children else {})


def _list_values(items: Items) -> dict[str, dict[str, str]]:
    """The fields of each task by its id. A pending task is blocked by the titles of the unfinished tasks before it."""
    values: dict[str, dict[str, str]] = {}
    for item in items:
        blockers = (one for one in items if one.id in item.blocked_by and one.status != "completed")
        blocked = "; ".join(one.title for one in blockers) if item.status == "pending" else ""
        status = "blocked" if blocked else item.status
        values[item.id] = {"title": item.title, "status": status, "blockedBy": blocked}
    return values


# --- parts of a document


def add_decisions(have: Sequence[Json], more: Iterable[Mapping[str, Any]]) -> list[Json]:
    """The last fifty decisions (SPEC P-24), with new ones at the end, each text once."""
    known = {_fold_decision(decision) for decision in have}
    fresh = [dict(decision) for decision in more if _fold_decision(decision) not in known]
    return [*have, *fresh][-MAX_DECISIONS:]


def _fold_decision(decision: Mapping[str, Any]) -> str:
    return " ".join(str(decision.get("decision")).split()).casefold().rstrip(".")


def open_tasks(document: Json) -> list[Json]:
    return [task for task in document["tasks"] if task["status"] != "completed"]


# --- what a person changes by command


def apply_command(document: Json, data: Mapping[str, Any], at: float) -> Json:
    """The session after a command; of its notes the last twenty are kept, each once (SPEC P-24)."""
    changed: Json = {"lastActiveAt": utc_millis(at)}
    match data["do"]:
        case "task":
            changed["tasks"] = _put_task(document["tasks"], data["task"], data["given"], data["parent"], at)
        case "decide":
            entry: Json = {"timestamp": utc_millis(at), "decision": data["text"]}
            entry |= {"rationale": data["because"]} if data["because"] else {}
            entry |= {"alternatives": data["instead"]} if data["instead"] else {}
            changed["decisions"] = add_decisions(document["decisions"], [entry])
        case "note":
            notes = [*document["context"], data["text"]]
            changed["context"] = list(dict.fromkeys(notes))[-MAX_CONTEXT_NOTES:]
        case _:
            changed["summary"] = data["text"]
    return document | changed


def new_id(title: str, document: Json) -> str:
    """An id that no task of the session has, made from the title."""
    digest = sha256(title.encode()).hexdigest()[:6]
    return find_free_id(f"t-{digest}", [task["id"] for task in document["tasks"]])


def _put_task(
    have: Sequence[Json], id: str, given: Mapping[str, str | None], parent: str | None, at: float
) -> list[Json]:
    """The tasks with this one changed, or created if its id is new and it has a title (SPEC P-22, P-23).

    `given`: the new values by key; None leaves one as it is. Raises TacitdError for an unknown id without a title, and for a parent
    that is not another task of the session.
    """
    stamp, tasks = utc_millis(at), {task["id"]: task for task in have}
    if id not in tasks and given.get("title") is None:
        raise TacitdError(f"there is no task {id!r}", "tacitd sessions show")
    if parent is not None and (parent == id or parent not in tasks):
        raise TacitdError(f"there is no task {parent!r} that can be the parent", "tacitd sessions show")
    new: Json = {"id": id, "title": "", "status": "pending", "createdAt": stamp}
    changed = {key: value for key, value in given.items() if value is not None}
    tasks[id] = _unblock(tasks.get(id, new) | {"updatedAt": stamp} | changed)
    if parent is None:
        return [*tasks.values()]
    children = {
        one: [child for child in task.get("children") or () if child != id] for one, task in tasks.items()
    }
    children[parent].append(id)  # a task has one parent, so it left the one before
    return [_with_children(task, children[one]) for one, task in tasks.items()]


def _unblock(task: Json) -> Json:
    """A task without what blocks it, unless it is blocked (SPEC P-23)."""
    return task if task["status"] == "blocked" else {key: task[key] for key in task if key != "blockedBy"}


# --- the files of all sessions, which `handler` alone changes

FOLDER, PATTERN = "sessions", "session-*.json"
_SAFE = compile_lazily(r"[A-Za-z0-9_-]{1,100}")


class SessionFile(Struct, frozen=True):
    path: Path
    document: Json
    last_active: float = 0.0
    """As the file or the store says: seconds since 1970, UTC."""

    @property
    def id(self) -> str:
        return str(self.document["sessionId"])

    @property
    def project(self) -> str:
        return self.document.get("projectPath") or ""


def find_folder() -> Path:
    """The directory of the sessions' files. It may not exist."""
    return memory_dir(os.environ) / FOLDER


def find_path(session: str) -> Path:
    """The path of a session's file: `session-<id>.json`, with a hash for an id that is no plain name (SPEC P-25)."""
    id = session if _SAFE.fullmatch(session) else sha256(session.encode(errors="replace")).hexdigest()[:32]
    return find_folder() / f"session-{id}.json"


def read_checked(path: Path) -> Json | None:
    """The document of a session's file; None if there is none. Raises OSError, and NotUnderstoodError if it is no session."""
    document = json_document.read_document(path)
    if document is not None and (fault := find_fault(document)):
        raise json_document.NotUnderstoodError(f"{path}: {fault}", "correct it by hand, or remove it")
    return document


def list_sessions(rows: Rows, now: float) -> tuple[list[SessionFile], list[str]]:
    """All sessions, the newest first; one from the future comes last, because its time is wrong. Also why others cannot be read."""
    known = {find_path(id): last for id, last in rows("SELECT id, last FROM continuity_session")}
    found, faults = list[SessionFile](), list[str]()
    for path in sorted(find_folder().glob(PATTERN)):
        try:
            document = read_checked(path)
        except (OSError, TacitdError) as error:
            faults.append(str(error))
            continue
        if document:
            at = parse_utc(document["lastActiveAt"]) or 0.0
            found.append(SessionFile(path, document, max(at, known.get(path, 0.0))))
    found.sort(key=lambda one: (one.last_active <= now + DAY, one.last_active, one.id), reverse=True)
    return found, faults


def find_session(rows: Rows, id: str, now: float) -> SessionFile:
    """The session with this id, or the only one whose id begins with it. Raises TacitdError, NotUnderstoodError, OSError."""
    path = find_path(id)
    if document := read_checked(path):
        return SessionFile(path, document)
    near = [one for one in list_sessions(rows, now)[0] if one.id.startswith(id)] if id else []
    if len(near) == 1:
        return near[0]
    if near:
        raise UsageError(f"{len(near)} sessions begin with {id}", "tacitd sessions list")
    raise TacitdError(f"there is no session {id!r}", "tacitd sessions list")
