"""Records that were read lately, kept for a while: several handlers of the first contract want the same ones soon.

The reader puts in what it committed, so that a transcript is decoded once. What is not here any more is read from the file again,
once for all that want it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from tacitd.events import Record
from tacitd.sources.base import Source
from tacitd.sources.transcript import read_part
from tacitd.work.passing import blank_record

REMEMBERED = 16 << 20
"""Bytes that kept records need in memory, about."""
OVERHEAD = 400
"""Bytes that a kept record, prompt or call of a tool needs besides its text."""
MOST = 4 << 20
"""Bytes of a transcript that a handler is offered at once, about."""


class Piece(Struct, frozen=True):
    """The records of a part of a transcript that was read at once, with secrets blanked."""

    start: int
    end: int
    mark: int
    """The CRC-32 at the end of what was committed: another one belongs to another file."""
    records: tuple[Record, ...]

    @property
    def size(self) -> int:
        """Bytes that it needs in memory, about."""
        return sum(map(_count_bytes, self.records))


_Key = tuple[Path, int, int, int]
"""A part that was read again: path, start, the offset up to which it was wanted, the mark there."""


class RecordCache:
    """What was put in or read last. Thread-safe."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._kept: OrderedDict[Path | _Key, list[Piece]] = OrderedDict()
        """By path the pieces that were committed one after the other; by key the one piece that was read again."""
        self.size = 0
        """Bytes of all of it, about."""

    def put(self, path: Path, piece: Piece) -> None:
        """Keep what was read of a transcript and committed. If it does not follow what is kept, that goes: it was rewritten."""
        with self._lock:
            before = self._drop(path)
            self._keep(path, [*before, piece] if before and before[-1].end == piece.start else [piece])

    def read(self, path: Path, start: int, upto: int, mark: int) -> tuple[Sequence[Record], int]:
        """The next records before an offset, whose mark is given, and the offset that they reach: `upto`, or the end of a record
        if there is much more. None if the file is gone or cannot be read."""
        with self._lock:  # also while it is read: the other handlers want the same
            pieces = self._kept.get(path, [])
            if pieces and pieces[0].start <= start and any((p.end, p.mark) == (upto, mark) for p in pieces):
                self._kept.move_to_end(path)
                return _join(pieces, start, upto)
            key = path, start, upto, mark
            found = self._drop(key)
            if not found:
                made, reached = read_part(self._source, path, start, upto, MOST)
                records = tuple(blank_record(one) if one.prompts else one for one in made)
                found = [Piece(start, reached, mark, records)]
            self._keep(key, found)
            return found[0].records, found[0].end

    def _drop(self, key: Path | _Key) -> list[Piece]:
        pieces = self._kept.pop(key, [])
        self.size -= sum(one.size for one in pieces)
        return pieces

    def _keep(self, key: Path | _Key, pieces: list[Piece]) -> None:
        self._kept[key] = pieces
        self.size += sum(one.size for one in pieces)
        while self.size > REMEMBERED:
            self._drop(next(iter(self._kept)))


def _join(pieces: Sequence[Piece], start: int, upto: int) -> tuple[Sequence[Record], int]:
    made = list[Record]()
    for piece in pieces:
        if start < piece.end <= upto:
            made.extend(one for one in piece.records if one.start >= start)
            if made and piece.end - start >= MOST and made[-1].end < upto:
                return made, made[-1].end
    return made, upto


def _count_bytes(record: Record) -> int:
    size = OVERHEAD + len(record.text) + len(record.summary) + len(record.plan)
    for tool in record.tools:
        size += OVERHEAD + len(tool.input)
    for prompt in record.prompts:
        size += OVERHEAD + len(prompt.text) + len(prompt.context)
    return size
