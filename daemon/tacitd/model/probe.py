"""Whether the client knows the options of the lean call, asked of its `--help`: that costs nothing (SPEC S-63)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from tacitd.model.client_args import missing_options

Ask = Callable[[], str]
"""Run the client with `--help` and return what it prints. May raise OSError or ValueError."""


class OptionsProbe:
    """Remembers which program knows all options. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._good: tuple[str, int, int, int, int] | None = None
        """The program that was asked last and lacks nothing, or of which nothing is known."""

    def missing(self, program: Path, ask: Ask) -> list[str]:
        """Return the options that the program does not know; empty also if it cannot be asked.

        A program that lacks nothing is asked once, and again when its file has changed. One that lacks something is asked
        each time: an update may change what a wrapper starts, and not the wrapper.
        """
        with self._lock:
            identity = _identity(program)
            if identity is not None and identity == self._good:
                return []
            try:
                missing = missing_options(ask())
            except (OSError, ValueError):  # the call itself will say what is wrong with the program
                return []
            self._good = None if missing else identity
            return missing


def describe_missing(missing: list[str]) -> str:
    """Given options that a client does not know, say so: the same in `doctor` and in the daemon."""
    return f"this client does not know {', '.join(missing)}: the daemon cannot call it"


def _identity(program: Path) -> tuple[str, int, int, int, int] | None:
    try:
        found = program.stat()
    except OSError:
        return None
    return str(program), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
