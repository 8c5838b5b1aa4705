"""A ledger in memory: its bytes, read once, with its checksum and what was looked up in it.

A ledger may be ten megabytes long, and one more row must not cost reading it five times over. No file is opened here;
the format is `ledger_md.py`'s.
"""

from __future__ import annotations

import zlib

from tacitd_handlers.learner.ledger_md import Key, Row, Table, parse, rows_at


class Ledger:
    """The bytes of a ledger at one moment."""

    __slots__ = ("_crc", "_rows", "_size", "data")

    def __init__(self, data: bytes = b"") -> None:
        self.data = data
        self._size = self._crc = 0
        self._rows: dict[str, list[Row]] = {}

    def __len__(self) -> int:
        return len(self.data)

    def crc(self, size: int | None = None) -> int:
        """The CRC-32 of its first `size` bytes; of all of them where none is given."""
        size = len(self.data) if size is None else size
        if size < self._size:
            return zlib.crc32(memoryview(self.data)[:size])
        self._crc = zlib.crc32(memoryview(self.data)[self._size : size], self._crc)
        self._size = size
        return self._crc

    def begins(self, size: int, crc: int) -> bool:
        """Whether its first `size` bytes are those with this checksum."""
        return size <= len(self.data) and self.crc(size) == crc

    def grown(self, tail: bytes) -> Ledger:
        """The same with bytes added at its end."""
        made = Ledger(self.data + tail)
        made._size, made._crc = self._size, self._crc
        return made

    def rows(self, start: int = 0) -> Table:
        """Every row from a byte on."""
        return parse(self.data, start)

    def at(self, stamp: str) -> list[Row]:
        """The rows of one stamp."""
        if stamp not in self._rows:
            self._rows[stamp] = list(rows_at(self.data, stamp))
        return self._rows[stamp]

    def row(self, key: Key) -> Row | None:
        """The row with this key (SPEC L-23)."""
        return next((row for row in self.at(key.stamp) if row.key == key), None)
