"""What waits for the end of a session or for another job that comes by itself, as lines for a person. Pure.

`status`, `sync`, `scan` and the banner of `run` use the same form. Nothing heavy is imported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from tacitd.clock import parse_utc

LISTED = 3
"""Projects that have a line each; of more, so many are named and the others counted."""
ENDS = "its session ends"


def describe_waiting(
    waits: Iterable[Mapping[str, Any]], sessions: Iterable[Mapping[str, Any]] = ()
) -> Iterator[str]:
    """Given the rows of `waits` and `sessions` in the status document, yield a line for each project; times are local.

    Open sessions are named where nothing else of their project waits: a row of `waits` has the time already. More than
    three projects of one handler that wait for the same are one line with their count.
    """
    rows = list(waits)
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in (*rows, *_of_sessions(sessions, {str(row["project"]) for row in rows})):
        groups.setdefault((str(row.get("handler", "")), row["until"]), []).append(row)
    for (_, until), group in groups.items():
        if len(group) > LISTED:
            yield _describe_many(group, until)
            continue
        for row in group:
            yield f"{row['what']} in {row['project']}: until {until}{_when([row], 'at')}"


def _describe_many(group: list[Mapping[str, Any]], until: str) -> str:
    named = ", ".join(f"{row['what']} in {row['project']}" for row in group[:LISTED])
    counted = f"{len(group)} projects, each until {until}: {named} and {len(group) - LISTED} more"
    return counted + _when(group, "the first at")


def _when(rows: Iterable[Mapping[str, Any]], at: str) -> str:
    """The earliest time of these rows in brackets; "" if none has a time."""
    times = [time for row in rows if (time := parse_utc(row.get("at"))) is not None]
    return f" ({at} {local_time(min(times))}, if it stays idle until then)" if times else ""


def _of_sessions(rows: Iterable[Mapping[str, Any]], named: Collection[str]) -> Iterator[dict[str, Any]]:
    """Rows like those of `waits` for the projects of open sessions, without the projects that are named already."""
    times: dict[str, list[str]] = {}
    for row in rows:
        root, about = str(row.get("project", "")), row.get("lines_about")
        if root not in named and parse_utc(about) is not None:  # another version's row may be odd
            times.setdefault(root, []).append(str(about))
    for root, found in times.items():
        what = f"prompts of {len(found)} session{'s' if len(found) > 1 else ''}"
        first = min(found, key=lambda about: parse_utc(about) or 0.0)
        yield {"handler": "", "project": root, "what": what, "until": ENDS, "at": first}


def local_time(at: float) -> str:
    """Given seconds since 1970, return `2026-02-19 14:30`, local."""
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")
