"""Answers that go on: after its result, a method's stream sends notifications until the client closes the connection.

A stream asks for the next few notifications only when the client has taken the ones before. So a client that reads slowly, or
never, costs a thread and a few lines, and nothing waits for it. What it misses is up to the source.

JSON-RPC 2.0 calls a message without an id a notification; here the server sends them.
"""

from __future__ import annotations

import select
import socket
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct, field

from tacitd.control.protocol import encode_notification, encode_result

STREAMS = 16
"""Streams at once, of the 32 connections: the others answer calls."""
AT_ONCE = 64
"""Notifications that are asked for at a time."""


class Stream(Struct, frozen=True):
    """What a method returns to begin a stream."""

    result: Any
    """JSON: the answer to the request."""
    take_next: Callable[[int], Sequence[tuple[str, Any]]]
    """Given a number, at most so many of the next notifications: names and parameters. Empty: there is none now."""
    add_waker: Callable[[Callable[[], None]], Callable[[], None]]
    """Given a function, call it whenever there may be more, in any thread. Returns a function that ends that."""


class StreamSlots(Struct):
    """The streams of one server, so that closing it ends them. Thread-safe."""

    _wakers: list[Callable[[], None]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _closed: bool = False

    def add_stream(self, wake: Callable[[], None]) -> bool:
        """Register a stream; False if there are too many, or the server is closing."""
        with self._lock:
            if self._closed or len(self._wakers) >= STREAMS:
                return False
            self._wakers.append(wake)
            return True

    def remove_stream(self, wake: Callable[[], None]) -> None:
        """The stream ended."""
        with self._lock:
            self._wakers.remove(wake)

    @property
    def is_closed(self) -> bool:
        """Whether streams must end."""
        return self._closed

    def close_all(self) -> None:
        """End all streams."""
        with self._lock:
            self._closed = True
            for wake in self._wakers:
                wake()


def send_stream(
    connection: socket.socket, id: str | int | float | None, stream: Stream, slots: StreamSlots
) -> bool:
    """Send the result, then notifications until the client closes its side or the slots are closed.

    Blocks in this thread only. Returns False, having sent nothing, if there are too many streams. Raises OSError if the
    client is gone.
    """
    # Objects and not numbers: a late `wake` must not write into another file.
    ready, ring = socket.socketpair()
    ready.setblocking(False)
    ring.setblocking(False)

    def wake() -> None:
        with suppress(OSError):  # it is full, so the thread wakes anyway, or the stream has ended
            ring.send(b"\0")

    with ready, ring:
        if not slots.add_stream(wake):
            return False
        remove = stream.add_waker(wake)
        try:
            connection.setblocking(False)
            _send_until_closed(connection, ready, encode_result(id, stream.result), stream, slots)
        finally:
            remove()
            slots.remove_stream(wake)
    return True


def _send_until_closed(
    connection: socket.socket, ready: socket.socket, first: bytes, stream: Stream, slots: StreamSlots
) -> None:
    unsent, reads = deque([first]), select.POLLIN
    poll = select.poll()
    poll.register(ready, select.POLLIN)
    while not slots.is_closed:
        if not unsent:
            unsent.extend(encode_notification(name, params) for name, params in stream.take_next(AT_ONCE))
        if unsent and _send_some(connection, unsent):
            continue
        poll.register(connection, reads | (select.POLLOUT if unsent else 0))
        for fd, event in poll.poll():
            if fd == ready.fileno():
                _skip_input(ready)
            elif event & (select.POLLHUP | select.POLLERR | select.POLLNVAL):
                return
            elif event & select.POLLIN and not _skip_input(connection):
                reads = 0  # `nc` closes its side when its input ends, and goes on reading


def _send_some(connection: socket.socket, unsent: deque[bytes]) -> bool:
    """Send as much of the first line as the client takes now; return False if it takes nothing. Raises OSError."""
    try:
        sent = connection.send(unsent[0])
    except BlockingIOError:
        return False
    rest = unsent.popleft()[sent:]
    if rest:
        unsent.appendleft(rest)
    return True


def _skip_input(connection: socket.socket) -> bool:
    """Drop what was received; return False if the other side is closed."""
    try:
        return bool(connection.recv(65536))
    except BlockingIOError:
        return True
