"""The server of the control socket: access, limits and time limits."""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from support_waiting import PATIENCE, until
from tacitd.control import protocol, server
from tacitd.control.client import CallFailedError, call_daemon
from tacitd.control.protocol import METHOD_NOT_FOUND
from tacitd.control.server import CONNECTIONS, Server
from tacitd.errors import PARKED, ParkedError, UnavailableError, UsageError
from tacitd.testing import FakeClock


def _raises(error: Exception) -> Callable[[Mapping[str, Any]], Any]:
    def method(params: Mapping[str, Any]) -> Any:
        raise error

    return method


METHODS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "ping": lambda params: {"version": "x"},
    "echo": dict,
    "parked": _raises(ParkedError("it waits", "wait too")),
    "usage": _raises(UsageError("no such job")),
    "bug": _raises(RuntimeError("secret detail")),
    "full": _raises(OSError(errno.ENOSPC, "No space left on device")),
    "late": _raises(TimeoutError()),
    "key": lambda params: params["absent"],
    "odd": lambda params: {"path": Path("/x")},
}


@pytest.fixture
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory whose sockets have short names."""
    return tmp_path_factory.mktemp("s")


@pytest.fixture
def served(short: Path) -> Iterator[Server]:
    one = Server(short / "d" / "t.sock", METHODS)
    one.open()
    yield one
    one.close()


def _connect(served: Server) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(PATIENCE)
    try:
        connection.connect(str(served.path))
    except OSError:
        connection.close()
        raise
    return connection


def _said(connection: socket.socket) -> list[dict[str, Any]]:
    """All answers until the daemon closes the connection."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return [json.loads(line) for line in b"".join(parts).splitlines()]


PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


@pytest.mark.parametrize(
    ("method", "what", "code"),
    [("parked", "it waits", PARKED), ("usage", "no such job", 2), ("bug", "RuntimeError", 1), ("full", "No space left", 1), ("late", "too busy", 1), ("key", "KeyError", 1), ("nothing", "no such method", 1)],
)  # fmt: skip
def test_a_call_that_fails_says_why(served: Server, method: str, what: str, code: int) -> None:
    """Issue "Command line": the error has the exit code for a command; a bug shows no detail."""
    with pytest.raises(CallFailedError) as caught:
        call_daemon(served.path, method)
    assert what in caught.value.what and caught.value.code == code and "secret" not in str(caught.value)
    assert call_daemon(served.path, "ping"), "and the next call is answered"


def test_many_lines_in_one_connection(served: Server) -> None:
    """Notifications are run and not answered; invalid requests are refused; the connection goes on."""
    lines = [PING, b'{"jsonrpc":"2.0","method":"ping"}\n', b"\n", b"garbage\n", b"[]\n", PING]
    with _connect(served) as connection:
        connection.sendall(b"".join(lines))
        connection.shutdown(socket.SHUT_WR)
        said = _said(connection)
    assert [("result" in one, one.get("error", {}).get("code")) for one in said] == [
        (True, None),
        (False, -32700),
        (False, -32600),
        (True, None),
    ]


def test_an_unknown_method_names_the_known_ones(served: Server) -> None:
    """docs/socket.md: -32601."""
    with _connect(served) as connection:
        connection.sendall(PING.replace(b"ping", b"pong"))
        connection.shutdown(socket.SHUT_WR)
        (said,) = _said(connection)
    assert said["error"]["code"] == METHOD_NOT_FOUND and "ping" in said["error"]["message"]


def test_a_line_without_end_is_cut_off(served: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY row 17: a 100 MB request; the daemon holds no more than its limit."""
    monkeypatch.setattr(protocol, "MAX_LINE", 200_000)
    sent = 0
    with _connect(served) as connection:
        try:
            while sent < 100 << 20:
                sent += connection.send(b"x" * 65536)
        except OSError:
            pass
        said = _said(connection) if sent < 100 << 20 else []
    assert sent < 4 << 20 and [one["error"]["code"] for one in said] in ([-32600], [])
    assert call_daemon(served.path, "ping") and served._unfinished == 0


def test_unfinished_requests_share_a_limit(served: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY row 17: many large requests at once cost no more than two of them."""
    monkeypatch.setattr(server, "BUFFER_LIMIT", 1000)
    with _connect(served) as one, _connect(served) as other:
        one.sendall(b"x" * 600)
        until(lambda: served._unfinished == 600, "it did not arrive")
        other.sendall(b"y" * 500)
        assert [each["error"]["code"] for each in _said(other)] == [-32600]
        one.sendall(b"\n")
        until(lambda: served._unfinished == 0, "it was not answered")


def is_answered(path: Path) -> bool:
    with suppress(UnavailableError):
        return bool(call_daemon(path, "ping"))
    return False


def test_a_full_disk_delays_only_the_socket(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY rows 3 and 4: the daemon runs on without it, and makes it as soon as there is room."""
    bind, room = socket.socket.bind, threading.Event()

    def refuse(one: socket.socket, path: Any) -> None:
        if not room.is_set():
            raise OSError(errno.ENOSPC, "No space left on device")
        bind(one, path)

    monkeypatch.setattr(socket.socket, "bind", refuse)
    monkeypatch.setattr(server, "LOOK", 0.02)
    served = Server(short / "t.sock", METHODS)
    served.open()
    try:
        with pytest.raises(UnavailableError):
            call_daemon(served.path, "ping")
        room.set()
        until(lambda: is_answered(served.path))
    finally:
        served.close()


def test_a_slow_sender_delays_nobody_and_is_cut_off(short: Path) -> None:
    """RELIABILITY row 17: a byte now and then does not keep a connection open for ever."""
    clock = FakeClock()
    one = Server(short / "t.sock", METHODS, clock)
    one.open()
    try:
        with _connect(one) as slow:
            slow.sendall(PING[:10])
            until(lambda: one._unfinished == 10, "the beginning did not arrive")
            assert call_daemon(one.path, "ping")
            clock.advance(server.ARRIVE / 2)
            slow.sendall(b" ")
            until(lambda: one._unfinished == 11, "it was cut off too early")
            clock.advance(server.ARRIVE / 2)
            slow.sendall(b" ")
            assert _said(slow) == [], "it was not cut off"
            assert one._unfinished == 0
    finally:
        one.close()


def test_after_an_answer_the_connection_is_soon_closed(
    served: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that keeps it open and asks nothing takes no slot from others."""
    monkeypatch.setattr(server, "LINGER", 0.01)
    monkeypatch.setattr(server, "ARRIVE", 2 * PATIENCE)
    with _connect(served) as client:
        client.sendall(PING)
        assert len(_said(client)) == 1


def test_a_thousand_connections(served: Server) -> None:
    """RELIABILITY row 17: a limited number is served at once, the others are refused, and the server goes on."""
    held: list[socket.socket] = []
    before = set(threading.enumerate())
    for _ in range(1000):
        with suppress(OSError):  # the listen backlog is full
            held.append(_connect(served))
        if len(held) > 300:
            held.pop(0).close()
    names = [thread.name for thread in threading.enumerate() if thread not in before]
    assert names.count("tacitd-call") <= CONNECTIONS
    for connection in held:
        connection.close()
    assert _once_there_is_a_place(served)[0]["result"] == {"version": "x"}


def _once_there_is_a_place(served: Server) -> list[dict[str, Any]]:
    """The answer to `ping`, after the connections in the backlog that are closed already."""
    said: list[dict[str, Any]] = []

    def asked() -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection, suppress(OSError):
            connection.connect(str(served.path))  # without a timeout it waits for room in the backlog
            connection.settimeout(PATIENCE)
            connection.sendall(PING)
            connection.shutdown(socket.SHUT_WR)
            said.extend(_said(connection))
        return bool(said)

    until(asked, "there was no place")
    return said


def test_a_full_queue_is_not_an_absent_daemon(short: Path) -> None:
    """RELIABILITY row 17: the error of a refused client does not suggest to start a second daemon."""
    path = short / "t.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent, ExitStack() as waiting:
        silent.bind(str(path))
        silent.listen(0)
        with pytest.raises(UnavailableError, match="busy") as refused:
            for _ in range(10):
                one = waiting.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
                with suppress(BlockingIOError):
                    one.setblocking(False)
                    one.connect(str(path))
            call_daemon(path, "ping", timeout=0.5)
    assert "again" in refused.value.hint


def test_a_leftover_socket_is_replaced(short: Path) -> None:
    """Issue "Control": kill -9 leaves the file behind; while we hold the lock it is a leftover."""
    path = short / "t.sock"
    left = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    left.bind(str(path))
    left.close()
    one = Server(path, METHODS)
    one.open()
    assert call_daemon(path, "ping")
    one.close()
    assert not path.exists()


@pytest.mark.parametrize("what", ["file", "folder", "link"])
def test_nothing_else_is_removed(short: Path, what: str) -> None:
    """DESIGN "Priorities" 1: a file in the socket's place may be a person's."""
    path = short / "t.sock"
    if what == "file":
        path.write_text("mine")
    elif what == "folder":
        path.mkdir()
    else:
        path.symlink_to(short / "elsewhere")
    with pytest.raises(UnavailableError, match="is not a socket"):
        Server(path, METHODS).open()
    assert os.path.lexists(path)


def test_a_socket_on_which_somebody_answers_is_left_alone(served: Server) -> None:
    """Two daemons never share a socket."""
    with pytest.raises(UnavailableError, match="another daemon"):
        Server(served.path, METHODS).open()
    assert call_daemon(served.path, "ping")


def test_a_socket_on_which_nobody_answers_but_somebody_listens_is_left_alone(short: Path) -> None:
    """A stopped daemon, a busy one, or another program: its socket is not removed."""
    path = short / "t.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(str(path))
        other.listen()
        with pytest.raises(UnavailableError, match="another daemon"):
            Server(path, METHODS).open()
    assert path.is_socket()


def test_a_directory_of_others_is_refused(short: Path) -> None:
    """A link to a directory is refused; the user's own directory keeps its mode: TACITD_SOCKET=~/t.sock made a home 0700."""
    (short / "real").mkdir(mode=0o755)
    (short / "link").symlink_to(short / "real")
    with pytest.raises(UnavailableError, match="not a directory of your user"):
        Server(short / "link" / "t.sock", METHODS).open()
    one = Server(short / "real" / "t.sock", METHODS)
    one.open()
    assert stat.S_IMODE((short / "real").stat().st_mode) == 0o755
    assert stat.S_IMODE((short / "real" / "t.sock").stat().st_mode) == 0o600
    one.close()


def test_a_directory_for_all_users_keeps_its_mode(short: Path) -> None:
    """TACITD_SOCKET=/tmp/t.sock, given by root: /tmp got the mode 0700."""
    (short / "tmp").mkdir()
    (short / "tmp").chmod(0o1777)
    with pytest.raises(UnavailableError, match="others may write") as found:
        Server(short / "tmp" / "t.sock", METHODS).open()
    assert "your own directory" in found.value.hint
    assert stat.S_IMODE((short / "tmp").stat().st_mode) == 0o1777


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP])
def test_a_file_system_without_sockets_is_named(
    short: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The hint was to change rights, or `tacitd doctor`, which found nothing. The daemon has another path for it."""

    class Refused(socket.socket):
        def bind(self, address: Any) -> None:
            if "spare" in str(address):
                return super().bind(address)
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(socket, "socket", Refused)
    with pytest.raises(UnavailableError) as found:
        Server(short / "t.sock", METHODS).open()
    assert "no sockets" in found.value.hint and "TACITD_SOCKET" in found.value.hint
    one = Server(short / "t.sock", METHODS, spare=lambda: short / "spare.sock")
    one.open()
    assert one.path == short / "spare.sock" and call_daemon(one.path, "ping")
    one.close()
    assert not one.path.exists()


def test_another_uid_is_refused(served: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELIABILITY row 17: the other uid refused, whatever the directory's mode."""
    monkeypatch.setattr(server, "_peer", lambda connection: os.getuid() + 1)
    with pytest.raises(UnavailableError):
        call_daemon(served.path, "ping")


def test_close_is_safe_before_open_and_twice(short: Path) -> None:
    """`close` is also called after `open` failed."""
    one = Server(short / "t.sock", METHODS)
    one.close()
    (short / "t.sock").write_text("mine")
    one.close()
    assert (short / "t.sock").read_text() == "mine"


def test_the_socket_is_private_and_nothing_else_changes(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN "Control": 0600 in a directory of 0700. The umask is that of all threads, which make files meanwhile."""
    umask = Mock()
    monkeypatch.setattr(os, "umask", umask)
    one = Server(short / "d" / "t.sock", METHODS)
    one.open()
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (one.path.parent, one.path)]
    one.close()
    assert (modes, umask.mock_calls) == ([0o700, 0o600], [])


def test_a_socket_that_is_made_again_during_close_is_removed(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon that ends while the directory of its socket is removed leaves no socket behind."""
    is_binding, may_bind = threading.Event(), threading.Event()
    monkeypatch.setattr(server, "LOOK", 0.01)
    one = Server(short / "t.sock", METHODS)
    one.open()

    def wait(path: Path) -> None:
        is_binding.set()
        may_bind.wait(PATIENCE)

    monkeypatch.setattr(server, "_remove_stale_socket", wait)
    one.path.unlink()
    assert is_binding.wait(PATIENCE)
    closing = threading.Thread(target=one.close)
    closing.start()
    until(lambda: one._closing.is_set())
    closing.join(0.1)
    may_bind.set()
    closing.join(PATIENCE)
    until(lambda: all(each.name != "tacitd-socket" for each in threading.enumerate()))
    assert not os.path.lexists(one.path)


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"7\n", b'{"jsonrpc":"2.0"}\n', b'{"error":7}\n', b""]
)
def test_who_asks_something_else_is_told_so(short: Path, answer: bytes) -> None:
    """Another program's socket gives an error without a traceback."""
    path = short / "t.sock"
    other = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    other.bind(str(path))
    other.listen()

    def serve() -> None:
        connection, _ = other.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    with pytest.raises(UnavailableError):
        call_daemon(path, "ping")
    thread.join(PATIENCE)
    other.close()


def test_one_line_as_in_the_readme(served: Server) -> None:
    """Issue "Control": `printf … | nc -U` works: the client closes its side and is answered; the last newline may be missing."""
    for line in (PING, PING.rstrip()):
        with _connect(served) as connection:
            connection.sendall(line)
            connection.shutdown(socket.SHUT_WR)
            assert [answer["result"] for answer in _said(connection)] == [{"version": "x"}]
