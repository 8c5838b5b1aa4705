"""Finds the `claude` program: on PATH, otherwise where its installers put it. And whether it knows the options of the lean call.

Service managers give a bare PATH, so the well-known places are checked too. The options are asked of its `--help`, which costs
nothing (SPEC S-63). Starting the program does not belong here.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tacitd.model.environment import missing_options

Ask = Callable[[], str]
"""Run the client with `--help` and return what it prints. May raise OSError or ValueError."""
_NUMBERS = re.compile(r"\d+")


def find_command(command: str, environ: Mapping[str, str]) -> Path | None:
    """Given `claude.command` and the environment, return the program's path, or None if there is none.

    A command with a slash or `~` is a path, and only that path is checked. A symlink is not resolved, because an update
    changes its target.
    """
    home = Path(environ["HOME"]) if environ.get("HOME") else None
    if "/" in command or command.startswith("~"):
        return _runnable(_expanded(command, home))
    found = shutil.which(command, path=environ.get("PATH") or os.defpath)
    if found is not None:
        return Path(found).absolute()
    return next((path for path in map(_runnable, _places(command, home)) if path is not None), None)


def _expanded(command: str, home: Path | None) -> Path:
    if command.startswith("~/") and home is not None:
        return home / command[2:]
    return Path(command).absolute()


def _runnable(path: Path) -> Path | None:
    try:
        return path if path.is_file() and os.access(path, os.X_OK) else None
    except OSError:
        return None


def _places(command: str, home: Path | None) -> Iterator[Path]:
    """The installers' places, the native installer's first, then the package managers'."""
    if home is not None:
        yield home / ".claude" / "local" / command
        yield home / ".local" / "bin" / command
    yield Path("/usr/local/bin") / command
    yield Path("/opt/homebrew/bin") / command
    if home is not None:
        yield home / ".npm-global" / "bin" / command
        yield from _newest_first(home / ".nvm" / "versions" / "node", command)
        yield home / ".volta" / "bin" / command
        yield home / ".bun" / "bin" / command


def _newest_first(versions: Path, command: str) -> Iterator[Path]:
    """`v22.3.0` before `v20.19.1`: ordered by number, not as text."""
    try:
        names = [entry.name for entry in versions.iterdir()]
    except OSError:
        return
    for name in sorted(names, key=lambda n: [int(part) for part in _NUMBERS.findall(n)], reverse=True):
        yield versions / name / "bin" / command


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
