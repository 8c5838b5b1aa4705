"""The file of the handled prompts beside a handler's log: sorted digests that are looked up where they are.

A year has 100,000 prompts, and each handler knows each of them. A compaction moves them from the log into `handled.bin`:
one line of JSON with the name, the width and the bytes of each table of `SeenPrompts`, and then their entries.
The file is written before the log that no longer has them, so a crash between leaves them in both.
"""

from __future__ import annotations

import json
import mmap
from pathlib import Path
from typing import Annotated

import msgspec

from tacitd.files.disk import Disk
from tacitd.files.replaced import write_file
from tacitd.sources.dedupe import SeenPrompts

HANDLED = "handled.bin"
FORM = 1
_Size = Annotated[int, msgspec.Meta(ge=0)]


class _Head(msgspec.Struct):
    """The first line: by table, the width and the bytes of its entries."""

    form: int
    tables: dict[str, tuple[_Size, _Size]]


_decode_head = msgspec.json.Decoder(_Head).decode


def write_handled(path: Path, seen: SeenPrompts, disk: Disk | None = None) -> None:
    """Write all prompts of `seen` into the file, and look them up there from now on. Raises OSError."""
    parts = {name: table.dump_entries() for name, table in seen.tables.items()}
    head = {name: [table.width, len(parts[name])] for name, table in seen.tables.items()}
    line = json.dumps({"form": FORM, "tables": head}).encode() + b"\n"
    write_file(path, [line, *parts.values()], 0o600, disk)
    load_handled(path, seen)


def load_handled(path: Path, seen: SeenPrompts) -> bool:
    """Have these prompts looked up in the file, and forget others. Returns whether there is one. Raises OSError, ValueError."""
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        return False
    begin = mapped.find(b"\n") + 1
    head = _decode_head(mapped[:begin])
    if head.form != FORM:
        raise ValueError(f"{path} has another form")
    whole, tables = memoryview(mapped), seen.tables
    if begin + sum(size for _, size in head.tables.values()) != len(whole):
        raise ValueError(f"{path} is not whole")
    for name, (width, size) in head.tables.items():
        if name in tables and width == tables[name].width:
            tables[name].attach_base(whole[begin : begin + size])
        begin += size
    return True
