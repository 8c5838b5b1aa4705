"""One transcript while it is read: slices of a file to records that are final. Used by one thread.

It joins lines.py (slices of bytes) and the assembler of a source (records), and has no rules of its own. Between two
slices it keeps no descriptor, because thousands of transcripts are watched. It stores no position; the reader does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from tacitd.errors import FileRefusedError
from tacitd.events import Prompt, Record
from tacitd.sources import lines
from tacitd.sources.lines import Position, mark_at, position_at
from tacitd.sources.source import JudgedLine, Source

LOOK_BEHIND = 256 << 10
"""Bytes before the start that are read for context: the assistant's last text, the directory, the session."""

_SLICE = 1 << 20
"""Bytes of a slice, if the caller asks for no other number."""

WAITING = 8 << 20
"""Bytes of records that are kept for one undecided message before them; then that message counts as said."""

_HEAD = 4096
"""Bytes of a line that is too long to be read which decide whether it may have a person's words."""


class ReadStep(Struct, frozen=True):
    """How many bytes were read or skipped, and whether there is more to read now."""

    read: int
    more: bool
    shrunk: bool
    """Whether the file is shorter than what was read, or is another file. If so, reading starts again at 0."""


def read_records(source: Source, path: Path, start: int, upto: int) -> list[Record]:
    """The records between two byte offsets of a transcript; none if it is gone or cannot be read."""
    made: list[Record] = []
    tail, more = Tail(path, start, source), True
    try:
        while more and tail.read_end < upto:
            # What follows is not wanted, and may be most of the file.
            step = tail.read_next_slice(min(_SLICE, upto - tail.read_end))
            made += tail.take_final()
            more = step.more and not step.shrunk
        if tail.read_end < upto:
            tail.take_unterminated()
    except (OSError, FileRefusedError):
        return made
    tail.assembler.release_queued()
    made += tail.take_final()
    return [record for record in made if record.end <= upto]


def read_prompts(source: Source, path: Path) -> Iterator[Prompt]:
    """Yield what the engine finds in a transcript, in file order, in bounded memory. Raises FileNotFoundError, FileRefusedError."""
    tail = Tail(path, 0, source)
    for _ in _read_to_end(tail):
        for record in tail.take_final():
            yield from record.prompts


def judge_transcript(path: Path, source: Source) -> Iterator[JudgedLine]:
    """Yield each line that might contain a person's words, with why it was read as such or not. In file order, in bounded memory. Raises
    FileNotFoundError, FileRefusedError."""
    tail = Tail(path, 0, source, explain=True)
    for _ in _read_to_end(tail):
        tail.take_final()
        judged = tail.assembler.judged or []
        tail.assembler.judged = [one for one in judged if one.start >= tail.safe_end]
        yield from sorted((one for one in judged if one.start < tail.safe_end), key=lambda one: one.start)


def _read_to_end(tail: Tail) -> Iterator[None]:
    """Read slice by slice, and yield after each."""
    more = True
    while more:
        more = tail.read_next_slice().more
        if not more:
            tail.take_unterminated()
        if not more or tail.assembler.held_bytes > WAITING:
            tail.assembler.release_queued()
        yield


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
        """(start, end) in bytes of the lines above `longest` that may have a person's words."""
        self.assembler = source.make_assembler(path, start, explain)
        self.read_end = start
        """The byte offset up to which complete lines, or complete records at the end of the file, were read."""
        self._source, self._explain, self._longest = source, explain, longest
        self._mark, self._newlines = mark, newlines
        self._has_context = False
        self._scanned: int | None = None
        """Up to where the end of a long line was searched; None: no such line is being skipped."""

    @property
    def safe_end(self) -> int:
        """The byte offset up to which everything is final: no undecided message before it is in the queue."""
        pin = self.assembler.pinned_offset
        return self.read_end if pin is None else min(pin, self.read_end)

    def find_position(self) -> Position:
        """`safe_end` with its mark. Raises FileNotFoundError, FileRefusedError."""
        if self._mark is not None and self.safe_end == self.read_end:
            return Position(self.read_end, self._mark)
        return position_at(self.path, self.safe_end)

    def count_newlines(self) -> int:
        """The newlines before `safe_end`, those before the start included if they are known."""
        at, undecided = self.safe_end, 0
        while at < self.read_end:
            block = lines.read_some(self.path, min(_SLICE, self.read_end - at), start=at)
            undecided += block.count(b"\n")
            at += len(block) or self.read_end
        return self._newlines - undecided

    def read_next_slice(self, limit: int = _SLICE) -> ReadStep:
        """Read about `limit` bytes more. Raises FileNotFoundError, FileRefusedError."""
        fd = lines.open_transcript(self.path)
        try:
            if self._other_file(fd):
                self.assembler = self._source.make_assembler(self.path, 0, self._explain)
                self.read_end, self._mark, self._scanned = 0, 0, None
                self._newlines, self._has_context = 0, True
                self.long_lines.clear()
                return ReadStep(0, os.fstat(fd).st_size > 0, True)
            if not self._has_context:
                self._look_behind(fd)
                self._has_context = True
            done = self._read_on(fd, max(limit, 1))
            # Before it is closed: by name, another file could be marked.
            self._mark = mark_at(fd, self.read_end)
            return done
        finally:
            os.close(fd)

    def take_unterminated(self) -> None:
        """Take the complete records after the last newline, when nothing more is expected. A newline that follows later makes a blank
        line. Raises FileNotFoundError, FileRefusedError."""
        if self._scanned is not None:
            return
        fd = lines.open_transcript(self.path)
        try:
            if not self._has_context or self._other_file(fd):
                return  # `read_next_slice` must run first
            # Not more than there is: the kernel's answer is copied into a buffer of the size that was asked for.
            left = os.fstat(fd).st_size - self.read_end
            data = os.pread(fd, min(left, self._longest) + 1, self.read_end)
            # It grew meanwhile: the next slice reads it, as whole lines.
            if b"\n" in data or len(data) > self._longest:
                return
            self.read_end += self.assembler.read_leading_records(self.read_end, data)
            self._mark = mark_at(fd, self.read_end)
        finally:
            os.close(fd)

    def list_records(self, after: int) -> tuple[Record, ...]:
        """The kept final records with start >= after, in file order."""
        return self.assembler.list_records(after, self.safe_end)

    def take_final(self) -> tuple[Record, ...]:
        """The final records, which are no longer kept."""
        found = self.list_records(0)
        self.assembler.forget_before(self.safe_end)
        return found

    def _other_file(self, fd: int) -> bool:
        """Whether the file is not the one that was read: it is shorter, or the bytes before the offset differ."""
        read = max(self.read_end, self._scanned or 0)
        if not read:
            return False
        if os.fstat(fd).st_size < read:
            return True
        return self._mark is not None and mark_at(fd, self.read_end) != self._mark

    def _look_behind(self, fd: int) -> None:
        """Read up to `LOOK_BEHIND` bytes before the start for context. The assembler keeps no record that begins there."""
        start = self.read_end
        at = max(0, start - LOOK_BEHIND)
        if at:
            # The window may begin inside a line. One byte earlier, so that a line that begins at `at` is not skipped.
            at, _ = lines.skip_line(fd, at - 1, start - at + 1)
        while at < start:
            data, cut = lines.read_slice(fd, at, start - at, self._longest)
            if not cut or at + cut > start:  # `start` follows a record without a newline
                self.assembler.read_leading_records(at, data[: start - at])
                break
            self.assembler.read_lines(at, data, cut)
            at += cut

    def _read_on(self, fd: int, limit: int) -> ReadStep:
        at = self._scanned
        if at is None:
            data, cut = lines.read_slice(fd, self.read_end, limit, self._longest)
            if cut or len(data) <= self._longest:
                self._newlines += self.assembler.read_lines(self.read_end, data, cut)
                self.read_end += cut
                return ReadStep(cut, os.fstat(fd).st_size > self.read_end - cut + len(data), False)
            at = self.read_end + self._longest
        # A line that is too long to be kept: its end is searched, a bounded piece at a time.
        reached, found = lines.skip_line(fd, at, limit)
        if found:
            self.assembler.counts["long"] += 1
            self._newlines += 1
            if self.assembler.may_have_words(os.pread(fd, _HEAD, self.read_end)):
                self.long_lines.append((self.read_end, reached))
            self.read_end, self._scanned = reached, None
        else:
            self._scanned = reached
        return ReadStep(reached - at, os.fstat(fd).st_size > reached, False)
