"""Rows of `prompt`: which prompts are new, whose text is kept, and when it goes.

A prompt is known by its id, in whatever transcript it comes again: forks, resumes and rewritten files do no harm. What else makes
two the same is in sources/assembler.py.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tacitd.clock import doubt_clock
from tacitd.contract import Priority, Row, Rows, StoredPrompt, Tx
from tacitd.events import Prompt
from tacitd.sources.assembler import REPEATS, WINDOW, digest_text, group_of
from tacitd.work.project_rows import Passed

SHOWN = 200
"""Characters of a handled prompt that `why` can show."""
KEPT = 90 * 86_400.0
"""Seconds after which the text of a handled prompt goes."""
LONG_RECORD = "transcripts.long"
"""The problem of a record that is too long to be read."""
LONG_SHOWN = 7 * 86_400.0

COLUMNS = "p.number, p.id, p.source, p.session, p.kind, w.text, w.context, w.cwd, p.typed, w.priority"
"""The columns of `prompt` (as `p`) and `prompt_text` (as `w`) that `prompt_of` needs."""


def insert_prompt(
    tx: Tx,
    prompt: Prompt,
    source: str,
    transcript: str,
    project: int | None,
    now: float,
    *,
    passed: Passed = "",
    priority: Priority = "live",
) -> StoredPrompt | None:
    """Store a prompt, with secrets blanked; None if it is known, in this transcript or another.

    Of a prompt that is passed over, only the digest is kept, never its text.
    """
    id, typed = prompt.id, prompt.time if prompt.time is not None else now
    digest, repeats = digest_text(prompt.text), REPEATS[group_of(prompt.id, prompt.kind)]
    if tx.rows("SELECT 1 FROM prompt WHERE id = ?", id):
        return None
    near = tx.rows(
        "SELECT id, kind FROM prompt WHERE typed BETWEEN ? AND ? AND digest = ? AND session = ?",
        *(typed - WINDOW, typed + WINDOW, digest, prompt.session),
    )
    if any(group_of(other, kind) in repeats for other, kind in near):
        return None
    number = tx.execute(
        "INSERT INTO prompt(id, digest, source, session, project, kind, typed, ingested, passed) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(id, digest, source, prompt.session, project, prompt.kind, typed, now, passed or None),
    ).row
    if not passed:
        insert_text(tx, number, prompt, transcript, priority)
    words = prompt.text, prompt.context, prompt.cwd
    return StoredPrompt(number, id, source, prompt.session, prompt.kind, *words, typed, priority)


def insert_text(tx: Tx, number: int, prompt: Prompt, transcript: str, priority: Priority) -> None:
    """The words of a prompt that waits, in the place of those that are left of it."""
    tx.execute(
        "INSERT OR REPLACE INTO prompt_text(prompt, text, context, transcript, cwd, priority) VALUES(?, ?, ?, ?, ?, ?)",
        *(number, prompt.text, prompt.context, transcript, prompt.cwd, priority),
    )


def find_new_prompts(tx: Tx, transcript: str, prompts: Sequence[Prompt]) -> list[StoredPrompt]:
    """Those of these prompts that were new in this transcript, and whose text was kept."""
    sql = f"SELECT {COLUMNS} FROM prompt p JOIN prompt_text w ON w.prompt = p.number WHERE p.id = ? AND w.transcript = ?"
    return [prompt_of(row) for one in prompts for row in tx.rows(sql, one.id, transcript)]


def note_long_record(tx: Tx, transcript: str, start: int, end: int, now: float) -> None:
    """Note that a record was too long to be read, with its place in bytes."""
    what = f"{transcript}: a record of {(end - start) / 1e6:.0f} MB at byte {start} is too long to be read"
    hint = "if you typed something beside a large picture there, type it again without the picture"
    tx.execute(
        "INSERT OR REPLACE INTO degradation VALUES('engine', ?, ?, ?, ?)", LONG_RECORD, what, hint, now
    )


def prompt_of(row: Row, tries: int = 0) -> StoredPrompt:
    """Given the columns `COLUMNS`, return the prompt."""
    number, id, source, session, kind, text, context, cwd, typed, priority = row
    return StoredPrompt(number, id, source, session, kind, text, context, cwd, typed, priority, tries)


def queue_prompt(tx: Tx, prompt: int, plugins: Sequence[str]) -> None:
    """Queue a prompt for plugins. One that a plugin handled before stays handled."""
    tx.executemany(
        "INSERT OR IGNORE INTO prompt_task(plugin, prompt) VALUES(?, ?)",
        [(plugin, prompt) for plugin in plugins],
    )


def finish_prompts(
    tx: Tx, plugin: str, prompts: Sequence[int], now: float, *, state: str = "done", reason: str = ""
) -> None:
    """Mark a plugin's work with prompts as done or rejected. The text of a prompt that nobody waits for is cut."""
    tx.executemany(
        "UPDATE prompt_task SET state = ?, reason = ? WHERE plugin = ? AND prompt = ?",
        [(state, reason, plugin, number) for number in prompts],
    )
    # With its key, SQLite removes the row and inserts it. Otherwise one that becomes shorter leaves a hole in its page.
    tx.executemany(
        "UPDATE prompt_text SET prompt = prompt, handled = ?, text = substr(text, 1, ?), context = substr(context, 1, ?) "
        "WHERE prompt = ? AND NOT EXISTS(SELECT 1 FROM prompt_task t WHERE t.prompt = prompt_text.prompt AND t.state <> 'done')",
        [(now, SHOWN, SHOWN, number) for number in prompts],
    )


def doubt_now(rows: Rows, now: float) -> str:
    """Why nothing is removed for its age now: the clock is not believed; "" if it is."""
    ((newest,),) = rows("SELECT max(typed) FROM prompt WHERE typed <= ?", now)
    return doubt_clock(now, newest)


def forget_old_texts(tx: Tx, now: float) -> int:
    """Remove the texts of prompts that were handled 90 days ago, and where they were typed; return how many. The rows of `prompt`
    stay: they are the dedupe. A record that was too long is a problem for a week."""
    tx.execute("DELETE FROM degradation WHERE id = ? AND since < ?", LONG_RECORD, now - LONG_SHOWN)
    return tx.execute("DELETE FROM prompt_text WHERE handled < ?", now - KEPT).changed


def forget_old_sessions(tx: Tx, known: Collection[str], unseen: tuple[str, ...], now: float) -> None:
    """Remove the rows of sessions that ended, whose last record is 90 days old and whose transcripts are all gone. `known`: the
    transcripts that exist. `unseen`: directories in which it is unknown now, such as one that is not mounted. If one of these comes
    back it is read again, and its prompts are known."""
    old = tx.rows(
        "SELECT s.id, t.path FROM session s JOIN transcript t ON t.session = s.id WHERE s.ended IS NOT NULL AND s.last < ?",
        now - KEPT,
    )
    gone = [
        (id,)
        for id in {id for id, _ in old}
        - {id for id, path in old if path in known or f"{path}/".startswith(unseen)}
    ]
    tx.executemany("DELETE FROM transcript WHERE session = ?", gone)
    tx.executemany("DELETE FROM session WHERE id = ?", gone)


def count_passed(tx: Tx, scope: str, name: str, since: float) -> int:
    """How many prompts were passed over because of a pause that began at `since`."""
    wheres = {"project": "project = (SELECT number FROM project WHERE root = ?2)", "session": "session = ?2"}
    where = wheres.get(scope, "?2 IS NOT NULL")
    sql = f"SELECT count(*) FROM prompt WHERE passed = 'paused' AND ingested >= ?1 AND {where}"
    return int(tx.rows(sql, since, name)[0][0])


# --- `tacitd rescue`: prompts that were rejected, or that have waited for long. They are rows, so they outlive their transcripts.


A_DAY = 86_400.0
_KEPT = """
SELECT p.id, t.plugin, p.session, w.cwd, p.typed, w.text, t.state, t.reason,
  coalesce(nullif(k.reason, ''), 'its directory does not exist'), p.ingested
FROM prompt_task t JOIN prompt p ON p.number = t.prompt JOIN prompt_text w ON w.prompt = p.number
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
            "text": text,
            "reason": reason if state == "rejected" else why,
            "at": at,
        }
        for id, plugin, session, cwd, typed, text, state, reason, why, at in rows(_KEPT, now - A_DAY)
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


def retry_rejected(tx: Tx, ids: Collection[str] | None) -> list[tuple[str, int]]:
    """Rejected prompts wait again; `ids` None: all of them. Returns (plugin, number) of each."""
    found = tx.rows(
        "SELECT t.plugin, p.number, p.id FROM prompt_task t JOIN prompt p ON p.number = t.prompt "
        "WHERE t.state = 'rejected' ORDER BY p.number"
    )
    wanted = [row for row in found if ids is None or row[2] in ids]
    tx.executemany(
        "UPDATE prompt_task SET state = 'waiting', tries = 0, reason = '' WHERE plugin = ? AND prompt = ?",
        [(plugin, number) for plugin, number, _ in wanted],
    )
    return [(plugin, number) for plugin, number, _ in wanted]
