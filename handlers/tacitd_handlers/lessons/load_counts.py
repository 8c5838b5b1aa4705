"""The counts of loads: one line in hits.jsonl for each load, apart from the log of lessons.

`lesson load` writes it each time, so this is the only module that appends without `tacitd.files.Log`, whose import
takes longer than the whole load. The format is that of the log: one write under the file's lock, after a newline if
the last line is torn. It is not synced, because it is only a count. If it cannot be written, the load continues.
"""

# pathlib takes longer to import than the lessons take to load.
# ruff: noqa: PTH102, PTH112, PTH120

from __future__ import annotations

import os

from tacitd_handlers.lessons.load_output import format_ranges, parse_ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

COMPACT_AT = 1 << 20
"""Bytes of hits.jsonl above which the daemon compacts it to one record."""


def record_load(path: str, at: float, ids: list[str], via: str) -> bool:
    """Note that these lessons were loaded. Returns False if it could not be written.

    `at`: seconds since 1970, UTC. `via`: load, validate, execute or context.
    """
    if not ids:
        return True
    line = f'{{"at":{int(at)},"via":"{via}","ids":"{format_ranges(ids)}"}}\n'.encode()
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
    """Create the directory and its missing parents, each with mode 0700."""
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


def sum_loads(records: Iterable[Mapping[str, Any]]) -> tuple[dict[int, tuple[int, float]], float | None]:
    """By number: how often and when a lesson was last loaded; and since when loads are counted (None: never).

    Times are seconds since 1970, UTC. Foreign records are skipped.
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


def compact_loads(records: Iterable[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    """The same totals as one record."""
    counted, since = sum_loads(records)
    if since is not None:
        yield {"since": since, "totals": {str(n): [times, last] for n, (times, last) in counted.items()}}


def _hits(record: Mapping[str, Any]) -> Iterable[tuple[int, int, float]]:
    if isinstance(record.get("ids"), str):
        yield from ((number, 1, float(record["at"])) for number in parse_ranges(record["ids"]))
    elif isinstance(record.get("totals"), dict):
        for name, value in record["totals"].items():
            if name.isdigit() and isinstance(value, list) and len(value) == 2:
                yield int(name), int(value[0]), float(value[1])
