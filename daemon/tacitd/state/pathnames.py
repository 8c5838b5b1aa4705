"""Paths as JSON strings. A path is bytes on disk and may not be UTF-8; JSON has text only."""

from __future__ import annotations

import os
from pathlib import Path


def encode_path(path: Path) -> str:
    """The path as a string for JSON. If it is not UTF-8: a NUL, then each byte as the character of that number."""
    return encode_name(str(path))


def encode_name(name: str) -> str:
    """The same for a path in the form of `os.fsdecode`."""
    if name.isascii():  # most are, and there are thousands
        return name
    raw = os.fsencode(name)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return "\0" + raw.decode("latin-1")


def decode_path(name: str) -> Path:
    """The path that `encode_path` wrote."""
    return Path(decode_name(name))


def decode_name(name: str) -> str:
    """The same as `str(decode_path(name))`, without a Path, which is large. The inverse of `encode_name`."""
    return os.fsdecode(name[1:].encode("latin-1")) if name.startswith("\0") else name
