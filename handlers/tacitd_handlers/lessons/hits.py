"""How often lessons are loaded: one line in hits.jsonl for each load, apart from the log (SPEC: hit counts).

Writing is light, because it happens in every `lesson load`; so it is the one place where a line is appended without
`tacitd.files.Log`, whose import takes longer than the whole load. The line has the log's own form (one write, under
the file's lock, after a newline where the last line was torn), but is not synced: it is a count, not somebody's words.
A count that cannot be written is not counted, and the load goes on.
"""

# pathlib takes longer to import than the lessons take to load.
# ruff: noqa: PTH102, PTH112, PTH120

from __future__ import annotations

import os

from tacitd_handlers.lessons.loading import numbers, ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

COMPACT_AT = 1 << 20
"""Bytes of hits.jsonl from which the daemon folds it into one record."""


def count(path: str, at: float, ids: list[str], via: str) -> bool:
    """Note that these lessons were loaded at `at` (seconds since 1970, UTC), by `via`: load, validate, execute or
    context. False: it could not be written."""
    if not ids:
        return True
    line = f'{{"at":{int(at)},"via":"{via}","ids":"{ranges(ids)}"}}\n'.encode()
    try:
        fd = _opened(path)
    except OSError:
        return False
    try:
        return _append(fd, line)
    except OSError:
        return False
    finally:
        os.close(fd)


def _opened(path: str) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        _made(os.path.dirname(path))
        return os.open(path, flags, 0o600)


def _made(directory: str) -> None:
    """The directory and those above it that are missing, 0700 each."""
    if directory and not os.path.isdir(directory):
        _made(os.path.dirname(directory))
        try:
            os.mkdir(directory, 0o700)
        except FileExistsError:
            return


def _append(fd: int, line: bytes) -> bool:
    import fcntl

    fcntl.flock(fd, fcntl.LOCK_EX)
    size = os.fstat(fd).st_size
    torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
    data = b"\n" + line if torn else line
    return os.write(fd, data) == len(data)


def totals(records: Iterable[Mapping[str, Any]]) -> tuple[dict[int, tuple[int, float]], float | None]:
    """Given the records, return how often and when last each number was loaded, and since when is counted (None: never).

    Times are seconds since 1970, UTC. Records that are not ours are passed over.
    """
    counted: dict[int, tuple[int, float]] = {}
    since: float | None = None
    for record in records:
        at = record.get("since", record.get("at"))
        if not isinstance(at, int | float):
            continue
        since = at if since is None else min(since, at)
        for number, times, last in _hits(record):
            before, when = counted.get(number, (0, 0.0))
            counted[number] = (before + times, max(when, last))
    return counted, since


def compacted(records: Iterable[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    """The same totals as one record."""
    counted, since = totals(records)
    if since is not None:
        yield {"since": since, "totals": {str(n): [times, last] for n, (times, last) in counted.items()}}


def _hits(record: Mapping[str, Any]) -> Iterable[tuple[int, int, float]]:
    if isinstance(record.get("ids"), str):
        yield from ((number, 1, float(record["at"])) for number in numbers(record["ids"]))
    elif isinstance(record.get("totals"), dict):
        for name, value in record["totals"].items():
            if name.isdigit() and isinstance(value, list) and len(value) == 2:
                yield int(name), int(value[0]), float(value[1])
