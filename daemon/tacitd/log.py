"""Where tacitd's own log goes. Never in it: the environment, prompts, transcript text at INFO and above."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from loguru import logger

if TYPE_CHECKING:
    from loguru import Record

FORMAT = "{time:YYYY-MM-DDTHH:mm:ss.SSSZZ} {level: <7} {message}"


def to_file(path: Path, level: str) -> None:
    """Only to a rotating file, 0600: five files of 5 MB. Raises OSError."""
    logger.remove()
    logger.add(
        path,
        level=level,
        format=FORMAT,
        rotation="5 MB",
        retention=5,
        opener=_private,
        backtrace=False,
        diagnose=False,
    )


def to_journal(level: str) -> None:
    """Only to stderr, as the journal takes it: one line each, with its priority in front (sd-daemon(3))."""
    logger.remove()
    logger.add(sys.stderr, level=level, format=_for_journal, colorize=False, backtrace=False, diagnose=False)


def _for_journal(record: Record) -> str:
    number = record["level"].no
    return f"\\<{3 if number >= 40 else 4 if number >= 30 else 6 if number >= 20 else 7}>{{message}}\n{{exception}}"


def to_stderr(level: str) -> None:
    """Also to stderr: a terminal in the foreground."""
    logger.add(
        sys.stderr,
        level=level,
        format="{level: <7} {message}",
        colorize=False,
        backtrace=False,
        diagnose=False,
    )


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
