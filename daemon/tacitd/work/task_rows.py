"""Rows of `task`: work that waits, which of it is ready, and what its outcome changes.

A task runs when it is due, when no other of its plugin runs in its lane, and, for a session's end or compaction, when none of the
session's prompts waits for the plugin. Live work goes before that of `scan`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from tacitd.contract import Done, Later, Outcome, Priority, Rejected, Row, Rows, StoredPrompt, Task, Tx
from tacitd.events import NoProject, Project
from tacitd.model.budget import list_paid
from tacitd.plugin import GatherRule
from tacitd.work.activities import insert_activities, insert_parked
from tacitd.work.prompt_rows import COLUMNS, finish_prompts, prompt_of

_READY = """
SELECT k.number, k.plugin, k.lane, k.session, k.project, k.kind, k.priority, k.due FROM task k
WHERE k.due <= ? AND NOT (k.kind IN ('session-ended', 'compaction') AND EXISTS(
  SELECT 1 FROM prompt_task t JOIN prompt p ON p.number = t.prompt
  WHERE t.plugin = k.plugin AND t.state = 'waiting' AND p.session = k.session))
"""
_AGE = "k.priority, k.due, k.number"
# In a lane, what a person decided goes first, and what a person typed goes before what is made of it, such as a synthesis.
_RANK = f"""CASE WHEN k.kind IN ('decision', 'command', 'undo', 'purge') THEN 0 WHEN k.kind = 'session-started' THEN 1
  WHEN k.kind = 'prompts' THEN 2 ELSE 3 END, {_AGE}"""
_PAGE = 50
"""Rows that are read at first: they are usually enough."""
ENGINE = "engine"
"""The name under which the engine's own tasks are queued."""
_DATA = msgspec.json.Decoder(dict[str, Any])


class Pauses(Struct, frozen=True):
    """Seconds of the first pause and of the longest one. Each is four times the one before."""

    first: float = 30.0
    longest: float = 21_600.0


class NewTask(Struct, frozen=True):
    """A task to be queued."""

    plugin: str
    lane: str
    kind: str
    key: str
    project: int | None = None
    session: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    priority: Priority = "live"


class ReadyTask(Struct, frozen=True):
    """A task that may begin."""

    number: int
    plugin: str
    lane: str
    session: str
    project: int | None
    kind: str


def insert_task(tx: Tx, new: NewTask, now: float, due: float | None = None) -> None:
    """Queue a task; if one of its kind and key waits already, that one is due at the earlier time and gets these data.

    It gets a new number: if it runs now, its end does not remove what was asked for meanwhile. If it waited for something, it is
    tried anew.
    """
    due, created, priority = now if due is None else due, now, new.priority
    for before in tx.rows(
        "SELECT due, created, priority FROM task WHERE plugin = ? AND kind = ? AND key = ?",
        new.plugin,
        new.kind,
        new.key,
    ):
        due, created = min(due, before[0]), before[1]
        priority = "live" if before[2] == "live" else priority
        tx.execute(
            "DELETE FROM task WHERE plugin = ? AND kind = ? AND key = ?", new.plugin, new.kind, new.key
        )
    tx.execute(
        "INSERT INTO task(plugin, lane, kind, key, project, session, data, priority, created, due) "
        "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        new.plugin,
        new.lane,
        new.kind,
        new.key,
        new.project,
        new.session,
        msgspec.json.encode(dict(new.data)).decode(),
        priority,
        created,
        due,
    )


def list_ready(
    rows: Rows,
    now: float,
    busy: Collection[tuple[str, str]],
    single: Collection[str] = (),
    is_held: Callable[[ReadyTask], bool] = lambda task: False,
    *,
    most: int,
) -> list[ReadyTask]:
    """The tasks that may begin now, at most so many: one for each lane, none for a lane that is busy, and the lane first whose oldest task
    is due for longest. `single`: plugins with one lane for all projects. `is_held`: whether a task must not begin now."""
    found, known = list[ReadyTask](), set(busy)
    after, size = ("", 0.0, 0), _PAGE
    while len(found) < most:
        # A lane may have thousands of tasks: those of the lanes that are known are left out in SQL.
        others, places = _leave_out(known, single)
        sql = f"{_READY} AND ({_AGE}) > (?, ?, ?){others} ORDER BY {_AGE} LIMIT ?"
        page = rows(sql, now, *after, *places, size)
        for row in page:
            oldest = _read_ready(row, single)
            place = oldest.plugin, oldest.lane
            if len(found) < most and place not in known and not is_held(oldest):
                known.add(place)
                in_lane = _list_lane(rows, now, place, single)
                found.append(next((one for one in in_lane if not is_held(one)), oldest))
        if len(page) < size:
            break
        after, size = (page[-1][6], page[-1][7], page[-1][0]), size * 4
    return found


def _leave_out(places: Collection[tuple[str, str]], single: Collection[str]) -> tuple[str, list[str]]:
    """The condition that a task is in none of these lanes, and its values."""
    sql, values = "", list[str]()
    for plugin, lane in places:
        sql += " AND k.plugin <> ?" if plugin in single else " AND (k.plugin, k.lane) <> (?, ?)"
        values += [plugin] if plugin in single else [plugin, lane]
    return sql, values


def _list_lane(
    rows: Rows, now: float, place: tuple[str, str], single: Collection[str]
) -> Iterator[ReadyTask]:
    is_single = place[0] in single
    where = "k.plugin = ?" if is_single else "k.plugin = ? AND k.lane = ?"
    sql, values = f"{_READY} AND {where} ORDER BY {_RANK} LIMIT ? OFFSET ?", place[:1] if is_single else place
    offset, size = 0, _PAGE
    while page := rows(sql, now, *values, size, offset):
        yield from (_read_ready(row, single) for row in page)
        if len(page) < size:
            return
        offset, size = offset + size, size * 4


def _read_ready(row: Row, single: Collection[str]) -> ReadyTask:
    number, plugin, lane, *about = row[:6]
    return ReadyTask(number, plugin, "" if plugin in single else lane, *about)


def next_due(rows: Rows, now: float) -> float | None:
    """When the next task that is not due yet will be: seconds since 1970, UTC; None if there is none."""
    found: float | None = rows("SELECT min(due) FROM task WHERE due > ?", now)[0][0]
    return found


def set_back(tx: Tx, jump: float, now: float) -> None:
    """The clock was set back by so many seconds (`jump` is below 0): what waits goes on waiting for as long as before, and what waits for a
    time is tried. What was due stays due."""
    tx.execute(
        "UPDATE task SET due = CASE WHEN not_before IS NULL THEN due + ? ELSE ? END WHERE due > ?",
        *(jump, now, now),
    )


def load_task(rows: Rows, number: int, rule: GatherRule | None, *, asked: bool = False) -> Task | None:
    """Read a task with its prompts; None if it is gone. A task of prompts of which none waits any more has none."""
    found = rows(
        "SELECT k.kind, k.key, k.project, k.session, k.data, k.priority, k.tries, k.plugin, r.root, r.common "
        "FROM task k LEFT JOIN project r ON r.number = k.project WHERE k.number = ?",
        number,
    )
    if not found:
        return None
    kind, key, project, session, data, priority, tries, plugin, root, common = found[0]
    place: Project | NoProject = (
        Project(Path(root), common is not None)
        if root is not None
        else NoProject("", "it belongs to no project")
    )
    prompts: tuple[StoredPrompt, ...] = ()
    if kind == "prompts" and rule is not None:
        waiting = [
            prompt_of(row[:-1], row[-1])
            for row in rows(
                f"SELECT {COLUMNS}, t.tries FROM prompt_task t JOIN prompt p ON p.number = t.prompt "
                "WHERE t.plugin = ? AND t.state = 'waiting' AND p.session = ? AND p.project = ? ORDER BY p.number",
                plugin,
                session,
                project,
            )
        ]
        # After a crash the task is about the prompts of the call that was answered: later ones belong to the next task.
        paid = list_paid(rows, plugin, "prompt", waiting[0].id) if waiting else set[str]()
        chosen = [one for one in waiting if one.id in paid]
        prompts = tuple(chosen or choose_prompts(waiting, rule.prompts, rule.bytes))
    return Task(
        number, kind, key, place, project, session, prompts, _DATA.decode(data), priority, tries, asked
    )


def store_outcome(
    tx: Tx,
    plugin: str,
    task: Task,
    outcome: Outcome,
    now: float,
    pauses: Pauses,
    again: float | None = None,
) -> None:
    """Change the rows of a task and of its prompts as its outcome says. `Done.apply` runs first, in the same transaction. `again`:
    seconds until a task that waits is tried again; None: it is a failure, after which the pauses grow."""
    numbers = [prompt.number for prompt in task.prompts]
    match outcome:
        case Done():
            root = str(task.project.root) if isinstance(task.project, Project) else ""
            # First: `apply` may queue a task of the same kind and key.
            tx.execute("DELETE FROM task WHERE number = ?", task.number)
            outcome.apply(tx)
            finish_prompts(tx, plugin, numbers if outcome.used is None else list(outcome.used), now)
            if task.kind == "job":
                tx.execute(
                    "INSERT INTO job(plugin, name, succeeded) VALUES(?, ?, ?) ON CONFLICT(plugin, name) DO UPDATE SET "
                    "succeeded = excluded.succeeded, runs = runs + 1",
                    plugin,
                    task.key.partition(" ")[0],
                    now,
                )
            insert_activities(tx, now, plugin, outcome.notices, root)
        case Later():
            tries, suspected = task.tries + (again is None), task.prompts if outcome.blame == "work" else ()
            if again is None:
                # Prompts that may be the cause go one by one, and soon.
                again = choose_delay(1 if suspected else tries, outcome.not_before, now, pauses)
            tx.executemany(
                "UPDATE prompt_task SET tries = tries + 1, reason = ? WHERE plugin = ? AND prompt = ?",
                [(outcome.reason, plugin, one.number) for one in suspected],
            )
            rejected = [one.number for one in suspected if one.tries + 1 >= FAILURES]
            finish_prompts(tx, plugin, rejected, now, state="rejected", reason=outcome.reason)
            insert_parked(tx, now, plugin, outcome.reason, outcome.not_before)
            tx.execute(
                "UPDATE task SET tries = ?, due = ?, reason = ?, hint = ?, not_before = ? WHERE number = ?",
                tries,
                now + again,
                outcome.reason,
                outcome.hint,
                outcome.not_before,
                task.number,
            )
        case Rejected():
            finish_prompts(tx, plugin, numbers, now, state="rejected", reason=outcome.reason)
            tx.execute("DELETE FROM task WHERE number = ?", task.number)


def put_off_task(tx: Tx, number: int, reason: str, hint: str, now: float) -> None:
    """The disk refused a task's outcome, and takes this: it is tried again after 1, 4, 16 and then each 60 seconds. No prompt is to blame.
    If its commit was durable all the same, there is no such task."""
    for (tries,) in tx.rows("SELECT tries FROM task WHERE number = ?", number):
        due = now + choose_delay(tries + 1, None, now, Pauses(1.0, 60.0))
        sql = "UPDATE task SET tries = ?, due = ?, reason = ?, hint = ?, not_before = NULL WHERE number = ?"
        tx.execute(sql, tries + 1, due, reason, hint, number)


def make_parked_due(tx: Tx, now: float) -> int:
    """Try again what waits for no known time, because a person asks for it; return how many tasks."""
    where = "reason <> '' AND coalesce(not_before, 0) <= ?"
    ((count,),) = tx.rows(f"SELECT count(*) FROM task WHERE {where} AND kind <> 'session-started'", now)
    tx.execute(f"UPDATE task SET due = min(due, ?) WHERE {where}", now, now)
    return int(count)


FURTHEST = 40 * 86_400.0
"""Longest time in seconds until `not_before`: a clock that is wrong for a minute must not put work off for a century."""
FAILURES = 2
"""Failures of a prompt after which it is rejected."""


def choose_delay(tries: int, not_before: float | None, now: float, pauses: Pauses) -> float:
    """Given how often work failed (1 or more), return the seconds until it is tried again.

    If `not_before` is past or only seconds away, the growing pause counts: work with a wrong time is not tried in a loop.
    """
    pause = min(pauses.longest, pauses.first * 4.0 ** min(tries - 1, 20))
    ahead = not_before - now if not_before is not None else 0.0
    return min(ahead, FURTHEST) if ahead >= pauses.first else max(pause, ahead)


Item = TypeVar("Item", bound=StoredPrompt)


def choose_prompts(waiting: Sequence[Item], most: int, most_bytes: int) -> list[Item]:
    """Given the prompts of a session that wait, in order, return those of the next task: one that failed before goes alone.

    The first is always among them; the others as long as the limits are kept.
    """
    chosen: list[Item] = []
    size = 0
    for prompt in waiting:
        size += len(prompt.text.encode(errors="replace"))
        if chosen and (prompt.tries or chosen[0].tries or len(chosen) >= most or size > most_bytes):
            break
        chosen.append(prompt)
    return chosen


_GATHERED = """
SELECT p.session, p.project, max(p.priority = 'live'), count(CASE WHEN p.kind <> 'bash' THEN 1 END),
  sum(length(CAST(p.text AS BLOB))), max(CASE WHEN p.kind <> 'bash' THEN p.typed END), max(p.ingested),
  (SELECT ended FROM session s WHERE s.id = p.session), r.root,
  EXISTS(SELECT 1 FROM task c WHERE c.plugin = t.plugin AND c.kind = 'compaction' AND c.session = p.session), max(t.tries)
FROM prompt_task t JOIN prompt p ON p.number = t.prompt JOIN project r ON r.number = p.project
WHERE t.plugin = ? AND t.state = 'waiting'
  AND NOT EXISTS(SELECT 1 FROM task k WHERE k.plugin = t.plugin AND k.kind = 'prompts'
                 AND k.key = p.session || ' ' || p.project)
GROUP BY p.session, p.project
"""


def find_due_prompts(
    rows: Rows, rules: Mapping[str, GatherRule], now: float, *, asked: bool = False
) -> tuple[list[NewTask], float]:
    """Return a task for each session whose prompts are due, for each plugin by its rule, and when more will be: seconds since 1970, UTC.

    `asked`: a person waits for it, so everything is due.
    """
    tasks, nearest = list[NewTask](), math.inf
    for plugin, rule in rules.items():
        for row in rows(_GATHERED, plugin):
            session, project, live, count, size, typed, ingested, ended, root, compacts, tries = row
            # If the clock was set back, the newest prompt counts as typed when it was read.
            quiet_at = min(typed, ingested) + rule.quiet if typed is not None else 0.0
            # Those that failed were gathered before, and go one by one now.
            is_full = count >= rule.prompts or size >= rule.bytes or tries > 0
            if asked or compacts or ended is not None or is_full or quiet_at <= now:
                priority: Priority = "live" if live else "scan"
                tasks.append(
                    NewTask(
                        plugin, root, "prompts", f"{session} {project}", project, session, priority=priority
                    )
                )
            else:
                nearest = min(nearest, quiet_at)
    return tasks, nearest


def queue_session_task(
    tx: Tx, plugins: Collection[str], kind: str, session: str, project: int | None, root: str, now: float
) -> None:
    """Queue a task about a session for these plugins. Of several ends of one session, one task waits; of several starts in one
    project, that of the newest session."""
    key = root if kind == "session-started" else session
    for plugin in plugins:
        insert_task(tx, NewTask(plugin, root, kind, key, project, session), now)


def end_session(tx: Tx, plugins: Collection[str], session: str, why: str, now: float) -> None:
    """A session has ended, and its last records are read: queue its end for these plugins. Where it ended before, and only part of a line
    came since, nothing follows."""
    for project, root in tx.rows(
        "SELECT s.project, r.root FROM session s JOIN project r ON r.number = s.project WHERE s.id = ? AND s.ended IS NULL",
        session,
    ):
        queue_session_task(tx, plugins, "session-ended", session, project, root, now)
    tx.execute("UPDATE session SET ended = ?, ended_by = ? WHERE id = ? AND ended IS NULL", now, why, session)
