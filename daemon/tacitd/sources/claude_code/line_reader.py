"""The bytes of lines to the records of one transcript. What a record means is in assembler.py.

Most lines need only a header and end in the fast path. A line that does not parse is searched for complete records.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from tacitd.sources import lines
from tacitd.sources.base import OwnCalls
from tacitd.sources.claude_code.assembler import SPEAKING, RecordAssembler
from tacitd.sources.claude_code.assistant import HELD, is_thinking
from tacitd.sources.claude_code.prompts import is_plain_tool_result
from tacitd.sources.claude_code.records import (
    KNOWN_TYPES,
    REPEAT,
    SKIPPED,
    UNREAD_TYPES,
    HeaderMessage,
    LineHeader,
    TranscriptLine,
    decode_damaged,
    decode_header,
    decode_line,
    never_matters,
)
from tacitd.sources.record_buffer import HeldLine

_NO_SESSION = frozenset({"summary", "file-history-snapshot", "file-history-delta", "attribution-snapshot"})
"""Record types that Claude Code writes without a `sessionId`."""

_UNREADABLE = LineHeader()
"""For a line whose header cannot be decoded."""


class LineReader(RecordAssembler):
    """The assembler of one transcript, with the bytes of its lines. `path` is only named in the log."""

    def __init__(self, path: Path, own: OwnCalls, start: int = 0, explain: bool = False) -> None:
        super().__init__(own, start, explain)
        self._path = path
        self._has_repeats = False
        """Whether a line of the type `REPEAT` was seen. From then on each line is compared with `SKIPPED` before it is decoded."""

    def read_lines(self, first: int, data: bytes, cut: int) -> None:
        """Read the complete lines in data[:cut]. `first`: the byte offset of `data[0]`."""
        # Most of the reader's time is spent in this loop: nine of ten lines end in it, with one decode and few calls.
        look, explain, stop = decode_header, self.judged is not None, first + cut
        keeps, repeats = self.buffer.keeps_spoken, self._has_repeats
        passed: LineHeader | None = None  # the last line whose header was enough
        spoken: list[HeldLine] = []
        said: list[bytes] = []
        end = first
        # A stream finds newlines with memchr; `bytes.split` compares byte by byte. The lines end with their newlines.
        for raw in BytesIO(data):
            size = len(raw)
            end += size
            if end > stop:
                break
            if repeats and raw.startswith(SKIPPED) and never_matters(raw):
                continue
            try:
                line = look(raw)
            except (ValueError, RecursionError):
                line = _UNREADABLE
            kind = line.type
            if line.cwd is None or line.session_id is None:
                if kind in KNOWN_TYPES and kind not in SPEAKING:
                    if kind.startswith(UNREAD_TYPES):
                        repeats = repeats or kind == REPEAT
                        continue
                    self.take_contexts(passed, line)
                    passed = None
                    continue
            elif kind == "assistant":
                if size <= HELD:
                    if not line.is_sidechain:
                        message = line.message
                        content = message.content if type(message) is HeaderMessage else None
                        if type(content) is list:
                            has_text = False
                            for block in content:
                                if block.type == "text":
                                    has_text = True
                                elif block.type == "tool_use":
                                    self.note_call(block.id, block.name)
                            if has_text:
                                said.append(raw)
                        elif content is not None:
                            said.append(raw)
                        # Of thinking alone, a third of these lines, no record is made.
                        if keeps and not is_thinking(content):
                            spoken.append(HeldLine(end - size, end, raw))
                    passed = line
                    continue
            elif kind == "user":
                if not explain and is_plain_tool_result(line, raw):
                    passed = line
                    continue
            elif kind == "attachment":
                if line.attachment is not None and line.attachment.type != "queued_command":
                    passed = line
                    continue
            elif kind != "queue-operation" and kind in KNOWN_TYPES:
                passed = line
                continue
            self.take_passed(spoken, said, passed)
            spoken, said, passed = [], [], None
            self._look_closer(end - size, end, raw)
        self.take_passed(spoken, said, passed)
        self._has_repeats = repeats

    def read_leading_records(self, first: int, data: bytes) -> int:
        """Read the complete records at the beginning of these bytes; return their length in bytes."""
        spans = lines.leading_objects(data)
        for start, end in spans:
            self._look_closer(first + start, first + end, data[start:end])
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
