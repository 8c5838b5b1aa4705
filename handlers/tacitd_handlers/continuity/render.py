"""The contents of a session's file (SPEC P-22 to P-24): the transcript's state is merged into the current file. Pure.

Changes by a person or another program stay (SPEC X-07): tasks, notes, decisions, unknown keys. `task_merge` decides which values
of a task are a person's, `store` locks and writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from tacitd.clock import parse_utc, utc_millis
from tacitd.text.hashes import sha256
from tacitd_handlers.continuity.stored_progress import NEWER, Json, TranscriptProgress, list_summary_notes
from tacitd_handlers.continuity.task_merge import merge_tasks

MAX_DECISIONS = 50
MAX_CONTEXT_NOTES = 20
MARK = "summaryBy"
"""The key of a file that identifies the summary as tacitd's: a person's, or one that a person edited, has another digest."""


def new_document(session: str, cwd: str, at: float) -> Json:
    """Return a new session's file, keys in the seed's order. `at`: its start, seconds since 1970, UTC."""
    stamp = utc_millis(at)
    made: Json = {"sessionId": session} | ({"projectPath": cwd} if cwd else {})
    return made | {"startedAt": stamp, "lastActiveAt": stamp, "tasks": [], "decisions": [], "context": []}


def render_session(before: Json | None, now: TranscriptProgress) -> Json:
    """Return the file with the transcript's state merged in. `before`: the current file; None if there is none."""
    if before is None:  # or the old file was removed, and its session goes on
        now = replace(now, written_summary="", written_notes=(), written_tasks=None)
    started, last = now.started or 0.0, now.last or 0.0
    made = dict(before) if before is not None else new_document(now.session, now.cwd, started)
    for key in ("tasks", "decisions", "context"):
        made.setdefault(key, [])
    if now.cwd:
        made["projectPath"] = now.cwd
    made["startedAt"] = _earlier(made.get("startedAt"), started)
    made["lastActiveAt"] = _later(made.get("lastActiveAt"), last)
    fresh, own = now.summary if now.summary != now.written_summary else "", list_summary_notes(now)
    newer = [one for one in made["context"] if one in own]
    if not made.get("summary"):
        made, newer = (_with_own_summary(made, fresh), []) if fresh else (made, newer)
    elif _is_own_summary(made, now):
        made, newer = _with_own_summary(made, fresh or str(made["summary"])), [] if fresh else newer
    elif fresh and fresh != made["summary"]:
        newer = [NEWER + fresh]  # the summary in the file is a person's
    made["tasks"] = merge_tasks(made["tasks"], now)
    made["decisions"] = add_decisions(made["decisions"], now.decisions)
    others = add_notes(
        [one for one in made["context"] if one not in own],
        (one for one in now.notes if one not in now.written_notes),
        own=(*now.notes, *now.written_notes),
    )
    made["context"] = [*others, *newer[: max(0, MAX_CONTEXT_NOTES - len(others))]]
    return made


def _is_own_summary(document: Json, now: TranscriptProgress) -> bool:
    """Whether the summary is what tacitd wrote last: by the session's state, or by its mark where that state is lost."""
    summary = document["summary"]
    return summary == now.written_summary or document.get(MARK) == _mark_summary(str(summary))


def _with_own_summary(document: Json, summary: str) -> Json:
    return with_summary(document, summary) | {MARK: _mark_summary(summary)}


def _mark_summary(summary: str) -> str:
    return f"tacitd {sha256(summary.encode(errors='replace')).hexdigest()[:12]}"


def with_summary(document: Json, summary: str) -> Json:
    """Return the file with this summary of a person; a new one is put after `lastActiveAt`, as in the seed."""
    document = {key: value for key, value in document.items() if key != MARK}
    if "summary" in document:
        return document | {"summary": summary}
    made: Json = {}
    for key, value in document.items():
        made[key] = value
        if key == "lastActiveAt":
            made["summary"] = summary
    return made | {"summary": summary}


def add_notes(have: Sequence[Any], more: Iterable[str], own: Collection[str] | None = None) -> list[Any]:
    """Return the last twenty notes (SPEC P-24). New ones are added at the end; each occurs once.

    `own`: the notes that may be dropped, because tacitd wrote them; None: all.
    """
    made = [*have, *(one for one in dict.fromkeys(more) if one not in have)]
    extra = len(made) - MAX_CONTEXT_NOTES
    kept: list[Any] = []
    for one in made:
        if extra > 0 and (own is None or one in own):
            extra -= 1
        else:
            kept.append(one)
    return kept


def add_decisions(have: Sequence[Any], more: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Return the last fifty decisions (SPEC P-24). New ones are added at the end; each text occurs once."""
    known = {_folded(one) for one in have}
    new = [dict(one) for one in more if _folded(one) not in known]
    return [*have, *new][-MAX_DECISIONS:]


def _folded(one: Any) -> str:
    text = one.get("decision") if isinstance(one, Mapping) else one
    return " ".join(str(text).split()).casefold().rstrip(".")


def _earlier(have: object, at: float) -> str:
    known = parse_utc(have)
    return str(have) if known is not None and known <= at else utc_millis(at)


def _later(have: object, at: float) -> str:
    known = parse_utc(have)
    return str(have) if known is not None and known >= at - 0.001 else utc_millis(at)
