"""Rows of `task`: work that waits, which of it is ready, and what its outcome changes.

A task runs when it is due, when no other of its plugin runs in its lane, and, for a session's end or compaction, when none of the
session's prompts waits for the plugin. Live work goes before that of `scan`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from tacitd.contract import Done, Later, Outcome, Priority, Rejected, Row, Rows, StoredPrompt, Task, Tx
from tacitd.events import NoProject, Project
from tacitd.model.budget import allow_again, list_paid
from tacitd.plugin import GatherRule
from tacitd.work.activities import insert_activities, insert_parked
from tacitd.work.project_rows import ASKED
from tacitd.work.prompt_rows import COLUMNS, finish_prompts, prompt_of, retry_rejected

_ASKED = f"kind IN {ASKED}"
_IS_READY = """k.due <= ? AND NOT (k.kind IN ('session-ended', 'compaction') AND EXISTS(
  SELECT 1 FROM prompt_task t JOIN prompt p ON p.number = t.prompt
  WHERE t.plugin = k.plugin AND t.state = 'waiting' AND p.session = k.session))"""
# The plugins are found one by one in an index: the tasks that nobody waits for are many.
_ASKED_LANES = f"""
WITH RECURSIVE p(name) AS (SELECT min(plugin) FROM task UNION ALL
  SELECT (SELECT min(plugin) FROM task WHERE plugin > p.name) FROM p WHERE p.name IS NOT NULL)
SELECT plugin, lane FROM p CROSS JOIN task k ON k.plugin = p.name WHERE {_ASKED} AND {_IS_READY} ORDER BY priority, due, number
"""
_LANES = f"SELECT plugin, lane FROM task k WHERE {_IS_READY} ORDER BY priority, due, number LIMIT ? OFFSET ?"
_AT_ONCE = 64
# What a person decided goes first, and what a person typed goes before what is made of it, such as a synthesis.
_READY = f"""
SELECT k.number, k.session, k.project, k.kind FROM task k
WHERE k.plugin = ? AND k.lane = ? AND {_IS_READY}
ORDER BY CASE WHEN {_ASKED} THEN 0 WHEN kind = 'session-started' THEN 1 WHEN kind = 'prompts' THEN 2 ELSE 3 END,
  k.priority, k.due, k.number
"""
_PUT_OFF = "UPDATE task SET tries = ?, due = ?, reason = ?, hint = ?, not_before = ? WHERE number = ?"
ENGINE = "engine"
"""The plugin of the engine's own tasks."""
RETRY = "retry"
"""The job in which a plugin tries its own rejected work again."""
_DATA = msgspec.json.Decoder(dict[str, Any])


class Pauses(Struct, frozen=True):
    """Seconds of the first pause and of the longest one. Each is four times the one before."""

    first: float = 30.0
    longest: float = 21_600.0


class NewTask(Struct, frozen=True):
    plugin: str
    lane: str
    kind: str
    key: str
    project: int | None = None
    session: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    priority: Priority = "live"


class ReadyTask(Struct, frozen=True):
    number: int
    plugin: str
    lane: str
    session: str
    project: int | None
    kind: str


def insert_task(tx: Tx, new: NewTask, now: float, due: float | None = None) -> int:
    """Queue a task; if one of its kind and key waits, that one is due at the earlier time, gets these data and is tried anew. It gets a
    new number, which is returned: if it runs now, its end does not remove what was asked for meanwhile."""
    done = tx.execute(
        "INSERT OR REPLACE INTO task(plugin, lane, kind, key, project, session, data, priority, created, due) "
        "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, CASE WHEN max(priority = 'live') THEN 'live' ELSE ?8 END, "
        "coalesce(min(created), ?9), min(coalesce(min(due), ?10), ?10) FROM task WHERE plugin = ?1 AND kind = ?3 AND key = ?4",
        *(new.plugin, new.lane, new.kind, new.key, new.project, new.session),
        *(msgspec.json.encode(dict(new.data)).decode(), new.priority, now, now if due is None else due),
    )
    return done.row


def list_ready(
    rows: Rows,
    now: float,
    busy: Collection[tuple[str, str]],
    single: Collection[str] = (),
    is_held: Callable[[ReadyTask], bool] = lambda task: False,
    *,
    most: int,
) -> list[ReadyTask]:
    """The tasks that may begin now: one for each lane, none for a lane that is busy, and the lane first whose oldest task is due for
    longest. `single`: plugins with one lane for all projects. `is_held`: whether a task must not begin now."""
    found, known, seen = list[ReadyTask](), set(busy), set[tuple[str, str]]()
    for plugin, lane in _list_lanes(rows, now):
        place = plugin, "" if plugin in single else lane
        if place in known or (plugin, lane) in seen:
            continue
        if len(found) >= most:
            break
        seen.add((plugin, lane))
        for number, *about in rows(_READY, plugin, lane, now):
            one = ReadyTask(number, *place, *about)
            if not is_held(one):
                known.add(place)
                found.append(one)
                break
    return found


def _list_lanes(rows: Rows, now: float) -> Iterator[Row]:
    """The plugin and lane of each task that is ready, those first that a person waits for."""
    yield from rows(_ASKED_LANES, now)
    at, size = 0, _AT_ONCE
    while len(part := rows(_LANES, now, size, at)) == size:
        yield from part
        at, size = at + size, 2 * size
    yield from part


_NEXT_DUE = """
SELECT min(due) FROM (SELECT min(due) AS due FROM task WHERE priority = 'live' AND due > ?1
  UNION ALL SELECT min(due) FROM task WHERE priority = 'scan' AND due > ?1)
"""


def next_due(rows: Rows, now: float) -> float | None:
    """When the next task that is not due yet will be; None if there is none."""
    found: float | None = rows(_NEXT_DUE, now)[0][0]
    return found


def set_back(tx: Tx, jump: float, now: float) -> None:
    """The clock was set back by so many seconds (`jump` is below 0): what waits goes on waiting for as long as before, and what
    waits for a time is tried."""
    sql = "UPDATE task SET due = CASE WHEN not_before IS NULL THEN due + ? ELSE ? END WHERE due > ?"
    tx.execute(sql, jump, now, now)


def load_task(rows: Rows, number: int, rule: GatherRule | None) -> Task | None:
    """None if it is gone. A task of prompts of which none waits any more has none."""
    found = rows(
        "SELECT k.kind, k.key, k.project, k.session, k.data, k.priority, k.tries, k.plugin, r.root, r.common "
        "FROM task k LEFT JOIN project r ON r.number = k.project WHERE k.number = ?",
        number,
    )
    if not found:
        return None
    kind, key, project, session, data, priority, tries, plugin, root, common = found[0]
    place: Project | NoProject = NoProject("", "it belongs to no project")
    if root is not None:
        place = Project(Path(root), common is not None)
    prompts: tuple[StoredPrompt, ...] = ()
    if kind == "prompts" and rule is not None:
        sql = (
            f"SELECT {COLUMNS}, t.tries FROM prompt_task t JOIN prompt p ON p.number = t.prompt "
            "JOIN prompt_text w ON w.prompt = p.number "
            "WHERE t.plugin = ? AND t.state = 'waiting' AND p.session = ? AND p.project = ? ORDER BY p.number"
        )
        waiting = [prompt_of(row[:-1], row[-1]) for row in rows(sql, plugin, session, project)]
        # After a crash the task is about the prompts of the call that was answered: later ones belong to the next task.
        paid = list_paid(rows, plugin, "prompt", str(waiting[0].number)) if waiting else set[str]()
        chosen = [one for one in waiting if str(one.number) in paid]
        prompts = tuple(chosen or choose_prompts(waiting, rule.prompts, rule.bytes))
    return Task(number, kind, key, place, project, session, prompts, _DATA.decode(data), priority, tries)


def store_outcome(
    tx: Tx, plugin: str, task: Task, outcome: Outcome, now: float, pauses: Pauses, again: float | None = None
) -> None:
    """Change the rows of a task and of its prompts as its outcome says. `again`: seconds until a task that waits is tried
    again; None: it is a failure, after which the pauses grow."""
    numbers = [prompt.number for prompt in task.prompts]
    match outcome:
        case Done():
            # First: `apply` may queue a task of the same kind and key.
            tx.execute("DELETE FROM task WHERE number = ?", task.number)
            outcome.apply(tx)
            finish_prompts(tx, plugin, numbers if outcome.used is None else list(outcome.used), now)
            if task.kind == "job":
                tx.execute(
                    "INSERT INTO job(plugin, name, succeeded) VALUES(?, ?, ?) ON CONFLICT(plugin, name) DO UPDATE SET "
                    "succeeded = excluded.succeeded, runs = runs + 1",
                    *(plugin, task.key.partition(" ")[0], now),
                )
            insert_activities(tx, now, plugin, outcome.notices, task.lane)
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
            put_off = tries, now + again, outcome.reason, outcome.hint, outcome.not_before, task.number
            tx.execute(_PUT_OFF, *put_off)
        case Rejected():
            finish_prompts(tx, plugin, numbers, now, state="rejected", reason=outcome.reason)
            tx.execute("DELETE FROM task WHERE number = ?", task.number)


def put_off_task(tx: Tx, number: int, reason: str, hint: str, now: float) -> None:
    """The disk refused a task's outcome: it is tried again after 1, 4, 16 and then each 60 seconds. No prompt is to blame. If
    its commit was durable all the same, there is no such task."""
    for (tries,) in tx.rows("SELECT tries FROM task WHERE number = ?", number):
        due = now + choose_delay(tries + 1, None, now, Pauses(1.0, 60.0))
        tx.execute(_PUT_OFF, tries + 1, due, reason, hint, None, number)


def make_parked_due(tx: Tx, now: float) -> int:
    """Try again what waits for no known time; return how many tasks."""
    where = "reason <> '' AND coalesce(not_before, 0) <= ?"
    ((count,),) = tx.rows(f"SELECT count(*) FROM task WHERE {where} AND kind <> 'session-started'", now)
    tx.execute(f"UPDATE task SET due = min(due, ?) WHERE {where}", now, now)
    return int(count)


def try_again(tx: Tx, ids: Collection[str] | None, plugins: Iterable[str], now: float) -> tuple[int, int]:
    """A person wants these rejected prompts to be tried again; None: all of them, and everything that is parked. `plugins`: those with a
    job RETRY. Returns how many prompts, and how many tasks that wait for no known time."""
    found, parked = retry_rejected(tx, ids), 0
    allow_again(tx, "prompt", (str(number) for _, number in found))
    if ids is None:
        parked = make_parked_due(tx, now)
        facts = tx.rows("SELECT DISTINCT row FROM call_part WHERE kind = 'fact'")
        allow_again(tx, "fact", [row for (row,) in facts])
        for plugin in plugins:
            insert_task(tx, NewTask(plugin, "", "job", RETRY, data={"job": RETRY}), now)
    return len(found), parked


FURTHEST = 40 * 86_400.0
"""Longest time in seconds until `not_before`: a clock that is wrong for a minute must not put work off for a century."""
FAILURES = 2


def choose_delay(tries: int, not_before: float | None, now: float, pauses: Pauses) -> float:
    """Seconds until work that failed so often (1 or more) is tried again. Near or before `not_before` the growing pause counts:
    work with a wrong time is not tried in a loop."""
    pause = min(pauses.longest, pauses.first * 4.0 ** min(tries - 1, 20))
    ahead = not_before - now if not_before is not None else 0.0
    return min(ahead, FURTHEST) if ahead >= pauses.first else max(pause, ahead)


def choose_prompts(waiting: Sequence[StoredPrompt], most: int, most_bytes: int) -> list[StoredPrompt]:
    """The prompts of the next task, of those that wait, in order: at least one, and one that failed before goes alone."""
    chosen, size = list[StoredPrompt](), 0
    for prompt in waiting:
        size += len(prompt.text.encode(errors="replace"))
        if chosen and (prompt.tries or chosen[0].tries or len(chosen) >= most or size > most_bytes):
            break
        chosen.append(prompt)
    return chosen


_GATHERED = """
SELECT p.session, p.project, max(w.priority = 'live'), count(CASE WHEN p.kind <> 'bash' THEN 1 END),
  sum(length(CAST(w.text AS BLOB))), max(CASE WHEN p.kind <> 'bash' THEN p.typed END), max(p.ingested),
  (SELECT ended FROM session s WHERE s.id = p.session), r.root,
  EXISTS(SELECT 1 FROM task c WHERE c.plugin = t.plugin AND c.kind = 'compaction' AND c.session = p.session), max(t.tries)
FROM prompt_task t JOIN prompt p ON p.number = t.prompt JOIN prompt_text w ON w.prompt = p.number
JOIN project r ON r.number = p.project
WHERE t.plugin = ? AND t.state = 'waiting'
  AND NOT EXISTS(SELECT 1 FROM task k WHERE k.plugin = t.plugin AND k.kind = 'prompts'
                 AND k.key = p.session || ' ' || p.project)
GROUP BY p.session, p.project
"""


def find_due_prompts(
    rows: Rows, rules: Mapping[str, GatherRule], now: float, *, asked: bool = False
) -> tuple[list[NewTask], float]:
    """A task for each session whose prompts are due, for each plugin by its rule, and when more will be. `asked`: everything is
    due."""
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
                key = f"{session} {project}"
                tasks.append(NewTask(plugin, root, "prompts", key, project, session, priority=priority))
            else:
                nearest = min(nearest, quiet_at)
    return tasks, nearest


def queue_session_task(tx: Tx, plugins: Collection[str], kind: str, session: str, now: float) -> None:
    """Of several ends of one session, one task waits; of several starts in one project, that of the newest session. None follows
    where it belongs to no project."""
    place = "SELECT s.project, r.root FROM session s JOIN project r ON r.number = s.project WHERE s.id = ?"
    for project, root in tx.rows(place, session):
        key = root if kind == "session-started" else session
        for plugin in plugins:
            insert_task(tx, NewTask(plugin, root, kind, key, project, session), now)


def end_session(tx: Tx, plugins: Collection[str], session: str, why: str, now: float) -> None:
    """A session has ended, and its last records are read. Where it ended before, and only part of a line came since, nothing
    follows."""
    sql = "UPDATE session SET ended = ?, ended_by = ? WHERE id = ? AND ended IS NULL"
    if tx.execute(sql, now, why, session).changed:
        queue_session_task(tx, plugins, "session-ended", session, now)
