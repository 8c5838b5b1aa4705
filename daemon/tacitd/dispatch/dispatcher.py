"""Events to handlers: who is offered what, when, and what becomes of the answer.

One thread, the engine's, decides everything here; workers (`runner.py`) only run handlers, commit what they did, and
hand back their answer. A handler is never busy twice with one project: that keeps the order within a session, and one
synthesis at a time within a project. A handler that fails parks its own work and nobody else's. Rules that can be
stated without a clock or a thread are in `offers.py`, `parking.py` and `claims.py`; which turns there are and when
they are looked at is in `agenda.py`, how far they are in `progress.py`, and the words are in `turns.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import assert_never

from tacitd.consumers.consumer import Consumer, Cursor
from tacitd.consumers.dead_letters import DeadLetters
from tacitd.consumers.rescue import RescueLog
from tacitd.dispatch.backoff import Backoff, GiveUp, Halve, Parked, decide_retry, replan_parked
from tacitd.dispatch.batching import Batch, make_batch
from tacitd.dispatch.in_flight import InFlightPrompts
from tacitd.dispatch.lane import WorkProgress
from tacitd.dispatch.messages import MessageRouter
from tacitd.dispatch.runner import GRACE, HandlerRunner, check_advance, get_position
from tacitd.dispatch.work_item import (
    Assignment,
    EngineContext,
    PendingWrite,
    WaitKey,
    WorkItem,
    explain_fault,
    explain_unwritten,
    lane_of,
    lane_of_event,
)
from tacitd.dispatch.work_queue import WorkQueue
from tacitd.errors import TacitdError
from tacitd.events import Event, Prompt, SessionEnded, SessionStarted, TranscriptGrew
from tacitd.handler import Done, Later, Outcome, Rejected, Tools, Wait
from tacitd.model.port import Why
from tacitd.sources.transcript import Tail

A_DAY = 86400.0
PAUSED = "paused"
"""How the reason begins of what a person paused."""


@dataclass(slots=True)
class Dispatcher:
    """Offers work to handlers and settles their answers. Engine thread only."""

    consumers: Mapping[str, Consumer]
    tools: Mapping[str, Tools]
    context: EngineContext
    backoff: Backoff
    rescue: RescueLog
    dead_letters: DeadLetters
    in_flight: InFlightPrompts = field(default_factory=InFlightPrompts)
    stopping: bool = False
    work_queue: WorkQueue = field(init=False)
    runner: HandlerRunner = field(init=False)
    messages: MessageRouter = field(init=False)
    progress: WorkProgress = field(init=False)

    def __post_init__(self) -> None:
        self.work_queue = WorkQueue(self.consumers, self.context.monotonic)
        self.runner = HandlerRunner(self.tools, self.context.call_soon, self._handle_outcome)
        self.messages = MessageRouter(self.consumers, self.context.project_of, self.post_event)
        self.runner.route_messages, self.runner.monotonic = (
            self.messages.route_messages,
            self.context.monotonic,
        )
        self.runner.lane_limits = {name: max(1, one.plugin.lanes) for name, one in self.consumers.items()}
        self.progress = WorkProgress(self.work_queue, self.runner, self.context, self._make_due)
        self.work_queue.on_created = self.progress.assign_new_item

    # what is to be done

    def wake_transcript(self, path: Path) -> None:
        """A transcript has records that some handler may not have handled."""
        for turn in self.work_queue.list_items_of(path):
            self.work_queue.wake(turn)

    def expect_transcript(self, path: Path) -> None:
        """A transcript has bytes that were not read yet: `hurry` must find something to make due."""
        self.work_queue.list_items_of(path)

    def restart_transcript(self, path: Path, *, due: bool = False) -> None:
        """A position was set back, by `scan` (then it is due) or because the file is another one."""
        self.in_flight.release_owner(path)
        for turn in self.work_queue.list_items_of(path):
            turn.reset_progress()
            turn.due = turn.due or due
        self.work_queue.wake_all_blocked()

    def rescue_vanished(self, path: Path) -> None:
        """A transcript is gone. Words of it that wait are only in memory now, so they are rescued. Raises OSError."""
        self.work_queue.wake_all_blocked()
        for name in self.consumers:
            if (turn := self.work_queue.items_by_transcript.get((name, path))) is not None:
                self.work_queue.wake(
                    turn
                )  # the end of its session waits for this, and nobody reads it any more
                words = self.progress.list_unhandled(turn)
                self.rescue.keep_prompts(name, words, "its transcript was removed before it was handled")

    def post_event(self, event: Event, only: str | None = None) -> None:
        """An event without records, to every handler or to one of them."""
        for name, consumer in self.consumers.items():
            if only in (None, name):
                turn = self.work_queue.put_event(consumer, event)
                if isinstance(event, SessionEnded) and turn.cursor is not None:
                    self._make_due(self.work_queue.get_item(consumer, turn.cursor.path))
                self.work_queue.wake(turn)

    def make_all_due(self) -> None:
        """Gathered work is due now, and what was parked without a known time is tried once more (`sync`)."""
        for turn in self.work_queue.list_items():
            self._make_due(turn)

    def _make_due(self, turn: WorkItem) -> None:
        turn.due, turn.declined_while_due = True, False
        if turn.event is not None:
            turn.gather_until = 0.0
        if turn.parked is not None and turn.parked.not_before is None:
            turn.parked = replace(turn.parked, due=self.context.monotonic())
        self.work_queue.wake(turn)

    def drop_prompts(self, ids: Sequence[str]) -> None:
        """A person dropped these prompts: they count as handled, and what was parked with them is looked at again."""
        for name, consumer in self.consumers.items():
            consumer.drop_prompts(ids)
            self.in_flight.release_prompts(name, ids)
        for turn in self.work_queue.items_by_transcript.values():
            if turn.parked is not None and turn.parked.not_before is None:
                turn.parked = replace(turn.parked, due=self.context.monotonic())
                self.work_queue.wake(turn)

    def resume_paused(self) -> None:
        """Something is no longer paused: look at everything again."""
        for turn in self.work_queue.list_items():
            if turn.parked is not None and turn.parked.reason.startswith((PAUSED, Why.MANY_SESSIONS)):
                turn.parked = None
            self.work_queue.wake(turn)

    def replan_after_jump(self, by: float) -> None:
        """The wall clock jumped by so many seconds: what waits for a time of day is planned anew."""
        for turn, parked in self.work_queue.list_parked():
            turn.parked = replan_parked(parked, self.context.now(), self.context.monotonic(), by)
            self.work_queue.schedule_wake(turn, turn.parked.due)

    # offering

    def offer_ready(self) -> None:
        """Offer all that may be offered now. One that cannot be offered stops no other."""
        self.work_queue.run_ready(self._try_offer, self.runner.is_taken)

    def _try_offer(self, turn: WorkItem) -> WaitKey | None:
        """What comes first; None: nothing more to do for now."""
        if self.stopping or turn.busy or not self.progress.may_run(turn):
            return None
        try:
            if turn.pending_write is not None:
                return self._retry_write(turn.pending_write)
            return self._offer_transcript(turn) if turn.event is None else self._offer_event(turn, turn.event)
        except Exception as error:  # noqa: BLE001  a turn that cannot even be offered waits, and is shown
            self._park(turn, replace(explain_fault(error), blame="world"))
            return None

    def _retry_write(self, owed: PendingWrite) -> WaitKey | None:
        """What was done and could not be written is written, before anything else is done."""
        way = self.runner.find_blocker(owed.assignment.lane, owed.assignment.item.consumer)
        if way is None:
            self.runner.start_assignment(owed.assignment, owed)
        return way

    def _offer_transcript(self, turn: WorkItem) -> WaitKey | None:
        stream = turn.cursor
        assert stream is not None
        if self.context.is_pending(stream.path):
            return None
        if turn.needed_lane is not None or self.context.is_evicted(stream.path):
            way = self.runner.find_blocker(turn.needed_lane or (turn.consumer.name,), turn.consumer)
            if way is not None:
                return way  # else a thousand would be looked into for each one that is handled
        tail = self.context.get_tail(stream.path)
        if tail is None or tail.safe_end <= stream.offset:
            # Due stays while a message waits in the queue: the turn goes on as soon as its fate is known.
            turn.due = turn.due and tail is not None and tail.read_end > stream.offset
            turn.parked, turn.blocked_by, turn.needed_lane = None, None, None
            self.progress.notify_change(turn)
            return None
        if not self._is_worth_offering(turn, tail):
            return None
        return self._offer_batch(turn, stream, tail)

    def _is_worth_offering(self, turn: WorkItem, tail: Tail) -> bool:
        """While a batch is gathered, only a further prompt is a reason to offer it again before its time."""
        if turn.due or turn.parked is not None or turn.gather_until <= self.context.monotonic():
            return True
        return bool(tail.list_prompts(max(0, turn.offered_upto)))

    def _offer_batch(self, turn: WorkItem, stream: Cursor, tail: Tail) -> WaitKey | None:
        consumer = turn.consumer
        stream.session, stream.cwd = tail.session or stream.session, tail.cwd or stream.cwd
        self.progress.assign_home_lane(turn)
        made = self._make_batch(turn, stream, tail)
        if not made.records and made.end <= stream.offset:
            return self._wait_for_owner(turn)
        turn.blocked_by = None
        turn.needed_lane = lane = (consumer.name, lane_of(made.project, stream.path))
        if (way := self.runner.find_blocker(lane, consumer)) is not None:
            return way
        turn.needed_lane = None
        turn.declined_while_due, turn.offered_upto = False, made.end
        if not made.records:
            self._skip_batch(turn, stream, tail, made.end)
            return None
        self.in_flight.claim_prompts(consumer.name, [p.id for p in made.prompts], stream.path)
        where = made.prompts[0].cwd if made.prompts else made.records[0].cwd
        if (later := self.context.get_refusal(turn, where or tail.cwd)) is not None:
            self._park(turn, later)
            return None
        grew = TranscriptGrew(
            stream.path, stream.session, made.project, made.records, stream.offset, made.end, turn.due
        )
        self.context.watch_project(made.project)  # it may be one that the session only passed through
        unpaid = self.context.get_model_refusal(turn, where or stream.cwd)
        self.runner.start_assignment(Assignment(turn, grew, made, lane, stream.epoch, model_refusal=unpaid))
        return None

    def _make_batch(self, turn: WorkItem, stream: Cursor, tail: Tail) -> Batch:
        consumer = turn.consumer
        stream.copies_history = tail.copies_history
        limit = turn.max_records if stream.offset < turn.max_records_upto else None
        records = self.progress.list_new_records(consumer, stream, tail)
        wanted = self.progress.make_prompt_filter(consumer, stream, tail)

        def taken(prompt: Prompt) -> bool:
            owner = self.in_flight.get_owner(consumer.name, prompt.id)
            if owner in (None, stream.path) or not self.progress.is_handing_over(consumer, owner):
                return False
            turn.blocked_by = owner
            return True

        return make_batch(records, tail.safe_end, wanted, self.context.project_of, stream.cwd, limit, taken)

    def _wait_for_owner(self, turn: WorkItem) -> WaitKey | None:
        """Trigger: the next words are another transcript's to hand over. Why: once is enough, and it may still fail.
        Outcome: this one waits for that one, and is parked with it where that one is paused."""
        owner = self.progress.get_blocking_item(turn)
        turn.needed_lane = None
        if owner is None or owner.parked is None:
            return self.progress.get_blocking_key(turn)
        self._park(turn, Later(owner.parked.reason, owner.parked.hint, owner.parked.not_before))
        return None

    def _skip_batch(self, turn: WorkItem, stream: Cursor, tail: Tail, end: int) -> None:
        """Nothing in it is for this handler. An ended session may have waited for just this."""
        turn.consumer.skip_to(stream, get_position(stream.path, end))
        turn.parked = None
        self.progress.notify_change(turn)
        self.work_queue.wake(turn)

    def _offer_event(self, turn: WorkItem, event: Event) -> WaitKey | None:
        if turn.gather_until > self.context.monotonic():
            return None
        if isinstance(event, SessionEnded):
            if self.progress.has_unread(turn):
                return None  # woken again when something becomes of its transcript
            if turn.cursor is None or not turn.cursor.has_unhandled_end:
                self.work_queue.finish_event(turn, event)  # the handler had no part in it
                return None
            if turn.cursor.cwd:  # it may be gone since the session ended
                event = turn.event = replace(event, project=self.context.project_of(turn.cursor.cwd))
        turn.needed_lane = lane = (turn.consumer.name, lane_of_event(event))
        if (way := self.runner.find_blocker(lane, turn.consumer)) is not None:
            return way
        if not isinstance(event, SessionStarted) and (way := self.progress.find_due_key(lane)) is not None:
            return way
        if (later := self.context.get_refusal(turn, "")) is not None:
            self._park(turn, later)
            return None
        mark = turn.cursor.handled_upto if turn.cursor else -1
        self.runner.start_assignment(
            Assignment(
                turn,
                event,
                None,
                lane,
                handled_upto=mark,
                model_refusal=self.context.get_model_refusal(turn, ""),
            )
        )
        return None

    # settling

    def _handle_outcome(self, offer: Assignment, outcome: Outcome | PendingWrite) -> None:
        turn = offer.item
        self.runner.release_lane(offer)
        turn.pending_write = None
        try:
            self._apply_outcome(offer, outcome)
        except (OSError, TacitdError) as error:
            self._park(turn, explain_unwritten(error))
        except Exception as error:  # noqa: BLE001  an answer that is none: nobody else waits for it
            self._park(turn, explain_fault(error))
        if turn.woken_while_busy:
            self.work_queue.wake(turn)
        self.progress.notify_change(turn)
        self.work_queue.release(offer.lane, (turn.consumer.name,))

    def _apply_outcome(self, offer: Assignment, outcome: Outcome | PendingWrite) -> None:
        turn = offer.item
        match outcome:
            case Done():
                self._finish_done(offer, outcome)
            case Wait() if turn.due and isinstance(offer.event, TranscriptGrew) and not offer.event.due:
                turn.parked, turn.gather_until = (
                    None,
                    0.0,
                )  # hurried meanwhile: it was not told, so it is asked again
                self.work_queue.wake(turn)
            case Wait(seconds):
                turn.parked = None
                turn.gather_until = self.context.monotonic() + max(0.05, seconds)
                turn.declined_while_due, turn.due = turn.due, False
                self.work_queue.schedule_wake(turn, turn.gather_until)
            case PendingWrite():
                turn.pending_write = outcome
                self._park(turn, outcome.later)
            case Later():
                self._park(turn, outcome, offer)
            case Rejected():
                self._reject(offer, outcome)
            case _:
                assert_never(outcome)

    def _finish_done(self, offer: Assignment, done: Done) -> None:
        turn, name = offer.item, offer.item.consumer.name
        turn.parked, turn.gather_until = None, 0.0
        if offer.batch is None or turn.cursor is None:
            self.work_queue.finish_event(turn, offer.event)
            return
        ids = [p.id for p in offer.batch.prompts_before(offer.batch.clamp_offset(done.upto))]
        self.in_flight.release_prompts(name, ids)
        self.work_queue.wake(turn)
        self.rescue.remove_handled(name, ids)

    def _park(self, turn: WorkItem, later: Later, offer: Assignment | None = None) -> None:
        if self.stopping or (turn.pending_write is None and not self.work_queue.is_current(turn)):
            return  # an event that was posted anew meanwhile: that one is tried, and not both
        made = offer.batch if offer is not None else None
        if made is not None and offer is not None and self._is_outdated(offer):
            self.work_queue.wake(turn)
            return
        halved = (
            turn.max_records is not None
            and turn.cursor is not None
            and turn.cursor.offset < turn.max_records_upto
        )
        now, records = self.context.now(), len(made.records) if made is not None else 0
        match decide_retry(
            turn.parked, later, records, now, self.context.monotonic(), self.backoff, halved=halved
        ):
            case Parked() as parked:
                turn.parked = parked
                self.work_queue.schedule_wake(turn, parked.due)
                self.progress.notify_change(turn)
                undone = turn.pending_write is None and not later.reason.startswith(PAUSED)
                if turn.cursor is not None and turn.event is None and undone:
                    self.in_flight.release_owner(turn.cursor.path, turn.consumer.name)
            case Halve(limit):
                turn.parked, turn.max_records = None, limit
                turn.max_records_upto = max(turn.max_records_upto if halved else 0, made.end if made else 0)
                self.work_queue.wake(turn)
            case GiveUp(reason):
                assert made is not None and turn.cursor is not None
                self._write_dead_letter(turn, turn.cursor, made, made.end, reason)
            case verdict:
                assert_never(verdict)

    def _is_outdated(self, offer: Assignment) -> bool:
        """Whether the transcript is another one by now: then nothing is concluded from a failure."""
        return offer.item.cursor is not None and offer.epoch != offer.item.cursor.epoch

    def _reject(self, offer: Assignment, said: Rejected) -> None:
        turn = offer.item
        if offer.batch is None or turn.cursor is None:
            self.dead_letters.add_letter(turn.consumer.name, said.reason, {"session": offer.log_name})
            self._apply_outcome(offer, self.runner.commit_outcome(offer, Done(data=said.data), None))
        elif self._is_outdated(offer):
            self.work_queue.wake(turn)
        else:
            self._write_dead_letter(
                turn, turn.cursor, offer.batch, check_advance(offer, said.upto), said.reason
            )

    def _write_dead_letter(self, turn: WorkItem, stream: Cursor, made: Batch, end: int, reason: str) -> None:
        """A dead letter: its words are kept, its place in the transcript is named, and the position moves past it."""
        name, prompts = turn.consumer.name, made.prompts_before(end)
        where = {
            "transcript": str(stream.path),
            "start": stream.offset,
            "end": end,
            "session": stream.session,
        }
        self.dead_letters.add_letter(name, reason, where | {"prompts": [p.id for p in prompts]})
        self.rescue.keep_prompts(name, prompts, reason)
        turn.consumer.commit(stream, get_position(stream.path, end), prompts, {})
        self.in_flight.release_prompts(name, [p.id for p in prompts])
        turn.parked = None
        self.work_queue.wake(turn)

    # looking after

    def settle_rescued(self) -> None:
        """What was handled leaves the rescue log, if it did not yet; what was rejected stays. Raises OSError."""
        known = {name: consumer.has_handled for name, consumer in self.consumers.items()}
        self.rescue.remove_settled(known, self.dead_letters.read())

    def rescue_old(self) -> None:
        """Copy the words of what has been parked for more than a day (called every hour). Raises OSError."""
        self.settle_rescued()
        for turn, parked in self.work_queue.list_parked():
            words = self.progress.list_unhandled(turn)
            old = [p for p in words if min(parked.since, p.time or parked.since) < self.context.now() - A_DAY]
            self.rescue.keep_prompts(turn.consumer.name, old, parked.reason)

    def tidy_queue(self, is_open: Callable[[Path], bool]) -> None:
        """Forget what is not needed any more; look at everything once."""
        self.work_queue.forget_closed(is_open)

    def stop(self, grace: float = GRACE) -> None:
        """Offer nothing more, and wait a moment for what is being done."""
        self.stopping = True
        self.runner.stop(grace)
