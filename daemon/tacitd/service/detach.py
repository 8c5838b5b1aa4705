"""`tacitd start` on a machine with neither systemd nor launchd: a child that detaches, and a parent that waits for it.

The child is in a session of its own from its start, and outlives the parent. It enters python-daemon's context before any thread,
socket, lock or log sink exists, because the context closes descriptors. The parent waits until the socket answers, or the child has
ended, and reports the result.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from tacitd.control.client import call_daemon
from tacitd.errors import FAILED, TacitdError, UnavailableError
from tacitd.files.locks import acquire_lock, make_private_dir
from tacitd.state.paths import Paths, find_current_dir

START_TIMEOUT = 30.0
"""Seconds within which the child must answer."""
STOP_TIMEOUT = 20.0
"""Seconds within which a stopping daemon must have ended."""


class StartFailedError(TacitdError):
    code = FAILED


def own_command() -> list[str]:
    """The arguments that run this program again: the interpreter and the script that was started."""
    script = find_current_dir() / sys.argv[0]
    return (
        [sys.executable, str(script)]
        if script.is_file()
        else [sys.executable, "-m", "tacitd_handlers.entry_point"]
    )


def spawn_daemon(places: Paths, environ: Mapping[str, str]) -> int:
    """Start the child and wait until it answers. Returns the daemon's pid; that of one that runs already, if another start was
    quicker. Raises StartFailedError."""
    if (pid := ping_daemon(places.socket)) is not None:
        return pid
    make_private_dir(places.state_dir)
    output = places.state_dir / "start.log"
    fd = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    with os.fdopen(fd, "w") as log:
        child = subprocess.Popen(
            [*own_command(), "run", "--detached"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=dict(environ),
            cwd=places.state_dir,
        )
    deadline, code = time.monotonic() + START_TIMEOUT, None
    while code is None and time.monotonic() < deadline:
        with suppress(subprocess.TimeoutExpired):
            code = child.wait(0.05)
        # Also if it has ended: another start was quicker, and its daemon serves as well.
        if (pid := ping_daemon(places.socket)) is not None:
            if pid != child.pid:  # it finds the lock held; after a `stop` it would not
                with suppress(subprocess.TimeoutExpired):
                    child.wait(STOP_TIMEOUT)
            return pid
    raise _make_failure(output, code or FAILED)


def _make_failure(output: Path, code: int) -> TacitdError:
    """The error with the last five lines that the child wrote, and the child's own hint if it printed one."""
    lines = output.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-5:]
    hints = [line.removeprefix("hint: ") for line in lines if line.startswith("hint: ")]
    words = [line.removeprefix("tacitd: ") for line in lines if not line.startswith("hint: ")]
    log = output.with_name("tacitd.log")
    error = StartFailedError(
        "the daemon did not start: " + (" / ".join(words) or "it printed nothing"),
        hints[-1] if hints else f"read {output} and {log}",
    )
    error.code = max(code, FAILED)  # of a signal it is below 0
    return error


def ping_daemon(socket: Path) -> int | None:
    """The pid of the daemon that answers on this socket; None if none does."""
    try:
        return int(call_daemon(socket, "ping", timeout=2.0).get("pid", 0))
    except (TacitdError, OSError, ValueError):
        return None


def wait_for_daemon(socket: Path) -> int:
    """Wait until the daemon of a service answers, and return its pid. Raises StartFailedError after START_TIMEOUT."""
    deadline = time.monotonic() + START_TIMEOUT
    while (pid := ping_daemon(socket)) is None:
        if time.monotonic() > deadline:
            raise StartFailedError(
                "the service does not answer", "`tacitd service status` and `tacitd service logs` say why"
            )
        time.sleep(0.05)
    return pid


def wait_until_gone(state_dir: Path, seconds: float = STOP_TIMEOUT) -> bool:
    """Wait until the daemon's lock is free, for at most `seconds`. Returns whether it is. The socket goes
    earlier."""
    deadline = time.monotonic() + seconds
    while state_dir.is_dir():
        try:
            acquire_lock(state_dir / "lock").release()
        except UnavailableError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        else:
            return True
    return True


def run_detached(state_dir: Path, work: Callable[[], int]) -> int:
    """Run `work` as a daemon and return its result. Standard output and error, which the parent has opened, stay as they are."""
    import daemon  # python-daemon

    daemon.DaemonContext(
        working_directory=str(state_dir),
        umask=0o077,
        stdout=sys.stdout,
        stderr=sys.stderr,
        detach_process=False,
        # SIGTERM is the daemon's own.
        signal_map={signal.SIGTSTP: None, signal.SIGTTIN: None, signal.SIGTTOU: None},
    ).open()
    return work()
