"""Which records of a transcript are offered to a handler together, and how long they are gathered. Pure.

A batch contains no prompt that the handler knows (forks and resumes copy old records into new files), none that it must not
pay for, and only prompts of one project, in the order in which they were typed. A batch ends before a prompt that must wait,
so no later record is offered before it.

A handler that pays for each batch declares a `Gather` (`Plugin.gather`). Gathering ends at once by `sync` and at the end of
the session. No worker is started for a batch that is still gathered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tacitd.events import NoProject, Project, Prompt, Record
from tacitd.handler import Gather


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
    is_taken: Callable[[Prompt], bool] = lambda prompt: False,
) -> Batch:
    """Given the records after a position, none of them empty, and the offset that they reach, return the next batch.

    `is_wanted` says whether a prompt is new to the handler and may be paid for; `is_taken`, whether another transcript has
    it in flight: the batch ends before it. `cwd` is the session's newest working directory, for batches without a prompt.
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
        if any(is_taken(prompt) for prompt in record.prompts):
            return Batch(tuple(kept[:i]), record.start, project or project_of(cwd))
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


def seconds_to_gather(gather: Gather, batch: Batch, now: float, *, is_written: bool) -> float:
    """Given what a handler would be offered, return how long it still gathers; 0: offer it now.

    `now` is seconds since 1970, UTC. `is_written`: whether the batch belongs to a project in which anything may be written.
    """
    waits = []
    if gather.quiet is not None:
        waits.append(_until_quiet(gather, gather.quiet, batch, now) if is_written else 0.0)
    if gather.delay is not None:
        waits.append(_until_old(gather.delay, batch, now))
    return min(waits, default=0.0)


def _until_quiet(gather: Gather, quiet: float, batch: Batch, now: float) -> float:
    """Seconds until nothing was typed for `quiet` seconds; 0 if a limit is reached or no prompt has a time.

    If the clock was set back, the newest prompt counts as typed now.
    """
    prompts = [prompt for prompt in batch.prompts if has_typed_text(prompt)]
    times = [prompt.time for prompt in prompts if prompt.time is not None]
    if not times or len(prompts) >= gather.prompts or _count_bytes(prompts) >= gather.bytes:
        return 0.0
    return max(0.0, quiet - max(0.0, now - max(times)))


def _until_old(delay: float, batch: Batch, now: float) -> float:
    """Seconds until the oldest record is `delay` seconds old; 0 if no record has a time, or the oldest one is from the
    future."""
    times = [record.time for record in batch.records if record.time is not None]
    age = now - min(times, default=now + 1.0)
    return max(0.0, delay - age) if age >= 0.0 else 0.0


def has_typed_text(prompt: Prompt) -> bool:
    """Whether a prompt is text for the assistant. A shell command that a person ran is not."""
    return prompt.kind != "bash" and bool(prompt.text.strip())


def _count_bytes(prompts: Sequence[Prompt]) -> int:
    return sum(len(prompt.text.encode(errors="replace")) for prompt in prompts)
