"""When tacitd started first. A prompt from before that is not paid for, unless `scan` asks for it.

What transcripts contain at the first start is taken as read by their positions. Time decides only for what appears later: a copy of
an old session, a transcript of another machine, one that could not be read then. So a time is only ever moved back: the clock may
have been wrong at the first start, or may be wrong now, and what is typed meanwhile is new.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tacitd.clock import Clock
from tacitd.errors import FileRefusedError
from tacitd.sources.listing import Stamp
from tacitd.sources.source import Source
from tacitd.sources.transcript import read_prompts
from tacitd.store import Store
from tacitd.work.prompt_rows import insert_prompt

GRACE = 60.0
"""Seconds by which a prompt may be older than the first start and still count as new: its record has the time at which Enter was
pressed, and appears in the file later."""
_KEY = "first start"
_SOURCES = "sources"
"""The setting with the names of the sources that were known at a start before: JSON."""


class FirstStart:
    """The earliest time that the clock showed since tacitd is here. Use it from one thread, the loop's."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.is_now = False
        """Whether this start is the first."""
        self.at = math.inf
        """Seconds since 1970, UTC."""
        self._stored = math.inf

    @property
    def floor(self) -> float:
        """Prompts that were typed earlier are from before the first start: seconds since 1970, UTC."""
        return self.at - GRACE

    def read(self) -> None:
        """Read when it was, if it was ever."""
        found = self._store.rows("SELECT CAST(value AS REAL) FROM setting WHERE key = ?", _KEY)
        self.is_now = not found
        for (at,) in found:
            self._stored, self.at = at, min(self.at, at)

    def find_new_sources(self, names: Sequence[str]) -> set[str]:
        """Those of these sources whose transcripts were not known at any start before: what exists of them counts as read. A
        client that is installed later than tacitd is not new then, so nothing that is typed in it is passed over. The first one
        is as old as the store."""
        found = self._store.rows("SELECT value FROM setting WHERE key = ?", _SOURCES)
        known = set(json.loads(found[0][0])) if found else set() if self.is_now else set(names[:1])
        return set(names) - known

    def store_sources(self, names: Sequence[str]) -> None:
        """These sources are known from now on. Raises UnwritableError, StoreLostError."""
        with self._store.write() as tx:
            tx.execute("INSERT OR REPLACE INTO setting VALUES(?, ?)", _SOURCES, json.dumps(sorted(names)))

    def note_clock(self) -> None:
        """Look at the clock, whether the store can be written or not: it may be set again before it can be."""
        self.at = min(self.at, self._clock.now())

    def store(self) -> None:
        """Store it if it is earlier than what is stored. Raises UnwritableError, StoreLostError: it is stored by the next pass."""
        if self.at < self._stored:
            with self._store.write() as tx:
                tx.execute("INSERT OR REPLACE INTO setting VALUES(?, ?)", _KEY, repr(self.at))
            self._stored = self.at


def note_known_prompts(store: Store, source: Source, stamps: Mapping[str, Stamp], now: float) -> None:
    """Know the prompts that exist at the first start and are from a later time than the clock shows, because it was set back: by their
    times alone, a copy of them would be new. Raises UnwritableError, StoreLostError."""
    for name, stamp in stamps.items():
        if stamp.mtime_ns <= now * 1e9:
            continue
        with suppress(OSError, FileRefusedError):  # it is gone, or cannot be read
            later = [one for one in read_prompts(source, Path(name)) if one.time is None or one.time > now]
            with store.write() as tx:
                for prompt in later:
                    new = insert_prompt(tx, prompt, source.name_of(name), name, None, now)
                    if new is not None:  # of what was not asked for, no text is kept
                        sql = "UPDATE prompt SET text = NULL, context = NULL, handled = ? WHERE number = ?"
                        tx.execute(sql, now, new.number)
