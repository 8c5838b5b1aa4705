"""Messages between plugins, and of a plugin to itself: rows of `task`, which a transaction of the sender inserts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacitd.contract import Batch, Task, Tx
from tacitd.events import Project
from tacitd.work.task_rows import NewTask, insert_task

__all__ = ["send_message"]


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
    """Queue a message for a plugin, about the project and session of a task, or of records. The same key again replaces it
    while it waits, with the earlier time `due`. `data`: JSON, the receiver's `Task.data`."""
    lane = str(about.project.root) if isinstance(about.project, Project) else ""
    place = about.project_number, about.session
    priority = about.priority if isinstance(about, Task) else "live"
    insert_task(tx, NewTask(to, lane, "message", f"{sender}:{key}", *place, data, priority), now, due)
