"""What `tacitd status` says of lessons. It only reads their log, so nothing heavy is imported."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tacitd_handlers.lessons.lesson_log import LessonLog

if TYPE_CHECKING:
    from tacitd.contract import Row


def report_status(rows: Callable[..., list[Row]], now: float) -> Mapping[str, Any]:
    """The number of lessons of each status, and of the active ones by whom they are from. Raises OSError."""
    lessons = LessonLog.from_environ(os.environ).read_lessons()
    statuses = Counter(one.status for one in lessons.all.values())
    sources = Counter(one.source for one in lessons.list_active())
    active, user = statuses["active"], sources["user"]
    lines = list[str]()
    if active:
        by_people = f", {user} of them stated by people" if active > 1 else ""
        lines = [f"{active} active{by_people or (', stated by a person' if user else '')}"]
    counts = {kind: statuses[kind] for kind in ("active", "deleted", "promoted")}
    return counts | {kind: sources[kind] for kind in ("ai", "user")} | {"lines": lines}
