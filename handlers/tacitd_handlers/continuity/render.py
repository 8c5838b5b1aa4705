"""The contents of a session's file (SPEC P-22 to P-24): the transcript's state is merged into the current file. Pure.

Changes by a person or another program stay (SPEC X-07): tasks with their own ids, notes on our tasks, decisions, unknown
keys. A task that they changed after the transcript's last change of it keeps their values. Locking and writing belong
to `store`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tacitd.clock import parse_utc, utc_millis
from tacitd_handlers.continuity.session_progress import TranscriptProgress
from tacitd_handlers.continuity.state_notes import NEWER, add_state_notes, make_state_notes
from tacitd_handlers.continuity.tasks import OURS, TaskItem

MAX_AGE_DAYS = 30
MAX_DECISIONS = 50
MAX_CONTEXT_NOTES = 20

Json = dict[str, Any]


def new_document(session: str, cwd: str, at: float) -> Json:
    """Return a new session's file, keys in the seed's order. `at`: its start, seconds since 1970, UTC."""
    stamp = utc_millis(at)
    made: Json = {"sessionId": session} | ({"projectPath": cwd} if cwd else {})
    return made | {"startedAt": stamp, "lastActiveAt": stamp, "tasks": [], "decisions": [], "context": []}


def render_session(before: Json | None, now: TranscriptProgress) -> Json:
    """Return the file with the transcript's state merged in. `before`: the current file; None if there is none."""
    if before is None:  # also one that was removed, because it was old, and whose session goes on
        now = replace(now, told="", told_notes=(), told_state=(), telling=())
    started, last = now.started or 0.0, now.last or 0.0
    made = dict(before) if before is not None else new_document(now.session, now.cwd, started)
    for key in ("tasks", "decisions", "context"):
        made.setdefault(key, [])
    if now.cwd:
        made["projectPath"] = now.cwd
    made["startedAt"] = _earlier(made.get("startedAt"), started)
    made["lastActiveAt"] = _later(made.get("lastActiveAt"), last)
    fresh = now.summary if now.summary != now.told else ""
    newer = [one for one in made["context"] if str(one).startswith(NEWER)]
    if not made.get("summary") or made["summary"] in (now.told, *now.telling):
        made, newer = (with_summary(made, fresh), []) if fresh else (made, newer)
    elif fresh and fresh != made["summary"]:
        newer = [NEWER + fresh]  # the one in its field is a person's
    made["tasks"] = _tasks(made["tasks"], now)
    made["decisions"] = add_decisions(made["decisions"], now.decisions)
    have = made["context"]
    others = add_notes(
        [
            one
            for one in have
            if one not in now.told_state and one not in now.telling and not str(one).startswith(NEWER)
        ],
        (one for one in now.notes if one not in now.told_notes),
    )
    made["context"] = add_state_notes(
        have, others, now.told_state, [*newer, *make_state_notes(now)], MAX_CONTEXT_NOTES
    )
    return made


def with_summary(document: Json, summary: str) -> Json:
    """Return the file with this summary; a new one is put after `lastActiveAt`, as in the seed."""
    if "summary" in document:
        return document | {"summary": summary}
    made: Json = {}
    for key, value in document.items():
        made[key] = value
        if key == "lastActiveAt":
            made["summary"] = summary
    return made | {"summary": summary}


def add_notes(have: Sequence[Any], more: Iterable[str]) -> list[Any]:
    """Return the last twenty notes (SPEC P-24). New ones are added at the end; each occurs once."""
    new = [one for one in dict.fromkeys(more) if one not in have]
    return [*have, *new][-MAX_CONTEXT_NOTES:]


def add_decisions(have: Sequence[Any], more: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Return the last fifty decisions (SPEC P-24). New ones are added at the end; each text occurs once."""
    known = {_folded(one) for one in have}
    new = [dict(one) for one in more if _folded(one) not in known]
    return [*have, *new][-MAX_DECISIONS:]


def _folded(one: Any) -> str:
    text = one.get("decision") if isinstance(one, Mapping) else one
    return " ".join(str(text).split()).casefold().rstrip(".")


# --- tasks --------------------------------------------------------------------------------------------------


def _tasks(have: Sequence[Any], now: TranscriptProgress) -> list[Any]:
    standing = {str(one.get("id")): one for one in have if isinstance(one, Mapping)}
    ours = [_task(one, now.items, standing.get(one.id)) for one in now.items]
    ids = {one.id for one in now.items}
    # A task of ours that left the transcript's list is dropped, unless it was changed in the file later.
    others = [
        one for one in have if not _is_ours(one) or (_id(one) not in ids and _changed_later(one, now.last))
    ]
    return [*ours, *others]


def _is_ours(one: Any) -> bool:
    return _id(one).startswith(OURS)


def _id(one: Any) -> str:
    return str(one.get("id", "")) if isinstance(one, Mapping) else ""


def _changed_later(one: Any, at: float | None) -> bool:
    changed = parse_utc(one.get("updatedAt")) if isinstance(one, Mapping) else None
    return changed is not None and changed > (at or 0.0) + 0.001  # the file has whole milliseconds


def _task(item: TaskItem, items: Sequence[TaskItem], before: Mapping[str, Any] | None) -> Json:
    made: Json = dict(before or {})
    if before is not None and _changed_later(before, item.updated):
        return made
    blocked = _blocked_by(item, items)
    made |= {
        "id": item.id,
        "title": item.title,
        "status": "blocked" if blocked else item.status,
        "createdAt": made.get("createdAt") or utc_millis(item.created),
        "updatedAt": utc_millis(item.updated),
    }
    _set(made, "blockedBy", blocked)
    theirs = [one for one in made.get("children") or () if not str(one).startswith(OURS)]
    _set(made, "children", [*(one.id for one in items if one.parent == item.id), *theirs])
    return made


def _blocked_by(item: TaskItem, items: Sequence[TaskItem]) -> str:
    """The titles of the unfinished tasks that block this one; "" if there are none, or it is not pending (SPEC P-23)."""
    if item.status != "pending":
        return ""
    return "; ".join(one.title for one in items if one.id in item.blocked_by and one.status != "completed")


def _set(made: Json, key: str, value: Any) -> None:
    """Set a key, or remove it if the value is empty (SPEC P-05: no nulls)."""
    made.pop(key, None)
    if value:
        made[key] = value


def _earlier(have: object, at: float) -> str:
    known = parse_utc(have)
    return str(have) if known is not None and known <= at else utc_millis(at)


def _later(have: object, at: float) -> str:
    known = parse_utc(have)
    return str(have) if known is not None and known >= at - 0.001 else utc_millis(at)
