"""The lines that `status`, `sync` and `run --once` print for parked and waiting work. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from tacitd.clock import parse_utc

NAMED = 1
"""Work items with one reason that are named; more are counted."""
LISTED = 3
"""Waiting projects that have a line each. Of more, so many are named and the others counted."""


def parked_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Given the rows of `parked` in the status document, yield (line, hint) for each handler and reason, in their order.

    If they wait for a time, the line names the earliest one, in local time.
    """
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["handler"], row["reason"], row["hint"]), []).append(row)
    for (handler, reason, hint), group in groups.items():
        times = sorted(at for row in group if (at := parse_utc(row.get("not_before"))) is not None)
        until = f", until {local_time(times[0])}" if times else ""
        yield f"{handler}: {_what(group)}: {reason}{until}", hint


def local_time(at: float) -> str:
    """Given seconds since 1970, return `2026-02-19 14:30`, local time."""
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")


def _what(group: list[Mapping[str, Any]]) -> str:
    if len(group) <= NAMED:
        return ", ".join(str(row["what"]) for row in group)
    growth = all(str(row["what"]).startswith("growth of ") for row in group)
    return f"{len(group)} {'transcripts' if growth else 'work items'}"


def waiting_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Given the rows of `waits` in the status document, yield a line for each; times are local.

    More than three rows of one handler that wait for the same thing become one line with their count.
    """
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
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
    """The earliest time of these rows in parentheses; "" if none has a time."""
    times = [time for row in rows if (time := parse_utc(row.get("at"))) is not None]
    return f" ({at} {local_time(min(times))}, if it stays idle until then)" if times else ""


def find_reasons(degraded: Iterable[Mapping[str, Any]], projects: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Given the rows of `degraded` in the status document, yield (what, hint) of those about these projects.

    A row is about a project if it names a file or directory in it. `projects`: roots.
    """
    roots = "|".join(re.escape(root) for root in projects)
    # Match a whole path only: `/app` is neither the end of `/old/app` nor the beginning of `/app2`.
    named = re.compile(rf"(?<![^\s:;,(`'\"])(?:{roots})(?=[/\s:;,)`'\"]|$)")
    for row in degraded:
        if roots and named.search(str(row["what"])):
            yield str(row["what"]), str(row["hint"])
