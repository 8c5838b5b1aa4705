"""One transcript while it is read: slices of a file to records that are final. Used by one thread.

It joins lines.py (bytes), records.py (fields) and reading.py (what a person said), and has no rules of its own. Between
two slices it keeps no descriptor, because thousands of transcripts are watched. It stores no position; the engine does.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tacitd.clock import parse_utc
from tacitd.events import Prompt, Record
from tacitd.sources import lines
from tacitd.sources.claude_code.assembler import RecordAssembler
from tacitd.sources.claude_code.prompts import OwnCalls
from tacitd.sources.claude_code.records import (
    SKIPPED,
    TranscriptLine,
    decode_damaged,
    decode_header,
    decode_line,
    never_matters,
)
from tacitd.sources.position import mark_at

LOOK_BEHIND = 256 << 10
"""Bytes before the start that are read for context: the assistant's last text, the directory, the session."""

_ADDRESSES = 1000
"""How many long lines are kept with their offsets."""


@dataclass(frozen=True, slots=True)
class ReadStep:
    """The result of one slice."""

    read: int
    """Bytes that were read or skipped."""
    more: bool
    """Whether there is more to read now."""
    shrunk: bool
    """Whether the file is shorter than what was read, or is another file. If so, reading starts again at 0."""


def is_subagent(path: Path) -> bool:
    """Whether this is a sub-agent's transcript (rule 1): it contains nothing that the person said."""
    return "subagents" in path.parts or (path.name.startswith("agent-") and path.suffix == ".jsonl")


class Tail:
    """A transcript from an offset on, as far as it was read."""

    def __init__(
        self, path: Path, start: int, own: OwnCalls, explain: bool = False, longest: int = lines.LONGEST
    ) -> None:
        """`start` is 0, or after a newline or a complete record. Reads nothing yet. `longest`: bytes, for tests."""
        self.path = path
        self.long_lines: list[tuple[int, int]] = []
        """(start, end) in bytes of the lines above `longest`."""
        self.assembler = RecordAssembler(own, start, explain)
        self._explain = explain
        self._longest = longest
        self._read_end = start
        self._mark: int | None = None
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
    def is_new_session(self) -> bool:
        """Whether the transcript was read from its first byte, and contains a person's words."""
        return self.assembler.start == 0 and self.assembler.has_prompts

    @property
    def is_headless(self) -> bool:
        """Whether a program drives the session now (`claude -p`, an SDK)."""
        return self.assembler.is_headless

    @property
    def copies_history(self) -> bool:
        """Whether the client of the newest prompt copied histories with new uuids (up to 1.0.83), for `Seen`."""
        return self.assembler.copies_history

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

    def read_next_slice(self, limit: int = 1 << 20) -> ReadStep:
        """Read the next slice of about `limit` bytes.

        Raises FileNotFoundError if the file does not exist, FileRefusedError if it is not a readable regular file.
        """
        fd = lines.open_transcript(self.path)
        try:
            if self._other_file(fd):
                self._restart()
                return ReadStep(0, os.fstat(fd).st_size > 0, True)
            if self._mark is None:
                self._look_behind(fd)
            done = self._slice(fd, max(limit, 1))
            self._mark = mark_at(fd, self._read_end)
        finally:
            os.close(fd)
        self._last_time = parse_utc(self.assembler.stamp) or self._last_time
        return done

    def take_unterminated(self) -> int:
        """Take the complete records after the last newline, when nothing more is expected (CLAUDE_CODE section 13).

        Returns how many bytes after them are not a record yet; 0 if there are unread lines. A position after such a record is
        safe, because nothing that is appended later can change a complete object. If the newline follows later, it makes a
        blank line; if the next record follows at once, it begins a line of its own at that position.

        Raises FileNotFoundError, FileRefusedError.
        """
        if self._scanned is not None:
            return self._scanned - self._read_end
        fd = lines.open_transcript(self.path)
        try:
            if self._mark is None or self._other_file(fd):
                return 0  # `advance` must run first
            data = os.pread(fd, self._longest + 1, self._read_end)
            if b"\n" in data or len(data) > self._longest:
                return 0
            taken = self._take_objects(self._read_end, data)
            self._read_end += taken
            self._mark = mark_at(fd, self._read_end)
        finally:
            os.close(fd)
        self._last_time = parse_utc(self.assembler.stamp) or self._last_time
        return len(data[taken:].strip(b"\0 \t\r"))

    def list_records(self, after: int) -> tuple[Record, ...]:
        """The kept final records with start >= after, in file order."""
        return self.assembler.buffer.list_records(after, self.safe_end)

    def list_prompts(self, after: int) -> tuple[Prompt, ...]:
        """The prompts of `records(after)`, without decoding the assistant's lines."""
        return self.assembler.buffer.list_prompts(after, self.safe_end)

    def release_queued(self) -> None:
        """The session is over or idle: messages that wait in its queue count as said, and everything is final."""
        self.assembler.release_queued()

    def forget_before(self, before: int) -> None:
        """Drop the records that begin before this offset."""
        self.assembler.buffer.forget_before(before)

    def _other_file(self, fd: int) -> bool:
        """Whether the file is not the one that was read: it is shorter, or the bytes before the offset differ."""
        if os.fstat(fd).st_size < max(self._read_end, self._scanned or 0):
            return True
        return self._mark is not None and mark_at(fd, self._read_end) != self._mark

    def _restart(self) -> None:
        self.assembler = RecordAssembler(self.assembler.own, 0, self._explain)
        self._read_end, self._mark, self._scanned = 0, 0, None
        self.long_lines.clear()

    def _look_behind(self, fd: int) -> None:
        """Read up to `LOOK_BEHIND` bytes before the start for context. `Reading` keeps no record that begins there."""
        start = self._read_end
        at = max(0, start - LOOK_BEHIND)
        if at:
            # The window may begin inside a line. One byte earlier, so that a line that begins at `at` is not skipped.
            at, _ = lines.skip_line(fd, at - 1, start - at + 1)
        while at < start:
            piece = lines.read_slice(fd, at, start - at, self._longest)
            if not piece.cut or piece.end > start:  # `start` follows a record without a newline
                self._take_objects(at, piece.data[: start - at])
                break
            self._take(piece)
            at = piece.end

    def _slice(self, fd: int, limit: int) -> ReadStep:
        if self._scanned is not None:
            return self._pass_over(fd, self._scanned, limit)
        piece = lines.read_slice(fd, self._read_end, limit, self._longest)
        if piece.long:
            return self._pass_over(fd, self._read_end + self._longest, limit)
        self._take(piece)
        self._read_end = piece.end
        return ReadStep(piece.cut, piece.size > piece.start + len(piece.data), False)

    def _pass_over(self, fd: int, at: int, limit: int) -> ReadStep:
        """Skip a line that is too long to be kept: search its end, a bounded piece at a time."""
        reached, found = lines.skip_line(fd, at, limit)
        if found:
            self.counts["long"] += 1
            if len(self.long_lines) < _ADDRESSES:
                self.long_lines.append((self._read_end, reached))
            self._read_end, self._scanned = reached, None
        else:
            self._scanned = reached
        return ReadStep(reached - at, os.fstat(fd).st_size > reached, False)

    def _take(self, piece: lines.LineChunk) -> None:
        # Most of the reader's time is spent in this loop, so its names are local and most lines end in `settle`.
        data, cut, first, view = piece.data, piece.cut, piece.start, memoryview(piece.data)
        find, begins, settle, look, skipped = (
            data.find,
            data.startswith,
            self.assembler.try_fast_path,
            decode_header,
            SKIPPED,
        )
        at = 0
        while at < cut:
            begin, at = at, find(b"\n", at) + 1
            if begins(skipped, begin) and never_matters(data, begin, at):
                continue
            raw = view[begin : at - 1]
            try:
                settled = settle(first + begin, raw, look(raw))
            except (ValueError, RecursionError):
                settled = False
            if not settled:
                self._look_closer(first + begin, first + at, bytes(raw))
        self.assembler.catch_up()

    def _take_objects(self, first: int, data: bytes) -> int:
        """Take the complete records at the beginning of these bytes; return their length in bytes."""
        spans = lines.leading_objects(data)
        for start, end in spans:
            self._look_closer(first + start, first + end, data[start:end])
        self.assembler.catch_up()
        return spans[-1][1] if spans else 0

    def _look_closer(self, start: int, end: int, raw: bytes) -> None:
        try:
            line = decode_line(raw)
        except (ValueError, RecursionError):
            self._salvage(start, end, raw)
            return
        if line is not None:
            self._take_record(start, end, line)
        else:
            self._count("no object", start)

    def _take_record(self, start: int, end: int, line: TranscriptLine) -> None:
        """Take a record. If it raises, only this record is lost.

        A raised error would occur again at each growth, and nothing after the record would ever be read.
        """
        try:
            self.assembler.add_line(start, end, line)
        except Exception as error:  # noqa: BLE001
            from loguru import logger  # imported here, because fast commands read transcripts too

            what = type(error).__name__  # its message may contain words of the line
            logger.error("{}: the line at byte {} is skipped: {}", self.path.name, start, what)
            self._count("failed", start)

    def _salvage(self, start: int, end: int, raw: bytes) -> None:
        if not raw.strip(b"\0 \t\r"):
            return
        whole = lines.replace_surrogates(raw)
        line = decode_damaged(whole) if whole != raw else None
        if line is not None:
            self._take_record(start, end, line)
            return
        self._count("damaged", start)
        found = list(iter_salvaged(whole))
        for number, (first, last, line) in enumerate(found, 1):
            self._count("salvaged", start)
            # Each has offsets of its own, because a handler may have taken the first one before the second one was written.
            self._take_record(start + first, end if number == len(found) else start + last, line)

    def _count(self, what: str, start: int) -> None:
        if start >= self.assembler.start:
            self.counts[what] += 1


def iter_salvaged(raw: bytes) -> Iterator[tuple[int, int, TranscriptLine]]:
    """Given a line that does not parse, yield (start, end, record) for every complete record in it that is not skipped."""
    for start, end in lines.salvage_records(raw):
        span = raw[start:end]
        if span.startswith(SKIPPED):
            continue
        line = decode_damaged(span)
        if line is not None:
            yield start, end, line
