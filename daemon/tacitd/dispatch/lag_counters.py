"""How many transcripts there are, how far each handler is behind, and what it has in work: what the status counts.

Transcripts and lag are counted where they change, not where they are asked for: `status` is asked for several times a second,
and a walk through 20,000 transcripts for each handler takes a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from tacitd.consumers.consumer import Consumer
from tacitd.dispatch.work_item import WorkItem
from tacitd.sources.listing import Stamp
from tacitd.sources.stamps import FileChanges


class LagCounters:
    """The counts. Engine thread only; positions may move in other threads."""

    def __init__(
        self,
        consumers: Mapping[str, Consumer],
        stamps: Mapping[Path, Stamp],
        is_subagent: Callable[[str], bool],
    ) -> None:
        """`stamps`: the live view of all known files. A sub-agent's transcript is not a handler's work."""
        self.transcripts = 0
        """How many transcripts there are."""
        self._consumers = consumers
        self._stamps = stamps
        self._is_subagent = is_subagent
        self._behind: dict[str, dict[Path, int]] = {}
        self._bytes: dict[str, int] = {}

    def count_all(self, transcripts: Mapping[str, Stamp]) -> list[Path]:
        """Count everything anew: at the start, when the handlers are open and the files are listed.

        Returns those transcripts whose size is not the position of every handler, in the same order.
        """
        self.transcripts = len(transcripts)
        self._behind, self._bytes = {}, {}
        unequal: dict[str, Path] = {}
        sizes = {each: stamp.size for each, stamp in transcripts.items()}
        for name, consumer in self._consumers.items():
            consumer.moved.clear()
            for each in consumer.find_unequal(sizes):
                path = unequal[each] = unequal.get(each) or Path(each)
                self._count(name, consumer, path, sizes[each])
        return [unequal[each] for each in transcripts if each in unequal]

    def note_files(self, changes: FileChanges) -> None:
        """Files came, grew or went."""
        for path in (*changes.created, *changes.changed, *changes.vanished):
            if not self._is_subagent(str(path)):
                size = self._size(path)
                for name, consumer in self._consumers.items():
                    self._count(name, consumer, path, size)
        self.transcripts += self._count_own(changes.created) - self._count_own(changes.vanished)

    def note_positions(self) -> None:
        """Handlers moved in some transcripts, or were set back."""
        for name, consumer in self._consumers.items():
            # Workers append meanwhile; a deque's `append` and `popleft` are atomic.
            while consumer.moved:
                path = consumer.moved.popleft()
                self._count(name, consumer, path, self._size(path))

    def get_lag(self, name: str) -> tuple[int, int]:
        """How many transcripts a handler has not handled to their end, and how many bytes of them."""
        return len(self._behind.get(name, ())), self._bytes.get(name, 0)

    def list_behind(self) -> set[Path]:
        """The transcripts that some handler has not handled to their end."""
        return set[Path]().union(*self._behind.values())

    def _size(self, path: Path) -> int:
        stamp = self._stamps.get(path)
        return stamp.size if stamp is not None else 0

    def _count(self, name: str, consumer: Consumer, path: Path, size: int) -> None:
        behind = self._behind.setdefault(name, {})
        lag = max(0, size - consumer.get_offset(path))
        self._bytes[name] = self._bytes.get(name, 0) + lag - behind.pop(path, 0)
        if lag:
            behind[path] = lag

    def _count_own(self, paths: Iterable[Path]) -> int:
        return sum(1 for path in paths if not self._is_subagent(str(path)))


class WorkCounts(Struct):
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
