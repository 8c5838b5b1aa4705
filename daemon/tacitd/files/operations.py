"""What a transaction may do to one file, as data, and as pure functions from bytes to bytes.

An operation says what is wanted ("this line under that heading"), never how the file looks: so finishing one
after a crash cannot overwrite what a person did meanwhile, and undoing an old one works after newer ones.
Each is idempotent: applied to its own result it does nothing. Opening files, order and durability are
transaction.py's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, assert_never

from tacitd.errors import FileRefusedError
from tacitd.files import markdown


@dataclass(frozen=True, slots=True)
class PutLine:
    """The bullet `line` under `## heading`; a file that is not there begins with `# title`."""

    path: Path
    heading: str
    line: str
    title: str


@dataclass(frozen=True, slots=True)
class SwapLine:
    """The bullet `new` in the place of `old`; where `old` is not there, as PutLine."""

    path: Path
    old: str
    new: str
    heading: str
    title: str


@dataclass(frozen=True, slots=True)
class TakeLine:
    """No bullet `line`."""

    path: Path
    line: str


@dataclass(frozen=True, slots=True)
class WriteFile:
    """The whole content of a generated file that is ours alone."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class MakeFile:
    """A file with this text where there is none: whatever stands there, a person's or ours, stays as it is."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class AppendLine:
    """A plain line at the end of the file, unless it has such a line (`.git/info/exclude`)."""

    path: Path
    line: str


@dataclass(frozen=True, slots=True)
class RemoveFile:
    """No such file. Of a symlink, the link goes and its target stays."""

    path: Path


Operation = PutLine | SwapLine | TakeLine | WriteFile | MakeFile | AppendLine | RemoveFile

Did = Literal["nothing", "put", "swapped", "taken", "written", "appended", "removed"]


@dataclass(frozen=True, slots=True)
class Effect:
    """What an operation really did to the file: a line that a person had there before was not put by us."""

    did: Did = "nothing"
    heading: str = ""
    """Of a line taken or swapped: the heading it stood under."""


NOTHING = Effect()

_NAMES: dict[type[Operation], str] = {
    PutLine: "put",
    SwapLine: "swap",
    TakeLine: "take",
    WriteFile: "write",
    MakeFile: "make",
    AppendLine: "append",
    RemoveFile: "remove",
}
_BY_NAME = {name: kind for kind, name in _NAMES.items()}
_DIDS: dict[str, Did] = {
    "nothing": "nothing",
    "put": "put",
    "swapped": "swapped",
    "taken": "taken",
    "written": "written",
    "appended": "appended",
    "removed": "removed",
}


def to_json(operation: Operation) -> dict[str, str]:
    """`{"op": "put", "path": "/…/LEARNED.md", "heading": …, "line": …, "title": …}`."""
    values = {field.name: str(getattr(operation, field.name)) for field in fields(operation)}
    return {"op": _NAMES[type(operation)], **values}


def from_json(record: Mapping[str, Any]) -> Operation:
    """The operation back from its JSON. ValueError: no operation that this version knows."""
    kind = _BY_NAME.get(record.get("op", ""))
    if kind is None:
        raise ValueError(f"unknown operation {record.get('op')!r}")
    values: dict[str, Any] = {}
    for field in fields(kind):
        value = record.get(field.name)
        if not isinstance(value, str):
            raise ValueError(f"operation {record['op']!r} without a {field.name}")
        values[field.name] = Path(value) if field.name == "path" else value
    return kind(**values)


def effect_to_json(effect: Effect) -> list[str]:
    """`["taken", "Coding"]`; `["put"]` where there is no heading to tell."""
    return [effect.did, effect.heading] if effect.heading else [effect.did]


def effect_from_json(value: Any) -> Effect:
    """The effect back from its JSON; "nothing" for what this version does not know."""
    match value:
        case [str(did), *rest] if did in _DIDS:
            return Effect(_DIDS[did], str(rest[0]) if rest else "")
        case _:
            return NOTHING


def applied(operation: Operation, data: bytes | None) -> tuple[bytes | None, Effect]:
    """Given the file's bytes (None: no file), return what they become and what that did.

    Raises FileRefusedError where the file cannot be spliced.
    """
    after, effect = _apply(operation, data)
    return (data, NOTHING) if after == data else (after, effect)


def reversed_operation(operation: Operation, effect: Effect, title: str) -> Operation | None:
    """What takes this one's effect back; None where there was none, or where it cannot be taken back.

    A generated file is made again rather than undone, and an exclude line is harmless, so only lines are.
    """
    match operation, effect.did:
        case PutLine(), "put":
            return TakeLine(operation.path, operation.line)
        case SwapLine(), "put":
            return TakeLine(operation.path, operation.new)
        case SwapLine(), "swapped":
            return SwapLine(operation.path, operation.new, operation.old, operation.heading, operation.title)
        case TakeLine(), "taken":
            return PutLine(operation.path, effect.heading or "General", operation.line, title)
        case _:
            return None


def _apply(operation: Operation, data: bytes | None) -> tuple[bytes | None, Effect]:
    match operation:
        case PutLine(heading=heading, line=line, title=title):
            return markdown.put_line(data, heading, line, title), Effect("put")
        case SwapLine():
            return _swap(operation, data)
        case TakeLine(line=line):
            after = None if data is None else markdown.take_line(data, line)
            return after, Effect("taken", _heading_of(data, line))
        case WriteFile(text=text):
            return _encoded(text), Effect("written")
        case MakeFile(text=text):
            return _encoded(text) if data is None else data, Effect("written")
        case AppendLine(line=line):
            return _append(data or b"", _encoded(line)), Effect("appended")
        case RemoveFile():
            return None, Effect("removed")
        case _:
            assert_never(operation)


def _swap(operation: SwapLine, data: bytes | None) -> tuple[bytes | None, Effect]:
    if data is not None:
        heading = _heading_of(data, operation.old)
        after, found = markdown.swap_line(data, operation.old, operation.new)
        if found:
            return after, Effect("swapped", heading)
    return markdown.put_line(data, operation.heading, operation.new, operation.title), Effect("put")


def _heading_of(data: bytes | None, line: str) -> str:
    wanted = markdown.clean(line).split()
    return next((heading for heading, text in markdown.lines_of(data) if text.split() == wanted), "")


def _append(data: bytes, line: bytes) -> bytes:
    if b"\n" in line:
        raise FileRefusedError("more than one line cannot be appended as one")
    if line in (each.rstrip(b"\r") for each in data.split(b"\n")):
        return data
    newline = b"" if not data or data.endswith(b"\n") else b"\n"
    return data + newline + line + b"\n"


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise FileRefusedError("the text holds half a character, which UTF-8 cannot say") from error
