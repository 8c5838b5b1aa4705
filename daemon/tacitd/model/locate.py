"""Finds the `claude` program: on PATH, otherwise where its installers put it.

Service managers give a bare PATH, so the well-known places are checked too. Starting the program does not belong here.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

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
