"""Rows of `task`: work that waits, which of it is ready, and what its outcome changes.

A task runs when it is due, when no other of its plugin runs in its lane, and, for a session's end or compaction, when none of the
session's prompts waits for the plugin. Live work goes before that of `scan`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from tacitd.contract import Done, Later, Outcome, Priority, Rejected, Row, Rows, StoredPrompt, Task, Tx
from tacitd.events import NoProject, Project
from tacitd.plugin import GatherRule
from tacitd.work.activities import insert_activities, insert_parked
from tacitd.work.prompt_rows import COLUMNS, finish_prompts, prompt_of

_HEADS = """
WITH RECURSIVE head(number) AS (
  SELECT (SELECT number FROM task ORDER BY plugin, lane, kind, priority, due, number LIMIT 1)
  UNION ALL
  SELECT (SELECT t.number FROM task t WHERE (t.plugin, t.lane, t.kind, t.priority) > (b.plugin, b.lane, b.kind, b.priority)
          ORDER BY t.plugin, t.lane, t.kind, t.priority, t.due, t.number LIMIT 1)
  FROM head h JOIN task b ON b.number = h.number)
SELECT k.number, k.plugin, k.lane, k.session, k.project, k.kind, k.priority, k.due FROM head h JOIN task k ON k.number = h.number
WHERE k.due <= ?
"""
"""The first task of each kind in each lane. It takes as long as there are lanes, however many tasks wait."""
_REST = """
SELECT number, plugin, lane, session, project, kind, priority, due FROM task k
WHERE plugin = ? AND lane = ? AND kind = ? AND priority = ? AND due <= ? AND NOT (kind IN ('session-ended', 'compaction') AND EXISTS(
  SELECT 1 FROM prompt_task t JOIN prompt p ON p.number = t.prompt
  WHERE t.plugin = k.plugin AND t.state = 'waiting' AND p.session = k.session))
ORDER BY due, number
"""
ENGINE = "engine"
"""The name under which the engine's own tasks are queued."""
ASKED = ("decision", "command", "undo", "purge")
"""Kinds of tasks that a person waits for: a pause does not hold them."""
_RANKS = {
    "decision": -1,
    "command": -1,
    "undo": -1,
    "purge": -1,
    "session-started": 0,
    "prompts": 1,
}
"""In a lane, what a person typed goes before what is made of it, such as a synthesis."""
_LAST = 2
_DATA = msgspec.json.Decoder(dict[str, Any])


class Pauses(Struct, frozen=True):
    """Seconds of the first pause and of the longest one. Each is four times the one before."""

    first: float = 30.0
    longest: float = 21_600.0


PAUSES = Pauses()


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
) -> list[ReadyTask]:
    """The tasks that may begin now, in their order; one for each lane, and none for a lane that is busy. `single`: plugins with
    one lane for all projects. `is_held`: whether a task must not begin now."""
    best = dict[tuple[str, str], tuple[tuple[int, bool, float, int], ReadyTask]]()
    oldest = dict[tuple[str, str], tuple[bool, float, int]]()
    for head in rows(_HEADS, now):
        plugin, lane, kind, priority = head[1], head[2], head[5], head[6]
        place = plugin, "" if plugin in single else lane
        if place in busy:
            continue
        found = None if kind == "session-ended" else _take(head, place, is_held)
        if found is None:
            rest = rows(_REST, plugin, lane, kind, priority, now)
            found = next((one for row in rest if (one := _take(row, place, is_held)) is not None), None)
        if found is None:
            continue
        age = priority == "scan", head[7], head[0]
        rank = _RANKS.get(kind, _LAST), *age
        oldest[place] = min(age, oldest.get(place, age))
        known = best.get(place)
        if known is None or rank < known[0]:
            best[place] = rank, found
    return [best[place][1] for place in sorted(best, key=lambda place: oldest[place])]


def _take(row: Row, place: tuple[str, str], is_held: Callable[[ReadyTask], bool]) -> ReadyTask | None:
    ready = ReadyTask(row[0], *place, row[3], row[4], row[5])
    return None if is_held(ready) else ready


def next_due(rows: Rows, now: float) -> float | None:
    """When the next task that is not due yet will be: seconds since 1970, UTC; None if there is none."""
    found: float | None = rows("SELECT min(due) FROM task WHERE due > ?", now)[0][0]
    return found


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
        prompts = tuple(choose_prompts(waiting, rule.prompts, rule.bytes))
    return Task(
        number, kind, key, place, project, session, prompts, _DATA.decode(data), priority, tries, asked
    )


def store_outcome(
    tx: Tx, plugin: str, task: Task, outcome: Outcome, now: float, pauses: Pauses = PAUSES
) -> None:
    """Change the rows of a task and of its prompts as its outcome says. `Done.apply` runs first, in the same transaction."""
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
            tries = task.tries + 1
            after = postpone(outcome, tries, task.prompts, now, pauses)
            if outcome.blame == "work":
                tx.executemany(
                    "UPDATE prompt_task SET tries = tries + 1, reason = ? WHERE plugin = ? AND prompt = ?",
                    [(outcome.reason, plugin, number) for number in numbers],
                )
            finish_prompts(tx, plugin, after.rejected, now, state="rejected", reason=outcome.reason)
            insert_parked(tx, now, plugin, outcome.reason, outcome.not_before)
            tx.execute(
                "UPDATE task SET tries = ?, due = ?, reason = ?, hint = ?, not_before = ? WHERE number = ?",
                tries,
                after.due,
                outcome.reason,
                outcome.hint,
                outcome.not_before,
                task.number,
            )
        case Rejected():
            finish_prompts(tx, plugin, numbers, now, state="rejected", reason=outcome.reason)
            tx.execute("DELETE FROM task WHERE number = ?", task.number)


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


class Postponed(Struct, frozen=True):
    """When work is tried again, and which of its prompts are not."""

    due: float
    """Seconds since 1970, UTC."""
    rejected: tuple[int, ...] = ()
    """Numbers of prompts."""


def choose_delay(tries: int, not_before: float | None, now: float, pauses: Pauses = PAUSES) -> float:
    """Given how often work failed (1 or more), return the seconds until it is tried again.

    If `not_before` is past or only seconds away, the growing pause counts: work with a wrong time is not tried in a loop.
    """
    pause = min(pauses.longest, pauses.first * 4.0 ** min(tries - 1, 20))
    ahead = not_before - now if not_before is not None else 0.0
    return min(ahead, FURTHEST) if ahead >= pauses.first else max(pause, ahead)


def postpone(
    later: Later, tries: int, prompts: Sequence[StoredPrompt], now: float, pauses: Pauses = PAUSES
) -> Postponed:
    """Given that a task failed for the `tries`-th time with these prompts, return what follows.

    `StoredPrompt.tries` are the failures before this one.
    """
    if later.blame == "world" or not prompts:
        return Postponed(now + choose_delay(tries, later.not_before, now, pauses))
    rejected = tuple(one.number for one in prompts if one.tries + 1 >= FAILURES)
    return Postponed(now + choose_delay(1, later.not_before, now, pauses), rejected)


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
