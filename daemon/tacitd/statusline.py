"""The line for a client's status bar, asked for with one question to the daemon.

A client runs this file after each message (`python3 -I -S statusline.py`), so only what the interpreter has loaded already is
imported, and `_socket`: the package's own modules take ten times as long.
"""

from __future__ import annotations

import os
import sys
import time

PATIENCE = 0.2
"""Seconds for the daemon's answer."""
ABSENT = "tacitd: not running"
BUSY = "tacitd: busy"
REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"statusline","params":{}}\n'

TYPE_CHECKING = False  # importing typing takes longer than the whole question
if TYPE_CHECKING:
    from collections.abc import Mapping


def print_status_line() -> None:
    """Print the line. A closed standard output is not an error: the client did not wait."""
    try:
        sys.stdout.write(ask_status_line(os.environ) + "\n")
        sys.stdout.flush()
    except (OSError, AttributeError):  # AttributeError: there is no stdout at all
        pass


def ask_status_line(environ: Mapping[str, str]) -> str:
    """ABSENT if no daemon runs, BUSY if it does not answer in time."""
    try:
        answer = exchange_line(find_socket(environ), REQUEST, PATIENCE)
    except TimeoutError:
        return BUSY
    except OSError:
        return ABSENT
    _, found, rest = answer.partition(b'"line":"')
    if not found or not rest.endswith(b"\n"):
        return BUSY
    return _decode_string(rest.decode("utf-8", "replace"))


def exchange_line(path: str, request: bytes, seconds: float) -> bytes:
    """The answer; less than a line if the daemon closed the connection. Raises OSError, TimeoutError."""
    import _socket

    deadline = time.monotonic() + seconds
    peer = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    got = b""
    try:
        peer.settimeout(seconds)
        peer.connect(path)
        peer.sendall(request)
        while not got.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0:  # also while a daemon sends without an end
                raise TimeoutError
            peer.settimeout(left)
            part = peer.recv(65_536)
            if not part:
                break
            got += part
    finally:
        peer.close()
    return got


def find_socket(environ: Mapping[str, str]) -> str:
    """Raises OSError if there is none."""
    descriptor = os.open(
        f"{find_state_dir(environ)}/socket", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    )
    try:
        return os.fsdecode(os.read(descriptor, 4096)).partition("\n")[0]
    finally:
        os.close(descriptor)


def find_state_dir(environ: Mapping[str, str]) -> str:
    """As `tacitd.state.paths`, which refuses a relative one."""
    home, state = environ.get("HOME", ""), environ.get("TACITD_STATE_DIR", "")
    if state.startswith(("/", "~/")):
        return home + state[1:] if state.startswith("~/") else state
    base = environ.get("XDG_STATE_HOME", "")
    usual = home + ("/Library/Application Support" if sys.platform == "darwin" else "/.local/state")
    return (base if base.startswith("/") else usual) + "/tacitd"


def _decode_string(text: str) -> str:
    """The value of a JSON string whose first quote is cut off."""
    from _json import scanstring  # `json` takes as long to import as Python takes to start

    try:
        return str(scanstring(text, 0)[0])
    except ValueError:
        return BUSY


if __name__ == "__main__":
    print_status_line()
