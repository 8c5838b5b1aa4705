"""What the daemon does for lessons: it stores drafts, withdraws lessons of deleted lines, and purges words. The rest works without it."""

from __future__ import annotations

import os
from pathlib import Path

from tacitd.contract import Done, Later, Outcome, Task, Tools, Tx
from tacitd.errors import FileBusyError, FileRefusedError, describe_failure
from tacitd.events import Project
from tacitd.handler import Notice
from tacitd_handlers.lessons.lesson_drafts import DELETED_LINE, store_finding, withdraw_lessons
from tacitd_handlers.lessons.lesson_items import purge_words
from tacitd_handlers.lessons.lesson_log import LessonLog
from tacitd_handlers.lessons.lesson_origins import put_origin, read_origins


def run(task: Task, tools: Tools) -> Outcome:
    """Do a task. It waits while the lessons cannot be read or written."""
    log = LessonLog.from_environ(os.environ, tools.clock)
    try:
        if task.kind == "message":
            return _take_message(log, task, tools)
        texts = [str(text) for text in task.data.get("texts", ())]
        return Done(notices=[Notice("purged", str(path)) for path in purge_words(log, task.key, texts)])
    except FileBusyError:
        raise
    except (OSError, FileRefusedError) as error:
        what, hint = describe_failure(error)
        return Later(f"lessons cannot be read or written: {what}", hint)


def _take_message(log: LessonLog, task: Task, tools: Tools) -> Done:
    """Store the drafts of a synthesis, and withdraw the lessons of deleted lines (SPEC E-30, E-32)."""
    root = str(task.project.root) if isinstance(task.project, Project) else ""
    known = read_origins(tools.rows, log)
    added, origins = store_finding(log, task.data, task.session, root, known)
    notices = [Notice("learned", one.text, f"lesson {one.id}", item=one.id) for one in added]
    removed = [str(line) for line in task.data.get("removed", ())]
    withdrawn = withdraw_lessons(log, removed, Path(root), known) if root else ()
    notices += [Notice("withdrawn", one.text, f"lesson {one.id}", DELETED_LINE) for one in withdrawn]

    def apply(tx: Tx) -> None:
        for id, origin in origins:
            put_origin(tx, log, id, origin)

    return Done(apply, notices=notices)
