"""What follows from the outcome of an assignment: the position moved, or the work is parked, halved or a dead letter.

Engine thread only. When failed work is retried is decided in `backoff.py`.
"""

from __future__ import annotations

from typing import assert_never

from msgspec import Struct

from tacitd.clock import Clock
from tacitd.consumers.cursor_table import Cursor
from tacitd.consumers.dead_letters import DeadLetters
from tacitd.consumers.rescue import RescueLog
from tacitd.dispatch.backoff import Backoff, GiveUp, Halve, Parked, decide_retry
from tacitd.dispatch.batching import Batch
from tacitd.dispatch.event_keys import name_of_event
from tacitd.dispatch.faults import explain_fault, explain_unwritten
from tacitd.dispatch.in_flight import InFlightPrompts
from tacitd.dispatch.pauses import PAUSED
from tacitd.dispatch.pool import TranscriptPool
from tacitd.dispatch.runner import HandlerRunner, Settled, check_advance
from tacitd.dispatch.status_cache import StatusCache
from tacitd.dispatch.work_item import Assignment, FileBusy, PendingWrite, WorkItem
from tacitd.dispatch.work_notes import WorkNotes
from tacitd.dispatch.work_queue import WorkQueue
from tacitd.errors import TacitdError
from tacitd.handler import Done, Later, Rejected

MIN_WAIT = 0.05
"""Minimum seconds until work is offered again that waits for a file."""


class Outcomes(Struct):
    """Starts assignments and applies their outcomes."""

    work_queue: WorkQueue
    pool: TranscriptPool
    in_flight: InFlightPrompts
    runner: HandlerRunner
    clock: Clock
    backoff: Backoff
    rescue: RescueLog
    dead_letters: DeadLetters
    statuses: StatusCache
    notes: WorkNotes
    stopping: bool = False
    """Nothing is started or parked any more."""
    newest_at: float = 0.0
    """When a handler last returned something: monotonic seconds."""

    def start(self, assignment: Assignment, pending: PendingWrite | None = None) -> None:
        """Run the handler in a worker; with `pending`, only write what it did. Raises RuntimeError if no thread can be
        started."""
        item = assignment.item
        item.busy, item.woken_while_busy, item.gather_until = True, False, 0.0
        # What has no prompt is done in a moment, and no other transcript can have it.
        is_light = pending is None and assignment.batch is not None and not assignment.batch.prompts
        self.work_queue.lanes.begin(item.lane, may_join=is_light)
        try:
            self.runner.start_assignment(assignment, self.apply_outcome, pending)
        except RuntimeError:
            # No thread can be made now (pthread_create(3): EAGAIN). The caller parks the item; its lane must be free.
            self._release(item)
            raise

    def _release(self, item: WorkItem) -> None:
        item.busy = False
        self.work_queue.lanes.release(item.lane)

    def apply_outcome(self, assignment: Assignment, outcome: Settled) -> None:
        """Release the lane, and apply what a worker returned."""
        item = assignment.item
        self.newest_at = self.clock.monotonic()
        self.statuses.note_outcome(item.consumer.name)
        # First, so that the lane is free whatever follows.
        self._release(item)
        item.pending_write = None
        try:
            self._apply(assignment, outcome)
        except (OSError, TacitdError) as error:
            self.park(item, explain_unwritten(error))
        except Exception as error:  # noqa: BLE001  an outcome that cannot be applied parks this item only
            self.park(item, explain_fault(error))
        if item.woken_while_busy:
            self.work_queue.wake(item)
        self.work_queue.note_change(item)

    def _apply(self, assignment: Assignment, outcome: Settled) -> None:
        item = assignment.item
        match outcome:
            case Done():
                self._finish_done(assignment, outcome)
            case FileBusy(seconds):
                item.parked = None
                # `sync` does not wait for an editor, and a due transcript would keep the events of its lane waiting.
                item.declined_while_due = item.due
                self.work_queue.set_due(item, False)
                self.postpone(item, seconds)
            case PendingWrite():
                item.pending_write = outcome
                self.park(item, outcome.later)
            case Later():
                self.park(item, outcome, assignment)
            case Rejected():
                self._reject(assignment, outcome)
            case _:
                assert_never(outcome)

    def postpone(self, item: WorkItem, seconds: float) -> None:
        """Examine it again after so many seconds; nothing is wrong."""
        item.gather_until = self.clock.monotonic() + max(MIN_WAIT, seconds)
        self.work_queue.schedule_wake(item, item.gather_until)

    def _finish_done(self, assignment: Assignment, done: Done) -> None:
        item, name = assignment.item, assignment.item.consumer.name
        item.parked = None
        if assignment.batch is None or item.cursor is None:
            self.work_queue.finish_event(item, assignment.event)
            return
        # Prompts after `upto` stay claimed: the same transcript offers them next.
        ids = [p.id for p in assignment.batch.prompts_before(assignment.batch.clamp_offset(done.upto))]
        self.in_flight.release_prompts(name, ids)
        # Now and not when it grows again: records that all have handled would fill the memory while others are caught up.
        self.pool.trim_records(item.cursor.path)
        self.work_queue.wake(item)
        self.rescue.remove_handled(name, ids)

    def park(self, item: WorkItem, later: Later, assignment: Assignment | None = None) -> None:
        """Apply the retry rule to work that could not be done. With `assignment`, the handler answered; otherwise it was
        not called, so no record is to blame."""
        if self.stopping or (item.pending_write is None and not self.work_queue.is_current(item)):
            return  # the event was posted again meanwhile, and the new item is tried
        batch = assignment.batch if assignment is not None else None
        if batch is not None and assignment is not None and self._is_outdated(assignment):
            self.work_queue.wake(item)
            return
        cursor, records = item.cursor, len(batch.records) if batch is not None else 0
        halved = item.max_records is not None and cursor is not None and cursor.offset < item.max_records_upto
        now, monotonic = self.clock.now(), self.clock.monotonic()
        match decide_retry(item.parked, later, records, now, monotonic, self.backoff, halved=halved):
            case Parked() as parked:
                item.parked = parked
                self.notes.note_parked(item, parked)
                self.work_queue.schedule_wake(item, parked.due)
                self.work_queue.note_change(item)
                # A fork may hand over these prompts meanwhile, unless they were handled (`pending_write`), or a person
                # paused them: then no fork may either.
                is_undone = item.pending_write is None and not later.reason.startswith(PAUSED)
                if cursor is not None and item.event is None and is_undone:
                    self.in_flight.release_owner(cursor.path, item.consumer.name)
            case Halve(limit):
                item.parked, item.max_records = None, limit
                end = batch.end if batch is not None else 0
                # A half that is halved again must not shorten the range in which small batches are offered.
                item.max_records_upto = max(item.max_records_upto if halved else 0, end)
                self.work_queue.wake(item)
            case GiveUp(reason):
                assert batch is not None and cursor is not None
                self._write_dead_letter(item, cursor, batch, batch.end, reason)
            case verdict:
                assert_never(verdict)

    def _is_outdated(self, assignment: Assignment) -> bool:
        """Whether the cursor was set back meanwhile: then nothing is concluded from a failure."""
        cursor = assignment.item.cursor
        return cursor is not None and assignment.epoch != cursor.epoch

    def _reject(self, assignment: Assignment, rejected: Rejected) -> None:
        item, reason = assignment.item, rejected.reason
        if assignment.batch is None or item.cursor is None:
            self.dead_letters.add_letter(
                item.consumer.name, reason, {"session": name_of_event(assignment.event)}
            )
            outcome = self.runner.commit_outcome(assignment, Done(data=rejected.data), None)
            self._apply(assignment, outcome)
        elif self._is_outdated(assignment):
            self.work_queue.wake(item)
        else:
            end = check_advance(assignment, rejected.upto)
            self._write_dead_letter(item, item.cursor, assignment.batch, end, reason)

    def _write_dead_letter(self, item: WorkItem, cursor: Cursor, batch: Batch, end: int, reason: str) -> None:
        """Write a dead letter with its byte range, copy the prompts to the rescue log, and move the position past it.

        In this order: after a crash between two steps the prompts are offered again, and none is lost.
        """
        name, prompts = item.consumer.name, batch.prompts_before(end)
        letter = {
            "transcript": str(cursor.path),
            "start": cursor.offset,
            "end": end,
            "session": cursor.session,
        }
        self.dead_letters.add_letter(name, reason, letter | {"prompts": [p.id for p in prompts]})
        self.rescue.keep_prompts(name, prompts, reason)
        item.consumer.commit(cursor, self.pool.get_position(cursor.path, end), prompts, {})
        self.in_flight.release_prompts(name, [p.id for p in prompts])
        item.parked = None
        self.work_queue.wake(item)
