"""A session's file (SPEC P-22 to P-24): what the transcript says, put into what stands there. Pure.

What a person, or another program, put into the file stays: tasks with ids of their own, notes on ours, decisions, keys that
nobody here knows. A task that they changed after the transcript last did keeps their word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tacitd.clock import parse_utc, utc_millis
from tacitd_handlers.continuity.progress import Progress
from tacitd_handlers.continuity.tasks import OURS, Item

MAX_AGE_DAYS = 30
MAX_DECISIONS = 50
MAX_CONTEXT_NOTES = 20

Json = dict[str, Any]


def fresh(session: str, cwd: str, at: float) -> Json:
    """A session's file as it begins, keys in the seed's order. `at` is seconds since 1970, UTC."""
    stamp = utc_millis(at)
    made: Json = {"sessionId": session} | ({"projectPath": cwd} if cwd else {})
    return made | {"startedAt": stamp, "lastActiveAt": stamp, "tasks": [], "decisions": [], "context": []}


def rendered(before: Json | None, now: Progress) -> Json:
    """The file with what is known from the transcript."""
    started, last = now.started or 0.0, now.last or 0.0
    made = dict(before) if before is not None else fresh(now.session, now.cwd, started)
    for key in ("tasks", "decisions", "context"):
        made.setdefault(key, [])
    if now.cwd:
        made["projectPath"] = now.cwd
    made["startedAt"] = _earlier(made.get("startedAt"), started)
    made["lastActiveAt"] = _later(made.get("lastActiveAt"), last)
    if now.summary and now.summary != now.told:
        made = with_summary(made, now.summary)
    made["tasks"] = _tasks(made["tasks"], now)
    made["decisions"] = decided(made["decisions"], now.decisions)
    made["context"] = noted(made["context"], (one for one in now.notes if one not in now.told_notes))
    return made


def with_summary(document: Json, summary: str) -> Json:
    """With this summary, in the seed's place."""
    if "summary" in document:
        return document | {"summary": summary}
    made: Json = {}
    for key, value in document.items():
        made[key] = value
        if key == "lastActiveAt":
            made["summary"] = summary
    return made | {"summary": summary}


def noted(have: Sequence[Any], more: Iterable[str]) -> list[Any]:
    """The notes with new ones last, each once, the last twenty."""
    new = [one for one in dict.fromkeys(more) if one not in have]
    return [*have, *new][-MAX_CONTEXT_NOTES:]


def decided(have: Sequence[Any], more: Iterable[Mapping[str, Any]]) -> list[Any]:
    """The decisions with new ones last; one that stands there already is not made twice; the last fifty."""
    known = {_folded(one) for one in have}
    new = [dict(one) for one in more if _folded(one) not in known]
    return [*have, *new][-MAX_DECISIONS:]


def _folded(one: Any) -> str:
    text = one.get("decision") if isinstance(one, Mapping) else one
    return " ".join(str(text).split()).casefold().rstrip(".")


# --- tasks --------------------------------------------------------------------------------------------------


def _tasks(have: Sequence[Any], now: Progress) -> list[Any]:
    standing = {str(one.get("id")): one for one in have if isinstance(one, Mapping)}
    ours = [_task(one, now.items, standing.get(one.id)) for one in now.items]
    ids = {one.id for one in now.items}
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
    return changed is not None and changed > (at or 0.0) + 0.001  # written in whole milliseconds


def _task(item: Item, items: Sequence[Item], before: Mapping[str, Any] | None) -> Json:
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


def _blocked_by(item: Item, items: Sequence[Item]) -> str:
    """The titles of what has to be done before; "" where nothing has, or it is worked on all the same (SPEC P-23)."""
    if item.status != "pending":
        return ""
    return "; ".join(one.title for one in items if one.id in item.blocked_by and one.status != "completed")


def _set(made: Json, key: str, value: Any) -> None:
    """Absent stays absent."""
    made.pop(key, None)
    if value:
        made[key] = value


def _earlier(have: object, at: float) -> str:
    known = parse_utc(have)
    return str(have) if known is not None and known <= at else utc_millis(at)


def _later(have: object, at: float) -> str:
    known = parse_utc(have)
    return str(have) if known is not None and known >= at - 0.001 else utc_millis(at)
