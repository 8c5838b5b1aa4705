"""How many work items of each handler gather, run or are parked, and how many prompts wait. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tacitd.dispatch.work_item import WorkItem


@dataclass(slots=True)
class WorkCounts:
    """The counts of one handler."""

    gathering: int = 0
    busy: int = 0
    parked: int = 0
    waiting: int = 0
    """Prompts that were read and are not handled."""
    gather_until: float | None = None
    """When the first of the gathered work is offered: monotonic seconds."""


def count_work(
    items: Iterable[WorkItem], count_prompts: Callable[[Path, int], int], now: float
) -> dict[str, WorkCounts]:
    """Given the items of all transcripts, return the counts by handler.

    `count_prompts` returns how many prompts of a transcript in memory are after an offset; `now`: monotonic seconds.
    """
    found: dict[str, WorkCounts] = {}
    for item in items:
        one = found.get(item.consumer.name)
        if one is None:
            one = found[item.consumer.name] = WorkCounts()
        if item.gather_until > now:
            one.gathering += 1
            one.gather_until = min(item.gather_until, one.gather_until or item.gather_until)
        one.busy += item.busy
        one.parked += item.parked is not None
        if item.cursor is not None:
            one.waiting += count_prompts(item.cursor.path, item.cursor.offset)
    return found
