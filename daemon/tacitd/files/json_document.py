"""A JSON object in a file that people and other programs also write: strict reading.

What the object means does not belong here: the caller brings its own check. No pydantic, because a session's start imports this.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from tacitd.errors import FileRefusedError
from tacitd.files.atomic import read_snapshot
from tacitd.files.disk import DISK

PATIENCE = 2.0
"""Seconds for which a file that is empty or incomplete is read again, because another program may be writing it."""
_BETWEEN = 0.02
"""Seconds between two tries."""
_BOM = b"\xef\xbb\xbf"

Json = dict[str, Any]


class NotUnderstoodError(FileRefusedError):
    """A file that is not the expected document. It is left as it is."""


def read_document(path: Path, *, patient: bool = True) -> Json | None:
    """Return the object in a file; None if there is no file. Raises OSError, and NotUnderstoodError with path and reason.

    A file that is not understood may be one that an editor is writing now. With `patient` it is read again for up to two seconds.
    """
    last = time.monotonic() + (PATIENCE if patient else 0.0)
    while True:
        seen = read_snapshot(DISK.resolve(path))
        try:
            return None if seen is None else parse_document(seen.data, path)
        except NotUnderstoodError:
            if time.monotonic() >= last:
                raise
        time.sleep(_BETWEEN)


def parse_document(data: bytes, path: Path) -> Json:
    """Given a file's bytes, return the object. `path` is for messages.

    Raises NotUnderstoodError if they are empty, not UTF-8, not JSON, not an object, or have a key twice.
    """

    def pairs(found: list[tuple[str, Any]]) -> Json:
        made = dict(found)
        if len(made) != len(found):
            raise ValueError(f"a key occurs twice in {', '.join(made)}")
        return made

    def constant(name: str) -> Any:
        raise ValueError(f"{name} is not allowed in JSON")

    hint = "correct it by hand, or move it away"
    if not data.strip():
        raise NotUnderstoodError(f"{path} is empty", "write `{}` into it, or remove it")
    try:
        text = data.removeprefix(_BOM).decode("utf-8")
        made = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise NotUnderstoodError(f"{path} is not JSON: {error}", hint) from None
    if not isinstance(made, dict):
        raise NotUnderstoodError(f"{path} does not contain a JSON object", hint)
    return made
