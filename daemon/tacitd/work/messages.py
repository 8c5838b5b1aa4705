"""Messages between plugins, and of a plugin to itself: rows of `task`, which a transaction of the sender inserts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from tacitd.contract import Batch, Task, Tx
from tacitd.events import Project
from tacitd.work.task_rows import NewTask, insert_task

__all__ = ["read_message", "send_message"]


def send_message(
    tx: Tx,
    sender: str,
    to: str,
    key: str,
    about: Task | Batch,
    data: Mapping[str, Any],
    now: float,
    due: float | None = None,
) -> None:
    """Queue a message for a plugin, about the project and session of a task, or of records. `key`: the same key again replaces it
    while it waits; `data`: JSON, which the receiver finds in `Task.data`. `due`: when it is handled, otherwise at once; of two with the
    same key, the earlier time holds."""
    lane = str(about.project.root) if isinstance(about.project, Project) else ""
    by_job = isinstance(about, Task) and about.kind == "job"
    whole = {"sender": sender, "at": now, "by_job": by_job, "data": dict(data)}
    priority = about.priority if isinstance(about, Task) else "live"
    new = NewTask(
        to, lane, "message", f"{sender}:{key}", about.project_number, about.session, whole, priority
    )
    insert_task(tx, new, now, due)


def read_message(task: Task) -> Task:
    """The task with what the sender wrote as its data."""
    match task.data:
        case {"sender": str(), "data": Mapping() as data}:
            return replace(task, data=data)
        case _:
            return task
