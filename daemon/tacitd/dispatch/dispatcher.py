"""Decides which handler is offered which events. What follows from their outcomes is in `outcomes.py`.

All decisions are made in the engine's thread. Workers (`runner.py`) only run handlers, commit what they did, and return
their outcomes. A handler is never busy twice with one project at a time: this keeps the order in a session, and runs one
synthesis at a time in a project (`lanes.py`). A handler that fails parks its own work only.

The rules that need no clock and no thread are in `batching.py`, `backoff.py` and `in_flight.py`. Which items exist and when
they are examined is in `work_queue.py`; what they have still to do, in `unhandled.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tacitd.clock import Clock
from tacitd.consumers.consumer import Consumer
from tacitd.consumers.cursor_table import Cursor
from tacitd.dispatch.backoff import replan_parked
from tacitd.dispatch.batching import Batch, seconds_to_gather
from tacitd.dispatch.event_keys import lane_of_event
from tacitd.dispatch.faults import explain_fault
from tacitd.dispatch.in_flight import InFlightPrompts
from tacitd.dispatch.messages import MessageRouter
from tacitd.dispatch.outcomes import Outcomes
from tacitd.dispatch.pauses import PAUSED, Refusals
from tacitd.dispatch.pool import TranscriptPool
from tacitd.dispatch.runner import GRACE, HandlerRunner
from tacitd.dispatch.unhandled import UnhandledRecords
from tacitd.dispatch.watched_files import WatchedFiles
from tacitd.dispatch.work_item import Assignment, LaneKey, WorkItem
from tacitd.dispatch.work_queue import WorkQueue
from tacitd.events import Due, Event, NoProject, Project, SessionEnded, SessionStarted, TranscriptGrew
from tacitd.handler import COMPACTION, Later
from tacitd.model.port import Why
from tacitd.sources.transcript import Tail

A_DAY = 86400.0
LONGEST_WAIT = 0.25
"""Seconds for which reading waits for a handler that returns nothing."""


class Dispatcher(Struct):
    """Offers work to handlers. Engine thread only."""

    consumers: Mapping[str, Consumer]
    work_queue: WorkQueue
    in_flight: InFlightPrompts
    pool: TranscriptPool
    runner: HandlerRunner
    messages: MessageRouter
    unhandled: UnhandledRecords
    refusals: Refusals
    watched_files: WatchedFiles
    outcomes: Outcomes
    project_of: Callable[[str], Project | NoProject]
    clock: Clock

    # what there is to do

    def wake_transcript(self, path: Path, tail: Tail) -> None:
        """A transcript was read: it may contain records that a handler has not handled."""
        for item in self.work_queue.list_items_of(path):
            # Not while something is in flight: `Outcomes` releases the lane that the item names, which must be the one
            # that it took.
            if item.cursor is not None and not (item.busy or item.pending_write):
                # A directory that cannot be examined parks the item when it is offered.
                with suppress(Exception):
                    self._note_place(item, item.cursor, tail)
                    item.lane = item.home  # otherwise it would be read again to find its lane
            self.work_queue.wake(item)

    def _note_place(self, item: WorkItem, cursor: Cursor, tail: Tail) -> None:
        """Note which session and directory the newest record names."""
        cursor.session, cursor.cwd = tail.session or cursor.session, tail.cwd or cursor.cwd
        self.work_queue.assign_home(item, cursor)

    def rescue_vanished(self, path: Path) -> None:
        """A transcript was removed. Its waiting prompts are only in memory now: copy them to the rescue log.

        Raises OSError.
        """
        for name in self.consumers:
            item = self.work_queue.items_by_transcript.get((name, path))
            if item is not None:
                # The end of its session may wait for this item, and no further read will wake it.
                self.work_queue.wake(item)
                self.work_queue.wake_followers(item)
                prompts = self.unhandled.list_prompts(item)
                why = "its transcript was removed before it was handled"
                self.outcomes.rescue.keep_prompts(name, prompts, why)

    def post_event(self, event: Event, only: str | None = None) -> None:
        """Queue an event without records, for every handler or for one of them, and watch the sources of its project."""
        self.watched_files.watch_project(getattr(event, "project", None))
        self.work_queue.post_event(event, only)

    def post_compaction(self, path: Path, session: str, project: Project | NoProject) -> None:
        """A client is about to compact a session: each handler with the job `COMPACTION` handles the transcript now, and then
        that job."""
        for name, consumer in self.consumers.items():
            if any(job.name == COMPACTION for job in consumer.plugin.jobs):
                self.work_queue.make_due(self.work_queue.get_item(consumer, path))
                place = project if isinstance(project, Project) else None
                # In one lane, the job follows the transcript, which is due (`_follow_due`).
                self.post_event(Due(COMPACTION, place, session), only=name)

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
            # Delays are monotonic, but a reason names a wall-clock time, such as the midnight at which the budget is
            # free.
            item.parked = replan_parked(parked, self.clock.now(), self.clock.monotonic(), by)
            self.work_queue.schedule_wake(item, item.parked.due)

    # offering

    def offer_ready(self) -> None:
        """Offer everything that may be offered now."""
        self.work_queue.wake_scheduled()
        self.work_queue.lanes.run_ready(self._try_offer)

    def must_reading_wait(self) -> bool:
        """Trigger: much of what was read is in memory, and handlers are taking it. Why: the reader is faster than they are, and
        would evict what they are to get next, which is read again for each. Outcome: reading goes on when they have taken it,
        or take nothing for a moment: one that waits for the model must not delay the others' prompts."""
        if not self.pool.is_filling:
            return False
        is_taking = self.clock.monotonic() - self.outcomes.newest_at < LONGEST_WAIT
        return is_taking and (self.work_queue.lanes.is_busy or self.work_queue.lanes.has_ready)

    def _try_offer(self, item: WorkItem) -> LaneKey | None:
        """Offer an item if it may run; its lane and a worker are free. Return the lane to which it belongs, if that is
        another one."""
        # A timer may name an item that was forgotten, or replaced by a later event.
        if self.outcomes.stopping or item.busy or not self.work_queue.is_current(item):
            return None
        try:
            if not item.may_run(self.clock.monotonic()):
                return None
            if item.event is not None or item.pending_write is not None:
                busy = self.work_queue.lanes.close(item.lane)
                if busy is not None:
                    return busy
            if (pending := item.pending_write) is not None:
                # What was done and could not be written comes before anything else of the item.
                self.outcomes.start(pending.assignment, pending)
                return None
            return self._offer_transcript(item) if item.event is None else self._offer_event(item, item.event)
        except Exception as error:  # noqa: BLE001  an item that cannot be offered is parked; the others go on
            self.outcomes.park(item, replace(explain_fault(error), blame="world"))
            return None

    def _offer_transcript(self, item: WorkItem) -> LaneKey | None:
        cursor = item.cursor
        assert cursor is not None
        if self.pool.is_pending(cursor.path):
            return None  # it is woken when it was read
        # Most items are examined once more after they were handled. For that an evicted transcript is not read again.
        final, read = self.pool.get_ends(cursor.path) or (0, 0)
        if final > cursor.offset and not item.consumer.plugin.reads_records:
            self._skip_batch(item, cursor, final)
            return None
        tail = self.pool.get_tail(cursor.path) if final > cursor.offset else None
        if tail is None:
            # Bytes were read that are not final: a queued prompt whose fate is unknown. The item stays due, so it goes on as
            # soon as its fate is known.
            if read <= cursor.offset:
                self.work_queue.set_due(item, False)
            item.parked, item.blocked_by = None, None
            self.work_queue.note_change(item)
            return None
        if not self._is_worth_offering(item, tail):
            return None
        return self._offer_batch(item, cursor, tail)

    def _is_worth_offering(self, item: WorkItem, tail: Tail) -> bool:
        """While a batch is gathered, only another prompt is a reason to offer it before its time."""
        if item.due or item.parked is not None or item.gather_until <= self.clock.monotonic():
            return True
        # Both limits of a `Gather` depend on the prompts and on the oldest record (`seconds_to_gather`), which other records
        # do not change.
        return bool(tail.list_prompts(max(0, item.offered_upto)))

    def _offer_batch(self, item: WorkItem, cursor: Cursor, tail: Tail) -> LaneKey | None:
        consumer = item.consumer
        self._note_place(item, cursor, tail)
        batch = self.unhandled.make_next_batch(item, cursor, tail)
        if not batch.records and batch.end <= cursor.offset:
            self._wait_for_owner(item)
            return None
        item.blocked_by = None
        # Before anything is claimed: an item changes its lane only while nothing of it is in flight.
        lane = self.work_queue.find_lane(consumer, batch.project, cursor.path)
        if lane != item.lane:
            return lane
        if batch.prompts and (busy := self.work_queue.lanes.close(lane)) is not None:
            return busy
        item.declined_while_due, item.offered_upto = False, batch.end
        if not batch.records:
            self._skip_batch(item, cursor, batch.end)
            return None
        # Claimed before the refusal is checked: paused prompts are not offered from a fork of this transcript either.
        self.in_flight.claim_prompts(consumer.name, [p.id for p in batch.prompts], cursor.path)
        cwd = batch.prompts[0].cwd if batch.prompts else batch.records[0].cwd
        if (later := self.refusals.get_refusal(item, cwd or tail.cwd)) is not None:
            self.outcomes.park(item, later)
            return None
        if (seconds := self._seconds_to_gather(item, batch)) > 0.0:
            self.outcomes.postpone(item, seconds)
            return None
        event = TranscriptGrew(
            cursor.path, cursor.session, batch.project, batch.records, cursor.offset, batch.end, item.due
        )
        # The session may only have passed through this project, so its start was not announced there.
        self.watched_files.watch_project(batch.project)
        refused = self.refusals.get_model_refusal(item, cwd or cursor.cwd)
        end = self.pool.get_position(cursor.path, batch.end)
        self.outcomes.start(Assignment(item, event, batch, cursor.epoch, end=end, model_refusal=refused))
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
            # A delay saves writes, and costs reading again what is evicted meanwhile, if there is more to read. A quiet time
            # saves calls of the model.
            or (gather.quiet is None and self.pool.is_filling and self.pool.unread_paths)
        ):
            return 0.0
        is_written = isinstance(batch.project, Project) and tools.write_mode(batch.project) != "off"
        return seconds_to_gather(gather, batch, self.clock.now(), is_written=is_written)

    def _wait_for_owner(self, item: WorkItem) -> None:
        """Trigger: another transcript, from which this one was copied, has the next prompts in flight. Why: a prompt is
        paid for once, and the other transcript may still fail. Outcome: this item waits for it, or is parked with it."""
        owner = self.unhandled.find_owner(item)
        if owner is not None and owner.parked is None:
            self.work_queue.follow(item, owner)
        elif owner is not None and owner.parked is not None:
            self.outcomes.park(item, Later(owner.parked.reason, owner.parked.hint, owner.parked.not_before))

    def _skip_batch(self, item: WorkItem, cursor: Cursor, end: int) -> None:
        """Nothing up to `end` is for this handler. The end of a session may have waited for this."""
        # In memory only: a crash costs reading again, and a sync for each would cost more, as only 1 to 3 % of the
        # lines are prompts (CLAUDE_CODE fact 15).
        item.consumer.skip_to(cursor, self.pool.get_position(cursor.path, end))
        self.pool.trim_records(cursor.path)
        item.parked = None
        self.work_queue.note_change(item)
        self.work_queue.wake(item)

    def _offer_event(self, item: WorkItem, event: Event) -> LaneKey | None:
        # A file that its handler met is being edited (`FileBusy`).
        if item.gather_until > self.clock.monotonic():
            return None
        if isinstance(event, SessionEnded):
            # The file is complete when a session ends (CLAUDE_CODE fact 8), but not all of it is handled.
            if (reader := self.unhandled.find_reader(item)) is not None:
                self.work_queue.follow(item, reader)
                return None
            if item.cursor is None or not item.cursor.has_unhandled_end:
                self.work_queue.finish_event(item, event)  # the handler did nothing in this session
                return None
            if item.cursor.cwd:  # the directory may have been removed since the session ended
                event = item.event = replace(event, project=self.project_of(item.cursor.cwd))
        lane = self.work_queue.lanes.make_key(item.consumer.name, lane_of_event(event))
        if lane != item.lane:
            return lane
        # A start needs no facts of the records, and comes before them (`WorkItem.rank`).
        if not isinstance(event, SessionStarted) and self._follow_due(item):
            return None
        if (later := self.refusals.get_refusal(item, "")) is not None:
            self.outcomes.park(item, later)
            return None
        handled_upto = item.cursor.handled_upto if item.cursor else -1
        refused = self.refusals.get_model_refusal(item, "")
        self.outcomes.start(Assignment(item, event, None, handled_upto=handled_upto, model_refusal=refused))
        return None

    def _follow_due(self, item: WorkItem) -> bool:
        """Wait for a transcript of the lane that is due; return whether there is one.

        Why: the event may be a synthesis, and facts that `sync` asked for must be extracted before it.
        """
        for other in self.work_queue.lanes.list_due(item.lane):
            if other.parked is None and self.unhandled.find_reader(other) is not None:
                self.work_queue.follow(item, other)
                return True
        return False

    # housekeeping

    def settle_rescued(self) -> None:
        """Remove from the rescue log what was handled meanwhile; what was rejected stays. Raises OSError."""
        handled = {name: consumer.has_handled for name, consumer in self.consumers.items()}
        self.outcomes.rescue.remove_settled(handled, self.outcomes.dead_letters.read())

    def rescue_old(self) -> None:
        """Copy the prompts of work that has been parked for more than a day. Called every hour. Raises OSError."""
        self.settle_rescued()
        before = self.clock.now() - A_DAY
        for item, parked in self.work_queue.list_parked():
            prompts = self.unhandled.list_prompts(item)
            old = [p for p in prompts if min(parked.since, p.time or parked.since) < before]
            self.outcomes.rescue.keep_prompts(item.consumer.name, old, parked.reason)

    def stop(self, grace: float = GRACE) -> None:
        """Offer nothing more, and give running handlers `grace` seconds."""
        # First: an outcome that arrives within the grace must not start or park anything.
        self.outcomes.stopping = True
        self.runner.stop(grace)
