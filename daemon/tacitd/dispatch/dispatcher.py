"""Decides which handler is offered which events, and what follows from each outcome.

All decisions are made in the engine's thread. Workers (`runner.py`) only run handlers, commit what they did, and return
their outcomes. A handler is never busy twice with one project at a time: this keeps the order in a session, and runs one
synthesis at a time in a project. A handler that fails parks its own work only.

The rules that need no clock and no thread are in `batching.py`, `backoff.py` and `in_flight.py`. Which items exist and when
they are examined is in `work_queue.py`; how far they are is in `lane.py`; the data classes are in `work_item.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import assert_never

from tacitd.clock import Clock
from tacitd.consumers.consumer import Consumer, Cursor
from tacitd.consumers.dead_letters import DeadLetters
from tacitd.consumers.rescue import RescueLog
from tacitd.dispatch.backoff import Backoff, GiveUp, Halve, Parked, decide_retry, replan_parked
from tacitd.dispatch.batching import Batch, make_batch
from tacitd.dispatch.gathering import seconds_to_gather
from tacitd.dispatch.in_flight import InFlightPrompts
from tacitd.dispatch.lane import WorkProgress
from tacitd.dispatch.messages import MessageRouter
from tacitd.dispatch.pool import TranscriptPool
from tacitd.dispatch.runner import GRACE, HandlerRunner, Settled, check_advance, get_position
from tacitd.dispatch.status_cache import StatusCache
from tacitd.dispatch.watched_files import WatchedFiles
from tacitd.dispatch.work_item import (
    Assignment,
    FileBusy,
    PendingWrite,
    WaitKey,
    WorkItem,
    explain_fault,
    explain_unwritten,
    lane_of,
    lane_of_event,
)
from tacitd.dispatch.work_queue import WorkQueue
from tacitd.dispatch.work_refusals import PAUSED, Refusals
from tacitd.errors import TacitdError
from tacitd.events import Event, NoProject, Project, Prompt, SessionEnded, SessionStarted, TranscriptGrew
from tacitd.handler import Done, Later, Rejected
from tacitd.model.port import Why
from tacitd.sources.transcript import Tail

A_DAY = 86400.0
MIN_WAIT = 0.05
"""Minimum seconds until work is offered again that waits for a file."""


@dataclass(slots=True)
class Dispatcher:
    """Offers work to handlers and settles their outcomes. Engine thread only."""

    consumers: Mapping[str, Consumer]
    work_queue: WorkQueue
    in_flight: InFlightPrompts
    pool: TranscriptPool
    runner: HandlerRunner
    messages: MessageRouter
    progress: WorkProgress
    refusals: Refusals
    watched_files: WatchedFiles
    project_of: Callable[[str], Project | NoProject]
    clock: Clock
    backoff: Backoff
    rescue: RescueLog
    dead_letters: DeadLetters
    statuses: StatusCache
    stopping: bool = False

    # what there is to do

    def wake_transcript(self, path: Path) -> None:
        """A transcript has records that a handler may not have handled."""
        for item in self.work_queue.list_items_of(path):
            self.work_queue.wake(item)

    def rescue_vanished(self, path: Path) -> None:
        """A transcript was removed. Its waiting prompts are only in memory now: copy them to the rescue log.

        Raises OSError.
        """
        self.work_queue.wake_all_blocked()
        for name in self.consumers:
            item = self.work_queue.items_by_transcript.get((name, path))
            if item is not None:
                # The end of its session may wait for this item, and no further read will wake it.
                self.work_queue.wake(item)
                prompts = self.progress.list_unhandled(item)
                self.rescue.keep_prompts(name, prompts, "its transcript was removed before it was handled")

    def post_event(self, event: Event, only: str | None = None) -> None:
        """Queue an event without records, for every handler or for one of them."""
        self.work_queue.post_event(event, only)

    def make_all_due(self) -> None:
        """For `sync`: stop gathering, and retry once everything that is parked without a known time."""
        for item in self.work_queue.list_items():
            self.work_queue.make_due(item)

    def drop_prompts(self, ids: Sequence[str]) -> None:
        """A person dropped these prompts: they count as handled, and parked work is examined without them."""
        for name, consumer in self.consumers.items():
            consumer.drop_prompts(ids)
            self.in_flight.release_prompts(name, ids)
        for item in self.work_queue.items_by_transcript.values():
            if self.work_queue.retry_now(item):
                self.work_queue.wake(item)

    def resume_paused(self) -> None:
        """A pause or a closed growth breaker ended: examine every item."""
        for item in self.work_queue.list_items():
            if item.parked is not None and item.parked.reason.startswith((PAUSED, Why.MANY_SESSIONS)):
                item.parked = None
            self.work_queue.wake(item)

    def replan_after_jump(self, by: float) -> None:
        """The wall clock jumped by this many seconds: plan anew what waits for a time of day."""
        for item, parked in self.work_queue.list_parked():
            item.parked = replan_parked(parked, self.clock.now(), self.clock.monotonic(), by)
            self.work_queue.schedule_wake(item, item.parked.due)

    # offering

    def offer_ready(self) -> None:
        """Offer everything that may be offered now."""
        self.work_queue.run_ready(self._try_offer, self.runner.is_taken)

    def _try_offer(self, item: WorkItem) -> WaitKey | None:
        """Offer an item if it may run. Return what it must wait for; None if nothing more is to be done for it now."""
        if self.stopping or item.busy or not self.progress.may_run(item):
            return None
        try:
            if item.pending_write is not None:
                return self._retry_write(item.pending_write)
            return self._offer_transcript(item) if item.event is None else self._offer_event(item, item.event)
        except Exception as error:  # noqa: BLE001  an item that cannot be offered is parked; the others go on
            self._park(item, replace(explain_fault(error), blame="world"))
            return None

    def _retry_write(self, pending: PendingWrite) -> WaitKey | None:
        """Write what was done and could not be written, before anything else is done for the item."""
        blocker = self.runner.find_blocker(pending.assignment.lane, pending.assignment.item.consumer)
        if blocker is None:
            self.runner.start_assignment(pending.assignment, self._handle_outcome, pending)
        return blocker

    def _offer_transcript(self, item: WorkItem) -> WaitKey | None:
        cursor = item.cursor
        assert cursor is not None
        if self.pool.is_pending(cursor.path):
            return None  # it is woken when it was read
        if item.needed_lane is not None or self.pool.is_evicted(cursor.path):
            # Check the lane before the transcript is opened. Otherwise, in a backlog of a thousand transcripts, each one that
            # is handled would have all the others read again.
            blocker = self.runner.find_blocker(item.needed_lane or (item.consumer.name,), item.consumer)
            if blocker is not None:
                return blocker
        tail = self.pool.get_tail(cursor.path)
        if tail is None or tail.safe_end <= cursor.offset:
            # Bytes were read that are not final: a queued prompt whose fate is unknown. The item stays due, so it goes on as
            # soon as its fate is known.
            item.due = item.due and tail is not None and tail.read_end > cursor.offset
            item.parked, item.blocked_by, item.needed_lane = None, None, None
            self.progress.notify_change(item)
            return None
        if not self._is_worth_offering(item, tail):
            return None
        return self._offer_batch(item, cursor, tail)

    def _is_worth_offering(self, item: WorkItem, tail: Tail) -> bool:
        """While a batch is gathered, only another prompt is a reason to offer it before its time."""
        if item.due or item.parked is not None or item.gather_until <= self.clock.monotonic():
            return True
        return bool(tail.list_prompts(max(0, item.offered_upto)))

    def _offer_batch(self, item: WorkItem, cursor: Cursor, tail: Tail) -> WaitKey | None:
        consumer = item.consumer
        cursor.session, cursor.cwd = tail.session or cursor.session, tail.cwd or cursor.cwd
        self.work_queue.assign_home_lane(item)
        batch = self._make_batch(item, cursor, tail)
        if not batch.records and batch.end <= cursor.offset:
            return self._wait_for_owner(item)
        item.blocked_by = None
        item.needed_lane = lane = (consumer.name, lane_of(batch.project, cursor.path))
        if (blocker := self.runner.find_blocker(lane, consumer)) is not None:
            return blocker
        item.needed_lane = None
        item.declined_while_due, item.offered_upto = False, batch.end
        if not batch.records:
            self._skip_batch(item, cursor, batch.end)
            return None
        # Claimed before the refusal is checked: paused prompts are not offered from a fork of this transcript either.
        self.in_flight.claim_prompts(consumer.name, [p.id for p in batch.prompts], cursor.path)
        cwd = batch.prompts[0].cwd if batch.prompts else batch.records[0].cwd
        if (later := self.refusals.get_refusal(item, cwd or tail.cwd)) is not None:
            self._park(item, later)
            return None
        if (seconds := self._seconds_to_gather(item, batch)) > 0.0:
            self._postpone(item, seconds)
            return None
        event = TranscriptGrew(
            cursor.path, cursor.session, batch.project, batch.records, cursor.offset, batch.end, item.due
        )
        # The session may only have passed through this project, so its start was not announced there.
        self.watched_files.watch_project(batch.project)
        refused = self.refusals.get_model_refusal(item, cwd or cursor.cwd)
        self._start(Assignment(item, event, batch, lane, cursor.epoch, model_refusal=refused))
        return None

    def _seconds_to_gather(self, item: WorkItem, batch: Batch) -> float:
        """How long a batch is still gathered. One that failed is not, nor is a part of it: it was gathered before."""
        assert item.cursor is not None
        tools = self.runner.tools[item.consumer.name]
        gather = item.consumer.plugin.find_gather(tools.settings)
        if (
            item.due
            or item.parked is not None
            or item.cursor.offset < item.max_records_upto
            or gather is None
        ):
            return 0.0
        is_written = isinstance(batch.project, Project) and tools.write_mode(batch.project) != "off"
        return seconds_to_gather(gather, batch, self.clock.now(), is_written=is_written)

    def _postpone(self, item: WorkItem, seconds: float) -> None:
        item.gather_until = self.clock.monotonic() + max(MIN_WAIT, seconds)
        self.work_queue.schedule_wake(item, item.gather_until)

    def _start(self, assignment: Assignment) -> None:
        self.runner.start_assignment(assignment, self._handle_outcome)

    def _make_batch(self, item: WorkItem, cursor: Cursor, tail: Tail) -> Batch:
        consumer = item.consumer
        cursor.copies_history = tail.copies_history
        limit = item.max_records if cursor.offset < item.max_records_upto else None
        records = self.progress.list_new_records(consumer, cursor, tail)
        is_wanted = self.progress.make_prompt_filter(consumer, cursor, tail)

        def is_taken(prompt: Prompt) -> bool:
            owner = self.in_flight.get_owner(consumer.name, prompt.id)
            if owner is None or owner == cursor.path or not self.progress.is_handing_over(consumer, owner):
                return False
            item.blocked_by = owner
            return True

        return make_batch(records, tail.safe_end, is_wanted, self.project_of, cursor.cwd, limit, is_taken)

    def _wait_for_owner(self, item: WorkItem) -> WaitKey | None:
        """Trigger: another transcript, from which this one was copied, has the next prompts in flight. Why: a prompt is
        paid for once, and the other transcript may still fail. Outcome: this item waits for it, or is parked with it."""
        owner = self.progress.get_blocking_item(item)
        item.needed_lane = None
        if owner is None or owner.parked is None:
            return self.progress.get_blocking_key(item)
        self._park(item, Later(owner.parked.reason, owner.parked.hint, owner.parked.not_before))
        return None

    def _skip_batch(self, item: WorkItem, cursor: Cursor, end: int) -> None:
        """Nothing up to `end` is for this handler. The end of a session may have waited for this."""
        item.consumer.skip_to(cursor, get_position(cursor.path, end))
        item.parked = None
        self.progress.notify_change(item)
        self.work_queue.wake(item)

    def _offer_event(self, item: WorkItem, event: Event) -> WaitKey | None:
        if item.gather_until > self.clock.monotonic():
            return None
        if isinstance(event, SessionEnded):
            if self.progress.has_unread(item):
                return None  # it is woken when the state of its transcript changes
            if item.cursor is None or not item.cursor.has_unhandled_end:
                self.work_queue.finish_event(item, event)  # the handler did nothing in this session
                return None
            if item.cursor.cwd:  # the directory may have been removed since the session ended
                event = item.event = replace(event, project=self.project_of(item.cursor.cwd))
        item.needed_lane = lane = (item.consumer.name, lane_of_event(event))
        if (blocker := self.runner.find_blocker(lane, item.consumer)) is not None:
            return blocker
        if not isinstance(event, SessionStarted) and (key := self.progress.find_due_key(lane)) is not None:
            return key
        if (later := self.refusals.get_refusal(item, "")) is not None:
            self._park(item, later)
            return None
        handled_upto = item.cursor.handled_upto if item.cursor else -1
        refused = self.refusals.get_model_refusal(item, "")
        self._start(Assignment(item, event, None, lane, handled_upto=handled_upto, model_refusal=refused))
        return None

    # settling

    def _handle_outcome(self, assignment: Assignment, outcome: Settled) -> None:
        item = assignment.item
        self.statuses.note_outcome(item.consumer.name)
        self.runner.release_lane(assignment)
        item.pending_write = None
        try:
            self._apply_outcome(assignment, outcome)
        except (OSError, TacitdError) as error:
            self._park(item, explain_unwritten(error))
        except Exception as error:  # noqa: BLE001  an outcome that cannot be applied parks this item only
            self._park(item, explain_fault(error))
        if item.woken_while_busy:
            self.work_queue.wake(item)
        self.progress.notify_change(item)
        self.work_queue.release(assignment.lane, (item.consumer.name,))

    def _apply_outcome(self, assignment: Assignment, outcome: Settled) -> None:
        item = assignment.item
        match outcome:
            case Done():
                self._finish_done(assignment, outcome)
            case FileBusy(seconds):
                item.parked = None
                item.declined_while_due, item.due = item.due, False
                self._postpone(item, seconds)
            case PendingWrite():
                item.pending_write = outcome
                self._park(item, outcome.later)
            case Later():
                self._park(item, outcome, assignment)
            case Rejected():
                self._reject(assignment, outcome)
            case _:
                assert_never(outcome)

    def _finish_done(self, assignment: Assignment, done: Done) -> None:
        item, name = assignment.item, assignment.item.consumer.name
        item.parked, item.gather_until = None, 0.0
        if assignment.batch is None or item.cursor is None:
            self.work_queue.finish_event(item, assignment.event)
            return
        ids = [p.id for p in assignment.batch.prompts_before(assignment.batch.clamp_offset(done.upto))]
        self.in_flight.release_prompts(name, ids)
        self.work_queue.wake(item)
        self.rescue.remove_handled(name, ids)

    def _park(self, item: WorkItem, later: Later, assignment: Assignment | None = None) -> None:
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
                self.work_queue.schedule_wake(item, parked.due)
                self.progress.notify_change(item)
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
            self.dead_letters.add_letter(item.consumer.name, reason, {"session": assignment.log_name})
            outcome = self.runner.commit_outcome(assignment, Done(data=rejected.data), None)
            self._apply_outcome(assignment, outcome)
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
        item.consumer.commit(cursor, get_position(cursor.path, end), prompts, {})
        self.in_flight.release_prompts(name, [p.id for p in prompts])
        item.parked = None
        self.work_queue.wake(item)

    # housekeeping

    def settle_rescued(self) -> None:
        """Remove from the rescue log what was handled meanwhile; what was rejected stays. Raises OSError."""
        handled = {name: consumer.has_handled for name, consumer in self.consumers.items()}
        self.rescue.remove_settled(handled, self.dead_letters.read())

    def rescue_old(self) -> None:
        """Copy the prompts of work that has been parked for more than a day. Called every hour. Raises OSError."""
        self.settle_rescued()
        before = self.clock.now() - A_DAY
        for item, parked in self.work_queue.list_parked():
            prompts = self.progress.list_unhandled(item)
            old = [p for p in prompts if min(parked.since, p.time or parked.since) < before]
            self.rescue.keep_prompts(item.consumer.name, old, parked.reason)

    def stop(self, grace: float = GRACE) -> None:
        """Offer nothing more, and give running handlers `grace` seconds."""
        self.stopping = True
        self.runner.stop(grace)
