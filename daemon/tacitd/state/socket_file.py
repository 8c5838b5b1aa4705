"""The file with the socket's path, for commands with another environment than the daemon's."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from loguru import logger

from tacitd.files.atomic import replace_file
from tacitd.state.paths import SOCKET_FILE


def write_socket_file(state_dir: Path, socket: Path) -> None:
    """Write it. A failure is logged: otherwise a service manager would restart the daemon for ever."""
    try:
        replace_file(state_dir / SOCKET_FILE, f"{socket}\n".encode(), mode=0o600)
    except OSError as error:
        logger.warning("{} cannot be written: {}", SOCKET_FILE, error.strerror)


def remove_socket_file(state_dir: Path) -> None:
    """Remove it, if it is there."""
    with suppress(OSError):
        (state_dir / SOCKET_FILE).unlink(missing_ok=True)
