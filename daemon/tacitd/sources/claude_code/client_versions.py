"""Which versions of Claude Code wrote the newest transcripts, in which directories, and whether a program drove them.

Only the end of a transcript is read: a client adds its version to each record, and what counts is the client that wrote
last.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from heapq import nlargest
from pathlib import Path

from tacitd.sources.base import ClientUse
from tacitd.sources.claude_code.prompts import is_headless
from tacitd.sources.claude_code.records import TranscriptLine, decode_damaged
from tacitd.sources.listing import IsTranscript

TAIL = 65536
"""Bytes that are read at the end of a transcript."""
MOST = 100
"""Transcripts that are read, the newest."""


def list_clients(roots: Iterable[Path], is_transcript: IsTranscript, since: float) -> list[ClientUse]:
    """Who wrote last in the transcripts of the projects' folders below `roots` that changed after `since` (seconds since
    1970, UTC), the newest first.

    A transcript that cannot be read, or whose end names no version, is left out. So is a folder that cannot be listed.
    """
    folders = (entry for root in roots for entry in _list_entries(root) if _is_folder(entry))
    changed = (
        (at, entry.path)
        for folder in folders
        for entry in _list_entries(folder.path)
        if is_transcript(entry.path) and (at := _changed_at(entry)) > since
    )
    return [use for at, path in nlargest(MOST, changed) if (use := _read_last_use(path, at)) is not None]


def _list_entries(folder: Path | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:  # it is examined if the listing does not say what it is
        return False


def _changed_at(entry: os.DirEntry[str]) -> float:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return 0.0
    return found.st_mtime if stat.S_ISREG(found.st_mode) else 0.0


def _read_last_use(path: str, at: float) -> ClientUse | None:
    version, cwd, headless = "", "", None
    for line in _read_records_backwards(path):
        version = version or line.version or ""
        cwd = cwd or line.cwd or ""
        headless = is_headless(line) if headless is None else headless
        if version and cwd and headless is not None:
            break
    return ClientUse(version, cwd, bool(headless), at) if version else None


def _read_records_backwards(path: str) -> Iterator[TranscriptLine]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    try:
        size = os.fstat(descriptor).st_size
        data = os.pread(descriptor, TAIL, max(0, size - TAIL))
    except OSError:
        return
    finally:
        os.close(descriptor)
    for raw in reversed(data.split(b"\n")):
        if raw.startswith(b"{") and (line := decode_damaged(raw)) is not None:
            yield line
