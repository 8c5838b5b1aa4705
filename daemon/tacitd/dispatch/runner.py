"""Running handlers: in threads of their own, with their answers committed before anyone hears of them.

The engine's thread starts a piece of work and gets its outcome back through `post`. Nothing here decides what is
offered or what becomes of an outcome.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from loguru import logger

from tacitd.clock import SystemClock
from tacitd.consumers.consumer import MESSAGES_KEY, Consumer
from tacitd.dispatch.work_item import Assignment, PendingWrite, WaitKey, explain_fault, explain_unwritten
from tacitd.dispatch.workers import ThreadPool, WorkerPool
from tacitd.errors import FileBusyError, TacitdError
from tacitd.events import Due, SessionEnded, Told, TranscriptGrew
from tacitd.handler import Commit, Done, Later, Outcome, Rejected, Tools, Wait
from tacitd.model.port import Answer, Model, ModelRequest, NoAnswer
from tacitd.sources.position import Position, position_at

GRACE = 12.0
"""Seconds that a handler gets to finish when the daemon leaves: longer than its model's call gets (8 s, then 2 s
between SIGTERM and SIGKILL), so that no child outlives the daemon."""


class RecordingModel:
    """The model, as one piece of work sees it: remembers which calls were answered. With `unpaid`, no call is made, and
    that is the answer to each."""

    def __init__(self, model: Model, unpaid: NoAnswer | None = None) -> None:
        self.answered_calls: list[str] = []
        """Their ids in the budget's log."""
        self._model = model
        self._unpaid = unpaid

    def ask(self, ask: ModelRequest) -> Answer | NoAnswer:
        """Ask, and remember."""
        answer = self._unpaid or self._model.ask(ask)
        if isinstance(answer, Answer) and answer.call:
            self.answered_calls.append(answer.call)
        return answer


class HandlerRunner:
    """Threads and lanes. Engine thread only, but for what runs in a worker."""

    def __init__(
        self,
        tools: Mapping[str, Tools],
        post: Callable[[Callable[[], None]], None],
        settle: Callable[[Assignment, Outcome | PendingWrite], None],
    ) -> None:
        self.tools = tools
        self.busy_lanes: set[tuple[str, str]] = set()
        """(handler, project) that are busy."""
        self.lane_limits: dict[str, int] = {}
        """By handler, in how many lanes it may be busy at once; 1 where nothing is said."""
        self.busy_since: dict[tuple[str, str], float] = {}
        """The same with monotonic seconds: when each began."""
        self.monotonic: Callable[[], float] = SystemClock().monotonic
        self.make_pool: Callable[[str, int], WorkerPool] = ThreadPool
        """Given a handler's name and how many projects it may be busy with, its threads."""
        self.route_messages: Callable[[Consumer, Commit], None] = lambda _consumer, _commit: None
        """Hand on what a commit has for other handlers. Engine thread."""
        self.mark_discarded: Callable[[str], None] = lambda _call: None
        """Put on record that nothing came of the answer to this call. Any thread."""
        self._post = post
        self._settle = settle
        self._pools: dict[str, WorkerPool] = {}
        self._gate = threading.Lock()
        self._closed = False

    def find_blocker(self, lane: WaitKey, consumer: Consumer) -> WaitKey | None:
        """What must be free before this handler can begin in a lane: the lane, or one of its places. None: nothing."""
        return next((way for way in (lane, (consumer.name,)) if self.is_taken(way)), None)

    def is_taken(self, way: WaitKey) -> bool:
        """Whether a lane is busy, or a handler in as many lanes as it may be. Nobody has anything else."""
        handler = way[0]
        if len(way) > 1:
            return way in self.busy_lanes
        return sum(1 for name, _ in self.busy_lanes if name == handler) >= self.lane_limits.get(handler, 1)

    def start_assignment(self, offer: Assignment, owed: PendingWrite | None = None) -> None:
        """Have this handled; with `owed`, only write what was done. Raises RuntimeError where no thread can be made."""
        consumer, turn = offer.item.consumer, offer.item
        pool = self._pools.get(consumer.name)
        if pool is None:
            pool = self._pools[consumer.name] = self.make_pool(consumer.name, consumer.plugin.lanes)
        turn.busy, turn.woken_while_busy = True, False
        self.busy_lanes.add(offer.lane)
        self.busy_since[offer.lane] = self.monotonic()
        try:
            pool.submit(lambda: self._run_assignment(offer, owed))
        except RuntimeError:
            self.release_lane(offer)
            raise

    def release_lane(self, offer: Assignment) -> None:
        """The outcome came."""
        offer.item.busy = False
        self.busy_lanes.discard(offer.lane)
        self.busy_since.pop(offer.lane, None)

    def stop(self, grace: float = GRACE) -> None:
        """Begin nothing more, and give what runs a moment. What comes later is dropped, as after a crash."""
        late = [name for name, pool in self._pools.items() if not pool.stop(grace)]
        with self._gate:
            self._closed = True
        if late:
            logger.warning("left while {} was still busy", ", ".join(late))

    # in a worker

    def _run_assignment(self, offer: Assignment, owed: PendingWrite | None) -> None:
        """Run the handler, commit what it did. Whatever is raised becomes a `Later` with a count."""
        try:
            outcome = (
                self.commit_outcome(offer, owed.done, owed.commit)
                if owed is not None
                else self._ask_handler(offer)
            )
        except BaseException as error:  # noqa: BLE001  one failing handler never touches another, and nobody waits
            outcome = explain_fault(error)
        result = outcome
        self._post(lambda: self._settle(offer, result))

    def _ask_handler(self, offer: Assignment) -> Outcome | PendingWrite:
        outcome = self._call_handler(offer)
        match outcome:
            case Done():
                return self.commit_outcome(offer, outcome, None)
            case Rejected(reason=str(), upto=upto):
                if offer.batch is not None:
                    check_advance(offer, upto)
                return outcome
            case Wait(seconds=int() | float()) | Later(reason=str(), not_before=None | int() | float()):
                return outcome
            case _:
                raise TypeError(
                    f"it answered {type(outcome).__name__}, which is no outcome, or not well made"
                )

    def _call_handler(self, offer: Assignment) -> Outcome:
        """What the handler answers. Answers of the model that it found of no use are put on record as that: otherwise
        they would count as lost, should the same be asked again.

        Where the world was in the way (`Later` without blame, OSError) the answer was good. The handler may keep it and
        ask no more; if it asks again, that is the second payment for the same, and there is no third.
        """
        consumer = offer.item.consumer
        tools = self.tools[consumer.name]
        heard = RecordingModel(tools.model, offer.model_refusal)
        useless = True
        try:
            outcome = consumer.handler.handle(offer.event, replace(tools, model=heard))
            useless = isinstance(outcome, Wait) or (isinstance(outcome, Later) and outcome.blame == "work")
        except FileBusyError as busy:
            # Nothing is wrong and no attempt counts: an editor has the file open, and will close it.
            useless = False
            return Wait(busy.seconds)
        except (OSError, TacitdError):
            useless = False
            raise
        finally:
            for call in heard.answered_calls if useless else ():
                self.mark_discarded(call)
        return outcome

    def commit_outcome(self, offer: Assignment, done: Done, commit: Commit | None) -> Outcome | PendingWrite:
        """Commit, then project. What cannot be written now is owed: it is not done, and paid for, again."""
        consumer = offer.item.consumer
        try:
            if commit is None:
                with self._gate:
                    if self._closed:
                        return Later("the daemon left before it was done")
                    commit = self._commit(offer, done)
            if commit is not None:
                consumer.handler.committed(commit, self.tools[consumer.name])
                if MESSAGES_KEY in commit.data:
                    told = commit
                    self._post(lambda: self.route_messages(consumer, told))
        except (OSError, TacitdError) as error:
            return PendingWrite(offer, done, commit, explain_unwritten(error))
        except Exception as error:
            if commit is None:
                raise
            return PendingWrite(offer, done, commit, replace(explain_fault(error), blame="world"))
        return done

    def _commit(self, offer: Assignment, done: Done) -> Commit | None:
        consumer, stream = offer.item.consumer, offer.item.cursor
        if offer.batch is not None and stream is not None:
            upto = check_advance(offer, done.upto)
            prompts = offer.batch.prompts_before(upto)
            return consumer.commit(stream, get_position(stream.path, upto), prompts, done.data, offer.epoch)
        if isinstance(offer.event, Due) and not done.data and consumer.is_frequent_job(offer.event.job):
            consumer.last_job_runs[offer.event.job] = consumer.clock.now()
        elif done.data or isinstance(offer.event, SessionEnded | Due | Told):
            name, kind = offer.log_name, type(offer.event).__name__
            return consumer.commit_event(kind, stream, name, done.data, offer.handled_upto)
        return None


def get_position(path: Path, offset: int) -> Position:
    """The position there. Of a file that is gone or cannot be read only the offset is known: should it come back, it is
    read from its first byte, and what was handled is known."""
    try:
        return position_at(path, offset)
    except (OSError, TacitdError):
        return Position(offset, 0)


def check_advance(offer: Assignment, upto: int | None) -> int:
    """The offset that an answer moves to. Raises ValueError where that is nowhere: else it would be asked for ever."""
    assert offer.batch is not None and isinstance(offer.event, TranscriptGrew)
    reached = offer.batch.clamp_offset(upto)
    if reached <= offer.event.start:
        raise ValueError(f"its answer up to {upto} does not move past {offer.event.start}")
    return reached
