"""Runs handlers of the first contract (`tacitd.handler`) on the new core, until the last one is ported.

A handler becomes an observer that only queues a task of the kind `grew` for each transcript that grew, and a runnable that
builds the old event, calls `handle`, and turns its outcome into one transaction: the position, the commit's row, the messages
to other handlers, and the end of the prompts. Then `committed` is called; if it fails, a task of the kind `committed` does it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from tacitd import contract
from tacitd.contract import Task, Tx
from tacitd.errors import FileBusyError, TacitdError, UnwritableError, describe_plugin_error
from tacitd.events import (
    Due,
    Event,
    Message,
    NoProject,
    Project,
    SessionEnded,
    TranscriptGrew,
)
from tacitd.handler import Commit, Done, Gather, Handler, Later, Outcome, Plugin, Rejected, Tools
from tacitd.model.budget import mark_used
from tacitd.model.port import Answer, Model, ModelRequest, NoAnswer
from tacitd.work.commit_rows import (
    FOLD_AFTER,
    SnapshotHandler,
    fold_commits,
    insert_commit,
    list_unfolded,
    load_commit,
)
from tacitd.work.event_keys import lane_of, name_of_event
from tacitd.work.faults import explain_fault
from tacitd.work.growth import Growth
from tacitd.work.growth_queue import GrowthQueue, Services
from tacitd.work.handler_events import make_event, queue_event
from tacitd.work.project_rows import store_project
from tacitd.work.prompt_rows import finish_prompts
from tacitd.work.task_rows import NewTask, insert_task
from tacitd.work.task_runner import QuietDone
from tacitd.work.tries import choose_delay, postpone

MESSAGES_KEY = "tell"
"""The key in a commit's data for messages to other handlers, by their names."""


class RecordingModel:
    """The model, as one task sees it: it keeps which calls were answered. With `refusal`, no call is made, and that is the
    answer to each."""

    def __init__(self, model: Model, refusal: NoAnswer | None = None) -> None:
        self.answered_calls: list[str] = []
        self._model = model
        self._refusal = refusal

    def ask(self, ask: ModelRequest) -> Answer | NoAnswer:
        """Ask, and keep the id of the call if it was answered."""
        answer = self._refusal or self._model.ask(ask)
        if isinstance(answer, Answer) and answer.call:
            self.answered_calls.append(answer.call)
        return answer


class _Settled(Struct, frozen=True):
    """What a handled event changes in the store."""

    event: Event
    data: Mapping[str, Any]
    growth: Growth | None = None
    upto: int = -1
    rejected: str = ""
    messages: Sequence[tuple[str, Project | NoProject, Mapping[str, Any]]] = ()
    calls: tuple[int, ...] = ()
    """The calls whose answers were used."""


class AdaptedHandler(GrowthQueue):
    """One handler."""

    def __init__(self, plugin: Plugin, handler: Handler, services: Services, gather: Gather | None) -> None:
        super().__init__(plugin.name, services, gather)
        self.plugin = plugin
        self.handler = handler
        self.tools: Tools
        self._fresh: dict[int, tuple[int, Commit]] = {}
        """Commits that were just stored, by the task's number."""
        self._asked = dict[int, tuple[str, ...]]()
        """By the number of a task, the calls of the model that were answered for it."""

    # --- at a start

    def open(self) -> None:
        """Open the handler with what it committed, and replace many commits by its snapshot. Raises what the handler raises."""
        rows = self._services.store.rows
        commits = list_unfolded(rows, self.name)
        self.handler.open(iter(commits), self.tools)
        if len(commits) <= FOLD_AFTER or not isinstance(self.handler, SnapshotHandler):
            return
        try:
            state = json.loads(json.dumps(dict(self.handler.take_snapshot())))
            with self._services.store.write() as tx:
                fold_commits(tx, self.name, state, self._services.clock.now())
        except Exception as error:  # noqa: BLE001  a third-party handler's snapshot may raise anything
            logger.warning("the commits of {} stay many: {}", self.name, describe_plugin_error(error))

    @property
    def has_one_lane(self) -> bool:
        """Whether it runs for one project at a time."""
        return self.plugin.single_store or self.plugin.lanes == 1

    def post(self, event: Event) -> None:
        """Queue an event without records for this handler. Raises UnwritableError."""
        with self._services.store.write() as tx:
            self.queue_event(tx, event)

    def queue_event(self, tx: Tx, event: Event) -> None:
        """Queue an event without records."""
        queue_event(tx, self.name, event, self._services.clock.now())

    # --- in a worker

    def run(self, task: Task, tools: object = None) -> contract.Outcome:
        """Do a task."""
        if task.kind == "grew":
            return self._run_growth(task)
        if task.kind == "committed":
            return self._write_again(task)
        if isinstance(task.project, Project):
            self._services.watched.setdefault(task.project.root, task.project)
        event = make_event(task, self.name, self._services.store.rows, self._services.find_project)
        if event is None:
            return contract.Done()
        outcome = self._handle(event, task)
        match outcome:
            case Done():
                return self._settle(task, event, outcome.data)
            case Rejected():
                logger.warning("rejected by {}: {}", self.name, outcome.reason)
                return self._settle(task, event, outcome.data, rejected=outcome.reason)
            case Later():
                return self._park(outcome)
            case _:
                return outcome

    def _run_growth(self, task: Task) -> contract.Outcome:
        path = Path(task.key)
        growth = self._services.reader.read_growth(
            self.name, path, task.data.get("alone", 0), pays=self.plugin.uses_model
        )
        if growth is None:
            return contract.Done()
        batch, start = growth.batch, growth.start
        if batch.records and lane_of(batch.project, path) != lane_of(task.project, path):
            return self._move_task(task, growth)
        if not batch.records:
            return self._advance(task, growth)
        refused = self._services.refuse_model(task) if self.plugin.uses_model else None
        if refused is not None:
            return self._park(Later(refused.reason, refused.hint, refused.retry_at))
        event = TranscriptGrew(
            path, growth.session, batch.project, batch.records, start, batch.end, self._is_due(task)
        )
        outcome = self._handle(event, task)
        match outcome:
            case Done(upto) | Rejected(_, upto):
                reached = max(start, batch.clamp_offset(upto))
                if (reached <= start or growth.from_rows) and not growth.numbers_before(reached):
                    wrong = Later(f"its answer up to {upto} does not move past {start}", blame="work")
                    return self._count_failure(task, growth, wrong)
                rejected = outcome.reason if isinstance(outcome, Rejected) else ""
                data = {} if rejected else outcome.data
                return self._settle(task, event, data, growth, reached, rejected)
            case Later(blame="work"):
                return self._count_failure(task, growth, outcome)
            case Later():
                return self._park(outcome)
            case _:
                return outcome

    def _is_due(self, task: Task) -> bool:
        return bool(task.data.get("due")) or self._services.asked > 0

    def _handle(self, event: Event, task: Task) -> Outcome | contract.Done:
        """Call the handler. `contract.Done`: a file is being edited, and the task is queued again."""
        model = RecordingModel(self.tools.model, self._services.refuse_model(task))
        is_useful = False
        outcome: Outcome | contract.Done
        try:
            outcome = self.handler.handle(event, replace(self.tools, model=model))
            _require_outcome(outcome)
            is_useful = not (isinstance(outcome, Later) and outcome.blame == "work")
        except FileBusyError as busy:
            is_useful, outcome = True, self._wait_for_editor(task, busy.seconds)
        except (OSError, TacitdError) as error:
            is_useful, outcome = True, explain_fault(error)
        except (Exception, SystemExit) as error:  # noqa: BLE001  a failing handler affects no other
            outcome = explain_fault(error)
        # Not where the process ends meanwhile: then nothing failed, and the next start counts the answers as lost.
        if model.answered_calls:
            self._asked[task.number] = tuple(model.answered_calls)
            if not is_useful:
                self._services.discard_calls(model.answered_calls)
        return outcome

    def _wait_for_editor(self, task: Task, seconds: float) -> contract.Done:
        due = self._services.clock.now() + max(0.05, seconds)
        return contract.Done(lambda tx: self._queue_again(tx, task, due))

    def _queue_again(
        self,
        tx: Tx,
        task: Task,
        due: float,
        reason: str = "",
        hint: str = "",
        tries: int = 0,
        data: Mapping[str, Any] | None = None,
        place: Project | NoProject | None = None,
    ) -> None:
        """Put a task that was taken back, unless it was queued again meanwhile."""
        where, now = task.project if place is None else place, self._services.clock.now()
        if tx.rows(
            "SELECT 1 FROM task WHERE plugin = ? AND kind = ? AND key = ?", self.name, task.kind, task.key
        ):
            return
        lane = str(where.root) if isinstance(where, Project) else ""
        if task.kind == "grew":
            lane = lane_of(where, Path(task.key))
        number = store_project(tx, where, now) if isinstance(where, Project) else None
        kept = task.data if data is None else data
        new = NewTask(self.name, lane, task.kind, task.key, number, task.session, kept, task.priority)
        insert_task(tx, new, now, due)
        tx.execute(
            "UPDATE task SET reason = ?, hint = ?, tries = ? WHERE plugin = ? AND kind = ? AND key = ?",
            reason,
            hint,
            tries,
            self.name,
            task.kind,
            task.key,
        )

    def _park(self, later: Later) -> contract.Later:
        self._services.note_parked(self.name, later.reason, later.not_before)
        return contract.Later(later.reason, later.hint, later.not_before)

    def _move_task(self, task: Task, growth: Growth) -> contract.Done:
        """The next records are of another project: its lane does them."""
        now = self._services.clock.now()
        return contract.Done(lambda tx: self._queue_again(tx, task, now, place=growth.batch.project))

    def _advance(self, task: Task, growth: Growth) -> contract.Done:
        """Nothing up to the batch's end is for this handler."""
        return QuietDone(lambda tx: self._move_on(tx, task, growth, growth.batch.end))

    def _move_on(self, tx: Tx, task: Task, growth: Growth, upto: int, *, acted: bool = False) -> None:
        """Move the position, and queue what is left of the transcript."""
        finish_prompts(tx, self.name, growth.gone, self._services.clock.now())
        upto = growth.start if growth.from_rows else upto
        tx.execute(
            "UPDATE adapter_position SET offset = ?, acted = CASE WHEN ? THEN ? ELSE acted END "
            "WHERE plugin = ? AND transcript = ? AND offset = ?",
            upto,
            int(acted),
            max(0, upto),
            self.name,
            task.key,
            growth.start,
        )
        ((left, waiting),) = tx.rows(
            "SELECT (SELECT t.offset > a.offset FROM transcript t JOIN adapter_position a ON a.transcript = t.path "
            "WHERE t.path = ? AND a.plugin = ?), EXISTS(SELECT 1 FROM prompt p CROSS JOIN prompt_task k ON k.prompt = p.number "
            "WHERE k.plugin = ? AND k.state = 'waiting' AND p.transcript = ?)",
            task.key,
            self.name,
            self.name,
            task.key,
        )
        if left or waiting:
            at_once = bool(task.data.get("due"))
            place, number = task.project, task.project_number
            self.queue_growth(
                tx, task.key, task.session, place, number, at_once=at_once, priority=task.priority
            )
            kept = {"due": True} if at_once else {}
            kept |= {"alone": task.data["alone"]} if task.data.get("alone", 0) > upto else {}
            if kept:
                tx.execute(
                    "UPDATE task SET data = ? WHERE plugin = ? AND kind = 'grew' AND key = ?",
                    json.dumps(kept),
                    self.name,
                    task.key,
                )

    def _count_failure(self, task: Task, growth: Growth, later: Later) -> contract.Done:
        """The batch may itself be the cause: each of its prompts is counted, and one that failed alone is rejected."""
        now, prompts = self._services.clock.now(), growth.prompts_before(growth.batch.end)
        world = contract.Later(later.reason, later.hint, later.not_before, "work")
        after = postpone(world, 1, prompts, now, self._services.pauses)
        self._services.note_parked(self.name, later.reason, later.not_before)

        def apply(tx: Tx) -> None:
            if after.rejected or (not prompts and len(growth.batch.records) == 1 and task.tries):
                logger.warning("rejected by {}: {}", self.name, later.reason)
                finish_prompts(tx, self.name, after.rejected, now, state="rejected", reason=later.reason)
                self._move_on(tx, task, growth, growth.batch.end)
                return
            tx.executemany(
                "UPDATE prompt_task SET tries = tries + 1, reason = ? WHERE plugin = ? AND prompt = ?",
                [(later.reason, self.name, one.number) for one in prompts],
            )
            data = dict(task.data) if prompts else {**task.data, "alone": growth.batch.end}
            self._queue_again(tx, task, after.due, later.reason, later.hint, task.tries + 1, data)

        return contract.Done(apply)

    # --- outcomes

    def _settle(
        self,
        task: Task,
        event: Event,
        data: Mapping[str, Any],
        growth: Growth | None = None,
        upto: int = -1,
        rejected: str = "",
    ) -> contract.Done:
        """One transaction for what was done."""
        clean: dict[str, Any] = json.loads(json.dumps(dict(data)))
        told = clean.get(MESSAGES_KEY)
        messages = list[tuple[str, Project | NoProject, Mapping[str, Any]]]()
        if isinstance(told, dict):
            place = self._services.find_project(str(clean.get("project", "")))
            messages = [
                (name, place, what)
                for name, what in told.items()
                if name in self._services.handlers and isinstance(what, dict)
            ]
        calls = tuple(map(int, self._asked.pop(task.number, ())))
        done = _Settled(event, clean, growth, upto, rejected, messages, calls)
        is_quiet = not (clean or rejected or messages or calls)
        return (QuietDone if is_quiet else contract.Done)(lambda tx: self._store(tx, task, done))

    def _store(self, tx: Tx, task: Task, done: _Settled) -> None:
        now, number = self._services.clock.now(), 0
        if tx.rows("SELECT 1 FROM adapter_commit WHERE task = ?", task.number):
            return  # the commit before was reported as failed, and is durable
        mark_used(tx, done.calls)
        if done.data:
            transcript = str(getattr(done.event, "transcript", ""))
            commit = Commit(
                now, done.event.stored_name, transcript, name_of_event(done.event), done.upto, done.data
            )
            number = insert_commit(tx, self.name, commit, task.number)
            self._fresh[task.number] = number, commit
        for name, place, what in done.messages:
            by_job = isinstance(done.event, Due)
            session = name_of_event(done.event)
            message = Message(self.name, f"{self.name}:{number}", session, place, now, what, by_job)
            self._services.handlers[name].queue_event(tx, message)
        if done.growth is not None:
            numbers = done.growth.numbers_before(done.upto)
            state = "rejected" if done.rejected else "done"
            finish_prompts(tx, self.name, numbers, now, state=state, reason=done.rejected)
            if done.rejected:
                logger.warning("rejected by {}: {}", self.name, done.rejected)
            self._move_on(tx, task, done.growth, done.upto, acted=bool(done.data or numbers))
            return
        if done.rejected:
            tx.execute(
                "INSERT INTO adapter_rejected(plugin, at, event, reason) VALUES(?, ?, ?, ?)",
                self.name,
                now,
                done.event.stored_name,
                done.rejected,
            )
        if isinstance(done.event, SessionEnded):
            tx.execute(
                "UPDATE adapter_position SET ended = acted WHERE plugin = ? AND transcript IN "
                "(SELECT path FROM transcript WHERE session = ?)",
                self.name,
                task.session,
            )

    def committed(self, task: Task) -> None:
        """Write what results from the commit of a task, in its worker."""
        number, commit = self._fresh.pop(task.number, (0, None))
        if commit is None:
            return
        later = self._write_files(commit)
        if later is None:
            return
        due = self._services.clock.now() + choose_delay(
            1, later.not_before, self._services.clock.now(), self._services.pauses
        )
        root = str(task.project.root) if isinstance(task.project, Project) else ""
        new = NewTask(self.name, root, "committed", str(number), task.project_number, task.session)
        try:
            with self._services.store.write() as tx:
                insert_task(tx, new, self._services.clock.now(), due)
                tx.execute(
                    "UPDATE task SET reason = ?, hint = ? WHERE plugin = ? AND kind = 'committed' AND key = ?",
                    later.reason,
                    later.hint,
                    self.name,
                    str(number),
                )
        except UnwritableError:
            # The next start does it: `open` writes what was committed.
            logger.warning("what {} did is written at the next start: {}", self.name, later.reason)

    def _write_again(self, task: Task) -> contract.Outcome:
        commit = load_commit(self._services.store.rows, int(task.key))
        later = self._write_files(commit) if commit is not None else None
        return (
            contract.Done() if later is None else contract.Later(later.reason, later.hint, later.not_before)
        )

    def _write_files(self, commit: Commit) -> Later | None:
        try:
            self.handler.committed(commit, self.tools)
        except FileBusyError as busy:
            return Later(str(busy), busy.hint, self._services.clock.now() + busy.seconds)
        except Exception as error:  # noqa: BLE001  a failing handler affects no other
            return explain_fault(error)
        return None


def _require_outcome(outcome: object) -> None:
    """Raise TypeError if this is not an outcome, or is not well made."""
    match outcome:
        case Done() | Rejected(reason=str()) | Later(reason=str(), not_before=None | int() | float()):
            return
        case _:
            raise TypeError(
                f"it answered {type(outcome).__name__}, which is not an outcome, or is not well made"
            )
