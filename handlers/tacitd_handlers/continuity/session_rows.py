"""What is stored of a session from its transcript: a row of `continuity_session`, and its turns. Schema.sql describes the columns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec import Struct, field, to_builtins

from tacitd.text.converter import Converter
from tacitd_handlers.continuity.client_tasks import Items, ToolCall

if TYPE_CHECKING:
    from tacitd.contract import Rows, Tx


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
    kept_summary: str = ""
    turns: int = 0
    size: int = 0
    compacted: bool = False
    asked_at: float | None = None
    tries: int = 0
    asked_turn: int = 0


class Turn(Struct, frozen=True):
    """A prompt, or the end of the assistant's last text before it."""

    at: float
    prompt: str
    """The id of the prompt; "": the words are the assistant's."""
    words: str
    """Several lines, with secrets blanked."""
    question: str = ""
    number: int = 0
    """In the order of the transcript; 0: not stored yet."""


_COLUMNS = TranscriptState.__struct_fields__
_LIST = ", ".join(_COLUMNS)
_JSON = ("tasks", "written", "calls", "edits")
_STATE = Converter(TranscriptState)
_TURN = "SELECT at, prompt, words, question, number FROM continuity_turn WHERE session = ?"


def load_state(rows: Rows, session: str) -> TranscriptState | None:
    """The state of a session; None if there is none."""
    for row in rows(f"SELECT {_LIST} FROM continuity_session WHERE id = ?", session):
        values = dict(zip(_COLUMNS, row, strict=True))
        values |= {name: json.loads(values[name]) for name in _JSON}
        values |= {name: bool(values[name]) for name in ("answered", "compacted")}
        found: TranscriptState = _STATE.convert(values)
        return found
    return None


def store_state(tx: Tx, state: TranscriptState) -> None:
    """Store a state after records were folded."""
    values = [dump_json(getattr(state, name)) if name in _JSON else getattr(state, name) for name in _COLUMNS]
    marks = ", ".join("?" * len(_COLUMNS))
    tx.execute(f"INSERT OR REPLACE INTO continuity_session({_LIST}) VALUES({marks})", *values)


def dump_json(value: object) -> str:
    """The JSON of a column."""
    return json.dumps(to_builtins(value), separators=(",", ":"))


def add_turns(tx: Tx, session: str, turns: list[Turn]) -> None:
    """Store what was said."""
    tx.executemany(
        "INSERT INTO continuity_turn(session, at, prompt, words, question) VALUES(?, ?, ?, ?, ?)",
        [(session, one.at, one.prompt, one.words, one.question) for one in turns],
    )


def list_turns(rows: Rows, session: str, after: int) -> list[Turn]:
    """The turns of a session behind a number, in their order."""
    return [Turn(*row) for row in rows(f"{_TURN} AND number > ? ORDER BY number", session, after)]


def list_last_prompts(rows: Rows, session: str, count: int) -> list[Turn]:
    """The last prompts of a session, the newest last."""
    found = rows(f"{_TURN} AND prompt <> '' ORDER BY number DESC LIMIT ?", session, count)
    return [Turn(*row) for row in reversed(found)]


def forget_turns(tx: Tx, session: str, upto: int, kept: int) -> None:
    """Remove what was summarised, but the last `kept` prompts."""
    tx.execute(
        "DELETE FROM continuity_turn WHERE session = ? AND number <= ? AND number NOT IN (SELECT number "
        "FROM continuity_turn WHERE session = ? AND prompt <> '' ORDER BY number DESC LIMIT ?)",
        *(session, upto, session, kept),
    )
