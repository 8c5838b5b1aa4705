"""What a handler of the first contract has still to do in a transcript, from the rows of the store and the file.

The records from the handler's position on are read again. Of their prompts, those stay that have a waiting row of
`prompt_task` for this handler. A waiting prompt that is in none of them is offered from its row: its transcript is gone or was
rewritten, or a person asked for it with `scan` or `rescue retry`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tacitd.contract import StoredPrompt, Tx
from tacitd.events import NoProject, Project, Prompt, Record
from tacitd.sources.base import Source
from tacitd.sources.transcript import read_records
from tacitd.work.batching import Batch, infer_times, make_batch
from tacitd.work.prompt_rows import COLUMNS, prompt_id, prompt_of
from tacitd.work.record_cache import RecordCache
from tacitd.work.task_rows import Rows


class Growth(Struct, frozen=True):
    """What a handler is offered next of a transcript."""

    session: str
    start: int
    """The handler's position."""
    ingested: int
    """The offset up to which the transcript was ingested."""
    batch: Batch
    waiting: dict[str, StoredPrompt]
    """The prompts of the transcript that wait for the handler, by id."""
    gone: tuple[int, ...] = ()
    """The numbers of those whose words were not stored and are in no record any more."""
    from_rows: bool = False
    """Whether the records are made of rows: each has an offset of its own behind the ingested bytes, and no position moves."""

    def numbers_before(self, upto: int) -> list[int]:
        """The numbers of the batch's prompts in records that end at or before this offset."""
        return [self.waiting[prompt_id(one)].number for one in self.batch.prompts_before(upto)]

    def prompts_before(self, upto: int) -> list[StoredPrompt]:
        """These prompts."""
        return [self.waiting[prompt_id(one)] for one in self.batch.prompts_before(upto)]


class GrowthReader:
    """Reads what handlers are offered. Thread-safe."""

    def __init__(
        self,
        rows: Rows,
        source: Source,
        find_project: Callable[[str], Project | NoProject],
        find_floor: Callable[[], float] = lambda: -math.inf,
    ) -> None:
        """`find_floor`: records from before this time are from before the first start."""
        self._find_floor = find_floor
        self._rows = rows
        self._source = source
        self._find_project = find_project
        self.cache = RecordCache(source)

    def read_growth(
        self, plugin: str, path: Path, alone_until: int = 0, *, pays: bool = False
    ) -> Growth | None:
        """Return what a handler is offered next; None if nothing is known of the transcript. Before the offset `alone_until` it is
        one record, because a larger batch without prompts failed. `pays`: records from before the first start are left out."""
        found = self._rows(
            "SELECT t.session, t.cwd, t.offset, t.crc, a.offset FROM transcript t LEFT JOIN adapter_position a "
            "ON a.transcript = t.path AND a.plugin = ? WHERE t.path = ?",
            plugin,
            str(path),
        )
        if not found:
            return None
        session, cwd, ingested, crc, position = found[0]
        start: int = ingested if position is None else position
        waiting = {one.id: one for one in list_waiting(self._rows, plugin, path)}
        records, reached = self.cache.read(path, start, ingested, crc) if start < ingested else ([], ingested)
        records = self._drop_paused(path, records) if records else []
        there = {prompt_id(prompt) for record in records for prompt in record.prompts}
        absent = [one for one in waiting.values() if one.id not in there] if reached == ingested else []
        gone = tuple(one.number for one in absent if not one.text)
        kept = _strip(records, waiting)
        if pays:
            kept = _drop_old(kept, self._find_floor())
        before, rows = _choose_rows(kept, waiting, [one for one in absent if one.text])
        if not before and rows:
            kept = [_make_record(one, ingested + number) for number, one in enumerate(rows)]
            limit = _find_limit(kept, waiting)
        else:
            rows = []
            limit = 1 if start < alone_until else _find_limit(kept[:before], waiting)
            limit = before if limit is None and before < len(kept) else limit
        end = reached + len(rows)
        batch = make_batch(kept, end, lambda prompt: True, self._find_project, cwd, limit)
        return Growth(session, start, ingested, batch, waiting, gone, from_rows=bool(rows))

    def read_unpaused(self, path: Path, start: int, upto: int) -> list[Record]:
        """The records between two offsets, without those of a pause."""
        return list(self._drop_paused(path, read_records(self._source, path, start, upto)))

    def _drop_paused(self, path: Path, records: Sequence[Record]) -> Sequence[Record]:
        passed = self._rows("SELECT start, end FROM adapter_passed WHERE transcript = ?", str(path))
        if not passed:
            return records
        return [one for one in records if not any(begin <= one.start < end for begin, end in passed)]


def list_waiting(rows: Rows, plugin: str, path: Path) -> list[StoredPrompt]:
    """The prompts of a transcript that wait for a handler, in order."""
    found = rows(
        f"SELECT {COLUMNS}, t.tries FROM prompt p CROSS JOIN prompt_task t ON t.prompt = p.number "  # in this order
        "WHERE t.plugin = ? AND t.state = 'waiting' AND p.transcript = ? ORDER BY p.number",
        plugin,
        str(path),
    )
    return [prompt_of(row[:-1], row[-1]) for row in found]


def skip_paused(tx: Tx, path: str, start: int, end: int) -> None:
    """The records between these offsets are of a pause: no handler gets them."""
    tx.execute("INSERT OR REPLACE INTO adapter_passed VALUES(?, ?, ?)", path, start, end)


def _strip(records: Sequence[Record], waiting: dict[str, StoredPrompt]) -> list[Record]:
    """The records with those of their prompts that wait; what was kept of the assistant's words before each is in its row."""
    kept = list[Record]()
    for record in records:
        prompts = tuple(
            _clear_context(one) if one.context and not waiting[id].context else one
            for one in record.prompts
            if (id := prompt_id(one)) in waiting
        )
        one = record if prompts == record.prompts else replace(record, prompts=prompts)
        if one is record or not one.is_empty:
            kept.append(one)
    return kept


def _clear_context(prompt: Prompt) -> Prompt:
    return replace(prompt, context="", context_cwd="", context_time=None)


def _choose_rows(
    records: Sequence[Record], waiting: dict[str, StoredPrompt], absent: Sequence[StoredPrompt]
) -> tuple[int, list[StoredPrompt]]:
    """Given the records and the prompts that are in none of them, return how many records come first, and which of the prompts
    follow: in the order in which they were read, and last those that `scan` found."""
    live = [one for one in absent if one.priority == "live"]
    if not live:
        return len(records), list(absent)
    numbers = [
        min((waiting[prompt_id(one)].number for one in record.prompts), default=0) for record in records
    ]
    before = next((at for at, number in enumerate(numbers) if number > live[0].number), len(records))
    if any(numbers[:before]):
        return before, live
    following = next((number for number in numbers if number), math.inf)
    return 0, [one for one in live if one.number < following]


def _drop_old(records: Sequence[Record], floor: float) -> list[Record]:
    """Without the records from before the first start, but with those of prompts that are wanted all the same."""
    times = infer_times(records)
    return [one for one, at in zip(records, times, strict=True) if one.prompts or at is None or at >= floor]


def _find_limit(records: Sequence[Record], waiting: dict[str, StoredPrompt]) -> int | None:
    """How many records make a batch in which a prompt that failed before is alone; None: all of them."""
    alone: bool | None = None
    for number, record in enumerate(records):
        if record.prompts:
            failed = any(waiting[prompt_id(one)].tries for one in record.prompts)
            if alone is not None and (alone or failed):
                return number
            alone = failed
    return None


def _make_record(one: StoredPrompt, at: int) -> Record:
    """A record with a prompt from its row."""
    uuid = "" if one.id.startswith("~") else one.id
    prompt = Prompt(one.kind, one.text, one.session, uuid, one.typed, one.cwd, one.context)
    return Record(at, at + 1, "user", uuid, one.session, one.typed, one.cwd, (prompt,))
