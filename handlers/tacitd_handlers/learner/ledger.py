"""A ledger in memory: its bytes, their CRC-32, and a cache of the rows by stamp.

A ledger can be 10 MB long, and recording a row must not read it several times. No file is opened here, and the format
is defined in `ledger_md.py`.
"""

from __future__ import annotations

import zlib

from tacitd_handlers.learner.formats.ledger_md import LedgerRow, LedgerTable, RowKey, parse_ledger, rows_at


class Ledger:
    """The bytes of a ledger at one moment."""

    __slots__ = ("_crc", "_rows", "_size", "data")

    def __init__(self, data: bytes = b"") -> None:
        self.data = data
        self._size = self._crc = 0
        self._rows: dict[str, list[LedgerRow]] = {}

    def __len__(self) -> int:
        return len(self.data)

    def compute_crc(self, size: int | None = None) -> int:
        """The CRC-32 of the first `size` bytes, of all bytes if None. Continues from the last result."""
        size = len(self.data) if size is None else size
        if size < self._size:
            return zlib.crc32(memoryview(self.data)[:size])
        self._crc = zlib.crc32(memoryview(self.data)[self._size : size], self._crc)
        self._size = size
        return self._crc

    def has_prefix(self, size: int, crc: int) -> bool:
        """Whether the first `size` bytes have this CRC-32."""
        return size <= len(self.data) and self.compute_crc(size) == crc

    def with_tail(self, tail: bytes) -> Ledger:
        """A ledger with `tail` appended, which keeps the checksum computed so far."""
        made = Ledger(self.data + tail)
        made._size, made._crc = self._size, self._crc
        return made

    def parse_rows(self, start: int = 0) -> LedgerTable:
        """The rows and malformed lines from byte `start` on."""
        return parse_ledger(self.data, start)

    def find_rows(self, stamp: str) -> list[LedgerRow]:
        """The rows of one stamp."""
        if stamp not in self._rows:
            self._rows[stamp] = list(rows_at(self.data, stamp))
        return self._rows[stamp]

    def find_row(self, key: RowKey) -> LedgerRow | None:
        """The row with this key, or None (SPEC L-23)."""
        return next((row for row in self.find_rows(key.stamp) if row.key == key), None)
