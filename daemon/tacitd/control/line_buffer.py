"""The line buffers of connections, and the limit that they share. The socket itself does not belong here."""

from __future__ import annotations

import threading

from tacitd.control.protocol import MAX_LINE

BUFFER_LIMIT = 2 * MAX_LINE
"""Bytes that the unfinished lines of all connections may have together: RELIABILITY 17, a 100 MB request."""


class BufferSpace:
    """The bytes that are left for all connections. Thread-safe."""

    def __init__(self, size: int = BUFFER_LIMIT) -> None:
        self.left = size
        self._lock = threading.Lock()

    def reserve_bytes(self, size: int) -> bool:
        """Reserve so many bytes; a negative size releases them. False if there is not enough room."""
        with self._lock:
            if size > self.left:
                return False
            self.left -= size
            return True


class LineBuffer:
    """The unfinished line of one connection."""

    def __init__(self, room: BufferSpace) -> None:
        self._room = room
        self._buffer = bytearray()
        self._counted = 0

    def __len__(self) -> int:
        return len(self._buffer)

    def add_bytes(self, part: bytes) -> list[bytes] | None:
        """Add received bytes and return the lines that are complete now, without blank ones.

        None if the unfinished rest is longer than MAX_LINE or than the shared room.
        """
        self._buffer += part
        lines: list[bytes] = []
        if b"\n" in part:
            whole, _, rest = bytes(self._buffer).rpartition(b"\n")
            lines, self._buffer = whole.split(b"\n"), bytearray(rest)
        if len(self._buffer) > MAX_LINE or not self._room.reserve_bytes(len(self._buffer) - self._counted):
            self._buffer.clear()
            return None
        self._counted = len(self._buffer)
        return [line for line in lines if line.strip()]

    def release_space(self) -> None:
        """Release the room when the connection ends."""
        self._buffer.clear()
        self._room.reserve_bytes(-self._counted)
        self._counted = 0
