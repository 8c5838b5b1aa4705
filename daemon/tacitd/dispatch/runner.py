"""Runs handlers in workers, commits what they did, and returns their outcomes to the engine's thread.

Nothing here decides what is offered, or what follows from an outcome.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping

from loguru import logger
from msgspec.structs import replace

from tacitd.clock import SystemClock
from tacitd.consumers.consumer import MESSAGES_KEY, Consumer
from tacitd.dispatch.event_keys import name_of_event
from tacitd.dispatch.faults import explain_fault, explain_unwritten
from tacitd.dispatch.work_item import Assignment, FileBusy, LaneKey, PendingWrite
from tacitd.dispatch.workers import ThreadPool, Work, WorkerPool
from tacitd.errors import FileBusyError, TacitdError
from tacitd.events import Due, Message, SessionEnded, TranscriptGrew
from tacitd.handler import Commit, Done, Later, Outcome, Rejected, Tools
from tacitd.model.port import Answer, Model, ModelRequest, NoAnswer
from tacitd.sources.position import find_position

GRACE = 11.0
"""Seconds that a handler gets to finish when the daemon stops: longer than its model call gets (8 s, then 2 s between
SIGTERM and SIGKILL), so that no child process outlives the daemon. What remains of 15 s is for the rest of the stop."""

Settled = Outcome | FileBusy | PendingWrite
"""What became of an assignment."""
Settle = Callable[[Assignment, Settled], None]


class RecordingModel:
    """The model, as one assignment sees it: it keeps which calls were answered. With `refusal`, no call is made, and that
    is the answer to each."""

    def __init__(self, model: Model, refusal: NoAnswer | None = None) -> None:
        self.answered_calls: list[str] = []
        """Their ids in the budget's log."""
        self._model = model
        self._refusal = refusal

    def ask(self, ask: ModelRequest) -> Answer | NoAnswer:
        """Ask, and keep the id of the call if it was answered."""
        answer = self._refusal or self._model.ask(ask)
        if isinstance(answer, Answer) and answer.call:
            self.answered_calls.append(answer.call)
        return answer


class HandlerRunner:
    """The workers of all handlers. Engine thread only, except `_run_assignment` and what it calls."""

    def __init__(
        self,
        tools: Mapping[str, Tools],
        call_soon: Callable[[Callable[[], None]], None],
        *,
        route_messages: Callable[[Consumer, Commit], None],
        mark_discarded: Callable[[str], None],
        workers_for: Callable[[str, int], WorkerPool] = ThreadPool,
    ) -> None:
        """`call_soon` runs a function in the engine's thread. `route_messages` posts what a commit contains for other
        handlers, there. `mark_discarded` records in a worker that the answer to a model call was of no use. `workers_for`
        makes the workers of a handler, given its name and in how many lanes it may be busy at once.
        """
        self.tools = tools
        self._call_soon = call_soon
        self._route_messages = route_messages
        self._mark_discarded = mark_discarded
        self._workers_for = workers_for
        self._pools: dict[str, WorkerPool] = {}
        self._gate = threading.Lock()
        self._closed = self._stopping = False
        self._given: dict[LaneKey, deque[Work]] = {}
        """By lane, what its worker was given and has not begun; a key for each lane that has a worker."""
        self._given_lock = threading.Lock()

    def start_assignment(
        self, assignment: Assignment, settle: Settle, pending: PendingWrite | None = None
    ) -> None:
        """Run the handler in a worker; with `pending`, only write what it did. `settle` gets the outcome, in the engine's
        thread. Raises RuntimeError if no thread can be started."""
        consumer = assignment.item.consumer
        pool = self._pools.get(consumer.name)
        if pool is None:
            pool = self._pools[consumer.name] = self._workers_for(consumer.name, consumer.plugin.lanes)
        lane = assignment.item.lane

        def run() -> None:
            self._run_assignment(assignment, settle, pending)

        with self._given_lock:
            given = self._given.get(lane)
            if given is not None:
                given.append(run)
                return
            self._given[lane] = deque()
        try:
            pool.submit(lambda: self._run_lane(lane, run))
        except RuntimeError:
            del self._given[lane]
            raise

    def stop(self, grace: float = GRACE) -> None:
        """Start nothing more, and give running handlers `grace` seconds, all together. Later outcomes are dropped, as
        after a crash."""
        self._stopping = True
        clock = SystemClock()
        end = clock.monotonic() + grace
        late = [
            name for name, pool in self._pools.items() if not pool.stop(max(0.0, end - clock.monotonic()))
        ]
        with self._gate:
            # A worker that commits now finishes first, because it has the gate. Every later one finds it closed.
            self._closed = True
        if late:
            logger.warning("stopped while {} was still busy", ", ".join(late))

    # in a worker

    def _run_lane(self, lane: LaneKey, run: Work) -> None:
        """Run this, and what is given for the lane meanwhile, one after the other."""
        run()
        while (more := self._take_given(lane)) is not None:
            more()

    def _take_given(self, lane: LaneKey) -> Work | None:
        with self._given_lock:
            if self._given[lane] and not self._stopping:
                return self._given[lane].popleft()
            # Under the lock: what is given from now on gets a worker of its own.
            del self._given[lane]
            return None

    def _run_assignment(self, assignment: Assignment, settle: Settle, pending: PendingWrite | None) -> None:
        """Run the handler and commit what it did. An exception becomes a `Later` with an attempt count."""
        outcome: Settled
        try:
            if pending is not None:
                outcome = self.commit_outcome(assignment, pending.done, pending.commit)
            else:
                outcome = self._ask_handler(assignment)
        except BaseException as error:  # noqa: BLE001  a failing handler affects no other, and the lane must be released
            outcome = explain_fault(error)
        # Lanes and items belong to the engine's thread.
        self._call_soon(lambda: settle(assignment, outcome))

    def _ask_handler(self, assignment: Assignment) -> Settled:
        outcome = self._call_handler(assignment)
        match outcome:
            case Done():
                return self.commit_outcome(assignment, outcome, None)
            case Rejected(reason=str(), upto=upto):
                if assignment.batch is not None:
                    check_advance(assignment, upto)
                return outcome
            case FileBusy() | Later(reason=str(), not_before=None | int() | float()):
                return outcome
            case _:
                raise TypeError(
                    f"it answered {type(outcome).__name__}, which is not an outcome, or is not well made"
                )

    def _call_handler(self, assignment: Assignment) -> Outcome | FileBusy:
        """Return the handler's outcome. Record the model's answers as discarded if the handler could not use them:
        otherwise a repeated request would count as a lost answer.

        After a `Later` without blame or an OSError, the answers were good. The handler may keep them and not ask again; if
        it asks again, that is the second payment for the same request, and there is no third.
        """
        consumer = assignment.item.consumer
        tools = self.tools[consumer.name]
        model = RecordingModel(tools.model, assignment.model_refusal)
        is_useless = True
        try:
            outcome = consumer.handler.handle(assignment.event, replace(tools, model=model))
            is_useless = isinstance(outcome, Later) and outcome.blame == "work"
        except FileBusyError as busy:
            # Not a failed attempt: an editor has the file open, and will close it.
            is_useless = False
            return FileBusy(busy.seconds)
        except (OSError, TacitdError):
            is_useless = False
            raise
        finally:
            for call in model.answered_calls if is_useless else ():
                self._mark_discarded(call)
        return outcome

    def commit_outcome(
        self, assignment: Assignment, done: Done, commit: Commit | None
    ) -> Outcome | PendingWrite:
        """Commit, then write the project files. What cannot be written now is returned as `PendingWrite`, so the handler
        is not called, and the model not paid, a second time."""
        consumer = assignment.item.consumer
        try:
            if commit is None:
                # The gate: after `stop` has returned, nothing is committed, although the handler may still run. The next
                # daemon may have the lock by then, and handle the same prompts.
                with self._gate:
                    if self._closed:
                        return Later("the daemon stopped before it was done")
                    commit = self._commit(assignment, done)
            if commit is not None:
                consumer.handler.committed(commit, self.tools[consumer.name])
                if MESSAGES_KEY in commit.data:
                    committed = commit
                    self._call_soon(lambda: self._route_messages(consumer, committed))
        except (OSError, TacitdError) as error:
            return PendingWrite(assignment, done, commit, explain_unwritten(error))
        # Before the commit it is a failed try of the handler. After it the prompts are handled, so only the writing is
        # tried again.
        except Exception as error:
            if commit is None:
                raise
            return PendingWrite(assignment, done, commit, replace(explain_fault(error), blame="world"))
        return done

    def _commit(self, assignment: Assignment, done: Done) -> Commit | None:
        consumer, cursor, event = assignment.item.consumer, assignment.item.cursor, assignment.event
        if assignment.batch is not None and cursor is not None:
            upto = check_advance(assignment, done.upto)
            prompts = assignment.batch.prompts_before(upto)
            end = assignment.end
            position = end if end is not None and end.offset == upto else find_position(cursor.path, upto)
            return consumer.commit(cursor, position, prompts, done.data, assignment.epoch)
        if isinstance(event, Due) and not done.data and consumer.is_frequent_job(event.job):
            consumer.last_job_runs[event.job] = consumer.clock.now()
        # These three leave a record without data too, so that the next start does not repeat them: the handled end of a
        # session, the job's last run, the message's id.
        elif done.data or isinstance(event, SessionEnded | Due | Message):
            return consumer.commit_event(
                event.stored_name, cursor, name_of_event(event), done.data, assignment.handled_upto
            )
        return None


def check_advance(assignment: Assignment, upto: int | None) -> int:
    """The offset to which an outcome moves the position. Raises ValueError if it does not move: the handler would be
    asked for ever."""
    assert assignment.batch is not None and isinstance(assignment.event, TranscriptGrew)
    reached = assignment.batch.clamp_offset(upto)
    if reached <= assignment.event.start:
        raise ValueError(f"its answer up to {upto} does not move past {assignment.event.start}")
    return reached
