"""The bytes of lines to the records of one transcript. What a record means is in assembler.py.

A line that does not parse is searched for complete records.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from tacitd.sources import lines
from tacitd.sources.base import OwnCalls
from tacitd.sources.claude_code.assembler import RecordAssembler
from tacitd.sources.claude_code.records import (
    SKIPPED,
    TranscriptLine,
    decode_damaged,
    decode_line,
    never_matters,
)

_NO_SESSION = frozenset({"summary", "file-history-snapshot", "file-history-delta", "attribution-snapshot"})
"""Record types that Claude Code writes without a `sessionId`."""


class LineReader(RecordAssembler):
    """The assembler of one transcript, with the bytes of its lines. `path` is only named in the log."""

    def __init__(self, path: Path, own: OwnCalls, start: int = 0, explain: bool = False) -> None:
        super().__init__(own, start, explain)
        self._path = path

    def read_lines(self, first: int, data: bytes, cut: int) -> None:
        """Read the complete lines in data[:cut]. `first`: the byte offset of `data[0]`."""
        end, stop = first, first + cut
        # A stream finds newlines with memchr; `bytes.split` compares byte by byte. The lines end with their newlines.
        for raw in BytesIO(data):
            start = end
            end += len(raw)
            if end > stop:
                break
            if not (raw.startswith(SKIPPED) and never_matters(raw)):
                self._read_line(start, end, raw)

    def read_leading_records(self, first: int, data: bytes) -> int:
        """Read the complete records at the beginning of these bytes; return their length in bytes."""
        spans = lines.leading_objects(data)
        for start, end in spans:
            self._read_line(first + start, first + end, data[start:end])
        return spans[-1][1] if spans else 0

    def _read_line(self, start: int, end: int, raw: bytes) -> None:
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
            self.add_line(start, end, line)
        except Exception as error:  # noqa: BLE001
            from loguru import logger  # imported here, because fast commands read transcripts too

            what = type(error).__name__  # its message may contain words of the line
            logger.error("{}: the line at byte {} is skipped: {}", self._path.name, start, what)
            self._count("failed", start)

    def _salvage(self, start: int, end: int, raw: bytes) -> None:
        if not raw.strip(b"\0 \t\r\n"):
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
        if start >= self.start:
            self.counts[what] += 1


def iter_salvaged(raw: bytes) -> Iterator[tuple[int, int, TranscriptLine]]:
    """Given a line that does not parse, yield (start, end, record) for every complete record in it that is not skipped."""
    for start, end in lines.salvage_records(raw, is_record):
        span = raw[start:end]
        if span.startswith(SKIPPED):
            continue
        line = decode_damaged(span)
        if line is not None:
            yield start, end, line


class _RecordHead(Struct, gc=False, rename="camel"):
    """The fields that distinguish a record from a nested object. They are Raw, so their content never fails to decode."""

    type: Raw = Raw()
    session_id: Raw = Raw()


_HEAD = msgspec.json.Decoder(_RecordHead)


def is_record(span: bytes) -> bool:
    """Whether this object has a `type` and a `sessionId`, or a type that is written without one."""
    head = _HEAD.decode(span)
    kind, session = _text(head.type), _text(head.session_id)
    return bool(kind) and (bool(session) or kind in _NO_SESSION)


def _text(raw: Raw) -> str:
    try:
        return msgspec.json.decode(raw, type=str)
    except ValueError:
        return ""
