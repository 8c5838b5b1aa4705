"""Dead letters: rejected work, with its reason and its place in the transcript. Its text is in the rescue log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from loguru import logger

from tacitd.files.log import Log
from tacitd.files.recent_records import read_recent

KEPT = 400 * 86400.0
"""Seconds for which a rejected prompt can be tried again. The client keeps its transcript for 30 days; then its words are in
the rescue log, which keeps them as long as there is a letter."""


class DeadLetters:
    """The log of dead letters. Engine thread."""

    def __init__(self, log: Log, now: Callable[[], float]) -> None:
        self._log = log
        self._now = now
        self.count = len(read_recent(log, now(), KEPT, large=0))
        """The number of dead letters."""

    def add_letter(self, handler: str, reason: str, where: Mapping[str, Any]) -> None:
        """Add a dead letter. Durable when this returns. Raises OSError, LogDamagedError."""
        logger.warning("rejected by {}: {}", handler, reason)
        self.append({"at": self._now(), "handler": handler, "reason": reason, **where})
        self._log.flush()
        self.count += 1

    def remove_prompts(self, handler: str, ids: Collection[str]) -> None:
        """Remove prompts that are tried again from the letters. Raises OSError; then nothing is removed."""
        left: list[Mapping[str, Any]] = []
        for letter in self._log.read():
            prompts = letter.get("prompts")
            if (
                letter.get("handler") != handler
                or not isinstance(prompts, list)
                or not set(prompts) & set(ids)
            ):
                left.append(letter)
            elif kept := [id for id in prompts if id not in ids]:
                left.append({**letter, "prompts": kept})
        self._log.compact(left)
        self.count = len(left)

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a record as it is."""
        self._log.append(record)

    def read(self) -> Iterable[Mapping[str, Any]]:
        """Every dead letter, oldest first."""
        return self._log.read()
