"""`.processed_turns`: how many complete lines of each transcript the profile's handler has read (SPEC P-27 to P-31).

One line for each session, `id:count`. Published from the handler's positions for programs that know this file; tacitd
itself never reads it to decide anything. Pure, but for counting the lines of a file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from tacitd.errors import FileRefusedError
from tacitd.transcripts.lines import open_transcript

NAME = ".processed_turns"
_CHUNK = 1 << 20


def parse(text: str) -> dict[str, int]:
    """The counts by session. Split at the last colon, ids compared whole; lines that are none are left out."""
    made: dict[str, int] = {}
    for line in text.splitlines():
        id, colon, count = line.rpartition(":")
        if colon and id and count.strip().isdecimal():
            made[id] = int(count)
    return made


def format(counts: Mapping[str, int]) -> str:
    """The file. Ids that would break a line are left out."""
    return "".join(f"{id}:{count}\n" for id, count in counts.items() if id and "\n" not in id)


def published(before: Mapping[str, int], read: Mapping[str, int], there: Iterable[str]) -> dict[str, int]:
    """What stands in the file next: the order stays, new sessions come last, and one whose transcript is gone goes."""
    known = set(there)
    return {id: count for id, count in {**before, **read}.items() if id in known}


def count(path: Path, upto: int, start: int = 0) -> int | None:
    """How many lines end between two offsets of a transcript; None where it is gone or shorter than that."""
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
