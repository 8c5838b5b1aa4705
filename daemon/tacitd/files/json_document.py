"""A JSON object in a file that people and other programs also write: strict reading.

What the object means does not belong here: the caller brings its own check. No pydantic, because a session's start imports this.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tacitd.errors import FileRefusedError
from tacitd.files.atomic import read_snapshot
from tacitd.files.disk import DISK

_BOM = b"\xef\xbb\xbf"

Json = dict[str, Any]


class NotUnderstoodError(FileRefusedError):
    """A file that is not the expected document. It is left as it is."""


def read_document(path: Path) -> Json | None:
    """Return the object in a file; None if there is no file.

    Raises OSError, and NotUnderstoodError with path and reason if the file is empty, not UTF-8, not JSON, not an object, or has a key
    twice, as one that an editor is just writing.
    """
    seen = read_snapshot(DISK.resolve(path))
    return None if seen is None else _parse(seen.data, path)


def _parse(data: bytes, path: Path) -> Json:

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
