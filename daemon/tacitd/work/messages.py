"""Messages between plugins: rows of `task`, which a transaction of the sender inserts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from tacitd.contract import Task, Tx
from tacitd.events import Project
from tacitd.work.task_rows import NewTask, insert_task

__all__ = ["read_message", "send_message"]


def send_message(
    tx: Tx, sender: str, to: str, key: str, about: Task, data: Mapping[str, Any], now: float
) -> None:
    """Queue a message for a plugin, about the project and session of a task. `key`: the same key again replaces it while it waits;
    `data`: JSON, which the receiver finds in `Task.data`."""
    lane = str(about.project.root) if isinstance(about.project, Project) else ""
    whole = {"sender": sender, "at": now, "by_job": about.kind == "job", "data": dict(data)}
    new = NewTask(
        to, lane, "message", f"{sender}:{key}", about.project_number, about.session, whole, about.priority
    )
    insert_task(tx, new, now)


def read_message(task: Task) -> Task:
    """The task with what the sender wrote as its data."""
    match task.data:
        case {"sender": str(), "data": Mapping() as data}:
            return replace(task, data=data)
        case _:
            return task
