"""The rescue log: the text of prompts that wait, because Claude Code deletes a transcript 30 days after its last line.

The text of prompts that were rejected, or that have been parked for more than a day, is copied to a log (0600). It is
removed when the prompt was handled, or dropped by a person. Secrets are blanked. What is parked is decided elsewhere.

Records: `{"id","handler","session","project","time","text","reason","at"}`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

from tacitd.clock import Clock
from tacitd.events import Prompt
from tacitd.files.log import Log
from tacitd.text.redact import redact_secrets


class RescueLog:
    """The rescue log. Thread-safe."""

    def __init__(self, log: Log, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: dict[tuple[str, str], Mapping[str, Any]] = {}
        for record in log.read():
            self._fold(record)

    def _fold(self, record: Mapping[str, Any]) -> None:
        self._entries[(str(record.get("handler", "")), str(record.get("id", "")))] = record

    def keep_prompts(self, handler: str, prompts: Iterable[Prompt], reason: str) -> None:
        """Copy these prompts, except those that are in the log already."""
        with self._lock:
            for prompt in prompts:
                if (handler, prompt.id) not in self._entries:
                    self._write(self._record(handler, prompt, reason))
            # One sync for all of them. The position moves past a rejected prompt only after this.
            self._log.flush()

    def _record(self, handler: str, prompt: Prompt, reason: str) -> dict[str, Any]:
        text, _ = redact_secrets(prompt.text)
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

    def remove_handled(self, handler: str, ids: Iterable[str]) -> None:
        """Remove prompts that were handled."""
        with self._lock:
            self._remove_entries({(handler, id) for id in ids})

    def remove_settled(
        self, known: Mapping[str, Callable[[str], bool]], letters: Iterable[Mapping[str, Any]]
    ) -> None:
        """Remove prompts that are handled by now: a crash or a full disk may have come between their commit and this.

        `known`: by handler, whether it handled or rejected the prompt with an id. `letters`: the dead letters; the text
        of their prompts stays. Raises OSError.
        """
        with self._lock:
            over = {(name, id) for name, id in self._entries if name in known and known[name](id)}
            if over:
                named = ((one.get("handler"), one.get("prompts")) for one in letters)
                dead = {(str(name), str(id)) for name, ids in named if isinstance(ids, list) for id in ids}
                self._remove_entries(over - dead)

    def drop_prompt(self, id: str) -> int:
        """Remove the entries with this id, as a person asked. Returns their number."""
        with self._lock:
            return self._remove_entries({key for key in self._entries if key[1] == id})

    def _remove_entries(self, keys: Set[tuple[str, str]]) -> int:
        """Write the log again without these entries, so that their text is on disk no longer than needed."""
        left = {key: record for key, record in self._entries.items() if key not in keys}
        gone = len(self._entries) - len(left)
        if gone:
            # The file first: if this fails, the entries stay listed, and `remove_settled` removes them later.
            self._log.compact(left.values())
            self._entries = left
        return gone

    def list_entries(self) -> list[Mapping[str, Any]]:
        """Every entry, oldest first."""
        with self._lock:
            return list(self._entries.values())
