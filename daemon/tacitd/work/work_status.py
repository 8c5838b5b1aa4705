"""What the status document says of work: SELECTs over the rows of tasks and prompts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tacitd.work.project_rows import Choices
from tacitd.work.task_rows import ReadyTask, Rows

PAUSED = "paused"
"""The beginning of the reason of what a person paused."""
_PARKED = """
SELECT k.number, k.plugin, k.lane, k.session, k.project, k.kind, k.key, k.reason, k.hint, k.created, k.tries, k.not_before,
  r.root, k.due, k.data FROM task k LEFT JOIN project r ON r.number = k.project
WHERE k.kind <> 'session-started' AND k.plugin <> 'engine' AND (k.reason <> '' OR k.due <= ?) ORDER BY k.number
"""


_GONE = """
SELECT DISTINCT p.cwd, t.plugin, p.session, p.ingested FROM prompt p JOIN prompt_task t ON t.prompt = p.number
WHERE p.project IS NULL AND p.passed IS NULL AND t.state = 'waiting' ORDER BY p.cwd, p.ingested
"""
"""Prompts that were typed in a directory that is not there now."""


class ParkedTask(Struct, frozen=True):
    """Work that waits for something."""

    plugin: str
    what: str
    root: str
    reason: str
    hint: str
    since: float
    tries: int
    not_before: float | None


def list_parked(
    rows: Rows, is_held: Callable[[ReadyTask], bool], choices: Choices, now: float
) -> Iterator[ParkedTask]:
    """Work that waits for something, and work that is due and held because a person paused it."""
    for row in rows(_PARKED, now):
        (
            number,
            plugin,
            lane,
            session,
            project,
            kind,
            key,
            reason,
            hint,
            since,
            tries,
            not_before,
            root,
            _,
            data,
        ) = row
        paused = _find_pause(choices, root or "", session)
        if paused and is_held(ReadyTask(number, plugin, lane, session, project, kind)):
            reason, hint = f"{PAUSED} by you ({paused})", "`tacitd resume` goes on"
        if reason:
            what = _describe(kind, key, session, data)
            yield ParkedTask(plugin, what, root or "", reason, hint, since, tries, not_before)
    yield from _list_gone(rows)


def _list_gone(rows: Rows) -> Iterator[ParkedTask]:
    """One row for each plugin and directory; those below it count as it."""
    waiting = dict[tuple[str, str], dict[str, float]]()
    for cwd, plugin, session, since in rows(_GONE):
        top = next((one for _, one in waiting if cwd == one or cwd.startswith(f"{one}/")), cwd)
        waiting.setdefault((plugin, top), {}).setdefault(session, since)
    for (plugin, cwd), sessions in waiting.items():
        what = (
            f"prompts of {len(sessions)} sessions"
            if len(sessions) > 1
            else f"prompts of session {min(sessions)}"
        )
        hint = (
            f"restore the directory, or say `tacitd project alias {cwd} DIR` if it is a container's; otherwise `tacitd rescue` lists "
            "the prompts after a day"
        )
        reason = f"{cwd}: the working directory does not exist"
        yield ParkedTask(plugin, what, cwd, reason, hint, min(sessions.values()), 0, None)


def _find_pause(choices: Choices, root: str, session: str) -> str:
    if choices.paused_all:
        return "all"
    if session in choices.paused_sessions:
        return f"session {session}"
    return f"project {root}" if root in choices.paused_projects else ""


def _describe(kind: str, key: str, session: str, data: str) -> str:
    known: Mapping[str, object] = msgspec.json.decode(data)
    match kind:
        case "prompts":
            return f"prompts of session {session}"
        case "session-ended":
            return f"the end of session {session}"
        case "job":
            return f"job {known.get('job', key)}"
        case "file-changed":
            return f"a change of {known.get('path', key)}"
        case "message":
            whence = "job" if known.get("by_job") else "session"
            return f"what {known.get('sender', '')} found in {whence} {session}"
        case _:
            return f"{kind} {key}"


def list_pauses(rows: Rows) -> list[tuple[str, str]]:
    """Everything that is paused: scope and name, the oldest first."""
    return [
        (scope, name)
        for scope, name in rows("SELECT scope, name FROM choice WHERE what = 'pause' ORDER BY at")
    ]


def count_waiting(rows: Rows, plugin: str) -> int:
    """How many prompts wait for a plugin."""
    ((count,),) = rows("SELECT count(*) FROM prompt_task WHERE plugin = ? AND state = 'waiting'", plugin)
    return int(count)


def count_rescued(rows: Rows) -> list[tuple[str, str, int]]:
    """The rejected prompts by plugin and reason, with their number, the highest first."""
    found = rows(
        "SELECT plugin, reason, count(*) FROM prompt_task WHERE state = 'rejected' GROUP BY plugin, reason "
        "ORDER BY count(*) DESC"
    )
    return [(plugin, reason, count) for plugin, reason, count in found]


def count_tasks(rows: Rows, plugin: str, now: float) -> tuple[int, int, int, float | None]:
    """How many sessions are gathered for a plugin, how many of its tasks are due or being done, how many are parked, and when the first
    gathered one is due."""
    ((gathering, busy, parked, due),) = rows(
        "SELECT count(CASE WHEN kind = 'prompts' AND reason = '' AND due > ? THEN 1 END), "
        "count(CASE WHEN reason = '' AND due <= ? THEN 1 END), "
        "count(CASE WHEN reason <> '' AND kind <> 'session-started' THEN 1 END), "
        "min(CASE WHEN kind = 'prompts' AND reason = '' AND due > ? THEN due END) FROM task WHERE plugin = ?",
        now,
        now,
        now,
        plugin,
    )
    return gathering, busy, parked, due


def count_odd_lines(by_path: Mapping[Path, Mapping[str, int]]) -> dict[str, int]:
    """The lines that were damaged, unknown or too long, by kind."""
    total = Counter[str]()
    for counts in list(by_path.values()):
        total.update(counts)
    return dict(total)


def make_json(value: Any) -> Any:
    """The value with text in place of everything that JSON cannot express; null for infinity and NaN."""
    match value:
        case Mapping():
            return {str(key): make_json(each) for key, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [make_json(each) for each in value]
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case _:
            return str(value)
