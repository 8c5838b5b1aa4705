"""What is stored of a session from its transcript: a row of `continuity_session`, and its turns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field, to_builtins

from tacitd.text.converter import Converter
from tacitd_handlers.continuity.client_tasks import Items, ToolCall

if TYPE_CHECKING:
    from tacitd.contract import Rows, Tx


class TranscriptState(Struct):
    """A session, as its transcript tells it. The columns are described in schema.sql. Times are seconds since 1970, UTC."""

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
_JSON: Mapping[str, Converter] = {
    "tasks": Converter(Items),
    "written": Converter(Items),
    "calls": Converter(tuple[ToolCall, ...]),
    "edits": Converter(dict[str, int]),
}


def load_state(rows: Rows, session: str) -> TranscriptState | None:
    """The state of a session; None if there is none."""
    found = rows(f"SELECT {_LIST} FROM continuity_session WHERE id = ?", session)
    if not found:
        return None
    values = dict(zip(_COLUMNS, found[0], strict=True))
    values |= {name: converter.convert(json.loads(values[name])) for name, converter in _JSON.items()}
    return TranscriptState(**values)


def store_state(tx: Tx, state: TranscriptState) -> None:
    """Store a state after records were folded."""
    marks = ", ".join("?" * len(_COLUMNS))
    values: list[Any] = [
        dump_json(getattr(state, name)) if name in _JSON else getattr(state, name) for name in _COLUMNS
    ]
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
    found = rows(
        "SELECT at, prompt, words, question, number FROM continuity_turn WHERE session = ? AND number > ? ORDER BY number",
        session,
        after,
    )
    return [Turn(*row) for row in found]


def list_last_prompts(rows: Rows, session: str, count: int) -> list[Turn]:
    """The last prompts of a session, the newest last."""
    found = rows(
        "SELECT at, prompt, words, question, number FROM continuity_turn WHERE session = ? AND prompt <> '' "
        "ORDER BY number DESC LIMIT ?",
        session,
        count,
    )
    return [Turn(*row) for row in reversed(found)]


def forget_turns(tx: Tx, session: str, upto: int, kept: int) -> None:
    """Remove what was summarised, but the last `kept` prompts."""
    tx.execute(
        "DELETE FROM continuity_turn WHERE session = ? AND number <= ? AND number NOT IN (SELECT number FROM continuity_turn "
        "WHERE session = ? AND prompt <> '' ORDER BY number DESC LIMIT ?)",
        session,
        upto,
        session,
        kept,
    )
