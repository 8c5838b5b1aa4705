"""The transcripts that are being read right now, and how far into memory they may reach.

A transcript is open here while some handler has not handled all of it. Reading is bounded slices, round robin, so
that one huge file delays no other. What a position cannot vouch for any more (a shrunken or rewritten file) is read
again from its first byte: the ids of handled prompts make that harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from loguru import logger

from tacitd.consumers.consumer import Consumer
from tacitd.errors import FileRefusedError
from tacitd.events import Prompt
from tacitd.handler import Degradation
from tacitd.sources.base import Source
from tacitd.sources.position import is_valid
from tacitd.sources.transcript import Tail

SLICE = 1 << 20
SLICES = 8
"""Slices read in one turn of the engine: 8 MB, some ten milliseconds."""
SHOWN = 5
"""Transcripts that cannot be read which are named one by one."""
KEPT = 32 << 20
"""Bytes of records kept in memory for all transcripts together; parked ones are read again when they are due."""


class TranscriptPool:
    """Open transcripts by path. Engine thread only."""

    def __init__(
        self, consumers: Mapping[str, Consumer], source: Source, on_rewritten: Callable[[Path], None]
    ) -> None:
        """`on_rewritten` is called if the file is another one than before, after the cursors were set back."""
        self._consumers = consumers
        self._source = source
        self._on_rewritten = on_rewritten
        self._open: dict[Path, Tail] = {}
        self._unread: dict[Path, None] = {}
        self._vanished: set[Path] = set()
        self._released: set[Path] = set()
        self._to_end: set[Path] = set()
        """Read to the last complete record, with a newline or without: their session is over, or a person asked."""
        self._evicted: dict[Path, int] = {}
        """What was put away: the offset up to which it was final."""
        self.unreadable: dict[Path, Degradation] = {}
        self.line_counts: dict[str, int] = {}

    def mark_unread(self, path: Path) -> None:
        """There are bytes to read, or the file is another than before."""
        self._released.discard(path)
        self._to_end.discard(path)
        self._vanished.discard(path)
        self._evicted.pop(path, None)
        self._unread[path] = None

    def retry_unreadable(self) -> None:
        """Try again what could not be read: a reason that has gone (a folder's rights, too many open files) changes no
        file, so nothing else would."""
        for path in self.unreadable:
            self._unread[path] = None

    def reopen_transcript(self, path: Path) -> None:
        """A position was set back: begin anew."""
        if path in self._open:
            self._close_tail(path)
        self._evicted.pop(path, None)
        self._to_end.add(path)
        self._unread[path] = None

    def read_to_end(self, path: Path, size: int) -> None:
        """Read a file of `size` bytes to its last complete record, also where that has no newline."""
        known = self._open[path].read_end if path in self._open else self._evicted.get(path, 0)
        if known < size or path in self._unread:  # an unread file may be another one than before
            self._to_end.add(path)
            self._unread[path] = None

    def mark_vanished(self, path: Path) -> None:
        """The file vanished. What was read of it stays until it is handled."""
        self._unread.pop(path, None)
        self.unreadable.pop(path, None)
        self._released.discard(path)
        self._to_end.discard(path)
        self._evicted.pop(path, None)
        if path in self._open:
            self._vanished.add(path)

    def release_queued(self, path: Path) -> Tail | None:
        """The session is over: what waits in its queue counts as said, also where it is read once more."""
        self._to_end.add(path)
        tail = self.get_tail(path)
        if tail is not None:
            self._take_last(path, tail)
            tail.release_queued()
            self._released.add(path)
        return tail

    def find_by_session(self, session: str) -> list[Path]:
        """The open transcripts that this session wrote to last."""
        return [path for path, tail in self._open.items() if tail.session == session]

    @property
    def has_unread(self) -> bool:
        """Whether any transcript has bytes that were not read."""
        return bool(self._unread)

    @property
    def unread_paths(self) -> Collection[Path]:
        """Those that have."""
        return self._unread.keys()

    def is_unread(self, path: Path) -> bool:
        """Whether this one has."""
        return path in self._unread

    def read_slices(self) -> list[tuple[Path, Tail]]:
        """Read a slice of each transcript that has something, round robin; return those that were read."""
        moved: list[tuple[Path, Tail]] = []
        for path in list(islice(self._unread, SLICES)):
            del self._unread[path]
            if path not in self._open and self._is_unchanged(path):
                continue
            tail, more = self._read_slice(path)
            if tail is not None:
                moved.append((path, tail))
            if more:
                self._unread[path] = None
            self.trim_records(path)
        self._evict_over_limit()
        return moved

    def _read_slice(self, path: Path) -> tuple[Tail | None, bool]:
        try:
            tail = self._open.get(path) or self._open_tail(path)
            step = tail.read_next_slice(SLICE)
        except FileNotFoundError:
            self.mark_vanished(path)
            return None, False
        except (OSError, FileRefusedError) as error:
            self._mark_unreadable(path, error)
            return None, False
        self.unreadable.pop(path, None)
        self._open[path] = self._open.pop(path)  # in the order of reading: see `_shrink`
        if not step.more:
            self._take_last(path, tail)
        if step.shrunk:
            logger.info("{} was rewritten: read again from its first byte", path.name)
            self._reset_cursors(path)
        return tail, step.more or step.shrunk

    def _take_last(self, path: Path, tail: Tail) -> None:
        """Trigger: it is to be read to its end. Why: the last record may have no newline (CLAUDE_CODE section 13).
        Outcome: it is taken if it is complete; what is not complete waits for growth."""
        if path in self._to_end:
            with suppress(OSError, FileRefusedError):  # it is gone, or unreadable: the next slice says so
                tail.take_unterminated()

    def _is_unchanged(self, path: Path) -> bool:
        """Whether all of it is handled, and it is what it was. Trigger: new rights, a backup that makes links, a root that
        was away. Why: nobody worked in it, so its session did not come to life. Outcome: it is not even opened."""
        try:
            whole = path.lstat().st_size
            if self._all_at(path, whole):
                self._reset_replaced(path)
        except (OSError, FileRefusedError):
            return False  # the ordinary way says what is the matter
        if same := self._all_at(path, whole):
            self.unreadable.pop(path, None)
        return same

    def _all_at(self, path: Path, offset: int) -> bool:
        return all(consumer.get_offset(path) == offset for consumer in self._consumers.values())

    def _open_tail(self, path: Path) -> Tail:
        self._reset_replaced(path)
        tail = Tail(path, self._lowest_offset(path), self._source)
        self._open[path] = tail
        self._evicted.pop(path, None)
        return tail

    def _reset_replaced(self, path: Path) -> None:
        """Set back who stands in a file that is another one now."""
        for consumer in self._consumers.values():
            stream = consumer.get_cursor(path)
            with consumer.lock:  # a worker may be committing: offset and mark belong together
                other = bool(stream.offset) and not is_valid(path, stream.position)
                if other:
                    stream.reset_to_start()
            if other:
                self._on_rewritten(path)

    def _reset_cursors(self, path: Path) -> None:
        for consumer in self._consumers.values():
            consumer.reset_cursor(consumer.get_cursor(path))
        self._on_rewritten(path)

    def _lowest_offset(self, path: Path) -> int:
        return min((c.get_cursor(path).offset for c in self._consumers.values()), default=0)

    def _mark_unreadable(self, path: Path, error: Exception) -> None:
        what = getattr(error, "what", "") or f"{path} cannot be read: {getattr(error, 'strerror', error)}"
        hint = (
            getattr(error, "hint", "") or "give yourself the right to read it; it is tried again every minute"
        )
        self.unreadable[path] = Degradation("transcript.unreadable", str(what), str(hint))

    def get_tail(self, path: Path) -> Tail | None:
        """The transcript's tail; one that was put away is opened and read again. None where it is gone."""
        if path in self._open:
            return self._open[path]
        if not any(path in c.cursors for c in self._consumers.values()):
            return None
        while True:
            tail, more = self._read_slice(path)
            if tail is not None and not more and path in self._released:
                tail.release_queued()
            if tail is None or not more:
                self._evict_over_limit(path)
                return tail

    def get_final_offset(self, path: Path) -> int | None:
        """The offset up to which all is final. What was put away is not read again for this. None where it is gone."""
        if path in self._evicted:
            return self._evicted[path]
        tail = self.get_tail(path)
        return tail.safe_end if tail is not None else None

    def is_pending(self, path: Path) -> bool:
        """Whether nothing of it is in memory, and `read` will get to it in its turn."""
        return path in self._unread and path not in self._open

    def is_evicted(self, path: Path) -> bool:
        """Whether it was put away: `get` would read it once more."""
        return path in self._evicted

    def peek_prompts(self, path: Path, offset: int) -> tuple[Prompt, ...]:
        """The prompts after an offset, as far as they are in memory: reads nothing."""
        tail = self._open.get(path)
        return tail.list_prompts(offset) if tail is not None else ()

    def trim_records(self, path: Path) -> None:
        """Every handler is past these records: forget them, and the whole tail when nothing is left to do."""
        tail = self._open.get(path)
        if tail is not None:
            tail.forget_before(self._lowest_offset(path))

    def evict_idle(self, live: Callable[[str], bool]) -> None:
        """Put away what is handled and whose session is not live, or whose file is gone."""
        for path, tail in list(self._open.items()):
            self.trim_records(path)
            over = path in self._vanished or not live(tail.session)
            if over and self._lowest_offset(path) >= tail.read_end and path not in self._unread:
                self._evict(path)
        self._evict_over_limit()

    def _evict_over_limit(self, needed: Path | None = None) -> None:
        """Put away what was not read for longest while there is too much in memory. It is read once more when it is due,
        which a file that is gone cannot be, and one that was not read to its end would begin anew for ever.

        The largest would be the wrong one: it may be the one that grows, and be read anew for every line.
        """
        held = sum(tail.kept_bytes for tail in self._open.values())
        for path, tail in list(self._open.items()):
            if held <= KEPT:
                return
            if tail.kept_bytes and path not in self._unread and path not in self._vanished and path != needed:
                held -= tail.kept_bytes
                self._evict(path)

    def _evict(self, path: Path) -> None:
        if path not in self._vanished:
            self._evicted[path] = self._open[path].safe_end
        self._close_tail(path)

    def _close_tail(self, path: Path) -> None:
        tail = self._open.pop(path)
        self._vanished.discard(path)
        for name, count in tail.counts.items():
            self.line_counts[name] = self.line_counts.get(name, 0) + count

    def count_lines(self) -> dict[str, int]:
        """How many lines were damaged, unknown or too long, since the start."""
        totals = dict(self.line_counts)
        for tail in self._open.values():
            for name, count in tail.counts.items():
                totals[name] = totals.get(name, 0) + count
        return totals

    def is_open(self, path: Path) -> bool:
        """Whether something of it may be left to do."""
        return path in self._open or path in self._unread

    def list_degradations(self) -> list[Degradation]:
        """What cannot be read: the first few, and how many more there are."""
        found = list(self.unreadable.values())
        if len(found) <= SHOWN:
            return found
        more = f"{len(found) - SHOWN} more transcripts cannot be read"
        return [*found[:SHOWN], Degradation("transcript.unreadable", more, found[SHOWN].hint)]
