"""Paths as JSON strings. A path is bytes on disk and may not be UTF-8; JSON has text only."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path


def encode_path(path: Path) -> str:
    """The path as a string for JSON. If it is not UTF-8: a NUL, then each byte as the character of that number."""
    raw = os.fsencode(path)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return "\0" + raw.decode("latin-1")


@lru_cache(maxsize=1 << 16)
def decode_path(name: str) -> Path:
    """The path that `encode_path` wrote.

    Cached, so that all callers share one object: each handler knows each transcript, and a Path is large (15 MB for
    10,000 transcripts and five handlers).
    """
    return Path(os.fsdecode(name[1:].encode("latin-1")) if name.startswith("\0") else name)
