"""Which prompts of a session are due. All of it is SQL over rows.

A person types in bursts, and each task is a paid call: so prompts are gathered until nothing was typed for a while, until
there are many, or until the session ends.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from tacitd.contract import Priority, Tx
from tacitd.plugin import GatherRule
from tacitd.work.task_rows import NewTask, Rows, insert_task

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
