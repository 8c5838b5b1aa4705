"""Facts that were extracted and are not written as lines yet, for a person who asks what was learned. Only reads files.

How many there are is in the handler's log. When they are written is in what the daemon told last; a fact that it does not name waits
for the end of its session.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from tacitd.clock import parse_utc
from tacitd.errors import TacitdError
from tacitd.text.plurals import count_noun
from tacitd_handlers.learning.state import LearningState

SYNC = "`tacitd sync --write` does it now"
END = "two minutes after its client has ended, or after `session.idle` without work"


def describe_waiting_facts(
    state: LearningState, roots: Iterable[Path], state_dir: Path, now: float
) -> Iterator[str]:
    """A line for each project with waiting facts: `1 fact waits, written about 21:39; …`. Times are local."""
    numbers = {root: sum(len(one.facts) for one in state.waiting.get(root, {}).values()) for root in roots}
    rows = read_waiting_rows(state_dir, now) if any(numbers.values()) else {}
    for root, number in numbers.items():
        if number:
            verb = "waits" if number == 1 else "wait"
            yield f"{count_noun(number, 'fact')} {verb}, {describe_writing(rows.get(str(root), {}), now)}"


def describe_writing(row: Mapping[str, Any], now: float) -> str:
    """When waiting facts are written, and the command that does it now.

    `row`: of `waits` in the status document, {} if there is none.
    """
    when = describe_time_of_writing(row, now)
    return when if row and not row.get("job") else f"{when}; {SYNC}"


def describe_time_of_writing(row: Mapping[str, Any], now: float) -> str:
    """When waiting facts are written, local: `written about 21:39`, `written when its session ends`."""
    until, at = str(row.get("until", "")), parse_utc(row.get("at"))
    if row and not row.get("job"):
        return f"not written before {until}"
    if at is not None and at > now:
        return f"written about {datetime.fromtimestamp(at).strftime('%H:%M')}"
    return f"written when {until or 'its session ends'}"


def describe_first_lines(roots: Iterable[Path], state_dir: Path, now: float) -> str:
    """When lines come in projects that have neither lines nor waiting facts: when the first of their sessions is expected to end."""
    names = {str(root) for root in roots}
    _, sessions = _read_rows(state_dir, now)
    rows = [row for row in sessions if row["project"] in names]
    times = [at for row in rows if (at := parse_utc(row.get("lines_about"))) is not None and at > now]
    if times:
        return f"lines come about {datetime.fromtimestamp(min(times)).strftime('%H:%M')}; {SYNC}"
    return f"lines come when a session ends: {END}"


def read_waiting_rows(state_dir: Path, now: float) -> dict[str, Mapping[str, Any]]:
    """The rows of `waits` of the learning handler in the status, by project; {} if the store cannot be read."""
    rows, _ = _read_rows(state_dir, now)
    return {str(row["project"]): row for row in rows if row["handler"] == "learning"}


def _read_rows(state_dir: Path, now: float) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    from tacitd.work.waiting_rows import read_stored_waits

    try:
        return read_stored_waits(state_dir, now)
    except TacitdError:
        return [], []
