"""Facts that were heard and are not written as lines yet, for a person who asks what was learned.

When they are written is in what the daemon told last; a fact that it does not name waits for the end of its session.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacitd.clock import parse_utc
from tacitd.errors import TacitdError
from tacitd.text.wording import count_noun

if TYPE_CHECKING:
    from tacitd.contract import Rows

SYNC = "`tacitd sync --write` does it now"
END = "two minutes after its client has ended, or after `session.idle` without work"
_WAITING = """
SELECT p.root, count(*) FROM learning_fact f JOIN project p ON p.number = coalesce(f.project, f.heard_in)
WHERE f.state = 'waiting' GROUP BY p.root ORDER BY p.number
"""


def count_waiting_facts(rows: Rows) -> dict[str, int]:
    """How many facts wait, by the root of the project in which they were heard."""
    return dict(rows(_WAITING))


def list_waits(rows: Rows) -> Iterator[dict[str, str]]:
    """What waits for a synthesis: see `waits` of the status document. Facts of an excluded project wait for the person."""
    excluded = {
        root for (root,) in rows("SELECT name FROM choice WHERE scope = 'project' AND what = 'exclude'")
    }
    for root, number in count_waiting_facts(rows).items():
        is_off = root in excluded
        until = f"`tacitd exclude --undo {root}`" if is_off else "its session ends"
        what = count_noun(number, "fact")
        yield {"project": root, "what": what, "until": until, "job": "" if is_off else "synthesize"}


def describe_waiting_facts(rows: Rows, roots: Iterable[Path], state_dir: Path, now: float) -> Iterator[str]:
    """A line for each project with waiting facts: `1 fact waits, written about 21:39; …`. Times are local."""
    numbers = count_waiting_facts(rows)
    for root in roots:
        if number := numbers.get(str(root), 0):
            verb = "waits" if number == 1 else "wait"
            yield f"{count_noun(number, 'fact')} {verb}, {describe_writing(root, state_dir, now)}"


def describe_writing(root: Path | None, state_dir: Path, now: float) -> str:
    """When the waiting facts of a project are written, and the command that does it now."""
    row = _read_waiting_rows(state_dir, now).get(str(root), {})
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


def _read_waiting_rows(state_dir: Path, now: float) -> dict[str, Mapping[str, Any]]:
    """The rows of `waits` of learning in the status, by project; {} if the store cannot be read."""
    rows, _ = _read_rows(state_dir, now)
    return {str(row["project"]): row for row in rows if row["handler"] == "learning"}


def _read_rows(state_dir: Path, now: float) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of `waits` and of `sessions` of the status."""
    from tacitd.work.work_status import read_stored_waits

    try:
        return read_stored_waits(
            state_dir, now, "learning", lambda rows, _: {"waits": list(list_waits(rows))}
        )
    except TacitdError:
        return [], []
