"""The open transcripts: what is read of them, and how much of it is kept in memory.

A transcript is open while a handler has not handled all of it. Reads are bounded slices, round robin, so a huge file delays
no other. If the file was shortened or rewritten, so that positions in it no longer match, it is read again from its first
byte: the ids of handled prompts make that harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from loguru import logger

from tacitd.consumers.consumer import Consumer
from tacitd.dispatch.recognition import RecognitionWatch
from tacitd.errors import FileRefusedError
from tacitd.events import Prompt
from tacitd.handler import Degradation
from tacitd.sources.base import Source
from tacitd.sources.position import Position, find_position, is_valid
from tacitd.sources.transcript import Tail

SLICE = 1 << 20
SLICES = 8
"""Slices that are read in one pass of the engine's loop: 8 MB, some ten milliseconds."""
FILES = 64
"""Maximum number of transcripts that are read in one pass, if they grew by less than these slices together."""
SHOWN = 5
"""Maximum number of unreadable transcripts that are listed one by one."""
KEPT = 32 << 20
"""Maximum bytes of records in memory, of all transcripts together; evicted ones are read again when they are due."""


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
        """Transcripts that are read to the last complete record, also without a newline: their session ended, or a person
        asked for it."""
        self._evicted: dict[Path, tuple[int, int]] = {}
        """Transcripts that were closed, each with the offsets up to which it was final, and read."""
        self._kept: dict[Path, int] = {}
        """Bytes of records in memory, of each open transcript, and of all."""
        self._kept_total = 0
        self._read_total = 0
        """Bytes that were read since the start."""
        self.is_filling = False
        """Whether more reading may soon evict transcripts, to be read again: from half of the memory on, until most of it is free.
        In between, transcripts would be read by ones and twos."""
        self._positions: dict[Path, Position] = {}
        """The newest position in each open transcript. All handlers move to the same ones."""
        self.unreadable: dict[Path, Degradation] = {}
        self._recognition = RecognitionWatch()
        self.line_counts: dict[str, int] = {}

    def mark_unread(self, path: Path) -> None:
        """The file grew, or was replaced."""
        # It goes on, or is another file: what was concluded from the end of its session holds no longer.
        self._released.discard(path)
        self._to_end.discard(path)
        self._vanished.discard(path)
        self._evicted.pop(path, None)
        self._positions.pop(path, None)
        self._unread[path] = None

    def retry_unreadable(self) -> None:
        """Try again to read the unreadable transcripts. If the reason is gone (permissions of a directory, too many open
        files), no file has changed, so no growth would be noticed."""
        for path in self.unreadable:
            self._unread[path] = None

    def reopen_transcript(self, path: Path) -> None:
        """A position was set back: read from the lowest one again."""
        if path in self._open:
            self._close_tail(path)
        self._evicted.pop(path, None)
        self._to_end.add(path)
        self._unread[path] = None

    def read_to_end(self, path: Path, size: int) -> None:
        """Read a file of `size` bytes to its last complete record, also if that has no newline."""
        known = self._open[path].read_end if path in self._open else self._evicted.get(path, (0, 0))[0]
        if known < size or path in self._unread:  # an unread file may be another one than before
            self._to_end.add(path)
            self._unread[path] = None

    def mark_vanished(self, path: Path) -> None:
        """The file was removed. What was read of it is kept until it is handled."""
        self._unread.pop(path, None)
        self.unreadable.pop(path, None)
        self._released.discard(path)
        self._to_end.discard(path)
        self._evicted.pop(path, None)
        if path in self._open:
            self._vanished.add(path)

    def release_queued(self, path: Path) -> Tail | None:
        """The session ended: its queued prompts count as sent, also if the transcript is read again."""
        self._to_end.add(path)
        tail = self.get_tail(path)
        if tail is not None:
            self._take_last(path, tail)
            tail.release_queued()
            self._count_kept(path, tail)
            self._released.add(path)
        return tail

    def find_by_session(self, session: str) -> list[Path]:
        """The open transcripts that this session wrote to last."""
        return [path for path, tail in self._open.items() if tail.session == session]

    @property
    def unread_paths(self) -> Collection[Path]:
        """The transcripts that have bytes that were not read."""
        return self._unread.keys()

    def read_slices(self) -> list[tuple[Path, Tail]]:
        """Read a slice of each unread transcript, round robin; return those that were read."""
        found: list[tuple[Path, Tail]] = []
        enough = self._read_total + SLICES * SLICE
        # A pass has its price, and so have the starts of sessions, which come as one event for each project and pass.
        for path in list(islice(self._unread, FILES)):
            if len(found) >= SLICES and (self._read_total >= enough or self.is_filling):
                break
            del self._unread[path]
            if path not in self._open and self._is_unchanged(path):
                continue
            tail, more = self._read_slice(path)
            if tail is not None:
                found.append((path, tail))
            if more:
                self._unread[path] = None
            self.trim_records(path)
        self._evict_over_limit()
        return found

    def _read_slice(self, path: Path) -> tuple[Tail | None, bool]:
        try:
            tail = self._open.get(path) or self._open_tail(path)
            step = tail.read_next_slice(SLICE)
            self._read_total += step.read
        except FileNotFoundError:
            self.mark_vanished(path)
            return None, False
        except (OSError, FileRefusedError) as error:
            self._mark_unreadable(path, error)
            return None, False
        self.unreadable.pop(path, None)
        self._open[path] = self._open.pop(path)  # in the order of reading: see `_evict_over_limit`
        if not step.more:
            self._take_last(path, tail)
        self._count_kept(path, tail)
        self._recognition.take_session(path, tail.assembler.recognition)
        # Claude Code does not shorten or rewrite transcripts (CLAUDE_CODE section 0 fact 6), so this is another content:
        # a restored backup, a person's edit. Handled prompts in it are recognised by their ids.
        if step.shrunk:
            logger.info("{} was rewritten: read again from its first byte", path.name)
            self._reset_cursors(path)
        return tail, step.more or step.shrunk

    def _take_last(self, path: Path, tail: Tail) -> None:
        """Trigger: it is to be read to its end. Why: the last record may have no newline (CLAUDE_CODE section 13).
        Outcome: a complete record is taken; an incomplete one waits for growth."""
        if path in self._to_end:
            # It is removed or unreadable: the next slice reports it.
            with suppress(OSError, FileRefusedError):
                tail.take_unterminated()

    def _is_unchanged(self, path: Path) -> bool:
        """Whether all of it is handled and it is the same file.

        Trigger: its stamp changed without growth (permissions, a backup that makes hard links, a root that was not mounted).
        Why: its session did not become live by that. Outcome: it is not opened.
        """
        try:
            whole = path.lstat().st_size
            # The same size does not make it the same file, so the mark before the position is compared too.
            if self._all_at(path, whole):
                self._reset_replaced(path)
        except (OSError, FileRefusedError):
            return False  # opening it reports the reason
        is_same = self._all_at(path, whole)
        if is_same:
            self.unreadable.pop(path, None)
        return is_same

    def _all_at(self, path: Path, offset: int) -> bool:
        return all(consumer.get_offset(path) == offset for consumer in self._consumers.values())

    def _open_tail(self, path: Path) -> Tail:
        self._reset_replaced(path)
        tail = Tail(path, self._lowest_offset(path), self._source)
        self._open[path] = tail
        self._evicted.pop(path, None)
        return tail

    def _reset_replaced(self, path: Path) -> None:
        """Reset to offset 0 each consumer whose position no longer matches the file."""
        for consumer in self._consumers.values():
            cursor = consumer.get_cursor(path)
            with consumer.lock:  # a worker may be committing: offset and mark change together
                # Offset 0 has no bytes before it that could differ.
                is_replaced = bool(cursor.offset) and not is_valid(path, cursor.position)
                if is_replaced:
                    consumer.reset_cursor(cursor)
            if is_replaced:
                self._on_rewritten(path)

    def _reset_cursors(self, path: Path) -> None:
        self._positions.pop(path, None)
        for consumer in self._consumers.values():
            consumer.reset_cursor(consumer.get_cursor(path))
        self._on_rewritten(path)

    def _lowest_offset(self, path: Path) -> int:
        # Without the cursors, because their lock and their unpacking cost more than all else here.
        return min([c.get_offset(path) for c in self._consumers.values()], default=0)

    def _mark_unreadable(self, path: Path, error: Exception) -> None:
        what = getattr(error, "what", "") or f"{path} cannot be read: {getattr(error, 'strerror', error)}"
        hint = (
            getattr(error, "hint", "") or "give yourself the right to read it; it is tried again every minute"
        )
        self.unreadable[path] = Degradation("transcript.unreadable", str(what), str(hint))

    def get_tail(self, path: Path) -> Tail | None:
        """The transcript's tail; an evicted one is opened and read again. None if the file is gone."""
        if path in self._open:
            return self._open[path]
        if not any(path in c.cursors for c in self._consumers.values()):
            return None
        # To its end at once: its records were forgotten when it was evicted, and the caller needs those after a position.
        while True:
            tail, more = self._read_slice(path)
            if tail is not None and not more and path in self._released:
                tail.release_queued()
                self._count_kept(path, tail)
            if tail is None or not more:
                self._evict_over_limit(path)
                return tail

    def get_final_offset(self, path: Path) -> int | None:
        """The offset up to which everything is final; None if the file is gone. An evicted transcript is not read again."""
        ends = self.get_ends(path)
        return None if ends is None else ends[0]

    def get_ends(self, path: Path) -> tuple[int, int] | None:
        """The offsets up to which everything is final, and read; None if the file is gone. An evicted transcript is not read
        again.
        """
        if path in self._evicted:
            return self._evicted[path]
        tail = self.get_tail(path)
        return (tail.safe_end, tail.read_end) if tail is not None else None

    def is_pending(self, path: Path) -> bool:
        """Whether nothing of it is in memory, and `read_slices` will read it."""
        return path in self._unread and path not in self._open

    def get_position(self, path: Path, offset: int) -> Position:
        """The position at an offset of a transcript as it is now, or was when another handler moved there."""
        known = self._positions.get(path)
        if known is None or known.offset != offset:
            known = find_position(path, offset)
            if path in self._open:
                self._positions[path] = known
        return known

    def peek_prompts(self, path: Path, offset: int) -> tuple[Prompt, ...]:
        """The prompts after an offset that are in memory. Reads nothing."""
        tail = self._open.get(path)
        return tail.list_prompts(offset) if tail is not None else ()

    def trim_records(self, path: Path) -> None:
        """Forget the records that every handler has handled."""
        tail = self._open.get(path)
        if tail is not None:
            tail.forget_before(self._lowest_offset(path))
            self._count_kept(path, tail)

    def _count_kept(self, path: Path, tail: Tail) -> None:
        """Called after each change, because a sum over thousands of transcripts in each pass costs more than reading."""
        self._kept_total += tail.kept_bytes - self._kept.get(path, 0)
        self._kept[path] = tail.kept_bytes
        if self._kept_total > KEPT // 2:
            self.is_filling = True
        elif self._kept_total < KEPT // 8:
            self.is_filling = False

    def evict_idle(self, is_live: Callable[[str], bool]) -> None:
        """Evict handled transcripts whose session is not live, or whose file is gone."""
        for path, tail in list(self._open.items()):
            self.trim_records(path)
            is_over = path in self._vanished or not is_live(tail.session)
            if is_over and self._lowest_offset(path) >= tail.read_end and path not in self._unread:
                self._evict(path)
        self._evict_over_limit()

    def _evict_over_limit(self, needed: Path | None = None) -> None:
        """While too much is in memory, evict the transcripts that were read least recently. They are read again when due.

        Not evicted: a removed file, which cannot be read again; a file that was not read to its end, which would be read from
        its start for ever; the one that the caller needs. The largest is not chosen: it may be the one that grows, and it
        would be read again for every line.
        """
        if self._kept_total <= KEPT:
            return
        for path, tail in list(self._open.items()):
            if self._kept_total <= KEPT:
                return
            if tail.kept_bytes and path not in self._unread and path not in self._vanished and path != needed:
                self._evict(path)

    def _evict(self, path: Path) -> None:
        if path not in self._vanished:
            self._evicted[path] = self._open[path].safe_end, self._open[path].read_end
        self._close_tail(path)

    def _close_tail(self, path: Path) -> None:
        tail = self._open.pop(path)
        self._positions.pop(path, None)
        self._kept_total -= self._kept.pop(path, 0)
        self._vanished.discard(path)
        for name, count in tail.counts.items():
            self.line_counts[name] = self.line_counts.get(name, 0) + count

    def count_lines(self) -> dict[str, int]:
        """The number of damaged, unknown and overlong lines since the start."""
        totals = dict(self.line_counts)
        for tail in self._open.values():
            for name, count in tail.counts.items():
                totals[name] = totals.get(name, 0) + count
        return totals

    def is_open(self, path: Path) -> bool:
        """Whether it may contain something that is not handled."""
        return path in self._open or path in self._unread

    def list_degradations(self) -> list[Degradation]:
        """The unreadable transcripts, the first few and the number of the others, and clients whose prompts are not recognised."""
        strange = self._recognition.list_degradations()
        found = list(self.unreadable.values())
        if len(found) <= SHOWN:
            return found + strange
        more = f"{len(found) - SHOWN} more transcripts cannot be read"
        rest = Degradation("transcript.unreadable", more, found[SHOWN].hint)
        return [*found[:SHOWN], rest, *strange]
