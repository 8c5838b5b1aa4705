"""The client of the control socket, as the command line uses it. It imports almost nothing."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacitd.control.protocol import encode_request
from tacitd.errors import CONFIG, FAILED, PARKED, UNAVAILABLE, USAGE, TacitdError, UnavailableError

END_HINT = (
    "if it still does not answer, run `tacitd restart`, or `kill -9` the process whose number is in the file `lock` of "
    "its state directory and start it again: no work is lost"
)
STUCK_HINT = f"try again; {END_HINT}"


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
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout)
            connection.connect(str(path))
            connection.sendall(encode_request(method, params or {}))
            with connection.makefile("rb") as lines:
                answer = lines.readline()
    except TimeoutError:
        raise BusyError(f"the daemon did not answer within {timeout:g} s", STUCK_HINT) from None
    except (BlockingIOError, ConnectionResetError, BrokenPipeError):
        # The listen backlog is full, or the daemon is at its connection limit.
        raise BusyError("the daemon is busy: too many callers at once", "try again") from None
    except OSError as error:
        what = f"no daemon answers on {path} ({error.strerror})"
        raise UnavailableError(what, "start one with `tacitd run`") from None
    if not answer:
        what = "the daemon closed the connection: too many callers at once, or it is stopping"
        raise BusyError(what, "try again")
    try:
        document = json.loads(answer)
        if "error" not in document:
            return document["result"]
        what, data = document["error"]["message"], document["error"].get("data", {})
    except (ValueError, TypeError, KeyError, AttributeError):
        what = f"the program that answers on {path} is not tacitd"
        raise UnavailableError(what, "set TACITD_SOCKET to another path") from None
    raise CallFailedError(what, data.get("hint", ""), data.get("exit", FAILED))
