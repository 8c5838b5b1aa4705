"""The notices of handlers, one line each: for the log, the terminal of `run`, and callers that wait for a `sync`."""

from __future__ import annotations

import threading
from collections import deque

from loguru import logger

from tacitd.handler import Notice

STORED = "learned"
"""`Notice.did` of what was stored."""
KEPT = 500
"""Notices that are kept for callers that wait: more than one `sync` usually brings."""
LONGEST = 400
"""Maximum characters of a notice's text."""


class Notices:
    """The newest notices, numbered. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: deque[tuple[int, Notice]] = deque(maxlen=KEPT)
        self._count = 0

    def add_notice(self, notice: Notice) -> None:
        """Log a notice at INFO and keep it."""
        with self._lock:
            self._count += 1
            self._newest.append((self._count, notice))
        logger.info("{}", notice_line(notice))

    def get_mark(self) -> int:
        """The number of the newest notice, for `list_since`."""
        with self._lock:
            return self._count

    def list_since(self, mark: int) -> list[Notice]:
        """The notices after `mark` that are still kept, oldest first."""
        with self._lock:
            return [notice for number, notice in self._newest if number > mark]


def notice_line(notice: Notice) -> str:
    """Given a notice, return it as one line without control characters."""
    about = ", ".join(part for part in (notice.where, notice.about) if part)
    whole = f"{notice.did}: {notice.text[:LONGEST]}" + (f"  ({about})" if about else "")
    return "".join(char if char.isprintable() else " " for char in whole)
