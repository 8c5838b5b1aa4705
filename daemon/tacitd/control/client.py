"""The client of the control socket, as the command line uses it. It imports almost nothing, so that `status` is instant.

from tacitd.control.client import call_daemon
status = call_daemon(socket_path, "status")
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacitd.control.protocol import encode_request
from tacitd.errors import CONFIG, FAILED, PARKED, UNAVAILABLE, USAGE, TacitdError, UnavailableError

STUCK_HINT = (
    "try again; if it still does not answer, run `tacitd service restart`, or `kill -9` the process whose number is in the "
    "file `lock` of its state directory and start it again: no work is lost"
)


class BusyError(UnavailableError):
    """A daemon is listening but did not answer (timeout, connection limit or shutdown)."""


class CallFailedError(TacitdError):
    """The daemon answered that the call failed. `exit_code`: the exit code for a command; an unknown one becomes 1."""

    def __init__(self, what: str, hint: str = "", exit_code: int = FAILED) -> None:
        super().__init__(what, hint)
        self.code = exit_code if exit_code in (FAILED, USAGE, UNAVAILABLE, PARKED, CONFIG) else FAILED


def call_daemon(
    path: Path, method: str, params: Mapping[str, Any] | None = None, timeout: float | None = 10.0
) -> Any:
    """Call one method and return its result. `timeout` is in seconds; None waits without a limit.

    Raises UnavailableError if no daemon runs, its subclass BusyError if the daemon does not answer, CallFailedError if
    the daemon answers with an error.
    """
    try:
        answer = _exchange(path, encode_request(method, params or {}), timeout)
    except TimeoutError:
        raise BusyError(f"the daemon did not answer within {timeout:g} s", STUCK_HINT) from None
    except (BlockingIOError, ConnectionResetError, BrokenPipeError):
        # The listen backlog is full, or the daemon is at its connection limit.
        raise BusyError("the daemon is busy: too many callers at once", "try again") from None
    except OSError as error:
        raise UnavailableError(
            f"no daemon answers on {path} ({error.strerror})", "start one with `tacitd run`"
        ) from None
    if not answer:
        raise BusyError(
            "the daemon closed the connection: too many callers at once, or it is stopping", "try again"
        )
    try:
        return _unwrap(json.loads(answer))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise UnavailableError(
            f"the program that answers on {path} is not tacitd", "set TACITD_SOCKET to another path"
        ) from None


class Subscription:
    """What the daemon sends after `subscribe`. Close it, or use it as a context manager.

    Raises UnavailableError from the constructor if no daemon answers, CallFailedError if it refuses.
    """

    def __init__(self, path: Path, params: Mapping[str, Any] | None = None, timeout: float = 10.0) -> None:
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._buffer = b""
        try:
            self._connection.settimeout(timeout)
            self._connection.connect(str(path))
            self._connection.sendall(encode_request("subscribe", params or {}))
            self.result: Mapping[str, Any] = _unwrap(self._read_line())
        except OSError as error:
            self.close()
            raise UnavailableError(
                f"no daemon answers on {path} ({error.strerror or error})", "start one with `tacitd run`"
            ) from None
        except BaseException:
            self.close()
            raise

    def read_next(self, seconds: float | None) -> tuple[str, Any] | None:
        """The next notification: its name and parameters. None if none came within `seconds` (None: no limit).

        Raises UnavailableError if the daemon has closed the connection.
        """
        self._connection.settimeout(seconds)
        try:
            line = self._read_line()
        except (TimeoutError, BlockingIOError):
            return None
        except OSError as error:
            raise UnavailableError(f"the daemon is gone ({error.strerror or error})") from None
        return str(line.get("method")), line.get("params")

    def _read_line(self) -> Mapping[str, Any]:
        while b"\n" not in self._buffer:
            part = self._connection.recv(65536)
            if not part:
                raise UnavailableError("the daemon has closed the connection", "it stops, or starts again")
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise UnavailableError(
                "the program that answers is not tacitd", "set TACITD_SOCKET to another path"
            )
        return found

    def close(self) -> None:
        """End it."""
        self._connection.close()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _exchange(path: Path, line: bytes, timeout: float | None) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        connection.connect(str(path))
        connection.sendall(line)
        parts: list[bytes] = []
        while part := connection.recv(65536):
            parts.append(part)
            if part.endswith(b"\n"):
                break
        return b"".join(parts)


def _unwrap(answer: Mapping[str, Any]) -> Any:
    if "error" in answer:
        data = answer["error"].get("data", {})
        raise CallFailedError(answer["error"]["message"], data.get("hint", ""), data.get("exit", FAILED))
    return answer["result"]
