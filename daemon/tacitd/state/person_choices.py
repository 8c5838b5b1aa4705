"""What a person decided: rows of `choice`, each also a line of `choices.jsonl`, from which a fresh store is filled.

    {"at": 1771511405.0, "scope": "project", "name": "/home/ann/app", "what": "exclude", "value": ""}
    {"at": 1771511500.0, "scope": "project", "name": "/home/ann/app", "what": "exclude", "withdrawn": true}

`at` is in seconds since 1970, UTC; the last line of a (scope, name, what) counts. A line is appended, durably, in the
transaction of its row: the store is the truth, and the file is written anew from it at a start if the two differ. The file
is only read into a store that is new. The file contains no words: "never learn this again" is the digest of a text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.json import decode

from tacitd.errors import UnwritableError, describe_os_error
from tacitd.state.paths import read_file

if TYPE_CHECKING:
    from tacitd.contract import Tx

FILE = "choices.jsonl"
"""File in the state directory, 0600."""
Scope = Literal["all", "project", "session", "text"]
What = Literal["pause", "exclude", "share", "local", "trust", "alias", "never"]
T = TypeVar("T")
REPLACED: dict[What, tuple[What, ...]] = {"share": ("local", "exclude"), "local": ("share", "exclude")}
"""The choices that another one ends. An exclusion ends none: without it, what was chosen before holds again."""


class Choice(NamedTuple):
    """A row of `choice`."""

    scope: Scope
    name: str
    """"" for all, a project's root, a session's id, or the digest of a text; behind a space, the root of the project that it is about."""
    what: What
    value: str = ""
    at: float = 0.0
    """Seconds since 1970, UTC."""


Key = tuple[str, str, str]
_PUT = "INSERT OR REPLACE INTO choice(scope, name, what, value, at) VALUES(?, ?, ?, ?, ?)"


def choose(tx: Tx, state_dir: Path, choice: Choice) -> None:
    """Store a choice in the place of the earlier one. Raises UnwritableError: then the transaction must not be committed."""
    for other in REPLACED.get(choice.what, ()):
        withdraw(tx, state_dir, choice._replace(what=other))
    tx.execute(_PUT, *choice)
    _append(state_dir, [choice._asdict()])


def withdraw(tx: Tx, state_dir: Path, choice: Choice) -> bool:
    """Remove a choice, and return whether there was one; `value` is not compared. Raises as `choose` does."""
    key = choice.scope, choice.name, choice.what
    if not tx.execute("DELETE FROM choice WHERE scope=? AND name=? AND what=?", *key).changed:
        return False
    _append(state_dir, [{**choice._asdict(), "withdrawn": True}])
    return True


def list_choices(tx: Tx) -> list[Choice]:
    return [
        Choice(*row)
        for row in tx.rows("SELECT scope, name, what, value, at FROM choice ORDER BY at, scope, name, what")
    ]


def match_file(tx: Tx, state_dir: Path, *, new: bool) -> None:
    """Fill a new store from the file, or with the exclusions of the first design if there is none; otherwise
    write the file anew if it differs from the store. Raises OSError: nothing may be read of any project while
    its choices are not known."""
    try:
        in_file = _fold(_read_lines(state_dir / FILE, _Line))
        known = True
    except FileNotFoundError:
        in_file, known = (_read_first_design(state_dir) if new else {}), False
    if new:
        for choice in in_file.values():
            tx.execute(_PUT, *choice)
    in_store = {choice[:3]: choice for choice in list_choices(tx)}
    if in_store != in_file or (in_store and not known):
        _rewrite(state_dir, in_store.values())


class _Line(Struct):
    scope: Scope
    name: str
    what: What
    at: float
    value: str = ""
    withdrawn: bool = False


class _FirstDesign(Struct):
    project: str
    write: str


def _fold(lines: Iterable[_Line]) -> dict[Key, Choice]:
    found: dict[Key, Choice] = {}
    for one in lines:
        found.pop((one.scope, one.name, one.what), None)
        if not one.withdrawn:
            found[one.scope, one.name, one.what] = Choice(one.scope, one.name, one.what, one.value, one.at)
    return found


def _read_lines(path: Path, kind: type[T]) -> list[T]:
    """The records of a file of JSON lines. A line that is none, such as a torn one, is left out. Raises
    OSError."""
    records: list[T] = []
    for line in read_file(path).removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        with suppress(ValueError, RecursionError):
            records.append(decode(line, type=kind))
    return records


def _read_first_design(state_dir: Path) -> dict[Key, Choice]:
    """The exclusions in the log of the first design: the last line of a project counts."""
    with suppress(FileNotFoundError):
        last = {one.project: one.write for one in _read_lines(state_dir / "projects.jsonl", _FirstDesign)}
        roots = [root for root, mode in last.items() if mode == "off"]
        return {("project", root, "exclude"): Choice("project", root, "exclude") for root in roots}
    return {}


def _encode(records: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def _append(state_dir: Path, records: Iterable[Mapping[str, Any]]) -> None:
    from tacitd.files.append_file import append_text

    try:
        append_text(state_dir / FILE, _encode(records))
    except OSError as error:
        raise UnwritableError(*describe_os_error(error)) from error


def _rewrite(state_dir: Path, choices: Iterable[Choice]) -> None:
    from tacitd.files.atomic import replace_file

    replace_file(state_dir / FILE, _encode(choice._asdict() for choice in choices), mode=0o600)
