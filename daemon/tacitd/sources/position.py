"""A position in a transcript: an offset, and a mark that identifies the bytes before it (DESIGN "Sources").

Only computing and checking marks belongs here; the store has the positions.

A position belongs to a path. The inode does not identify a file: after a restored home or a changed device number, old
records must not look new. The bytes before the offset identify it: up to 256, as a CRC-32.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from tacitd.errors import TacitdError
from tacitd.sources.lines import open_transcript

MARK = 256
"""How many bytes before the offset the mark covers."""

_FIRST_CHUNK, _CHUNK = 1 << 12, 1 << 16
"""Bytes. Most transcripts end with a newline, and there are thousands."""


class Position(NamedTuple):
    """How far a transcript was handled."""

    offset: int
    """Bytes: 0, or the end of a record. It follows a newline, unless two records are on one line or the last record has no
    newline.
    """
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


def find_baseline(path: Path | str) -> Position:
    """The position after the last newline that the file has now; offset 0 if it has none.

    Used at the first start, when everything before it counts as read. Reads backwards in small chunks, so memory is
    bounded. Raises FileNotFoundError, FileRefusedError.
    """
    fd = open_transcript(path)
    try:
        end, chunk = os.lseek(fd, 0, os.SEEK_END), _FIRST_CHUNK
        while end > 0:
            start = max(0, end - chunk)
            found = os.pread(fd, end - start, start)
            cut = found.rfind(b"\n") + 1
            if cut:
                whole = start == 0 or cut >= MARK
                mark = crc32(found[max(0, cut - MARK) : cut]) if whole else mark_at(fd, start + cut)
                return Position(start + cut, mark)
            end, chunk = start, _CHUNK
        return Position(0, mark_at(fd, 0))
    finally:
        os.close(fd)


def find_baselines(paths: Iterable[str]) -> Iterator[tuple[str, Position]]:
    """Yield each transcript with its baseline, for the first start.

    A transcript that cannot be read now is left out, with a warning in the log. It is read from its first byte when that
    is possible: its records are older than the first start.
    """
    for path in paths:
        try:
            yield path, find_baseline(path)
        except (OSError, TacitdError) as error:
            from loguru import logger  # the fast commands import this module

            logger.warning("{}: {}", path, error)
