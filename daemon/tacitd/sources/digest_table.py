"""Many digests in little memory: a sorted block that may be a mapped file, a sorted block of bytes, and a dictionary of the
newest ones. No disk, no clock.

A set of 100,000 digests takes 10 MB, and each handler has one of its own; in a block it is 1.6 MB. What the digests are of
belongs to `dedupe.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

DIGEST = 16
"""Bytes of a digest."""
_RECENT = 4096
"""How many new digests are kept in the dictionary, or a quarter of the block if that is more."""


class DigestTable:
    """Digests of 16 bytes, each with a value of `width` bytes. A later value replaces an earlier one.

    Thread-safe. A lookup takes the lock only if blocks have to be sorted in.
    """

    def __init__(
        self, width: int = 0, thin: Callable[[dict[bytes, bytes]], dict[bytes, bytes]] = dict
    ) -> None:
        """`thin`: given all digests with their values when they are packed, returns those that are kept."""
        self.width = width
        self._lock = threading.Lock()
        self._size = DIGEST + width
        self._thin = thin
        self._base: bytes | memoryview = b""
        """Sorted entries that another owner keeps: a part of a mapped file."""
        self._packed = b""
        """Sorted entries: a digest, then its value."""
        self._spilled: tuple[bytes, ...] = ()
        """Blocks of entries that are not sorted in yet: while a log is read, nothing is looked up."""
        self._recent: dict[bytes, bytes] = {}

    def __bool__(self) -> bool:
        return bool(self._recent or self._spilled or self._packed or self._base)

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        """Every digest with its value, in the order of the digests."""
        return ((entry[:DIGEST], entry[DIGEST:]) for entry in self._entries(self._merge_blocks()))

    def attach_base(self, base: bytes | memoryview) -> None:
        """Take these entries, sorted by their digests, as those that were put before all others, and forget the rest.

        They are looked up where they are, so a mapped file takes no memory but the pages that are read.
        """
        with self._lock:
            self._base, self._packed, self._spilled, self._recent = base, b"", (), {}

    def dump_entries(self) -> bytes:
        """All entries as `attach_base` takes them, thinned."""
        merged = self._merge_blocks()
        if not self.width:
            return merged
        kept = self._thin({each[:DIGEST]: each[DIGEST:] for each in self._entries(merged)})
        return b"".join(digest + value for digest, value in sorted(kept.items()))

    def _merge_blocks(self) -> bytes:
        """All entries in the order of their digests.

        The few that are newer than the base are put between parts of it that are copied whole: there are 100,000 after a
        year, and a start writes those of several handlers.
        """
        self._pack()
        base, size, parts, at = self._base, self._size, list[bytes](), 0
        for entry in self._entries(self._packed):
            place = self._find_place(base, entry[:DIGEST]) * size
            parts += (bytes(base[at:place]), entry)
            # The later value of a digest counts.
            at = place + size if bytes(base[place : place + DIGEST]) == entry[:DIGEST] else place
        return b"".join((*parts, bytes(base[at:])))

    def find_value(self, digest: bytes) -> bytes | None:
        """The value of a digest; None if it is not there."""
        recent = self._recent.get(digest)
        if recent is not None:
            return recent
        if self._spilled:
            self._pack()
        # Most tables of a single transcript have no block at all.
        found = self._search(self._packed, digest) if self._packed else None
        return self._search(self._base, digest) if found is None and self._base else found

    def _search(self, block: bytes | memoryview, digest: bytes) -> bytes | None:
        place = self._find_place(block, digest)
        found = bytes(block[place * self._size : (place + 1) * self._size])
        return found[DIGEST:] if found[:DIGEST] == digest else None

    def _find_place(self, block: bytes | memoryview, digest: bytes) -> int:
        """The number of entries with smaller digests."""
        size = self._size
        low, high = 0, len(block) // size
        while low < high:
            middle = (low + high) // 2
            if bytes(block[middle * size : middle * size + DIGEST]) < digest:
                low = middle + 1
            else:
                high = middle
        return low

    def put(self, digest: bytes, value: bytes = b"") -> None:
        """Add a digest, or replace its value."""
        with self._lock:
            self._recent[digest] = value
            if len(self._recent) >= max(_RECENT, len(self._packed) // self._size // 4):
                # The order matters to a lookup in another thread.
                block = b"".join(digest + value for digest, value in self._recent.items())
                self._spilled = (*self._spilled, block)
                self._recent = {}

    def _pack(self) -> None:
        with self._lock:
            blocks = (self._packed, *self._spilled)
            merged = {each[:DIGEST]: each[DIGEST:] for block in blocks for each in self._entries(block)}
            kept = self._thin(merged | self._recent)
            # The order matters to a lookup in another thread.
            self._packed = b"".join(digest + value for digest, value in sorted(kept.items()))
            self._spilled, self._recent = (), {}

    def _entries(self, block: bytes | memoryview) -> Iterator[bytes]:
        return (bytes(block[at : at + self._size]) for at in range(0, len(block), self._size))
