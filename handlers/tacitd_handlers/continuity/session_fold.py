"""The state of a session, folded from its transcript record by record in the transaction that moves the position, and its rows.

Schema.sql describes the columns. What is written of the state belongs to `session_document`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from tacitd.text.converter import Converter
from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.continuity import client_tasks
from tacitd_handlers.continuity.client_tasks import Items, ToolCall
from tacitd_handlers.shared.model_text import clean_lines, clean_prose, clean_text, take_end

if TYPE_CHECKING:
    from tacitd.contract import Batch, Row, Rows, Task, Tx
    from tacitd.events import Prompt, Record


class TranscriptState(Struct):
    """A session, as its transcript tells it. Times are seconds since 1970, UTC."""

    id: str
    cwd: str = ""
    branch: str = ""
    started: float = 0.0
    last: float = 0.0
    tasks: Items = ()
    written: Items = ()
    calls: tuple[ToolCall, ...] = ()
    edits: dict[str, int] = field(default_factory=dict)
    said: str = ""
    said_at: float = 0.0
    answered: bool = False
    summary: str = ""
    file_summary: str = ""
    turns: int = 0
    size: int = 0
    compacted: bool = False
    asked_at: float | None = None
    asked_turn: int = 0
    project: int | None = None
    unwritten: int = 0


class Turn(Struct, frozen=True):
    """A prompt, or the end of the assistant's last text before it."""

    at: float
    prompt: str
    """The id of the prompt; "": the words are the assistant's."""
    words: str
    """Several lines, with secrets blanked."""
    number: int = 0
    """In the order of the transcript; 0: not stored yet."""


_COLUMNS = TranscriptState.__struct_fields__
_LIST = ", ".join(_COLUMNS)
_JSON = ("tasks", "written", "calls", "edits")
_STATE = Converter(TranscriptState)
_TURN = "SELECT at, prompt, words, number FROM continuity_turn WHERE session = ?"


def load_state(rows: Rows, session: str) -> TranscriptState | None:
    found = rows(f"SELECT {_LIST} FROM continuity_session WHERE id = ?", session)
    return _state_of(found[0]) if found else None


def list_unwritten(rows: Rows, project: int | None, most: int) -> list[TranscriptState]:
    """The sessions of a project whose files lack something."""
    sql = f"SELECT {_LIST} FROM continuity_session WHERE project IS ? AND unwritten > 0 ORDER BY last LIMIT ?"
    return [_state_of(row) for row in rows(sql, project, most)]


def _state_of(row: Row) -> TranscriptState:
    values = dict(zip(_COLUMNS, row, strict=True))
    values |= {name: json.loads(values[name]) for name in _JSON}
    values |= {name: bool(values[name]) for name in ("answered", "compacted")}
    found: TranscriptState = _STATE.convert(values)
    return found


def store_state(tx: Tx, state: TranscriptState) -> None:
    values = [dump_json(getattr(state, name)) if name in _JSON else getattr(state, name) for name in _COLUMNS]
    marks = ", ".join("?" * len(_COLUMNS))
    tx.execute(f"INSERT OR REPLACE INTO continuity_session({_LIST}) VALUES({marks})", *values)


def note_written(tx: Tx, state: TranscriptState) -> None:
    """What changed up to this state is in the session's file, or is another task's."""
    sql = "UPDATE continuity_session SET unwritten = max(0, unwritten - ?) WHERE id = ?"
    tx.execute(sql, state.unwritten, state.id)


def dump_json(value: object) -> str:
    return json.dumps(to_builtins(value), separators=(",", ":"))


def list_turns(rows: Rows, session: str, after: int) -> list[Turn]:
    """The turns of a session behind a number, in their order."""
    return [Turn(*row) for row in rows(f"{_TURN} AND number > ? ORDER BY number", session, after)]


def list_last_prompts(rows: Rows, session: str, count: int) -> list[Turn]:
    found = rows(f"{_TURN} AND prompt <> '' ORDER BY number DESC LIMIT ?", session, count)
    return [Turn(*row) for row in reversed(found)]


def forget_turns(tx: Tx, session: str, upto: int, kept: int) -> None:
    """Remove what was summarised, but the last `kept` prompts."""
    tx.execute(
        "DELETE FROM continuity_turn WHERE session = ? AND number <= ? AND number NOT IN (SELECT number "
        "FROM continuity_turn WHERE session = ? AND prompt <> '' ORDER BY number DESC LIMIT ?)",
        *(session, upto, session, kept),
    )


# --- folding: what a call of a tool changes belongs to `client_tasks`. Of a session in which nobody typed nothing is stored, and of one that
# belongs to no project no words.

END, WORDS = 600, 600
"""Characters of the end of a text of the assistant or of a compaction's summary, and of the beginning of a prompt."""
FILES, OPEN = 100, 200
"""How many are kept: edited files (the most edited ones), calls without an answer."""
PLAN = "(accepted a plan)"
_CLIENT_END = compile_lazily(
    r"</summary>|^[ \t]*(?:If you need specific details from before compaction|The messages after this summary are the most recent"
    r"|(?:Please )?continue the conversation from where (?:it|we) left|Recent messages are preserved verbatim)",
    re.IGNORECASE | re.MULTILINE,
)
"""What the client writes below the model's summary at a compaction; in English, whatever the language of the summary."""
_BARE_COMMAND = compile_lazily(r"/[a-z][a-z0-9_-]*(?::[a-z0-9_-]+)*", re.IGNORECASE)
"""A slash command without arguments. A path has a second slash."""
_CONTROLS = frozenset((
    "add-dir", "agents", "allowed-tools", "branch", "bug", "clear", "compact", "config", "context", "continue",
    "copy", "cost", "doctor", "effort", "exit", "export", "extra-usage", "fast", "feedback", "help", "hooks", "ide",
    "install-github-app", "keybindings", "login", "logout", "mcp", "memory", "model", "new", "output-style",
    "permissions", "plugin", "privacy-settings", "quit", "reload-plugins", "remote-control", "rename", "resume",
    "rewind", "sandbox", "settings", "skills", "stats", "status", "statusline", "tasks", "terminal-setup", "theme",
    "todos", "tui", "undo", "upgrade", "usage", "vim",
))  # fmt: skip
"""Commands that only control the client. Those that ask the assistant for something (`/init`, `/review`) are not listed."""


def observe(batch: Batch, tx: Tx, settings: Mapping[str, Any]) -> None:
    """Fold records. When something changed that a session's file has, a task follows that writes the files of the project's
    sessions."""
    if batch.passed in ("paused", "excluded"):
        return
    wants_write = False
    # One transcript may contain records of several sessions: the record's session counts, not the file's name.
    by_session: dict[str, list[Record]] = {}
    for record in batch.records:
        by_session.setdefault(record.session or batch.session, []).append(record)
    for session, records in by_session.items():
        before = load_state(tx.rows, session)
        if before is None and not any(one.prompts or one.plan or one.command for one in records):
            continue
        fold = Fold(
            copy(before) if before is not None else TranscriptState(session),
            frozenset(one.id for one in batch.prompts),
            keeps_words=not batch.passed,
        )
        for record in records:
            fold.add_record(record)
        now = fold.finish()
        if before is None and not fold.is_typed:
            continue
        if before is None or fold.is_typed or _list_visible(before) != _list_visible(now):
            wants_write = True
            now.project, now.unwritten = batch.project_number, now.unwritten + 1
        store_state(tx, now)
        tx.executemany(
            "INSERT INTO continuity_turn(session, at, prompt, words) VALUES(?, ?, ?, ?)",
            [(session, one.at, one.prompt, one.words) for one in fold.turns],
        )
    if wants_write:
        queue_write(tx, batch, "", batch.at)


def queue_write(tx: Tx, about: Batch | Task, session: str, now: float, due: float | None = None) -> None:
    """Queue the task that writes a session's file; "": those of all sessions of the project whose files lack something."""
    from tacitd.work.messages import send_message  # not for a session's start, which only reads

    about, data = replace(about, session=session), {"do": "write", "session": session}
    key = f"write {session or about.project_number}"
    send_message(tx, "continuity", "continuity", key, about, data, now, due)


def _list_visible(state: TranscriptState) -> tuple[object, ...]:
    return state.cwd, state.tasks, state.summary


class Fold:
    """Folds the records of one session. Give it all of a batch, then take what `finish` returns."""

    def __init__(self, state: TranscriptState, new_prompts: Collection[str], *, keeps_words: bool) -> None:
        """`new_prompts`: ids of the prompts that are not copies of earlier ones."""
        self.turns: list[Turn] = []
        """What was said, to be stored."""
        self.is_typed = False
        """Whether a person typed something that is no command to the client."""
        self._now = state
        self._new_prompts = new_prompts
        self._keeps_words = keeps_words
        self._text = ""
        """Of the assistant, not cleaned yet: that is slow, and only what is kept in the end needs it."""

    def add_record(self, record: Record) -> None:
        now = self._now
        at = record.time if record.time is not None else now.last
        now.started = min(at, now.started or at)
        now.last = max(at, now.last)
        now.size += record.end - record.start
        if record.cwd and (record.prompts or record.plan or not now.cwd):
            now.cwd = record.cwd
        if record.branch not in ("", "HEAD", now.branch):  # a detached head has no name
            now.branch = clean_text(record.branch, 100)
        if record.text:
            now.turns += 1
            self._text, now.said_at, now.answered = record.text, at, True
        if record.summary and self._keeps_words:
            now.summary, now.compacted = end_of_compaction(record.summary), True
        if record.plan:
            self._add_prompt(at, record.uuid, f"{PLAN} {record.plan.strip().lstrip('# ')}")
        if record.command and not record.prompts and record.command not in _CONTROLS:
            self._add_prompt(at, record.uuid, f"/{record.command}")
        for prompt in record.prompts:
            if not is_client_command(prompt, record.command):
                mark = {"bash": "!", "command": f"/{record.command} " if record.command else ""}
                words = mark.get(prompt.kind, "") + prompt.text.strip()
                self._add_prompt(at, prompt.id, words, is_new=prompt.id in self._new_prompts, is_blanked=True)
        for use in record.tools:
            call = client_tasks.read_call(use, at)
            if call is not None and all(call.id != other.id for other in now.calls):
                now.tasks, now.calls = client_tasks.start_call(now.tasks, call), (*now.calls, call)[-OPEN:]
        for answer in record.answers:
            call = next((one for one in now.calls if one.id == answer.id), None)
            if call is None:
                continue
            now.calls = tuple(one for one in now.calls if one is not call)
            now.tasks = client_tasks.finish_call(now.tasks, call, answer)
            if edited := client_tasks.edited_file(call, answer):
                path = clean_text(edited.removeprefix(f"{now.cwd}/"), 200)
                now.edits = now.edits | {path: now.edits.get(path, 0) + 1}

    def _add_prompt(
        self, at: float, id: str, words: str, *, is_new: bool = True, is_blanked: bool = False
    ) -> None:
        self.is_typed = True
        if self._keeps_words and is_new:
            self._clean_said()
            if self._now.said and self._now.answered:
                self.turns.append(Turn(self._now.said_at, "", self._now.said))
            kept = clean_lines(words[: 8 * WORDS], is_blanked=is_blanked)[:WORDS]
            self.turns.append(Turn(at, id, kept))
            self._now.answered = False

    def _clean_said(self) -> None:
        if self._text and self._keeps_words:
            self._now.said = end_of_text(self._text)
        self._text = ""

    def finish(self) -> TranscriptState:
        self._clean_said()
        if len(self._now.edits) > FILES:
            self._now.edits = dict(Counter(self._now.edits).most_common(FILES))
        return self._now


def is_client_command(prompt: Prompt, command: str) -> bool:
    """Whether a prompt only controls the client (SPEC P-26). `command`: its slash command without the slash; "" if it is none."""
    if prompt.kind == "command":
        return command in _CONTROLS
    return _BARE_COMMAND.fullmatch(prompt.text.strip()) is not None  # queued, it is a prompt of its own


def end_of_text(text: str) -> str:
    """Return what a text of the assistant ends with, in whole sentences and lines; code and tables are left out."""
    said = take_end(clean_prose(text), END)
    return said[:-1] + "." if said.endswith((":", "：")) else said  # what it announced is a tool's call


def end_of_compaction(text: str) -> str:
    """Return the end of the summary that the client wrote at a compaction: what is being done and the next step come last."""
    _, heading, below = text.partition("\nSummary:\n")  # the client's own words are above it
    summary = below if heading else text
    end = _CLIENT_END.search(summary)
    return end_of_text(summary[: end.start()] if end else summary)
