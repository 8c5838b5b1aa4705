"""Which records of a transcript are offered to a handler together. Pure.

A batch contains only prompts that wait for the handler, of one project, in the order in which they were typed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tacitd.events import NoProject, Project, Prompt, Record


class Batch(Struct, frozen=True):
    """Records to offer, and the offset that is reached when all of them are handled."""

    records: tuple[Record, ...]
    end: int
    project: Project | NoProject

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts of all its records, in order."""
        return tuple([p for r in self.records if r.prompts for p in r.prompts])

    def clamp_offset(self, upto: int | None) -> int:
        """Given `Done.upto`, return the offset that the position may take: at most the end, and never inside a record."""
        if upto is None or upto >= self.end:
            return self.end
        # Reading goes on at the position. Inside a record, the rest of the line would be read as a damaged one.
        borders = [border for record in self.records for border in (record.start, record.end)]
        return max((border for border in borders if border <= upto), default=0)

    def prompts_before(self, upto: int) -> tuple[Prompt, ...]:
        """The prompts of the records that end at or before `upto`."""
        return tuple([p for r in self.records if r.prompts and r.end <= upto for p in r.prompts])


def make_batch(
    records: Sequence[Record],
    end: int,
    is_wanted: Callable[[Prompt], bool],
    project_of: Callable[[str], Project | NoProject],
    cwd: str,
    limit: int | None = None,
) -> Batch:
    """Given the records after a position, none of them empty, and the offset that they reach, return the next batch.

    `is_wanted` says whether a prompt is for the handler. `cwd` is the session's newest working directory, for batches without
    a prompt.
    `limit` is the maximum number of records, if a larger batch failed.
    """
    kept: list[Record] = []
    for record in records:
        # Few records have prompts, and thousands are offered when much is caught up.
        fresh = _drop_unwanted(record, is_wanted) if record.prompts else record
        if fresh is record or not fresh.is_empty:
            kept.append(fresh)
    project: Project | NoProject | None = None
    for i, record in enumerate(kept):
        if i == limit:
            return Batch(tuple(kept[:i]), kept[i - 1].end, project or project_of(cwd))
        if not record.prompts:
            continue
        # The first prompt decides for the whole record. A damaged line can contain two records of different projects; it
        # has one byte range, so it could otherwise never be offered.
        found = project_of(record.prompts[0].cwd or cwd)
        if project is not None and found != project:
            return Batch(tuple(kept[:i]), record.start, project)
        project = found
    return Batch(tuple(kept), end, project or project_of(cwd))


def infer_times(records: Sequence[Record]) -> list[float | None]:
    """Given records, return when each was written: its own time, otherwise that of the nearest record before it that has one,
    otherwise of the nearest one after it; None if no record has a time.

    A copied history without times must not count as new, because it would be paid for without having been asked for.
    """
    known = [record.time for record in records]
    last = next((time for time in known if time is not None), None)
    return [last := time if time is not None else last for time in known]


def _drop_unwanted(record: Record, is_wanted: Callable[[Prompt], bool]) -> Record:
    left = tuple(p for p in record.prompts if is_wanted(p))
    return record if len(left) == len(record.prompts) else replace(record, prompts=left)
