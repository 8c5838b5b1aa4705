"""Paths in JSON. On disk paths are bytes; JSON holds text."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path


def name_of(path: Path) -> str:
    """A path as JSON can hold it. Paths are bytes: one that is not UTF-8 is written byte by byte behind a NUL."""
    raw = os.fsencode(path)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return "\0" + raw.decode("latin-1")


@lru_cache(maxsize=1 << 16)
def path_of(name: str) -> Path:
    """The path that `name_of` wrote. One object for all who ask: each handler knows each transcript, and a path is large
    (10,000 transcripts, five handlers: 15 MB)."""
    return Path(os.fsdecode(name[1:].encode("latin-1")) if name.startswith("\0") else name)
