"""Events without records of handlers of the first contract: from an event to a row of `task`, and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from tacitd.contract import Task, Tx
from tacitd.events import (
    Due,
    Event,
    Message,
    NoProject,
    Project,
    SessionEnded,
    SessionStarted,
    SourceChanged,
)
from tacitd.work.project_rows import store_project
from tacitd.work.task_rows import NewTask, Rows, insert_task

_WHYS: dict[str, Literal["idle", "gone", "asked"]] = {"gone": "gone", "asked": "asked", "replaced": "gone"}


def queue_event(tx: Tx, plugin: str, event: Event, now: float) -> None:
    """Queue an event without records for a handler."""
    place = getattr(event, "project", None)
    number = store_project(tx, place, now) if isinstance(place, Project) else None
    root = str(place.root) if isinstance(place, Project) else ""
    match event:
        case Due(job, _, session):
            key = " ".join(part for part in (job, root, session) if part)
            new = NewTask(plugin, root, "job", key, number, session, {"job": job})
        case SourceChanged(_, path):
            key = f"{root} {path}"
            new = NewTask(plugin, root, "file-changed", key, number, "", {"path": str(path)})
        case Message(id=id, sender=sender):
            data: dict[str, Any] = {
                "sender": sender,
                "at": event.at,
                "by_job": event.by_job,
                "data": dict(event.data),
            }
            if isinstance(place, NoProject):
                data["cwd"] = place.cwd
            new = NewTask(plugin, root, "message", id, number, event.session, data)
        case _:
            raise ValueError(f"{type(event).__name__} is not posted")
    insert_task(tx, new, now)


def make_event(
    task: Task, plugin: str, rows: Rows, find_project: Callable[[str], Project | NoProject]
) -> Event | None:
    """The event of a task; None if there is nothing to do."""
    data, place = task.data, task.project
    project = place if isinstance(place, Project) else None
    match task.kind:
        case "job":
            return Due(str(data.get("job", task.key)), project, task.session)
        case "file-changed" if project is not None:
            return SourceChanged(project, Path(str(data["path"])))
        case "message":
            where = place if project is not None else NoProject(str(data.get("cwd", "")), "it is no project")
            sender, at, by_job = str(data["sender"]), float(data["at"]), bool(data["by_job"])
            return Message(sender, task.key, task.session, where, at, data["data"], by_job)
        case "session-started":
            for path, started in rows("SELECT transcript, last FROM session WHERE id = ?", task.session):
                return SessionStarted(task.session, Path(path), place, started)
        case "session-ended":
            for path, cwd, last, why in rows(
                "SELECT a.transcript, s.cwd, s.last, s.ended_by FROM session s JOIN transcript t ON t.session = s.id "
                "JOIN adapter_position a ON a.transcript = t.path AND a.plugin = ? "
                "WHERE s.id = ? AND a.acted > a.ended ORDER BY a.transcript = s.transcript DESC LIMIT 1",
                plugin,
                task.session,
            ):
                found = find_project(cwd) if cwd else place
                return SessionEnded(task.session, Path(path), found, last, _WHYS.get(why, "idle"))
        case _:
            pass
    return None
