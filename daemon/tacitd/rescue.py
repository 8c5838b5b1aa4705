"""Words that wait are not left to luck: Claude Code deletes a transcript 30 days after its last line.

The text of prompts that were rejected, or that have been parked for more than a day, is copied to a log of our own
(0600) and leaves it when it was handled, or dropped by hand. Secrets in it are blanked. Nothing here decides what is
parked.

Records: `{"id","handler","session","project","time","text","reason","at"}`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

from tacitd.clock import Clock
from tacitd.events import Prompt
from tacitd.files.log import Log
from tacitd.redact import redact


class Rescue:
    """The rescue log. Thread-safe."""

    def __init__(self, log: Log, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str], Mapping[str, Any]] = {}
        for record in log.read():
            self._fold(record)

    def _fold(self, record: Mapping[str, Any]) -> None:
        self._kept[(str(record.get("handler", "")), str(record.get("id", "")))] = record

    def keep(self, handler: str, prompts: Iterable[Prompt], reason: str) -> None:
        """Copy these prompts, unless they are kept already."""
        with self._lock:
            for prompt in prompts:
                if (handler, prompt.id) not in self._kept:
                    self._write(self._record(handler, prompt, reason))
            self._log.flush()

    def _record(self, handler: str, prompt: Prompt, reason: str) -> dict[str, Any]:
        text, _ = redact(prompt.text)
        where = {"session": prompt.session, "project": prompt.cwd, "time": prompt.time}
        return {
            "id": prompt.id,
            "handler": handler,
            **where,
            "text": text,
            "reason": reason,
            "at": self._clock.now(),
        }

    def _write(self, record: Mapping[str, Any]) -> None:
        self._log.append(record)
        self._fold(record)

    def handled(self, handler: str, ids: Iterable[str]) -> None:
        """These went through after all: they leave the log."""
        with self._lock:
            self._leave([(handler, id) for id in ids])

    def drop(self, id: str) -> int:
        """A person drops what is kept under this id; returns how many entries left."""
        with self._lock:
            return self._leave([key for key in self._kept if key[1] == id])

    def _leave(self, keys: Iterable[tuple[str, str]]) -> int:
        """Their words are not kept on disk a moment longer than needed: the log is written anew without them."""
        gone = [key for key in keys if self._kept.pop(key, None) is not None]
        if gone:
            self._log.compact(self._kept.values())
        return len(gone)

    def kept(self) -> list[Mapping[str, Any]]:
        """What is in it now, oldest first."""
        with self._lock:
            return list(self._kept.values())
