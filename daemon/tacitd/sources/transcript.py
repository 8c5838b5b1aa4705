"""One transcript while it is read: slices of a file to records that are final. Used by one thread.

It joins lines.py (slices of bytes) and the assembler of a source (records), and has no rules of its own. Between two
slices it keeps no descriptor, because thousands of transcripts are watched. It stores no position; the engine does.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from tacitd.errors import FileRefusedError
from tacitd.events import Prompt, Record
from tacitd.sources import lines
from tacitd.sources.base import Source
from tacitd.sources.position import Position, count_newlines, mark_at, position_at

LOOK_BEHIND = 256 << 10
"""Bytes before the start that are read for context: the assistant's last text, the directory, the session."""

_BLOCK = 1 << 20
"""Bytes that are read and decoded at once."""

_SLICE = 1 << 20
"""Bytes of a slice, if the caller asks for no other number."""

_LONG_SLICE = 8 << 20
"""Bytes of a slice for a reader of prompts alone, which keeps little of it. Each slice opens the file."""

_WAITING = 8 << 20
"""Bytes of prompts that `read_prompts` keeps for one undecided message before it; then that message counts as said."""

_ADDRESSES = 1000
"""How many long lines are kept with their offsets."""


class ReadStep(Struct, frozen=True):
    """The result of one slice."""

    read: int
    """Bytes that were read or skipped."""
    more: bool
    """Whether there is more to read now."""
    shrunk: bool
    """Whether the file is shorter than what was read, or is another file. If so, reading starts again at 0."""


def read_records(source: Source, path: Path, start: int, upto: int) -> list[Record]:
    """The records between two byte offsets of a transcript; none if it is gone or cannot be read."""
    return read_part(source, path, start, upto, upto)[0]


def read_part(source: Source, path: Path, start: int, upto: int, most: int) -> tuple[list[Record], int]:
    """The records between two byte offsets of a transcript, and the offset that they reach: `upto`, or the end of a record if
    there are more than `most` bytes. None if it is gone or cannot be read."""
    made: list[Record] = []
    tail = Tail(path, start, source)

    def take() -> None:
        # A step may return records of an earlier one again.
        made.extend(one for one in tail.list_records(start) if not made or one.start > made[-1].start)

    try:
        while tail.read_end < upto:
            # What follows is not wanted, and may be most of the file.
            step = tail.read_next_slice(min(_SLICE, upto - tail.read_end))
            take()
            tail.forget_before(tail.safe_end)
            if not step.more or step.shrunk:
                break
            if made and most <= tail.read_end - start and made[-1].end < upto:
                return made, made[-1].end
        if tail.read_end < upto:
            tail.take_unterminated()
    except (OSError, FileRefusedError):
        return made, upto
    tail.release_queued()
    take()
    return [record for record in made if record.end <= upto], upto


def read_prompts(source: Source, path: Path) -> Iterator[Prompt]:
    """Yield what a person typed in a transcript, in file order, in bounded memory: what the engine finds in it, without reasons.

    Raises FileNotFoundError and FileRefusedError.
    """
    tail = Tail(path, 0, source)
    while True:
        step = tail.read_next_slice(_LONG_SLICE, to_end=True)
        tail.assembler.buffer.keep_prompts()
        if not step.more or tail.kept_bytes > _WAITING:
            tail.release_queued()
        yield from tail.list_prompts(0)
        if not step.more:
            return
        tail.forget_before(tail.safe_end)


class Tail:
    """A transcript from an offset on, as far as it was read."""

    def __init__(
        self,
        path: Path,
        start: int,
        source: Source,
        explain: bool = False,
        longest: int = lines.LONGEST,
        *,
        mark: int | None = None,
        newlines: int = 0,
    ) -> None:
        """`start` is 0, or after a newline or a complete record. Reads nothing yet. `longest`: bytes, for tests. `mark`, `newlines`:
        the mark at the start and how many newlines are before it, if that is known."""
        self.path = path
        self.long_lines: list[tuple[int, int]] = []
        """(start, end) in bytes of the lines above `longest`."""
        self.assembler = source.make_assembler(path, start, explain)
        self._source = source
        self._explain = explain
        self._longest = longest
        self._read_end = start
        self._mark = mark
        self._newlines = newlines
        self._has_context = False
        self._is_whole = False
        """Whether the file ended with a newline when it was read last."""
        self._scanned: int | None = None
        self._last_time: float | None = None

    @property
    def read_end(self) -> int:
        """The byte offset up to which complete lines, or complete records at the end of the file, were read."""
        return self._read_end

    @property
    def safe_end(self) -> int:
        """The byte offset up to which everything is final: no undecided message before it is in the queue."""
        pin = self.assembler.pinned_offset
        return self._read_end if pin is None else min(pin, self._read_end)

    def find_position(self) -> Position:
        """`safe_end` with its mark. Raises FileNotFoundError, FileRefusedError."""
        if self._mark is not None and self.safe_end == self._read_end:
            return Position(self._read_end, self._mark)
        return position_at(self.path, self.safe_end)

    def count_newlines(self) -> int:
        """The newlines before `safe_end`, those before the start included if they are known."""
        return self._newlines - count_newlines(self.path, self.safe_end, self._read_end)

    @property
    def session(self) -> str:
        """The session of the newest record that names one; "" before that."""
        return self.assembler.session

    @property
    def cwd(self) -> str:
        """The working directory of the newest record that names one; "" before that."""
        return self.assembler.cwd

    @property
    def last_time(self) -> float | None:
        """The time of the newest record with a time: seconds since 1970, UTC; None if there is none."""
        return self._last_time

    @property
    def is_headless(self) -> bool:
        """Whether a program drives the session now."""
        return self.assembler.is_headless

    @property
    def kept_bytes(self) -> int:
        """Roughly the memory that the kept records use, in bytes."""
        return self.assembler.buffer.held_bytes

    @property
    def counts(self) -> Counter[str]:
        """The number of lines from `start` on, by kind: `damaged`, `salvaged`, `long`, `failed`, `no object`, `no type`,
        `unknown type: …`.
        """
        return self.assembler.counts

    def read_next_slice(self, limit: int = _SLICE, to_end: bool = False) -> ReadStep:
        """Read the next slice of about `limit` bytes. `to_end`: nothing more is expected, so the last slice includes the complete
        records after the last newline.

        Raises FileNotFoundError if the file does not exist, FileRefusedError if it is not a readable regular file.
        """
        fd = lines.open_transcript(self.path)
        try:
            if self._other_file(fd):
                self._restart()
                return ReadStep(0, os.fstat(fd).st_size > 0, True)
            if not self._has_context:
                self._look_behind(fd)
                self._has_context = True
            done = self._slice(fd, max(limit, 1), to_end)
            if done.more or not to_end:
                # Before the descriptor is closed: by name, another file could be marked.
                self._mark = mark_at(fd, self._read_end)
        finally:
            os.close(fd)
        self._last_time = self.assembler.newest_time or self._last_time
        return done

    def take_unterminated(self) -> int:
        """Take the complete records after the last newline, when nothing more is expected.

        Returns how many bytes after them are not a record yet; 0 if there are unread lines. A position after such a record is
        safe, because nothing that is appended later can change a complete object. If the newline follows later, it makes a
        blank line; if the next record follows at once, it begins a line of its own at that position.

        Raises FileNotFoundError, FileRefusedError.
        """
        if self._scanned is not None:
            return self._scanned - self._read_end
        if self._is_whole:
            return 0
        fd = lines.open_transcript(self.path)
        try:
            if not self._has_context or self._other_file(fd):
                return 0  # `read_next_slice` must run first
            # Not more than there is: the kernel's answer is copied into a buffer of the size that was asked for.
            left = os.fstat(fd).st_size - self._read_end
            data = os.pread(fd, min(left, self._longest) + 1, self._read_end)
            # It grew meanwhile: the next slice reads it, as whole lines.
            if b"\n" in data or len(data) > self._longest:
                return 0
            taken = self.assembler.read_leading_records(self._read_end, data)
            self._read_end += taken
            self._mark = mark_at(fd, self._read_end)
        finally:
            os.close(fd)
        self._last_time = self.assembler.newest_time or self._last_time
        return len(data[taken:].strip(b"\0 \t\r"))

    def list_records(self, after: int) -> tuple[Record, ...]:
        """The kept final records with start >= after, in file order."""
        return self.assembler.buffer.list_records(after, self.safe_end)

    def list_prompts(self, after: int) -> tuple[Prompt, ...]:
        """The prompts of `records(after)`."""
        return self.assembler.buffer.list_prompts(after, self.safe_end)

    def release_queued(self) -> None:
        """The session is over or idle: messages that wait in its queue count as said, and everything is final."""
        self.assembler.release_queued()

    def forget_before(self, before: int) -> None:
        """Drop the records that begin before this offset."""
        self.assembler.buffer.forget_before(before)

    def _other_file(self, fd: int) -> bool:
        """Whether the file is not the one that was read: it is shorter, or the bytes before the offset differ."""
        read = max(self._read_end, self._scanned or 0)
        if not read:
            return False
        if os.fstat(fd).st_size < read:
            return True
        return self._mark is not None and mark_at(fd, self._read_end) != self._mark

    def _restart(self) -> None:
        self.assembler = self._source.make_assembler(self.path, 0, self._explain)
        self._read_end, self._mark, self._scanned = 0, 0, None
        self._newlines, self._has_context = 0, True
        self.long_lines.clear()

    def _look_behind(self, fd: int) -> None:
        """Read up to `LOOK_BEHIND` bytes before the start for context. The assembler keeps no record that begins there."""
        start = self._read_end
        at = max(0, start - LOOK_BEHIND)
        if at:
            # The window may begin inside a line. One byte earlier, so that a line that begins at `at` is not skipped.
            at, _ = lines.skip_line(fd, at - 1, start - at + 1)
        while at < start:
            piece = lines.read_slice(fd, at, start - at, self._longest)
            if not piece.cut or piece.end > start:  # `start` follows a record without a newline
                self.assembler.read_leading_records(at, piece.data[: start - at])
                break
            self.assembler.read_lines(piece.start, piece.data, piece.cut)
            at = piece.end

    def _slice(self, fd: int, limit: int, to_end: bool) -> ReadStep:
        if self._scanned is not None:
            return self._pass_over(fd, self._scanned, limit)
        begin = self._read_end
        while True:
            piece = lines.read_slice(fd, self._read_end, min(_BLOCK, limit), self._longest)
            if piece.long:
                return self._pass_over(fd, self._read_end + self._longest, limit)
            self.assembler.read_lines(piece.start, piece.data, piece.cut)
            self._read_end = piece.end
            self._newlines += piece.data.count(b"\n", 0, piece.cut)
            more = piece.size > piece.start + len(piece.data)
            self._is_whole = piece.size == piece.end
            if to_end and not more and piece.cut < len(piece.data):
                self._read_end += self.assembler.read_leading_records(piece.end, piece.data[piece.cut :])
            if not more or not piece.cut or self._read_end + _BLOCK > begin + limit:
                return ReadStep(self._read_end - begin, more, False)
            # Before the next block is read: with two in memory, the C library gives the memory back to the kernel each time
            # (mallopt(3), M_TRIM_THRESHOLD), and the page faults to get it again take a quarter of the time.
            del piece

    def _pass_over(self, fd: int, at: int, limit: int) -> ReadStep:
        """Skip a line that is too long to be kept: search its end, a bounded piece at a time."""
        reached, found = lines.skip_line(fd, at, limit)
        if found:
            self.counts["long"] += 1
            self._newlines += 1
            if len(self.long_lines) < _ADDRESSES:
                self.long_lines.append((self._read_end, reached))
            self._read_end, self._scanned = reached, None
        else:
            self._scanned = reached
        return ReadStep(reached - at, os.fstat(fd).st_size > reached, False)
