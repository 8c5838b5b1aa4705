"""How far handlers are: what a turn has still to do, and whether anything could go on now. Moves nothing, but that asking
hurries what `sync` waits for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from tacitd.consumers.consumer import Consumer, Cursor
from tacitd.dispatch.batching import infer_times
from tacitd.dispatch.runner import HandlerRunner
from tacitd.dispatch.work_item import (
    EngineContext,
    WaitKey,
    WorkItem,
    lane_of,
    make_due_key,
    make_transcript_key,
)
from tacitd.dispatch.work_queue import WorkQueue
from tacitd.events import Prompt, Record, SessionEnded
from tacitd.sources.transcript import Tail


@dataclass(frozen=True, slots=True)
class WorkProgress:
    """Looks at turns. Engine thread only."""

    work_queue: WorkQueue
    runner: HandlerRunner
    context: EngineContext
    make_due: Callable[[WorkItem], None]
    """Make a turn due."""
    changed_paths: set[Path] = field(default_factory=set)
    """Transcripts of which something became since `sync` last looked."""

    def may_run(self, turn: WorkItem) -> bool:
        """Whether it is not parked, or its time has come."""
        return turn.parked is None or turn.parked.due <= self.context.monotonic()

    def has_unread(self, turn: WorkItem) -> bool:
        """Whether its transcript holds something final that this handler has not handled."""
        stream = turn.cursor
        if stream is None:
            return False
        reader = self.work_queue.items_by_transcript.get((turn.consumer.name, stream.path))
        if reader is not None and (
            reader.busy or reader.parked is not None or reader.pending_write is not None
        ):
            return True
        return self._is_behind(turn)

    def get_blocking_item(self, turn: WorkItem) -> WorkItem | None:
        """The turn that has its words, where another transcript's has."""
        return (
            self.work_queue.items_by_transcript.get((turn.consumer.name, turn.blocked_by))
            if turn.blocked_by is not None
            else None
        )

    def get_blocking_key(self, turn: WorkItem) -> WaitKey:
        """What it waits for, then."""
        return make_transcript_key(turn.consumer, turn.blocked_by or Path())

    def is_handing_over(self, consumer: Consumer, owner: Path | None) -> bool:
        """Whether a transcript that claimed words still has them to hand over."""
        turn = self.work_queue.items_by_transcript.get((consumer.name, owner)) if owner is not None else None
        if turn is None:
            return False
        return turn.busy or turn.parked is not None or turn.pending_write is not None or self._is_behind(turn)

    def find_due_key(self, lane: WaitKey) -> WaitKey | None:
        """Facts first, then what is made of them: a synthesis waits for extractions of its project that are due."""
        beside = self.work_queue.lane_members.get(lane, {}).values()
        due = any(turn.due and turn.parked is None and self.has_unread(turn) for turn in beside)
        return make_due_key(lane) if due else None

    def assign_home_lane(self, turn: WorkItem) -> None:
        """Note in which lane a transcript is handled, as far as its newest record says."""
        stream = turn.cursor
        if stream is not None:
            lane = turn.consumer.name, lane_of(self.context.project_of(stream.cwd), stream.path)
            if turn.home_lane not in (None, lane):
                self.work_queue.wake_waiters(
                    turn, make_due_key(turn.home_lane)
                )  # nobody waits there for this one any more
            self.work_queue.assign_lane(turn, stream.path, lane)

    def assign_new_item(self, turn: WorkItem) -> None:
        """The same for a new turn. A place that cannot be looked at is in no lane: it is parked when it is offered."""
        with suppress(Exception):
            self.assign_home_lane(turn)

    def notify_change(self, turn: WorkItem) -> None:
        """Something became of this turn: whoever waited for just that is looked at."""
        ways: list[WaitKey] = []
        if turn.event is None and turn.cursor is not None:
            self.changed_paths.add(turn.cursor.path)
            ways.append(make_transcript_key(turn.consumer, turn.cursor.path))
        if turn.home_lane is not None:
            ways.append(make_due_key(turn.home_lane))
        self.work_queue.wake_waiters(turn, *ways)

    def list_unhandled(self, turn: WorkItem) -> list[Prompt]:
        """The words of a transcript that this handler has not handled, as far as they can be read."""
        stream = turn.cursor
        tail = self.context.get_tail(stream.path) if stream is not None and turn.event is None else None
        if stream is None or tail is None:
            return []
        wanted = self.make_prompt_filter(turn.consumer, stream, tail)
        return [p for r in self.list_new_records(turn.consumer, stream, tail) for p in r.prompts if wanted(p)]

    def list_new_records(self, consumer: Consumer, stream: Cursor, tail: Tail) -> list[Record]:
        """The records of a transcript that the handler has not handled, and that are not too old to be paid for."""
        records = tail.list_records(stream.offset)
        at = zip(records, infer_times(records), strict=True)
        dated = ((r, r if time == r.time else replace(r, time=time)) for r, time in at)
        return [record for record, judged in dated if not consumer.is_too_old(judged, stream)]

    def make_prompt_filter(self, consumer: Consumer, stream: Cursor, tail: Tail) -> Callable[[Prompt], bool]:
        """What says whether a prompt of this transcript is new to the handler, and may be paid for."""

        def wanted(prompt: Prompt) -> bool:
            where = lane_of(self.context.project_of(prompt.cwd or tail.cwd or stream.cwd), stream.path)
            return consumer.wants_prompt(prompt, stream) and not consumer.is_outside_scan(
                prompt, stream, where
            )

        return wanted

    @property
    def is_working(self) -> bool:
        """Whether a handler is busy, or something could be offered right now."""
        return bool(self.runner.busy_lanes or self.work_queue.has_ready)

    def is_quiet(self) -> bool:
        """Nothing is busy, and no event that is due could go on: what is left is parked or being gathered."""
        if self.is_working:
            return False
        now = self.context.monotonic()
        waits = (
            turn
            for turn in self.work_queue.items_by_event.values()
            if self.may_run(turn) and turn.gather_until <= now
        )
        # An ended session whose transcript is parked is parked with it.
        return all(isinstance(turn.event, SessionEnded) and self.has_unread(turn) for turn in waits)

    def is_settled(self, path: Path, size: int) -> bool:
        """Whether the first `size` bytes of a transcript are handled, or parked, for every handler."""
        # Each is asked, because asking hurries what waits.
        return all([self._is_item_settled(turn, size) for turn in self.work_queue.list_items_of(path)])  # noqa: C419

    def _is_item_settled(self, turn: WorkItem, size: int) -> bool:
        if turn.busy or (turn.parked is not None and self.may_run(turn)):
            return False
        if turn.parked is not None or turn.declined_while_due:
            return True
        if (turn.cursor is not None and turn.cursor.offset >= size) or not self._is_behind(turn):
            return True
        if not turn.due:
            self.make_due(turn)
        elif (
            not turn.queue_number
        ):  # it waits for nothing: what was final when it was looked at is more by now
            self.work_queue.wake(turn)
        owner = self.get_blocking_item(turn)
        return owner is not None and not owner.busy and (owner.declined_while_due or owner.parked is not None)

    def _is_behind(self, turn: WorkItem) -> bool:
        end = self.context.get_final_offset(turn.cursor.path) if turn.cursor is not None else None
        return end is not None and turn.cursor is not None and turn.cursor.offset < end
