"""Rows of `prompt`: which prompts are new, whose text is kept, and when it goes.

A prompt is known by its id, in whatever transcript it comes again: forks, resumes and rewritten files do no harm. One
without an id is known by its text and time, so a fork of a queued message is not paid for again. A message that was typed
while the model worked is in the queue, in an attachment and sometimes in a line of its own (CLAUDE_CODE section 0, facts 13
and 16): the same words in one session within ten minutes are the same prompt, if one of the two has no id or came
through the queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import normalize

from msgspec import Struct

from tacitd.contract import Priority, Row, StoredPrompt, Tx
from tacitd.events import Prompt, PromptKind
from tacitd.text.hashes import blake2b
from tacitd.work.project_rows import Passed

WINDOW = 600.0
"""Seconds within which the same text in one session is the same prompt."""
SHOWN = 200
"""Characters of a handled prompt that `why` can show."""
KEPT = 90 * 86_400.0
"""Seconds after which the text of a handled prompt goes."""

LONG_RECORD = "transcripts.long"
"""The problem of a record that is too long to be read."""
LONG_SHOWN = 7 * 86_400.0

COLUMNS = "p.number, p.id, p.source, p.session, p.kind, p.text, p.context, p.cwd, p.typed, p.priority"
"""The columns of `prompt` (as `p`) that `prompt_of` needs."""


class NewPrompt(Struct, frozen=True):
    """A prompt that was read, with secrets blanked, and where it belongs."""

    prompt: Prompt
    source: str
    transcript: str
    project: int | None
    passed: Passed = ""
    priority: Priority = "live"


def normalise_text(text: str) -> str:
    """Given text, return it as it is compared: NFKC, case folded, white space folded. Idempotent."""
    folded = text.lower() if text.isascii() else normalize("NFKC", text).casefold()
    return " ".join(folded.split())


def digest_text(text: str) -> bytes:
    """The 16 bytes by which a text is compared."""
    return blake2b(normalise_text(text).encode(errors="replace"), digest_size=16).digest()


def prompt_id(prompt: Prompt) -> str:
    """The id of a prompt: its uuid; without one, `~` and a digest of its text and time, or of its session if it has no time."""
    if prompt.uuid:
        return prompt.uuid
    key = f"{prompt.text}\0{prompt.time if prompt.time is not None else prompt.session}"
    return "~" + blake2b(key.encode(errors="replace"), digest_size=16).hexdigest()


def _group(id: str, kind: str) -> str:
    """`bare`: without an id. `queue`: through the queue. `line`: a record of its own."""
    return "bare" if id.startswith("~") else "queue" if kind == "queued" else "line"


_SAME_AS = {"bare": ("bare", "queue", "line"), "queue": ("bare", "line"), "line": ("bare", "queue")}
"""For each group, those that it can repeat."""


def insert_prompt(tx: Tx, new: NewPrompt, now: float) -> StoredPrompt | None:
    """Store a prompt; None if it is known, in this transcript or another.

    Of a prompt that is passed over, only the digest is kept, never its text.
    """
    prompt, id = new.prompt, prompt_id(new.prompt)
    typed = prompt.time if prompt.time is not None else now
    digest, group = digest_text(prompt.text), _group(id, prompt.kind)
    if tx.rows("SELECT 1 FROM prompt WHERE id = ?", id):
        return None
    near = tx.rows(
        "SELECT id, kind FROM prompt WHERE digest = ? AND typed BETWEEN ? AND ? AND session = ?",
        digest,
        typed - WINDOW,
        typed + WINDOW,
        prompt.session,
    )
    if any(_group(other, kind) in _SAME_AS[group] for other, kind in near):
        return None
    text, context = (None, None) if new.passed else (prompt.text, prompt.context)
    done = tx.execute(
        "INSERT INTO prompt(id, digest, source, session, transcript, project, priority, kind, cwd, typed, ingested, text, "
        "context, passed) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        id,
        digest,
        new.source,
        prompt.session,
        new.transcript,
        new.project,
        new.priority,
        prompt.kind,
        prompt.cwd,
        typed,
        now,
        text,
        context,
        new.passed or None,
    )
    return StoredPrompt(
        done.row,
        id,
        new.source,
        prompt.session,
        prompt.kind,
        prompt.text,
        prompt.context,
        prompt.cwd,
        typed,
        new.priority,
    )


def prompt_of(row: Row, tries: int = 0) -> StoredPrompt:
    """Given the columns `COLUMNS`, return the prompt."""
    number, id, source, session, kind, text, context, cwd, typed, priority = row
    named: PromptKind = kind
    return StoredPrompt(
        number, id, source, session, named, text or "", context or "", cwd, typed, priority, tries
    )


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
    tx.executemany(
        "UPDATE prompt SET handled = ?, text = substr(text, 1, ?), context = substr(context, 1, ?) WHERE number = ? "
        "AND NOT EXISTS(SELECT 1 FROM prompt_task t WHERE t.prompt = prompt.number AND t.state <> 'done')",
        [(now, SHOWN, SHOWN, number) for number in prompts],
    )


def forget_old_texts(tx: Tx, now: float) -> int:
    """Remove the texts of prompts that were handled 90 days ago; return how many. Their rows stay: they are the dedupe. A record that
    was too long is a problem for a week."""
    tx.execute("DELETE FROM degradation WHERE id = ? AND since < ?", LONG_RECORD, now - LONG_SHOWN)
    return tx.execute(
        "UPDATE prompt SET text = NULL, context = NULL WHERE handled < ? AND text IS NOT NULL", now - KEPT
    ).changed


def count_passed(tx: Tx, scope: str, name: str, since: float) -> int:
    """How many prompts were passed over because of a pause that began at `since`."""
    where, values = "", list[str]()
    if scope == "project":
        where, values = " AND project = (SELECT number FROM project WHERE root = ?)", [name]
    elif scope == "session":
        where, values = " AND session = ?", [name]
    ((count,),) = tx.rows(
        f"SELECT count(*) FROM prompt WHERE passed = 'paused' AND ingested >= ?{where}", since, *values
    )
    return int(count)
