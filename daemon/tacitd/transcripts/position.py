"""A position in a transcript: an offset, and a mark by which it is known again.

Pure but for reading the file it is asked about. Does not store positions; the engine's log does.

A position belongs to a path. The inode is no identity: a restored home or a changed device number must not
make the past look new. What stood before the offset is: up to 256 bytes, as a CRC.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from tacitd.transcripts.lines import open_transcript

MARK = 256
"""Bytes before the offset that the mark covers."""

_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Position:
    """How far a transcript was handled."""

    offset: int
    """Bytes: 0, or where a record ends or begins. That is after a newline, but for records on one line and a last one
    without a newline."""
    crc: int
    """CRC-32 of the up to 256 bytes before `offset`."""


def mark_at(fd: int, offset: int) -> int:
    """Given a descriptor and an offset, return the CRC-32 of the up to 256 bytes before it."""
    start = max(0, offset - MARK)
    return crc32(os.pread(fd, offset - start, start))


def position_at(path: Path, offset: int) -> Position:
    """The position at `offset` of the file as it is now. Raises FileNotFoundError, FileRefusedError."""
    fd = open_transcript(path)
    try:
        return Position(offset, mark_at(fd, offset))
    finally:
        os.close(fd)


def valid(path: Path, position: Position) -> bool:
    """Whether what was before the position is still there: the file is not shorter and the mark is equal.

    Raises FileNotFoundError, FileRefusedError.
    """
    fd = open_transcript(path)
    try:
        return os.fstat(fd).st_size >= position.offset and mark_at(fd, position.offset) == position.crc
    finally:
        os.close(fd)


def baseline(path: Path) -> Position:
    """The position just after the last newline that the file has now; at 0 if it has none.

    Everything before it is taken as read. Looks backwards in small chunks, so the memory is bounded.
    Raises FileNotFoundError, FileRefusedError.
    """
    fd = open_transcript(path)
    try:
        end = os.fstat(fd).st_size
        while end > 0:
            start = max(0, end - _CHUNK)
            newline = os.pread(fd, end - start, start).rfind(b"\n")
            if newline >= 0:
                return Position(start + newline + 1, mark_at(fd, start + newline + 1))
            end = start
        return Position(0, mark_at(fd, 0))
    finally:
        os.close(fd)
