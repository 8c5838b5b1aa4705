"""`tacitd uninstall`: take away what is ours, say what stays and why. Nothing in a project is touched.

The parts come in order: the service, the daemon, the socket, and with `purge` the state directory and tacitd's own
configuration. docs/files.md lists every file; what is not named here stays there on purpose.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tacitd.control.client import call
from tacitd.errors import TacitdError, UnavailableError
from tacitd.files.locks import Lock, hold
from tacitd.paths import Paths
from tacitd.service.managers import Manager


def remove(places: Paths, manager: Manager | None, *, purge: bool) -> Iterator[str]:
    """Do it, and say each thing that was done and each that stays. Raises UnavailableError where a daemon does not go."""
    if manager is not None:
        yield from manager.uninstall()
    with suppress(TacitdError):
        call(places.socket, "stop")
        yield "stopped the daemon"
    lock = _free(places)
    try:
        yield from _unlink(places.socket)
        if purge:
            yield from _purge(places)
        else:
            yield f"kept {places.state_dir}: positions, budget and history (`--purge` removes it)"
    finally:
        if lock is not None:
            lock.release()
    yield "kept everything that was learned: it is yours"


def _free(places: Paths) -> Lock | None:
    """The daemon's lock, so that none starts meanwhile; None where there is no state directory at all."""
    if not places.state_dir.is_dir():
        return None
    deadline = time.monotonic() + 20
    while True:
        try:
            return hold(places.state_dir / "lock")
        except UnavailableError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _unlink(path: Path) -> Iterator[str]:
    with suppress(FileNotFoundError):
        path.unlink()
        yield f"removed {path}"
    with suppress(OSError):
        if path.parent.name.startswith("tacitd"):
            path.parent.rmdir()


def _purge(places: Paths) -> Iterator[str]:
    if places.state_dir.is_dir():
        shutil.rmtree(places.state_dir)
        yield f"removed {places.state_dir}"
    if places.config_file.is_file():
        yield f"kept {places.config_file}: you wrote it"
