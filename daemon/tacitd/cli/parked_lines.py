"""The lines that `status`, `sync` and `run --once` print for parked work. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tacitd.clock import parse_utc
from tacitd.work.work_status import local_time

NAMED = 1
"""Work items with one reason that are named; more are counted."""


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


def _what(group: list[Mapping[str, Any]]) -> str:
    if len(group) <= NAMED:
        return ", ".join(str(row["what"]) for row in group)
    if all(str(row["what"]).startswith("prompts of session ") for row in group):
        return f"prompts of {len(group)} sessions"
    growth = all(str(row["what"]).startswith("growth of ") for row in group)
    return f"{len(group)} {'transcripts' if growth else 'work items'}"


def find_reasons(degraded: Iterable[Mapping[str, Any]], projects: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Given the rows of `degraded` in the status document, yield (what, hint) of those that name a file or directory of these
    projects. `projects`: roots."""
    named = [re.compile(rf"(?<![^\s('\"]){re.escape(root)}(?![^\s/:,;)'\"])") for root in projects]
    for row in degraded:
        if any(one.search(str(row["what"])) for one in named):
            yield str(row["what"]), str(row["hint"])
