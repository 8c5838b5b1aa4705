"""Streams: notifications after a result, and clients that read slowly, never, or leave."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support_waiting import PATIENCE, until
from tacitd.control.client import CallFailedError, Subscription, call_daemon
from tacitd.control.server import Server
from tacitd.control.streams import AT_ONCE, STREAMS, Stream
from tacitd.errors import UnavailableError
from tacitd.store import Store
from tacitd.testing import FakeClock
from tacitd.work.activities import KEPT, Activities


class Source:
    """Notifications that a test adds, and how many were taken."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, Any]] = []
        self.wakers: list[Callable[[], None]] = []
        self.taken = 0

    def add(self, params: Any) -> None:
        self.lines.append(("news", params))
        for wake in list(self.wakers):
            wake()

    def begin(self, params: object) -> Stream:
        place = 0

        def take(count: int) -> Sequence[tuple[str, Any]]:
            nonlocal place
            found = self.lines[place : place + count]
            place += len(found)
            self.taken = max(self.taken, place)
            return found

        def add_waker(wake: Callable[[], None]) -> Callable[[], None]:
            self.wakers.append(wake)
            return lambda: self.wakers.remove(wake)

        return Stream({"ok": True}, take, add_waker)


@contextmanager
def serving(folder: Path, source: Source) -> Iterator[Path]:
    server = Server(folder / "d" / "s", {"subscribe": source.begin, "ping": lambda _: "pong"})
    server.open()
    try:
        yield server.path
    finally:
        server.close()
        until(lambda: not any(thread.name == "tacitd-call" for thread in threading.enumerate()))


def test_notifications_follow_the_result(tmp_path: Path) -> None:
    """Those that were there before, then those that come; one line each."""
    source = Source()
    source.add(1)
    with serving(tmp_path, source) as path, Subscription(path) as subscription:
        assert subscription.result == {"ok": True}
        assert subscription.read_next(PATIENCE) == ("news", 1)
        assert subscription.read_next(0.01) is None
        source.add({"text": "é\n"})
        assert subscription.read_next(PATIENCE) == ("news", {"text": "é\n"})
    assert source.wakers == []


def test_a_subscriber_that_never_reads_costs_nobody_time(tmp_path: Path) -> None:
    """It gets no more than the socket's buffer takes; the source is not asked for more, and others are answered."""
    source = Source()
    with serving(tmp_path, source) as path, socket.socket(socket.AF_UNIX) as silent:
        silent.connect(str(path))
        silent.sendall(b'{"jsonrpc":"2.0","id":1,"method":"subscribe"}\n')
        until(lambda: source.wakers)
        for number in range(2000):
            source.add("x" * 10_000 + str(number))  # never blocks
        assert call_daemon(path, "ping") == "pong"
        with Subscription(path) as other:
            found = [other.read_next(PATIENCE) for _ in range(2000)]
        assert found[-1] == ("news", "x" * 10_000 + "1999")
        until(lambda: len(source.wakers) == 1)  # the other one has left
        silent.settimeout(PATIENCE)
        with silent.makefile("rb") as lines:  # it begins to read at last: nothing is torn
            read = [json.loads(next(lines)) for _ in range(2001)]
        assert read[0]["result"] == {"ok": True} and read[-1]["params"].endswith("1999")


def test_a_slow_subscriber_is_told_what_it_missed(tmp_path: Path) -> None:
    """Its place is lost when more happened than is kept. It goes on with the oldest that is kept."""
    from support_engine import Scene
    from tacitd.methods import build_methods

    scene = Scene(tmp_path / "scene")
    activities = scene.app.activities
    subscribe = build_methods(scene.app)["subscribe"]
    stream = subscribe({})
    activities.add("read", "first")
    assert [(name, params.get("text")) for name, params in stream.take_next(AT_ONCE)] == [
        ("activity", "first")
    ]
    for number in range(KEPT + 7):
        activities.add("read", str(number))
    (name, lost), *rows = stream.take_next(AT_ONCE)
    assert (name, lost) == ("missed", {"count": 7}) and len(rows) == AT_ONCE and rows[0][1]["text"] == "7"
    while found := stream.take_next(AT_ONCE):
        rows += found
    assert [row["text"] for _, row in rows] == [str(number) for number in range(7, KEPT + 7)]
    assert subscribe({"last": 2}).result["kept"] == 2
    assert [row["text"] for _, row in subscribe({"last": 2}).take_next(9)] == [str(KEPT + 5), str(KEPT + 6)]
    assert subscribe({"last": 10**9}).result["kept"] == KEPT
    for wrong in (-1, "3", None, 1.5):
        with pytest.raises(Exception, match="not a number of activities"):
            subscribe({"last": wrong})
    scene.app.close()


def test_too_many_subscribers_are_refused(tmp_path: Path) -> None:
    """Connections are left for calls; one that leaves makes room."""
    source = Source()
    with serving(tmp_path, source) as path:
        several = [Subscription(path) for _ in range(STREAMS)]
        with pytest.raises(CallFailedError, match="subscribe already"):
            Subscription(path)
        assert call_daemon(path, "ping") == "pong"
        several.pop().close()
        until(lambda: len(source.wakers) < STREAMS)
        Subscription(path).close()
        for one in several:
            one.close()
        until(lambda: source.wakers == [])


def test_a_client_may_close_its_side_and_go_on_reading(tmp_path: Path) -> None:
    """`printf … | nc -U` does. What a client sends after its request is ignored."""
    source = Source()
    with serving(tmp_path, source) as path, socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE)
        client.connect(str(path))
        client.sendall(b'{"jsonrpc":"2.0","id":1,"method":"subscribe"}\n')
        lines = client.makefile("rb")
        next(lines)
        client.sendall(b'{"jsonrpc":"2.0","id":2,"method":"ping"}\nrubbish')
        client.shutdown(socket.SHUT_WR)
        source.add("after")
        assert json.loads(next(lines))["params"] == "after"
        lines.close()


def test_closing_the_server_ends_the_streams(tmp_path: Path) -> None:
    """A subscriber learns that the daemon is gone."""
    source = Source()
    with serving(tmp_path, source) as path:
        subscription = Subscription(path)
    with pytest.raises(UnavailableError, match="closed"):
        subscription.read_next(PATIENCE)
    subscription.close()
    with pytest.raises(UnavailableError, match="no daemon answers"):
        Subscription(path)


def test_waking_is_safe_at_any_time(tmp_path: Path) -> None:
    """Also after the stream has ended: a waker that was copied before must not write into another file."""
    source = Source()
    with serving(tmp_path, source) as path:
        subscription = Subscription(path)
        until(lambda: source.wakers)
        late = source.wakers[0]
        subscription.close()
        until(lambda: source.wakers == [])
        late()


def test_many_threads_add_and_none_is_lost(tmp_path: Path) -> None:
    """Numbers are given without gaps."""
    activities = Activities(Store.open(tmp_path, FakeClock()), FakeClock().now)

    def add_many() -> None:
        for _ in range(50):
            activities.add("read", "x")

    threads = [threading.Thread(target=add_many) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert [number for number, _ in activities.list_numbered(0)] == list(range(1, 201))
