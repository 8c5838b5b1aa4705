"""The sinks of tacitd's own log: file, journal and stderr.

The log never contains the environment or prompts, and no transcript text at INFO and above.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from tacitd.text.sanitize import sanitize_text

if TYPE_CHECKING:
    from loguru import Record
    from loguru import logger as logger
else:

    class _LazyLogger:
        """loguru's logger, imported at its first use: with asyncio, loguru takes longer to import than click.

        Commands import modules that log only if something is wrong.
        """

        def __getattr__(self, name: str):  # noqa: ANN204  its type is the logger's
            from loguru import logger

            return getattr(logger, name)

    logger = _LazyLogger()

FORMAT = "{time:YYYY-MM-DDTHH:mm:ss.SSSZZ} {level: <7} {message}"
LONGEST = 5_000_000
"""Bytes of one file."""
KEPT = 5
"""Older files."""


def to_file(path: Path, level: str) -> None:
    """Log to a rotating file only, with mode 0600: the newest and five older ones of 5 MB each. Raises OSError."""
    logger.remove()
    _add(_RotatingFile(path), level, FORMAT)


def to_journal(level: str) -> None:
    """Log to stderr only, in the journal's form: each line begins with its priority, such as `<4>` (sd-daemon(3))."""
    logger.remove()
    _add(_CleanStderr(), level, _for_journal)


def _add(sink: _RotatingFile | _CleanStderr, level: str, form: str | Callable[[Record], str]) -> None:
    logger.add(sink, level=level, format=form, colorize=False, backtrace=False, diagnose=False)


def _for_journal(record: Record) -> str:
    number = record["level"].no
    return f"\\<{3 if number >= 40 else 4 if number >= 30 else 6 if number >= 20 else 7}>{{message}}\n{{exception}}"


def to_stderr(level: str) -> None:
    """Log to stderr as well, for a daemon in a terminal."""
    _add(_CleanStderr(), level, "{level: <7} {message}")


class _RotatingFile:
    """Writes `tacitd.log` and keeps older files as `tacitd.1.log`, `tacitd.2.log` and so on. A line that cannot be written is dropped,
    because loguru's own sink prints a traceback for each, for example while the disk is full."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = self._open()

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def write(self, message: str) -> None:
        """Append a line. loguru calls this under its lock."""
        data = sanitize_text(message).encode("utf-8", "backslashreplace")
        with suppress(OSError):
            self._rotate_if_needed(len(data))
            os.write(self._fd, data)

    def stop(self) -> None:
        """Close the file. loguru calls this when the sink is removed."""
        with suppress(OSError):
            os.close(self._fd)

    def _rotate_if_needed(self, more: int) -> None:
        """Rotate if the file would exceed LONGEST; reopen it if its name leads to another file, or to none."""
        held = os.fstat(self._fd)
        is_named = self._path.exists() and os.path.samestat(self._path.stat(), held)
        if is_named and held.st_size + more <= LONGEST:
            return
        names = [self._path, *(self._path.with_suffix(f".{number}.log") for number in range(1, KEPT + 1))]
        for newer, older in reversed(list(pairwise(names))) if is_named else ():
            if newer.exists():
                newer.replace(older)
        opened = self._open()
        os.close(self._fd)
        self._fd = opened


class _CleanStderr:
    """A sink that writes to stderr, without what a name or an error's text may hide or do to a terminal."""

    def write(self, message: str) -> None:
        sys.stderr.write(sanitize_text(message))
        sys.stderr.flush()
