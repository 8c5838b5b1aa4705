"""What a transaction can do to one file: operations as data, and pure functions from bytes to bytes.

An operation describes a wanted result ("this line under that heading"), never an image of the file. So finishing it
after a crash cannot overwrite what a person changed meanwhile, and an old one can be undone after newer ones. Each is
idempotent (S-29): applied to its own result it does nothing. Opening files, order and durability are in transaction.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, assert_never

from tacitd.errors import FileRefusedError
from tacitd.text import markdown


@dataclass(frozen=True, slots=True)
class PutLine:
    """Add the bullet `line` under `## heading`. A missing file is created with `# title`."""

    path: Path
    heading: str
    line: str
    title: str


@dataclass(frozen=True, slots=True)
class SwapLine:
    """Replace the bullet `old` with `new`; if there is no `old`, as PutLine."""

    path: Path
    old: str
    new: str
    heading: str
    title: str


@dataclass(frozen=True, slots=True)
class TakeLine:
    """Remove the bullet `line`."""

    path: Path
    line: str


@dataclass(frozen=True, slots=True)
class WriteFile:
    """Set the whole content of a generated file that only tacitd writes."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class MakeFile:
    """Create a file with this text if there is none. An existing file is not changed, whoever wrote it."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class AppendLine:
    """Append a plain line to the file, unless it has that line (`.git/info/exclude`)."""

    path: Path
    line: str


@dataclass(frozen=True, slots=True)
class RemoveFile:
    """Remove the file. For a symlink, remove the link and keep its target."""

    path: Path


Operation = PutLine | SwapLine | TakeLine | WriteFile | MakeFile | AppendLine | RemoveFile

Did = Literal["nothing", "put", "swapped", "taken", "written", "appended", "removed"]


@dataclass(frozen=True, slots=True)
class Effect:
    """What an operation did to the file. It is "nothing" if the file was as wanted already: a line that a person wrote
    was not put by tacitd."""

    did: Did = "nothing"
    heading: str = ""
    """For a line that was taken or swapped, the heading that it was under."""


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
    """Decode an operation. Raises ValueError if this version does not know it, or a field is missing."""
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
    """`["taken", "Coding"]`, or `["put"]` without a heading."""
    return [effect.did, effect.heading] if effect.heading else [effect.did]


def effect_from_json(value: Any) -> Effect:
    """Decode an effect; "nothing" if this version does not know it."""
    match value:
        case [str(did), *rest] if did in _DIDS:
            return Effect(_DIDS[did], str(rest[0]) if rest else "")
        case _:
            return NOTHING


def apply_operation(operation: Operation, data: bytes | None) -> tuple[bytes | None, Effect]:
    """Given the file's bytes (None: no file), return the new bytes (None: remove the file) and the effect.

    Raises FileRefusedError if the file cannot be spliced.
    """
    after, effect = _apply(operation, data)
    return (data, NOTHING) if after == data else (after, effect)


def reversed_operation(operation: Operation, effect: Effect, title: str) -> Operation | None:
    """The operation that undoes this one's effect; None if there was no effect, or if it is not undone.

    Only bullets are undone: a generated file is generated again, and an exclude line is harmless. `title`: of the file,
    if the line must be put into a file that does not exist.
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
    wanted = markdown.clean_line(line).split()
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
        raise FileRefusedError("the text contains a lone surrogate, which UTF-8 cannot encode") from error
