"""When the lines of open sessions will come: rows for the status document, and one line for a person.

Lines are made at a session's end. Only sessions with words that may become lines are named. Nothing heavy is imported
here, because `tacitd status` uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tacitd.clock import local_date, parse_utc, utc_seconds
from tacitd.events import Project

if TYPE_CHECKING:
    from pathlib import Path

    from tacitd.engine import Engine


def open_sessions(engine: Engine, learns_in: Callable[[Project], bool]) -> list[dict[str, Any]]:
    """Return a row for each open session whose lines are still to come, soonest first. Engine thread.

    A row is `{"session","project","lines_about"}`; the time is ISO 8601, UTC. `learns_in` says whether lines are written
    in a project at all.
    """
    rows = []
    for ending in engine.sessions.endings():
        if not _has_words(engine, ending.path):
            continue
        project = engine.project_of(ending.cwd)
        if isinstance(project, Project) and learns_in(project):
            about = utc_seconds(ending.at)
            rows.append({"session": ending.session, "project": str(project.root), "lines_about": about})
    return rows


def _has_words(engine: Engine, path: Path) -> bool:
    """Whether a handler that asks the model has words of this transcript whose session did not end yet."""
    for consumer in engine.consumers.values():
        stream = consumer.streams.get(path)
        if stream is None or not consumer.slice.pays:
            continue
        if stream.unended or engine.tails.waiting(path, stream.offset):
            return True
    return False


def describe_sessions(rows: Sequence[Mapping[str, Any]], now: float) -> str:
    """Given the rows and the time (seconds since 1970), return one line in local time: `2 sessions: lines about 21:39 to
    22:05`; "" if there are none."""
    times = sorted(at for row in rows if (at := parse_utc(row.get("lines_about"))) is not None)
    if not times:
        return ""
    first, last = (_local(at, now) for at in (times[0], times[-1]))
    when = first if first == last else f"{first} to {last}"
    return f"{len(rows)} session{'s' if len(rows) > 1 else ''}: lines about {when}"


def _local(at: float, now: float) -> str:
    """The minute; with its date where that is not today's."""
    minute = datetime.fromtimestamp(at).strftime("%H:%M")
    return minute if local_date(at) == local_date(now) else f"{local_date(at)} {minute}"
