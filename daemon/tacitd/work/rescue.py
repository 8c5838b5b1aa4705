"""`tacitd rescue`: prompts that were rejected, or that have waited for long. They are rows, so they outlive their transcripts."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tacitd.contract import Rows, Tx
from tacitd.work.prompt_rows import finish_prompts

A_DAY = 86_400.0
_KEPT = """
SELECT p.number, p.id, t.plugin, p.session, p.cwd, p.typed, p.text, t.state, t.reason,
  coalesce(nullif(k.reason, ''), 'its directory does not exist'), p.ingested
FROM prompt_task t JOIN prompt p ON p.number = t.prompt
LEFT JOIN task k ON k.plugin = t.plugin AND k.kind = 'prompts' AND k.key = p.session || ' ' || p.project
WHERE t.state = 'rejected' OR (t.state = 'waiting' AND (k.reason <> '' OR (p.project IS NULL AND p.passed IS NULL)) AND min(p.typed, p.ingested) < ?)
ORDER BY p.number, t.plugin
"""


def list_rescued(rows: Rows, now: float) -> list[dict[str, Any]]:
    """Rejected prompts, and those that have waited for more than a day, oldest first."""
    return [
        {
            "id": id,
            "handler": plugin,
            "session": session,
            "project": cwd,
            "time": typed,
            "text": text or "",
            "reason": reason if state == "rejected" else why,
            "at": at,
        }
        for _, id, plugin, session, cwd, typed, text, state, reason, why, at in rows(_KEPT, now - A_DAY)
    ]


def drop_prompts(tx: Tx, ids: Collection[str], now: float) -> int:
    """A person does not want these prompts to be handled any more. Returns how many rows that concerns."""
    dropped = 0
    for id in dict.fromkeys(ids):
        for number, plugin in tx.rows(
            "SELECT t.prompt, t.plugin FROM prompt_task t JOIN prompt p ON p.number = t.prompt "
            "WHERE p.id = ? AND t.state <> 'done'",
            id,
        ):
            finish_prompts(tx, plugin, [number], now)
            dropped += 1
    return dropped


def retry_rejected(tx: Tx, ids: Collection[str] | None) -> list[tuple[str, str]]:
    """Rejected prompts wait again; `ids` None: all of them. Returns (plugin, id) of each."""
    found = tx.rows(
        "SELECT t.plugin, p.number, p.id FROM prompt_task t JOIN prompt p ON p.number = t.prompt "
        "WHERE t.state = 'rejected' ORDER BY p.number"
    )
    wanted = [row for row in found if ids is None or row[2] in ids]
    tx.executemany(
        "UPDATE prompt_task SET state = 'waiting', tries = 0, reason = '' WHERE plugin = ? AND prompt = ?",
        [(plugin, number) for plugin, number, _ in wanted],
    )
    return [(plugin, id) for plugin, _, id in wanted]
