"""The file with the socket's path and the daemon's process, for commands with another environment than the daemon's."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import suppress
from pathlib import Path

from loguru import logger

from tacitd.files.atomic import replace_file
from tacitd.files.locks import make_private_dir
from tacitd.state.paths import SOCKET_FILE, read_socket_file


def write_socket_file(state_dir: Path, socket: Path) -> None:
    """Write it. A failure is logged: otherwise a service manager would restart the daemon for ever."""
    try:
        replace_file(state_dir / SOCKET_FILE, f"{socket}\n{os.getpid()}\n".encode(), mode=0o600)
    except OSError as error:
        logger.warning("{} cannot be written: {}", SOCKET_FILE, error.strerror)


def remove_socket_file(state_dir: Path) -> None:
    """Remove it, if it is this process's."""
    with suppress(OSError):
        if read_socket_file(state_dir)[1] != str(os.getpid()):
            return
        (state_dir / SOCKET_FILE).unlink(missing_ok=True)


HOOKS_DIR = "hooks"
"""Directory in the state directory."""
SCRIPT = "tacitd-hook"
"""Of the shell script in it, which the plugin's `run-hook.sh` looks for and reads."""


def write_hook_script(state_dir: Path, program: Path | None) -> None:
    """Write the script that runs the hooks' program for this state directory, unless it is there as wanted.
    Raises OSError. It names the interpreter outside the virtual environment: a `python3` on the PATH may be a
    slow shim."""
    if program is None:  # this client has no hooks
        return
    script = make_private_dir(state_dir / HOOKS_DIR) / SCRIPT
    words = [os.path.realpath(sys.executable), "-I", "-S", str(program), str(state_dir)]
    head = "# Written by tacitd's daemon at its start; the plugin's hooks run it.\n"
    wanted = f"{head}exec {shlex.join(words)}\n".encode()
    if not script.is_file() or script.read_bytes() != wanted:
        replace_file(script, wanted, mode=0o600)
