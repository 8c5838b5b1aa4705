"""`tacitd scan`: prompts of old transcripts become rows, because a person asked for them. No position moves. The request is a task of the
engine, which the command inserts.

A prompt that a plugin handled or rejected before is not taken again. One that was passed over, or that is from before the first
start, is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from uuid import uuid4

from tacitd.clock import Clock
from tacitd.contract import Tx
from tacitd.errors import TacitdError
from tacitd.events import NoProject, Project, Prompt
from tacitd.sources.source import Source
from tacitd.sources.transcript import read_prompts
from tacitd.store import Store
from tacitd.work.passing import blank_prompt, keep_context
from tacitd.work.project_rows import store_project
from tacitd.work.prompt_rows import insert_prompt, insert_text, queue_prompt
from tacitd.work.task_rows import ENGINE, NewTask, insert_task


def request_scan(
    tx: Tx, transcripts: Sequence[str], since: float, roots: Collection[str], now: float
) -> None:
    """Have these transcripts read again: see `scan_transcript`."""
    data = {"transcripts": list(transcripts), "since": since, "projects": list(roots)}
    # In a lane of its own: a long one must not keep the engine's other tasks waiting.
    insert_task(tx, NewTask(ENGINE, "scan", "command", f"scan {uuid4()}", data=data), now)


def scan_transcript(
    store: Store,
    source: Source,
    find_project: Callable[[str], Project | NoProject],
    plugins: Sequence[str],
    path: Path,
    since: float,
    roots: Collection[str],
    now: float,
) -> None:
    """Take the prompts of a transcript that are not older than `since` (seconds since 1970) and belong to these roots (none: all),
    for the plugins that ask the model. Nothing is taken of one that cannot be read. For a thread that may look at projects. Raises
    UnwritableError."""
    try:
        prompts = [one for one in read_prompts(source, path) if one.time is None or one.time >= since]
    except (OSError, TacitdError):
        return
    named = {where for one in prompts for where in (one.cwd, one.context_cwd or one.cwd)}
    places = {where: find_project(where) for where in named}
    wanted = [
        (blank_prompt(keep_context(one, place, places)), place)
        for one in prompts
        if isinstance(place := places[one.cwd], Project) and (not roots or str(place.root) in roots)
    ]
    name = source.name_of(path)
    with store.write() as tx:
        for one, place in wanted:
            _queue_old(tx, plugins, name, str(path), one, store_project(tx, place, now), now)


def _queue_old(
    tx: Tx, plugins: Sequence[str], source: str, path: str, prompt: Prompt, project: int, now: float
) -> None:
    """Queue a prompt for the plugins that did not handle it. The same words in the same session may be known by another id."""
    insert_prompt(tx, prompt, source, path, project, now, priority="scan")
    for (number,) in tx.rows("SELECT number FROM prompt WHERE id = ?", prompt.id):
        handling = {name for (name,) in tx.rows("SELECT plugin FROM prompt_task WHERE prompt = ?", number)}
        new = [name for name in plugins if name not in handling]
        if new:
            tx.execute("UPDATE prompt SET passed = NULL, project = ? WHERE number = ?", project, number)
            insert_text(tx, number, prompt, path, "scan")
            tx.execute(
                "INSERT INTO transcript(path, source, offset, crc, session, cwd) VALUES(?, ?, 0, 0, ?, ?) "
                "ON CONFLICT(path) DO UPDATE SET session = excluded.session, cwd = excluded.cwd WHERE session = ''",
                *(path, source, prompt.session, prompt.cwd),
            )
            queue_prompt(tx, number, new)


# --- When tacitd started first. A prompt from before that is not paid for, unless `scan` asks for it.
#
# What transcripts contain at the first start is taken as read by their positions. Time decides only for
# what appears later: a copy of an old session, a transcript of another machine, one that could not be read
# then. So a time is only ever moved back: the clock may have been wrong at the first start, or may be wrong
# now, and what is typed meanwhile is new.


GRACE = 60.0
"""Seconds by which a prompt may be older than the first start and still count as new: its record has the time at which Enter
was pressed."""
_KEY = "first start"
_SOURCES = "sources"


class FirstStart:
    """The earliest time that the clock showed since tacitd is here. Use it from one thread, the loop's."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.is_now = False
        self.at = math.inf
        self._stored = math.inf

    @property
    def floor(self) -> float:
        """Prompts that were typed earlier are from before the first start."""
        return self.at - GRACE

    def read(self, names: Sequence[str]) -> set[str]:
        """Read it, and return the sources that were not known at any start before: what exists of their transcripts counts as
        read, so a client may be installed later than tacitd. Raises UnwritableError, StoreLostError."""
        found: dict[str, str] = dict(
            self._store.rows("SELECT key, value FROM setting WHERE key IN (?, ?)", _KEY, _SOURCES)
        )
        self.is_now = _KEY not in found
        if not self.is_now:
            self._stored = float(found[_KEY])
            self.at = min(self.at, self._stored)
        return set(names) - set(json.loads(found.get(_SOURCES, "[]")))

    def store_sources(self, names: Sequence[str]) -> None:
        with self._store.write() as tx:
            tx.execute("INSERT OR REPLACE INTO setting VALUES(?, ?)", _SOURCES, json.dumps(sorted(names)))

    def note_clock(self) -> None:
        """Look at the clock, whether the store can be written or not: it may be set again before it can be."""
        self.at = min(self.at, self._clock.now())

    def store(self) -> None:
        """Raises UnwritableError, StoreLostError: the next pass tries again."""
        if self.at < self._stored:
            with self._store.write() as tx:
                tx.execute("INSERT OR REPLACE INTO setting VALUES(?, ?)", _KEY, repr(self.at))
            self._stored = self.at
