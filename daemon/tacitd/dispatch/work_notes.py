"""What the engine itself has to say of its work: prompts that were read, and work that is parked.

Engine thread only. Each prompt is announced once in a run of the daemon, however many handlers read it, and each reason for
parked work once an hour, however many transcripts wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tacitd.clock import Clock, local_minutes
from tacitd.consumers.consumer import Consumer
from tacitd.dispatch.activities import Activities
from tacitd.dispatch.backoff import Parked
from tacitd.dispatch.pauses import PAUSED
from tacitd.dispatch.work_item import WorkItem
from tacitd.events import NoProject, Project, SessionStarted
from tacitd.sources.transcript import Tail

AGAIN = 3600.0
"""Seconds until the same reason of parked work is announced again."""
REASONS = 256
"""Reasons that are remembered."""


class WorkNotes:
    """Announces what was read and what is parked."""

    def __init__(
        self,
        consumers: Mapping[str, Consumer],
        project_of: Callable[[str], Project | NoProject],
        activities: Activities,
        clock: Clock,
    ) -> None:
        self._consumers = consumers
        self._project_of = project_of
        self._activities = activities
        self._clock = clock
        self._read: dict[Path, int] = {}
        """The offset up to which the prompts of an open transcript were announced."""
        self._parked: dict[tuple[str, str], float] = {}

    def note_read(self, path: Path, tail: Tail) -> None:
        """A transcript was read: announce the prompts that a handler which asks the model will get."""
        paying = [one for one in self._consumers.values() if one.plugin.uses_model]
        begin = self._read.get(path, min((one.get_offset(path) for one in paying), default=0))
        self._read[path] = max(begin, tail.safe_end)
        counts: dict[str, int] = {}
        for prompt in tail.list_prompts(begin):
            if any(one.wants_prompt(prompt, one.get_cursor(path)) for one in paying):
                counts[prompt.cwd] = counts.get(prompt.cwd, 0) + 1
        for cwd, number in counts.items():
            place = self._project_of(cwd)
            where = place.root.name if isinstance(place, Project) else ""
            self._activities.add("read", f"{number} prompt{'' if number == 1 else 's'}", where)

    def forget_transcript(self, path: Path) -> None:
        """It is read again from its first byte: `scan` asked for prompts that were not offered before."""
        self._read.pop(path, None)

    def forget_closed(self, is_open: Callable[[Path], bool]) -> None:
        """Forget the transcripts that are closed. Called every minute."""
        self._read = {path: offset for path, offset in self._read.items() if is_open(path)}

    def note_parked(self, item: WorkItem, parked: Parked) -> None:
        """Work was parked, or again. What a person paused is not announced."""
        if parked.reason.startswith(PAUSED) or isinstance(item.event, SessionStarted):
            return
        key, now = (item.consumer.name, parked.reason), self._clock.monotonic()
        if now - self._parked.get(key, -AGAIN) < AGAIN:
            return
        self._parked.pop(key, None)
        self._parked[key] = now
        if len(self._parked) > REASONS:
            del self._parked[next(iter(self._parked))]
        until = f", until {_format_time(parked.not_before)}" if parked.not_before is not None else ""
        self._activities.add("parked", f"{parked.reason}{until}", item.consumer.name, "", item.consumer.name)


def _format_time(at: float) -> str:
    try:
        return local_minutes(at).replace("T", " ")
    except (ValueError, OverflowError, OSError):  # third-party handlers name times too
        return "a time that cannot be shown"
