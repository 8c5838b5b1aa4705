"""What a handler has still to do in a transcript: its new records and prompts, and the next batch of them.

Moves no position and starts nothing. `make_next_batch` notes which other transcript has the next prompts in flight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tacitd.consumers.consumer import Consumer
from tacitd.consumers.cursor_table import Cursor
from tacitd.dispatch.batching import Batch, infer_times, make_batch
from tacitd.dispatch.event_keys import lane_of
from tacitd.dispatch.in_flight import InFlightPrompts
from tacitd.dispatch.pauses import Pause, PausedScopes, list_scopes
from tacitd.dispatch.pool import TranscriptPool
from tacitd.dispatch.work_item import WorkItem
from tacitd.dispatch.work_queue import WorkQueue
from tacitd.events import NoProject, Project, Prompt, Record
from tacitd.sources.transcript import Tail


class UnhandledRecords(Struct, frozen=True):
    """Answers questions about work items. Engine thread only."""

    work_queue: WorkQueue
    pool: TranscriptPool
    in_flight: InFlightPrompts
    project_of: Callable[[str], Project | NoProject]
    pauses: PausedScopes

    def find_reader(self, item: WorkItem) -> WorkItem | None:
        """Given the item of a transcript or of an end of its session, return the item of the transcript if it is not
        finished: a handler has it or will have it again, or it contains something final that is not handled."""
        if item.cursor is None:
            return None
        reader = self.work_queue.items_by_transcript.get((item.consumer.name, item.cursor.path))
        if reader is not None and (
            reader.busy or reader.parked is not None or reader.pending_write is not None
        ):
            return reader
        return self.work_queue.get_item(item.consumer, item.cursor.path) if self.is_behind(item) else None

    def is_behind(self, item: WorkItem) -> bool:
        """Whether the transcript contains something final after the position. An evicted one is not read again."""
        end = self.pool.get_final_offset(item.cursor.path) if item.cursor is not None else None
        return end is not None and item.cursor is not None and item.cursor.offset < end

    def find_owner(self, item: WorkItem) -> WorkItem | None:
        """The item of the transcript that has the next prompts of this one in flight; None if there is none."""
        if item.blocked_by is None:
            return None
        return self.work_queue.items_by_transcript.get((item.consumer.name, item.blocked_by))

    def make_next_batch(self, item: WorkItem, cursor: Cursor, tail: Tail) -> Batch:
        """Return the records that are offered next. It ends before a prompt that another transcript has in flight and
        has still to hand over; that transcript becomes `item.blocked_by`."""
        consumer = item.consumer

        def is_taken(prompt: Prompt) -> bool:
            owner = self.in_flight.get_owner(consumer.name, prompt.id)
            if owner is None or owner == cursor.path or not self._is_handing_over(consumer, owner):
                return False
            item.blocked_by = owner
            return True

        # Behind the batch that failed, batches have their usual size again.
        limit = item.max_records if cursor.offset < item.max_records_upto else None
        records = self._list_new_records(consumer, cursor, tail)
        is_wanted = self._make_prompt_filter(consumer, cursor, tail)
        return make_batch(records, tail.safe_end, is_wanted, self.project_of, cursor.cwd, limit, is_taken)

    def _is_handing_over(self, consumer: Consumer, owner: Path) -> bool:
        reader = self.work_queue.items_by_transcript.get((consumer.name, owner))
        return reader is not None and self.find_reader(reader) is not None

    def list_prompts(self, item: WorkItem) -> list[Prompt]:
        """The prompts of a transcript that this handler has not handled, as far as they can be read."""
        cursor = item.cursor
        tail = self.pool.get_tail(cursor.path) if cursor is not None and item.event is None else None
        if cursor is None or tail is None:
            return []
        is_wanted = self._make_prompt_filter(item.consumer, cursor, tail)
        records = self._list_new_records(item.consumer, cursor, tail)
        return [prompt for record in records for prompt in record.prompts if is_wanted(prompt)]

    def note_paused(self, path: Path) -> None:
        """Note the prompts of a transcript that are passed over and were not offered yet."""
        for item in self.work_queue.list_items_of(path):
            self.list_prompts(item)

    def _list_new_records(self, consumer: Consumer, cursor: Cursor, tail: Tail) -> Sequence[Record]:
        """The records that the handler has not handled, that are not too old to be paid for, and that were not written
        while a person had paused them."""
        records = tail.list_records(cursor.offset)
        floor = consumer.find_floor(cursor)
        if floor is None and self.pauses.is_unused:
            return records
        pairs = zip(records, infer_times(records), strict=True)
        return [
            self._clean_context(record, tail.cwd or cursor.cwd, cursor.session)
            for record, time in pairs
            if (floor is None or time is None or time >= floor)
            and (self.pauses.is_unused or not self._pass_over(record, time, cursor, tail))
        ]

    def _pass_over(self, record: Record, time: float | None, cursor: Cursor, tail: Tail) -> bool:
        """Whether a record is passed over, and no `scan` asked for it since. Its prompts are noted."""
        since = cursor.scan_since
        if since is not None and time is not None and since <= time < self.pauses.scanned_at:
            return False
        pause = self._find_span(record, time, tail.cwd or cursor.cwd, cursor.session)
        if pause is not None:
            self.pauses.note_passed(record.prompts, pause)
        return pause is not None or self._is_copy(record)

    def drop_paused(self, records: Sequence[Record]) -> list[Record]:
        """The records of one transcript without those that are passed over. Any thread."""
        if self.pauses.is_unused:
            return list(records)
        pairs = zip(records, infer_times(records), strict=True)
        kept = [one for one, time in pairs if not self._find_span(one, time) and not self._is_copy(one)]
        return [self._clean_context(one) for one in kept]

    def _clean_context(self, record: Record, cwd: str = "", session: str = "") -> Record:
        """The record without what the assistant wrote before it while that was paused: it may quote what was typed."""
        if self.pauses.is_unused:
            return record
        prompts = tuple(
            replace(one, context="", context_cwd="")
            if one.context_time is not None
            and self.pauses.find_span(
                self._find_root(one.context_cwd or one.cwd or cwd), one.session or session, one.context_time
            )
            else one
            for one in record.prompts
        )
        return replace(record, prompts=prompts) if prompts != record.prompts else record

    def _find_span(
        self, record: Record, time: float | None, cwd: str = "", session: str = ""
    ) -> Pause | None:
        return self.pauses.find_span(self._find_root(record.cwd or cwd), record.session or session, time)

    def _find_root(self, cwd: str) -> Path | None:
        project = self.project_of(cwd)
        return project.root if isinstance(project, Project) else None

    def is_covered(self, pause: Pause, cwd: str, session: str) -> bool:
        """Whether a pause of this scope applies to a session in a directory."""
        return pause in list_scopes(self._find_root(cwd), session)

    def _is_copy(self, record: Record) -> bool:
        return any(map(self.pauses.was_passed, record.prompts))

    def _make_prompt_filter(self, consumer: Consumer, cursor: Cursor, tail: Tail) -> Callable[[Prompt], bool]:
        """Return the function that says whether a prompt is new to the handler and may be paid for."""

        def is_wanted(prompt: Prompt) -> bool:
            root = lane_of(self.project_of(prompt.cwd or tail.cwd or cursor.cwd), cursor.path)
            is_outside = consumer.is_outside_scan(prompt, cursor, root)
            return consumer.wants_prompt(prompt, cursor) and not is_outside

        return is_wanted
