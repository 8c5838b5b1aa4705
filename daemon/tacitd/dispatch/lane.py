"""How far handlers are: what an item has still to do, and what blocks it. Offers nothing and moves no position.

`is_settled` has one side effect: it makes due what `sync` waits for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from tacitd.consumers.consumer import Consumer, Cursor
from tacitd.dispatch.batching import infer_times
from tacitd.dispatch.pool import TranscriptPool
from tacitd.dispatch.runner import HandlerRunner
from tacitd.dispatch.work_item import WaitKey, WorkItem, lane_of, make_due_key, make_transcript_key
from tacitd.dispatch.work_queue import WorkQueue
from tacitd.events import NoProject, Project, Prompt, Record, SessionEnded
from tacitd.sources.transcript import Tail


@dataclass(frozen=True, slots=True)
class WorkProgress:
    """Answers questions about work items. Engine thread only."""

    work_queue: WorkQueue
    runner: HandlerRunner
    pool: TranscriptPool
    project_of: Callable[[str], Project | NoProject]
    monotonic: Callable[[], float]
    changed_paths: set[Path] = field(default_factory=set)
    """Transcripts whose state changed since `sync` examined them."""

    def may_run(self, item: WorkItem) -> bool:
        """Whether it is not parked, or its delay has passed."""
        return item.parked is None or item.parked.due <= self.monotonic()

    def has_unread(self, item: WorkItem) -> bool:
        """Whether its transcript contains something final that this handler has not handled."""
        if item.cursor is None:
            return False
        reader = self.work_queue.items_by_transcript.get((item.consumer.name, item.cursor.path))
        return (reader is not None and _is_unfinished(reader)) or self._is_behind(item)

    def is_handing_over(self, consumer: Consumer, owner: Path) -> bool:
        """Whether the transcript that claimed prompts has still to hand them over."""
        item = self.work_queue.items_by_transcript.get((consumer.name, owner))
        return item is not None and (_is_unfinished(item) or self._is_behind(item))

    def get_blocking_item(self, item: WorkItem) -> WorkItem | None:
        """The item that has the next prompts of this one in flight; None if there is none."""
        if item.blocked_by is None:
            return None
        return self.work_queue.items_by_transcript.get((item.consumer.name, item.blocked_by))

    def get_blocking_key(self, item: WorkItem) -> WaitKey:
        """What an item waits for whose next prompts another transcript has in flight."""
        return make_transcript_key(item.consumer, item.blocked_by or Path())

    def find_due_key(self, lane: WaitKey) -> WaitKey | None:
        """What an event must wait for if transcripts of its lane are due; None if none is.

        Why: the event may be a synthesis, and facts that `sync` asked for must be extracted before it.
        """
        members = self.work_queue.lane_members.get(lane, {}).values()
        due = any(item.due and item.parked is None and self.has_unread(item) for item in members)
        return make_due_key(lane) if due else None

    def notify_change(self, item: WorkItem) -> None:
        """The state of an item changed: wake what waits for it."""
        keys: list[WaitKey] = []
        if item.event is None and item.cursor is not None:
            self.changed_paths.add(item.cursor.path)
            keys.append(make_transcript_key(item.consumer, item.cursor.path))
        if item.home_lane is not None:
            keys.append(make_due_key(item.home_lane))
        self.work_queue.wake_waiters(item, *keys)

    # records

    def list_unhandled(self, item: WorkItem) -> list[Prompt]:
        """The prompts of a transcript that this handler has not handled, as far as they can be read."""
        cursor = item.cursor
        tail = self.pool.get_tail(cursor.path) if cursor is not None and item.event is None else None
        if cursor is None or tail is None:
            return []
        is_wanted = self.make_prompt_filter(item.consumer, cursor, tail)
        records = self.list_new_records(item.consumer, cursor, tail)
        return [prompt for record in records for prompt in record.prompts if is_wanted(prompt)]

    def list_new_records(self, consumer: Consumer, cursor: Cursor, tail: Tail) -> list[Record]:
        """The records of a transcript that the handler has not handled, and that are not too old to be paid for."""
        records = tail.list_records(cursor.offset)
        pairs = zip(records, infer_times(records), strict=True)
        dated = ((r, r if time == r.time else replace(r, time=time)) for r, time in pairs)
        return [record for record, judged in dated if not consumer.is_too_old(judged, cursor)]

    def make_prompt_filter(self, consumer: Consumer, cursor: Cursor, tail: Tail) -> Callable[[Prompt], bool]:
        """Return the function that says whether a prompt of this transcript is new to the handler and may be paid for."""

        def is_wanted(prompt: Prompt) -> bool:
            root = lane_of(self.project_of(prompt.cwd or tail.cwd or cursor.cwd), cursor.path)
            is_outside = consumer.is_outside_scan(prompt, cursor, root)
            return consumer.wants_prompt(prompt, cursor) and not is_outside

        return is_wanted

    # sync

    @property
    def is_working(self) -> bool:
        """Whether a handler is busy, or an item is to be examined now."""
        return bool(self.runner.busy_lanes or self.work_queue.has_ready)

    def is_quiet(self) -> bool:
        """Whether no handler is busy and no event that is due can go on: the rest is parked or being gathered."""
        if self.is_working:
            return False
        now = self.monotonic()
        waiting = (
            item
            for item in self.work_queue.items_by_event.values()
            if self.may_run(item) and item.gather_until <= now
        )
        # The end of a session whose transcript is parked counts as parked with it.
        return all(isinstance(item.event, SessionEnded) and self.has_unread(item) for item in waiting)

    def is_settled(self, path: Path, size: int) -> bool:
        """Whether the first `size` bytes of a transcript are handled, or parked, for every handler."""
        items = self.work_queue.list_items_of(path)
        # A list, because each item is to be examined: that makes due what is behind.
        return all([self._is_item_settled(item, size) for item in items])  # noqa: C419

    def _is_item_settled(self, item: WorkItem, size: int) -> bool:
        if item.busy or (item.parked is not None and self.may_run(item)):
            return False
        if item.parked is not None or item.declined_while_due:
            return True
        if (item.cursor is not None and item.cursor.offset >= size) or not self._is_behind(item):
            return True
        if not item.due:
            self.work_queue.make_due(item)
        elif not item.queue_number:
            # It waits for nothing and is behind: more became final since it was examined.
            self.work_queue.wake(item)
        # If another transcript has its prompts in flight and is itself settled, nothing more will happen for this `sync`.
        owner = self.get_blocking_item(item)
        return owner is not None and not owner.busy and (owner.declined_while_due or owner.parked is not None)

    def _is_behind(self, item: WorkItem) -> bool:
        end = self.pool.get_final_offset(item.cursor.path) if item.cursor is not None else None
        return end is not None and item.cursor is not None and item.cursor.offset < end


def _is_unfinished(item: WorkItem) -> bool:
    """Whether a handler has it, or will have it again."""
    return item.busy or item.parked is not None or item.pending_write is not None
