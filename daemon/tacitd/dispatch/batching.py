"""What of a transcript is offered to a handler now. Pure: records in, a batch out.

A batch holds no prompt twice (forks and resumes copy old records into new files), none that the handler must not
pay for, and only prompts of one project, in the order in which they were typed. What is not in it is offered later,
or is not wanted: nothing in between, and nothing behind a prompt that must wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tacitd.events import NoProject, Project, Prompt, Record


@dataclass(frozen=True, slots=True)
class Batch:
    """Records to offer, and how far they reach."""

    records: tuple[Record, ...]
    end: int
    project: Project | NoProject

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts of all its records, in order."""
        return tuple(p for r in self.records for p in r.prompts)

    def clamp_offset(self, upto: int | None) -> int:
        """The offset that a position may take for an answer of `upto`: at most the end, and never within a record."""
        if upto is None or upto >= self.end:
            return self.end
        places = [place for record in self.records for place in (record.start, record.end)]
        return max((place for place in places if place <= upto), default=0)

    def prompts_before(self, upto: int) -> tuple[Prompt, ...]:
        """The prompts of the records that end at or before `upto`."""
        return tuple(p for r in self.records if r.end <= upto for p in r.prompts)


def make_batch(
    records: Sequence[Record],
    end: int,
    wanted: Callable[[Prompt], bool],
    project_of: Callable[[str], Project | NoProject],
    cwd: str,
    limit: int | None = None,
    taken: Callable[[Prompt], bool] = lambda prompt: False,
) -> Batch:
    """Given the records after a position and the offset they reach, return what is offered at once.

    `wanted` says whether a prompt is new to the handler and may be paid for; `taken`, whether another transcript is
    about to hand it over: the batch ends before it. `cwd` is the session's newest working directory, for batches
    without a prompt. `limit` is how many records may go together, where a larger batch failed.
    """
    fresh = [_drop_unwanted(record, wanted) for record in records]
    kept = [r for r in fresh if not r.is_empty]
    project: Project | NoProject | None = None
    for i, record in enumerate(kept):
        if i == limit:
            return Batch(tuple(kept[:i]), kept[i - 1].end, project or project_of(cwd))
        if any(taken(prompt) for prompt in record.prompts):
            return Batch(tuple(kept[:i]), record.start, project or project_of(cwd))
        if record.prompts:
            # One line is one place, also where a damaged one holds two records: else it could never be offered.
            place = project_of(record.prompts[0].cwd or cwd)
            if project is not None and place != project:
                return Batch(tuple(kept[:i]), record.start, project)
            project = place
    return Batch(tuple(kept), end, project or project_of(cwd))


def infer_times(records: Sequence[Record]) -> list[float | None]:
    """When each of these was written: its own time; where it has none, that of the nearest before it that has one,
    else of the nearest behind it; None where none has one.

    A copied history without times must not pass for new, and be paid for unasked.
    """
    known = [record.time for record in records]
    last = next((time for time in known if time is not None), None)
    return [last := time if time is not None else last for time in known]


def _drop_unwanted(record: Record, wanted: Callable[[Prompt], bool]) -> Record:
    left = tuple(p for p in record.prompts if wanted(p))
    return record if len(left) == len(record.prompts) else replace(record, prompts=left)
