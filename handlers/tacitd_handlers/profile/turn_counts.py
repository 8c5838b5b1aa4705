"""The format of `.processed_turns`: how many complete lines of each transcript the handler has read (SPEC P-27 to P-31).

One line for each session, `id:count`. It is published from the handler's positions for other programs; tacitd makes no
decision by it (SPEC X-05). Pure, except for `count`, which reads a transcript.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from tacitd.errors import FileRefusedError
from tacitd.sources.lines import open_transcript

NAME = ".processed_turns"
_CHUNK = 1 << 20


def parse_counts(text: str) -> dict[str, int]:
    """Return the counts by session id. Lines are split at the last colon (SPEC P-27); malformed ones are left out."""
    made: dict[str, int] = {}
    for line in text.splitlines():
        id, colon, count = line.rpartition(":")
        if colon and id and count.strip().isdecimal():
            made[id] = int(count)
    return made


def format_counts(counts: Mapping[str, int]) -> str:
    """Return the file's text. Empty ids, and ids with a newline, are left out."""
    return "".join(f"{id}:{count}\n" for id, count in counts.items() if id and "\n" not in id)


def merge_counts(before: Mapping[str, int], read: Mapping[str, int], there: Iterable[str]) -> dict[str, int]:
    """Return the file's next counts: the order stays, and new sessions come last.

    `read` has the new counts; `there` has the sessions whose transcript exists. Others are removed (SPEC P-31).
    """
    known = set(there)
    return {id: count for id, count in {**before, **read}.items() if id in known}


def count_lines(path: Path, upto: int, start: int = 0) -> int | None:
    """Return how many lines end between two byte offsets of a transcript; None if it is gone or shorter (P-28, P-29)."""
    try:
        fd = open_transcript(path)
    except (OSError, FileRefusedError):
        return None
    try:
        if os.fstat(fd).st_size < upto:
            return None
        found, at = 0, start
        while at < upto and (data := os.pread(fd, min(_CHUNK, upto - at), at)):
            found += data.count(b"\n")
            at += len(data)
        return found
    finally:
        os.close(fd)
