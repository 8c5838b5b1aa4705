"""The transcripts that are being read right now, and how far into memory they may reach.

A transcript is open here while some handler has not handled all of it. Reading is bounded slices, round robin, so
that one huge file delays no other. What a position cannot vouch for any more (a shrunken or rewritten file) is read
again from its first byte: the ids of handled prompts make that harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from loguru import logger

from tacitd.consumer import Consumer
from tacitd.errors import FileRefusedError
from tacitd.events import Prompt
from tacitd.handler import Degradation
from tacitd.transcripts.person import Own
from tacitd.transcripts.position import valid
from tacitd.transcripts.tail import Tail

SLICE = 1 << 20
SLICES = 8
"""Slices read in one turn of the engine: 8 MB, some ten milliseconds."""
SHOWN = 5
"""Transcripts that cannot be read which are named one by one."""
KEPT = 32 << 20
"""Bytes of records kept in memory for all transcripts together; parked ones are read again when they are due."""


class Tails:
    """Open transcripts by path. Engine thread only."""

    def __init__(self, consumers: Mapping[str, Consumer], own: Own) -> None:
        self._consumers = consumers
        self._own = own
        self._open: dict[Path, Tail] = {}
        self._unread: dict[Path, None] = {}
        self._vanished: set[Path] = set()
        self._released: set[Path] = set()
        self.refused: dict[Path, Degradation] = {}
        self.counts: dict[str, int] = {}
        self.on_rewritten: Callable[[Path], None] = lambda path: None
        """Called where a transcript turned out to be another one than before."""

    def grew(self, path: Path) -> None:
        """There are bytes to read, or the file is another than before."""
        self._released.discard(path)
        self._vanished.discard(path)
        self._unread[path] = None

    def retry(self) -> None:
        """Try again what could not be read."""
        for path in self.refused:
            self._unread[path] = None

    def reopen(self, path: Path) -> None:
        """A position was set back: begin anew."""
        if path in self._open:
            self._close(path)
        self._unread[path] = None

    def gone(self, path: Path) -> None:
        """The file vanished. What was read of it stays until it is handled."""
        self._unread.pop(path, None)
        self.refused.pop(path, None)
        self._released.discard(path)
        if path in self._open:
            self._vanished.add(path)

    def release(self, path: Path) -> Tail | None:
        """The session is over: what waits in its queue counts as said, also where it is read once more."""
        tail = self.get(path)
        if tail is not None:
            tail.release()
            self._released.add(path)
        return tail

    @property
    def unread(self) -> bool:
        """Whether any transcript has bytes that were not read."""
        return bool(self._unread)

    def waits(self, path: Path) -> bool:
        """Whether this one has."""
        return path in self._unread

    def read(self) -> list[tuple[Path, Tail]]:
        """Read a slice of each transcript that has something, round robin; return those that were read."""
        moved: list[tuple[Path, Tail]] = []
        for path in list(self._unread)[:SLICES]:
            del self._unread[path]
            tail, more = self._slice(path)
            if tail is not None:
                moved.append((path, tail))
            if more:
                self._unread[path] = None
            else:
                self.trim(path)
        self._shrink()
        return moved

    def _slice(self, path: Path) -> tuple[Tail | None, bool]:
        try:
            tail = self._open.get(path) or self._start(path)
            step = tail.advance(SLICE)
        except FileNotFoundError:
            self.gone(path)
            return None, False
        except (OSError, FileRefusedError) as error:
            self._refuse(path, error)
            return None, False
        self.refused.pop(path, None)
        if step.shrunk:
            logger.info("{} was rewritten: read again from its first byte", path.name)
            self._from_zero(path)
        return tail, step.more or step.shrunk

    def _start(self, path: Path) -> Tail:
        for consumer in self._consumers.values():
            stream = consumer.stream(path)
            with consumer.lock:  # a worker may be committing: offset and mark belong together
                other = bool(stream.offset) and not valid(path, stream.position)
                if other:
                    stream.set_back()
            if other:
                self.on_rewritten(path)
        tail = Tail(path, self._least(path), self._own)
        self._open[path] = tail
        return tail

    def _from_zero(self, path: Path) -> None:
        for consumer in self._consumers.values():
            consumer.set_back(consumer.stream(path))
        self.on_rewritten(path)

    def _least(self, path: Path) -> int:
        return min((c.stream(path).offset for c in self._consumers.values()), default=0)

    def _refuse(self, path: Path, error: Exception) -> None:
        what = getattr(error, "what", "") or f"{path} cannot be read: {getattr(error, 'strerror', error)}"
        hint = (
            getattr(error, "hint", "")
            or "give yourself the right to read it; it is tried again when it changes"
        )
        self.refused[path] = Degradation("transcript.unreadable", str(what), str(hint))

    def get(self, path: Path) -> Tail | None:
        """The transcript's tail; one that was put away is opened and read again. None where it is gone."""
        if path in self._open:
            return self._open[path]
        if not any(path in c.streams for c in self._consumers.values()):
            return None
        while True:
            tail, more = self._slice(path)
            if tail is not None and not more and path in self._released:
                tail.release()
            if tail is None or not more:
                return tail

    def waiting(self, path: Path, offset: int) -> tuple[Prompt, ...]:
        """The prompts after an offset, as far as they are in memory: reads nothing."""
        tail = self._open.get(path)
        return tail.prompts(offset) if tail is not None else ()

    def trim(self, path: Path) -> None:
        """Every handler is past these records: forget them, and the whole tail when nothing is left to do."""
        tail = self._open.get(path)
        if tail is not None:
            tail.forget(self._least(path))

    def housekeeping(self, live: Callable[[str], bool]) -> None:
        """Put away what is handled and whose session is not live, or whose file is gone."""
        for path, tail in list(self._open.items()):
            self.trim(path)
            over = path in self._vanished or not live(tail.session)
            if over and self._least(path) >= tail.read_end and path not in self._unread:
                self._close(path)
        self._shrink()

    def _shrink(self) -> None:
        """Put away the largest while there is too much in memory. It is read once more when it is due, which a file
        that is gone cannot be, and one that was not read to its end would begin anew for ever."""
        spare = {
            path: tail.kept_bytes
            for path, tail in self._open.items()
            if path not in self._unread and path not in self._vanished
        }
        held = sum(tail.kept_bytes for tail in self._open.values())
        while held > KEPT and spare:
            largest = max(spare, key=spare.__getitem__)
            held -= spare.pop(largest)
            self._close(largest)

    def _close(self, path: Path) -> None:
        tail = self._open.pop(path)
        self._vanished.discard(path)
        for name, count in tail.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count

    def totals(self) -> dict[str, int]:
        """How many lines were damaged, unknown or too long, since the start."""
        totals = dict(self.counts)
        for tail in self._open.values():
            for name, count in tail.counts.items():
                totals[name] = totals.get(name, 0) + count
        return totals

    def is_open(self, path: Path) -> bool:
        """Whether something of it may be left to do."""
        return path in self._open or path in self._unread

    def degradations(self) -> list[Degradation]:
        """What cannot be read: the first few, and how many more there are."""
        found = list(self.refused.values())
        if len(found) <= SHOWN:
            return found
        more = f"{len(found) - SHOWN} more transcripts cannot be read"
        return [*found[:SHOWN], Degradation("transcript.unreadable", more, found[SHOWN].hint)]
