"""What clients have sent and what is not a whole line yet: how much of it is held, for all of them together. No socket."""

from __future__ import annotations

import threading

from tacitd.control.protocol import MAX_LINE

ROOM = 2 * MAX_LINE
"""Bytes that all connections together may hold: a hundred megabytes of requests must cost us none."""


class Room:
    """What is left of it. Thread-safe."""

    def __init__(self, size: int = ROOM) -> None:
        self.left = size
        self._lock = threading.Lock()

    def take(self, size: int) -> bool:
        """Hold so many bytes more (or fewer, below 0). False: there is no room for them."""
        with self._lock:
            if size > self.left:
                return False
            self.left -= size
            return True


class Arriving:
    """What one connection has sent of its next line."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._buffer = bytearray()
        self._counted = 0

    def __len__(self) -> int:
        return len(self._buffer)

    def take(self, part: bytes) -> list[bytes] | None:
        """Add what came, and return the lines that are complete by it, without those that are blank.

        None: what is left is longer than a line may be, or than there is room for.
        """
        self._buffer += part
        lines: list[bytes] = []
        if b"\n" in part:
            whole, _, rest = bytes(self._buffer).rpartition(b"\n")
            lines, self._buffer = whole.split(b"\n"), bytearray(rest)
        if len(self._buffer) > MAX_LINE or not self._room.take(len(self._buffer) - self._counted):
            self._buffer.clear()
            return None
        self._counted = len(self._buffer)
        return [line for line in lines if line.strip()]

    def leave(self) -> None:
        """The connection is over."""
        self._buffer.clear()
        self._room.take(-self._counted)
        self._counted = 0
