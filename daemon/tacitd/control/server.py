"""The server of the control socket: access, limits and time limits. What a method does belongs in `methods.py`.

The socket is bound in a directory that only its owner can enter; the peer's uid is checked as well. One thread accepts;
each connection has a thread of its own, so a slow sender delays no other. Limits: 32 connections, 256 KB for a request,
512 KB for all unfinished requests together, 10 s for a request to arrive, 2 s of silence after an answer. Then the
connection is closed, so that `nc -U` ends.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
import struct
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from loguru import logger

from tacitd.clock import Clock, SystemClock
from tacitd.control import protocol
from tacitd.errors import FAILED, TacitdError, UnavailableError, UnwritableError, describe_os_error

Method = Callable[[Mapping[str, Any]], Any]

CONNECTIONS = 32
BUFFER_LIMIT = 2 * protocol.MAX_LINE
"""Bytes that the unfinished lines of all connections may have together: RELIABILITY 17, a 100 MB request."""
ARRIVE = 10.0
"""Seconds within which a request must arrive, and within which a client must take its answer."""
LOOK = 2.0
"""Seconds between two looks whether the socket is still there: old files in /tmp are removed."""
LINGER = 2.0
"""Seconds of silence after an answer until the connection is closed."""
NO_SOCKETS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, None}
"""What file systems without sockets answer: vfat, some of containers and networks. None: the path is too long."""
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
"""What a file system answers on which nothing can be made now."""
TOO_LONG = "a request may have at most 256 KB, and less while many requests arrive at once"


class Server:
    """Answers calls until it is closed."""

    def __init__(
        self,
        path: Path,
        methods: Mapping[str, Method],
        clock: Clock | None = None,
        spare: Callable[[], Path] | None = None,
    ) -> None:
        """`spare`: another path, if the file system of the first one has no sockets."""
        self.path = path
        self._spare = spare
        self._clock = clock or SystemClock()
        self._unfinished = 0
        """The bytes of all unfinished lines."""
        self._lock = threading.Lock()
        self._methods = methods
        self._slots = threading.Semaphore(CONNECTIONS)
        self._closing = threading.Event()
        self._binding = threading.Lock()
        """Held while the socket is made again or removed, so that none is left behind."""
        self._socket: socket.socket | None = None

    def open(self) -> None:
        """Bind and listen, while the daemon's lock is held: an existing socket is a leftover then. On a full disk that is done as soon
        as there is room. Raises UnavailableError."""
        try:
            self._socket = self._bind()
        except UnwritableError as error:
            logger.warning("{}", error)
        threading.Thread(target=self._accept, name="tacitd-socket", daemon=True).start()

    def _bind(self) -> socket.socket:
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_directory(self.path.parent)
            _remove_stale_socket(self.path)
            bound.bind(str(self.path))
            self.path.chmod(0o600)  # no umask, which files of other threads would get too
            bound.listen(CONNECTIONS)
        except OSError as error:
            bound.close()
            if error.errno in NO_SOCKETS and self._spare is not None:
                self.path, self._spare = self._spare(), None
                return self._bind()
            if error.errno in FULL:
                raise UnwritableError(f"no socket can be made at {self.path}: {error.strerror}") from None
            hint = _explain_refusal(self.path.parent, error)
            raise UnavailableError(
                f"cannot bind the socket {self.path}: {error.strerror or error}", hint
            ) from None
        except UnavailableError:
            bound.close()
            raise
        bound.settimeout(LOOK)
        return bound

    def close(self, *, unlink: bool = True) -> None:
        """Stop accepting and remove the socket. Calls in progress are cut off. `unlink=False`: what is at the path is another daemon's."""
        self._closing.set()
        with self._binding:
            if self._socket is None:
                return
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
            with contextlib.suppress(OSError):
                if unlink:
                    self.path.unlink()

    def _accept(self) -> None:
        while not self._closing.is_set():
            if self._socket is None:
                self._closing.wait(LOOK)
                self._look_for_socket()
                continue
            try:
                connection, _ = self._socket.accept()
            except TimeoutError:
                self._look_for_socket()
                continue
            except OSError:
                self._closing.wait(0.1)
                continue
            if not self._slots.acquire(blocking=False):
                connection.close()
                continue
            thread = threading.Thread(target=self._serve, args=(connection,), name="tacitd-call", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # no thread can be started now: go on accepting
                self._slots.release()
                connection.close()

    def _look_for_socket(self) -> None:
        """Make the socket again if it was removed; if that cannot be done yet, the next look does."""
        with self._binding, contextlib.suppress(OSError, UnavailableError, UnwritableError):
            if os.path.lexists(self.path) or self._closing.is_set():
                return
            old, self._socket = self._socket, self._bind()
            logger.warning("{} is there again", self.path)
            if old is not None:
                old.close()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                if _peer(connection) in (os.getuid(), None):
                    self._answer_lines(connection)
        except OSError:
            logger.debug("a client closed the socket early")
        finally:
            self._slots.release()

    def _answer_lines(self, connection: socket.socket) -> None:
        """Answer line by line, until the client closes its side or exceeds a limit."""
        deadline, rest = self._clock.monotonic() + ARRIVE, b""
        try:
            while not self._closing.is_set():
                part = _receive(connection, deadline - self._clock.monotonic())
                if part is None:
                    return
                # A last line need not end in a newline.
                *lines, rest = self._keep_rest(rest, part or b"\n")
                for line in filter(bytes.strip, lines):
                    connection.settimeout(ARRIVE)
                    connection.sendall(self._answer(line))
                if len(rest) > protocol.MAX_LINE or self._unfinished > BUFFER_LIMIT:
                    connection.sendall(protocol.encode_error(None, protocol.INVALID_REQUEST, TOO_LONG))
                    return
                if not part:
                    return
                if lines:
                    deadline = self._clock.monotonic() + (ARRIVE if rest else LINGER)
        finally:
            self._keep_rest(rest, b"\n")

    def _keep_rest(self, rest: bytes, part: bytes) -> list[bytes]:
        """What was received, split at newlines: complete lines, and the beginning of one, which counts as unfinished."""
        lines = (rest + part).split(b"\n")
        with self._lock:
            self._unfinished += len(lines[-1]) - len(rest)
        return lines

    def _answer(self, line: bytes) -> bytes:
        message = protocol.parse_request(line)
        if isinstance(message, protocol.RequestRefusal):
            return protocol.encode_error(message.id, message.code, message.message)
        answer = self._call_method(message)
        return b"" if message.notification else answer

    def _call_method(self, message: protocol.Request) -> bytes:
        try:
            method = self._methods[message.method]
        except KeyError:
            what = f"no such method; there are: {', '.join(sorted(self._methods))}"
            return protocol.encode_error(message.id, protocol.METHOD_NOT_FOUND, what)
        hint, code = "", FAILED
        try:
            return protocol.encode_result(message.id, method(message.params))
        except TacitdError as error:
            what, hint, code = error.what, error.hint, error.code
        except (TypeError, ValueError, KeyError) as error:
            what = f"{type(error).__name__}: {error}"
            return protocol.encode_error(message.id, protocol.INVALID_PARAMS, what)
        except TimeoutError:
            what = "the daemon is too busy to answer"
        except OSError as error:
            what, hint = describe_os_error(error)
            logger.warning("a call of {} failed: {}", message.method, what)
        except Exception as error:  # noqa: BLE001  a call must not end the daemon
            logger.opt(exception=error).error("a call of {} failed", message.method)
            what = f"{type(error).__name__} (see the log)"
        return protocol.encode_error(message.id, protocol.FAILED, what, {"hint": hint, "exit": code})


def _receive(connection: socket.socket, seconds: float) -> bytes | None:
    """The received bytes; b"" if the client has closed its side; None if nothing came within `seconds`."""
    if seconds <= 0:
        return None
    connection.settimeout(seconds)
    try:
        return connection.recv(65536)
    except TimeoutError:
        return None


def _explain_refusal(directory: Path, error: OSError) -> str:
    """How a socket is made where the system refused one."""
    if error.errno in NO_SOCKETS and os.access(directory, os.W_OK | os.X_OK):
        return "its file system has no sockets: set TACITD_SOCKET to a path on another one"
    return f"{describe_os_error(error)[1]}; or set TACITD_SOCKET to another path"


def _check_directory(directory: Path) -> None:
    """Raises UnavailableError for a directory of somebody else, or in which others may write, such as /tmp: they could put a socket of
    theirs there. A person's own directory keeps its mode."""
    status = directory.lstat()
    hint = "set TACITD_SOCKET to a path in your own directory"
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise UnavailableError(f"{directory} is not a directory of your user", hint)
    if status.st_mode & 0o022:
        raise UnavailableError(f"{directory} is a directory in which others may write", hint)


def _remove_stale_socket(path: Path) -> None:
    """Remove a leftover socket. Raises UnavailableError for any other file, and for a socket that is in use."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise UnavailableError(f"{path} exists and is not a socket", "move it away, or set TACITD_SOCKET")
    if _has_listener(path):
        raise UnavailableError(f"another daemon answers on {path}", "stop it first, or set TACITD_STATE_DIR")
    path.unlink(missing_ok=True)


def _has_listener(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:  # a full backlog, or a socket of another type
            return True
    return True


def _peer(connection: socket.socket) -> int | None:
    """The peer's uid; None on other systems, where only the directory's mode protects the socket."""
    if sys.platform.startswith("linux"):
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", raw)[1])
    if sys.platform == "darwin":
        # LOCAL_PEERCRED at level 0: struct xucred { u_int version; uid_t uid; … } (macOS: sys/un.h, sys/ucred.h)
        return int(struct.unpack_from("II", connection.getsockopt(0, 1, 76))[1])
    return None
