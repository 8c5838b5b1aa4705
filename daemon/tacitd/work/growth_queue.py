"""When growth of a transcript becomes a task of a handler of the first contract: an observer that folds nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from tacitd import contract
from tacitd.clock import Clock
from tacitd.contract import Batch, Task, Tx
from tacitd.events import Event, NoProject, Project
from tacitd.handler import Gather
from tacitd.model.port import NoAnswer
from tacitd.store import Store
from tacitd.work.event_keys import lane_of
from tacitd.work.growth import GrowthReader, skip_paused
from tacitd.work.task_rows import NewTask, insert_task
from tacitd.work.tries import Pauses


class EventQueue(Protocol):
    """A handler that events can be queued for."""

    def queue_event(self, tx: Tx, event: Event) -> None:
        """Queue an event without records."""
        ...


class Services(Struct):
    """What all adapted handlers use."""

    store: Store
    clock: Clock
    reader: GrowthReader
    find_project: Callable[[str], Project | NoProject]
    pauses: Pauses
    write_mode: Callable[[Project], str]
    refuse_model: Callable[[Task], NoAnswer | None]
    """The model's answer to every request of a task; None if the model is called."""
    discard_calls: Callable[[Sequence[str]], None]
    """Note that the answers to these calls were of no use."""
    note_parked: Callable[[str, str, float | None], None]
    handlers: Mapping[str, EventQueue]
    """The handlers that run, for messages."""
    watched: dict[Path, Project]
    """The projects whose sources are compared."""
    asked: int = 0
    """How many callers wait until everything is handled: nothing is gathered meanwhile."""


class GrowthQueue:
    """The part of a handler that runs in the reading transaction."""

    def __init__(self, name: str, services: Services, gather: Gather | None) -> None:
        self.name = name
        """The plugin's name."""
        self.gather = gather
        self._services = services

    def queue_leftover(self, tx: Tx) -> None:
        """Queue what was ingested, is not handled, and has no task: the handler could not run, or was asked to try again. What is
        gathered is planned anew, because the setting may have changed."""
        tx.execute(
            "DELETE FROM task WHERE plugin = ? AND kind = 'grew' AND reason = '' AND data = '{}' AND due > ?",
            self.name,
            self._services.clock.now(),
        )
        for path, session, root, number, common in tx.rows(
            "SELECT t.path, t.session, r.root, r.number, r.common FROM transcript t LEFT JOIN session s ON s.id = t.session "
            "LEFT JOIN project r ON r.number = s.project WHERE t.path IN (SELECT p.transcript FROM prompt_task k "
            "JOIN prompt p ON p.number = k.prompt WHERE k.plugin = ? AND k.state = 'waiting' UNION "
            "SELECT a.transcript FROM adapter_position a JOIN transcript i ON i.path = a.transcript "
            "WHERE a.plugin = ? AND a.offset < i.offset) "
            "AND NOT EXISTS(SELECT 1 FROM task g WHERE g.plugin = ? AND g.kind = 'grew' AND g.key = t.path)",
            self.name,
            self.name,
            self.name,
        ):
            place = (
                NoProject("", "it is no project") if root is None else Project(Path(root), common is not None)
            )
            self.queue_growth(tx, path, session, place, number)

    def list_positions(self) -> list[tuple[str, Path, int]]:
        """The handler's position in each transcript: session, path, byte offset."""
        found = self._services.store.rows(
            "SELECT t.session, a.transcript, a.offset FROM adapter_position a JOIN transcript t ON t.path = a.transcript "
            "WHERE a.plugin = ?",
            self.name,
        )
        return [(session, Path(path), offset) for session, path, offset in found]

    # --- in the reading transaction

    def observe(self, batch: Batch, tx: Tx) -> None:
        """Note the growth: nothing is folded."""
        path = str(batch.transcript)
        if batch.passed == "paused":
            skip_paused(tx, path, batch.start, batch.end)
        before = tx.rows(
            "SELECT offset FROM adapter_position WHERE plugin = ? AND transcript = ?", self.name, path
        )
        if before and batch.start < before[0][0]:  # it was rewritten
            tx.execute("DELETE FROM adapter_position WHERE plugin = ? AND transcript = ?", self.name, path)
            tx.execute("DELETE FROM adapter_passed WHERE transcript = ? AND start > ?", path, batch.start)
        tx.execute(
            "INSERT OR IGNORE INTO adapter_position(plugin, transcript, offset) VALUES(?, ?, ?)",
            self.name,
            path,
            batch.start,
        )
        if isinstance(batch.project, Project):
            self._services.watched.setdefault(batch.project.root, batch.project)
        times = [one.time for one in batch.records if one.time is not None]
        self.queue_growth(
            tx, path, batch.session, batch.project, batch.project_number, min(times, default=None)
        )

    def queue_growth(
        self,
        tx: Tx,
        path: str,
        session: str,
        place: Project | NoProject,
        number: int | None,
        oldest: float | None = None,
        *,
        at_once: bool = False,
        priority: contract.Priority = "live",
    ) -> None:
        """Queue a task for the growth of a transcript. A task that waits for something goes on waiting."""
        now = self._services.clock.now()
        due = now if at_once else self._find_due(tx, path, place, oldest, now)
        lane = lane_of(place, Path(path))
        known = tx.rows(
            "SELECT reason, due, number FROM task WHERE plugin = ? AND kind = 'grew' AND key = ?",
            self.name,
            path,
        )
        if not known:
            insert_task(tx, NewTask(self.name, lane, "grew", path, number, session, {}, priority), now, due)
        elif at_once or not known[0][0]:
            if self.gather is None or self.gather.quiet is None:
                due = min(due, known[0][1])
            tx.execute("UPDATE task SET due = ?, session = ? WHERE number = ?", due, session, known[0][2])

    def _find_due(
        self, tx: Tx, path: str, place: Project | NoProject, oldest: float | None, now: float
    ) -> float:
        gather, times = self.gather, list[float]()
        if gather is None or self._services.asked:
            return now
        if gather.quiet is not None:
            is_written = isinstance(place, Project) and self._services.write_mode(place) != "off"
            times.append(self._quiet_at(tx, path, gather, gather.quiet, now) if is_written else now)
        if gather.delay is not None:
            times.append(oldest + gather.delay if oldest is not None and oldest <= now else now)
        return max(now, min(times, default=now))

    def _quiet_at(self, tx: Tx, path: str, gather: Gather, quiet: float, now: float) -> float:
        ((count, size, typed, failed),) = tx.rows(
            "SELECT count(*), total(length(CAST(p.text AS BLOB))), max(min(p.typed, p.ingested)), max(t.tries) "
            "FROM prompt p CROSS JOIN prompt_task t ON t.prompt = p.number WHERE t.plugin = ? AND t.state = 'waiting' "
            "AND p.transcript = ? AND p.kind <> 'bash' AND trim(p.text) <> ''",
            self.name,
            path,
        )
        if not count or failed or count >= gather.prompts or size >= gather.bytes:
            return now
        return min(float(typed), now) + quiet
