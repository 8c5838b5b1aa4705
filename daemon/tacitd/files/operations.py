"""What a transaction can do to one file: one class for each operation, from bytes to bytes. Pure.

An operation describes a wanted result ("this line under that heading"), never an image of the file. So finishing it
after a crash cannot overwrite what a person changed meanwhile, and an old one can be undone after newer ones. Each is
idempotent (S-29): applied to its own result it does nothing. Opening files, order and durability are in transaction.py.

A new operation is a subclass of `Operation` in `_CLASSES`; nothing else lists the operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

from msgspec import Struct

from tacitd.errors import FileRefusedError
from tacitd.text import markdown
from tacitd.text.hashes import sha256
from tacitd.text.markdown_text import normalise_heading

Did = Literal["nothing", "put", "swapped", "taken", "written", "appended", "removed"]
_DIDS: dict[str, Did] = {did: did for did in get_args(Did)}


class Effect(Struct, frozen=True):
    """What an operation did to the file. It is "nothing" if the file was as wanted already: a line that a person wrote
    was not put by tacitd."""

    did: Did = "nothing"
    heading: str = ""
    """For a line that was taken or swapped, the heading that it was under; for one that was put, the heading that was made
    for it, "" if the file had it."""

    def to_record(self) -> list[str]:
        """`["taken", "Coding"]`, or `["put"]` without a heading."""
        return [self.did, self.heading] if self.heading else [self.did]


NOTHING = Effect()


class ChangedLines(Struct, frozen=True):
    """The bullets that an operation added and removed. None: there is none."""

    put: str | None = None
    taken: str | None = None


class Operation(Struct, frozen=True):
    """One change of one file. All fields except `path` are text, and all are recorded."""

    name: ClassVar[str]
    """The operation's name in the history log."""
    best_effort: ClassVar[bool] = False
    """Whether a transaction goes on without it if its file cannot be changed now."""

    path: Path

    def apply(self, data: bytes | None) -> tuple[bytes | None, Effect]:
        """Given the file's bytes (None: no file), return the new bytes (None: remove the file) and the effect.

        Raises FileRefusedError if the file cannot be changed as it is.
        """
        after, effect = self._change(data)
        return (data, NOTHING) if after == data else (after, effect)

    def reverse(self, effect: Effect, title: str) -> Operation | None:
        """The operation that undoes this one's effect; None if there was no effect, or if it is not undone.

        Only bullets are undone: a generated file is generated again, and an exclude line is harmless. `title`: of the
        file, if the line must be put into a file that does not exist.
        """
        return None

    def find_changed_lines(self, effect: Effect) -> ChangedLines:
        """The bullets that the effect added and removed."""
        return ChangedLines()

    def to_record(self) -> dict[str, str]:
        """`{"op": "put", "path": "/…/LEARNED.md", "heading": …, "line": …, "title": …}`, without fields at their default."""
        defaults = self._list_defaults()
        values = {name: str(getattr(self, name)) for name in self.__struct_fields__}
        return {
            "op": self.name,
            **{name: text for name, text in values.items() if text != defaults.get(name)},
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Decode the fields. Raises ValueError if one is missing."""
        values: dict[str, Any] = {}
        defaults = cls._list_defaults()
        for field in cls.__struct_fields__:
            value = record.get(field, defaults.get(field))
            if not isinstance(value, str):
                raise ValueError(f"operation {cls.name!r} without a {field}")
            values[field] = share_path(value) if field == "path" else value
        return cls(**values)

    @classmethod
    def _list_defaults(cls) -> dict[str, Any]:
        """The fields that a record need not contain, with their defaults."""
        names, defaults = cls.__struct_fields__, cls.__struct_defaults__
        return dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))

    def _change(self, data: bytes | None) -> tuple[bytes | None, Effect]:
        """As `apply`; the effect is only valid if the bytes differ. Each operation has its own."""
        raise NotImplementedError


class LineOperation(Operation, frozen=True):
    """An operation on the lines of a Markdown file that people edit too."""


class PutLine(LineOperation, frozen=True):
    """Add the bullet `line` under `## heading`. A missing file is created with `# title`."""

    name = "put"

    heading: str
    line: str
    title: str
    later: str = ""
    """The headings that come after this one, one on each line, so that a new section gets its place."""

    def reverse(self, effect: Effect, title: str) -> Operation | None:
        return TakeLine(self.path, self.line, effect.heading) if effect.did == "put" else None

    def find_changed_lines(self, effect: Effect) -> ChangedLines:
        return ChangedLines(put=self.line) if effect.did == "put" else ChangedLines()

    def _change(self, data: bytes | None) -> tuple[bytes | None, Effect]:
        made = _made_heading(data, self.heading)
        after = markdown.put_line(data, self.heading, self.line, self.title, self.later.splitlines())
        return after, Effect("put", made)


class SwapLine(LineOperation, frozen=True):
    """Replace the bullet `old` with `new`; if there is no `old`, as PutLine."""

    name = "swap"

    old: str
    new: str
    heading: str
    title: str

    def reverse(self, effect: Effect, title: str) -> Operation | None:
        match effect.did:
            case "put":
                return TakeLine(self.path, self.new, effect.heading)
            case "swapped":
                return SwapLine(self.path, self.new, self.old, self.heading, self.title)
            case _:
                return None

    def find_changed_lines(self, effect: Effect) -> ChangedLines:
        match effect.did:
            case "put":
                return ChangedLines(put=self.new)
            case "swapped":
                return ChangedLines(put=self.new, taken=self.old)
            case _:
                return ChangedLines()

    def _change(self, data: bytes | None) -> tuple[bytes | None, Effect]:
        if data is not None:
            heading = _heading_of(data, self.old)
            after, found = markdown.swap_line(data, self.old, self.new)
            if found:
                return after, Effect("swapped", heading)
        made = _made_heading(data, self.heading)
        return markdown.put_line(data, self.heading, self.new, self.title), Effect("put", made)


class TakeLine(LineOperation, frozen=True):
    """Remove the bullet `line`, and the heading `section` if nothing is left below it."""

    name = "take"

    line: str
    section: str = ""

    def reverse(self, effect: Effect, title: str) -> Operation | None:
        if effect.did != "taken":
            return None
        return PutLine(self.path, effect.heading or "General", self.line, title)

    def find_changed_lines(self, effect: Effect) -> ChangedLines:
        return ChangedLines(taken=self.line) if effect.did == "taken" else ChangedLines()

    def _change(self, data: bytes | None) -> tuple[bytes | None, Effect]:
        after, (effect,) = _take_all([self], data)
        return after, effect


class WriteFile(Operation, frozen=True):
    """Set the whole content of a generated file that only tacitd writes."""

    name = "write"

    text: str

    def _change(self, data: bytes | None) -> tuple[bytes | None, Effect]:
        return _encoded(self.text), Effect("written")


class MakeFile(Operation, frozen=True):
    """Create a file with this text if there is none. An existing file is not changed, whoever wrote it."""

    name = "make"

    text: str

    def _change(self, data: bytes | None) -> tuple[bytes | None, Effect]:
        return _encoded(self.text) if data is None else data, Effect("written")


class AppendLine(Operation, frozen=True):
    """Append a plain line to the file, unless it has that line (`.git/info/exclude`)."""

    name = "append"

    line: str

    def _change(self, data: bytes | None) -> tuple[bytes | None, Effect]:
        return _append(data or b"", _encoded(self.line)), Effect("appended")


class RemoveFile(Operation, frozen=True):
    """Remove the file. For a symlink, remove the link and keep its target."""

    name = "remove"

    def _change(self, data: bytes | None) -> tuple[bytes | None, Effect]:
        return None, Effect("removed")


def digest_of(data: bytes | None) -> str:
    """The SHA-256 of a file's bytes in hexadecimal; "" if there is no file."""
    return "" if data is None else sha256(data).hexdigest()


class RewriteFile(Operation, frozen=True):
    """Set the content of a generated file if it is still the content that was seen, as `digest_of` returns it.

    A person's edit since then is kept: the operation has no effect.
    """

    name = "rewrite"
    best_effort = True

    text: str
    seen: str

    def _change(self, data: bytes | None) -> tuple[bytes | None, Effect]:
        return (_encoded(self.text), Effect("written")) if digest_of(data) == self.seen else (data, NOTHING)


class WithdrawFile(Operation, frozen=True):
    """Remove a generated file if it still has the content that was seen, as `digest_of` returns it."""

    name = "withdraw"
    best_effort = True

    seen: str

    def _change(self, data: bytes | None) -> tuple[bytes | None, Effect]:
        return (None, Effect("removed")) if digest_of(data) == self.seen else (data, NOTHING)


class AppendBlock(LineOperation, frozen=True):
    """Append lines of Markdown that are not bullets, after a blank line, unless the file has them."""

    name = "block"

    text: str

    def _change(self, data: bytes | None) -> tuple[bytes | None, Effect]:
        return markdown.append_block(data, self.text), Effect("appended")


_CLASSES: tuple[type[Operation], ...] = (
    PutLine,
    SwapLine,
    TakeLine,
    WriteFile,
    MakeFile,
    AppendLine,
    RemoveFile,
    RewriteFile,
    WithdrawFile,
    AppendBlock,
)
_BY_NAME: dict[str, type[Operation]] = {each.name: each for each in _CLASSES}


@lru_cache(4096)
def share_path(text: str) -> Path:
    """The path with this text, the same object each time: the records of a year name few paths, each many times."""
    return Path(text)


def group_by_file(operations: Sequence[Operation]) -> Iterator[tuple[Operation, ...]]:
    """The operations in order, in runs that change one file and can therefore be applied in one edit of it."""
    run: list[Operation] = []
    for each in operations:
        if run and (each.path != run[0].path or _is_alone(each) or _is_alone(run[0])):
            yield tuple(run)
            run = []
        run.append(each)
    if run:
        yield tuple(run)


def _is_alone(operation: Operation) -> bool:
    """Whether an operation is not applied in one edit with others."""
    return isinstance(operation, RemoveFile) or operation.best_effort


def apply_all(operations: Sequence[Operation], data: bytes | None) -> tuple[bytes | None, list[Effect]]:
    """Apply operations on one file one after the other; return its new bytes and the effect of each.

    Lines that are put or taken one after the other are spliced in one pass: otherwise each would parse the whole file
    again. Raises FileRefusedError if one of them is refused.
    """
    effects: list[Effect] = []
    for kind, run in groupby(operations, key=type):
        if kind is PutLine:
            puts = [each for each in run if isinstance(each, PutLine)]
            for title, same in groupby(puts, key=lambda each: each.title):
                run_of_puts = list(same)
                lines = [(each.heading, each.line) for each in run_of_puts]
                later = {each.heading: each.later.splitlines() for each in run_of_puts}
                known = set(markdown.list_headings(data))
                data, added = markdown.put_lines(data, lines, title, later)
                effects += _describe_puts(run_of_puts, added, known)
        elif kind is TakeLine:
            data, taken = _take_all([each for each in run if isinstance(each, TakeLine)], data)
            effects += taken
        else:
            for each in run:
                data, effect = each.apply(data)
                effects.append(effect)
    return data, effects


def _take_all(operations: Sequence[TakeLine], data: bytes | None) -> tuple[bytes | None, list[Effect]]:
    if data is None:
        return None, [NOTHING] * len(operations)
    lines, sections = [each.line for each in operations], [each.section for each in operations]
    after, headings = markdown.take_lines(data, lines, sections)
    return after, [NOTHING if heading is None else Effect("taken", heading) for heading in headings]


def _describe_puts(puts: Sequence[PutLine], added: Sequence[bool], known: set[str]) -> list[Effect]:
    """The effect of each put, given the headings that the file had before."""
    effects: list[Effect] = []
    for each, is_added in zip(puts, added, strict=True):
        is_new = normalise_heading(each.heading) not in known
        effects.append(Effect("put", each.heading if is_new else "") if is_added else NOTHING)
        if is_added:
            known.add(normalise_heading(each.heading))
    return effects


def _made_heading(data: bytes | None, heading: str) -> str:
    """The heading if the file does not have it, so that a line under it makes it; otherwise ""."""
    known = markdown.list_headings(data)
    return "" if normalise_heading(heading) in known else markdown.clean_line(heading)


def read_operation(record: Mapping[str, Any]) -> Operation:
    """Decode an operation. Raises ValueError if this version does not know it, or a field is missing."""
    kind = _BY_NAME.get(record.get("op", ""))
    if kind is None:
        raise ValueError(f"unknown operation {record.get('op')!r}")
    return kind.from_record(record)


def read_effect(value: Any) -> Effect:
    """Decode an effect; "nothing" if this version does not know it."""
    match value:
        case [str(did), *rest] if did in _DIDS:
            return Effect(_DIDS[did], str(rest[0]) if rest else "")
        case _:
            return NOTHING


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
