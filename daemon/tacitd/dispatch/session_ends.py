"""When the lines of open sessions will come: rows for the status document.

Lines are made at a session's end. Only sessions with prompts or facts that wait for it are named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tacitd.clock import utc_seconds
from tacitd.events import Project, SessionStarted

if TYPE_CHECKING:
    from pathlib import Path

    from tacitd.dispatch.work_item import WorkItem
    from tacitd.engine import Engine


def open_sessions(
    engine: Engine, learns_in: Callable[[Project], bool], waits: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return a row for each open session whose lines are still to come, soonest first. Engine thread.

    A row is `{"session","project","lines_about"}`; the time is ISO 8601, UTC. `learns_in` says whether lines are written
    in a project at all; `waits` are those rows of the status document. Paused and parked work is left out: the session's
    end alone brings no line of it.
    """
    gathered = {(str(row["handler"]), str(row["project"])) for row in waits}
    stopped = _index_parked(item for item, _ in engine.dispatcher.work_queue.list_parked())
    rows = []
    for ending in engine.sessions.list_endings():
        project = engine.project_of(ending.cwd)
        if not isinstance(project, Project) or not learns_in(project):
            continue
        if engine.pauses.find_pause(project.root, ending.session) is not None:
            continue
        names = {name for name, root in gathered if root == str(project.root)}
        if _awaits_end(engine, ending.path, names, stopped[ending.path] | stopped[project.root]):
            about = utc_seconds(ending.at)
            rows.append({"session": ending.session, "project": str(project.root), "lines_about": about})
    return rows


def _awaits_end(engine: Engine, path: Path, gathered: Collection[str], stopped: Collection[str]) -> bool:
    """Whether a handler that asks the model has something of this transcript that waits for its session's end only.

    `gathered`: the handlers with facts of the project that wait for the end of a session; `stopped`: those whose work about
    the transcript or its project is parked.
    """
    for name, consumer in engine.consumers.items():
        cursor = consumer.cursors.find_cursor(path)
        if cursor is None or not consumer.plugin.uses_model or name in stopped:
            continue
        if engine.pool.peek_prompts(path, cursor.offset) or (cursor.has_unhandled_end and name in gathered):
            return True
    return False


def _index_parked(parked: Iterable[WorkItem]) -> Mapping[Path, set[str]]:
    """The handlers with parked work by its transcript or, if it belongs to none, by the root of its project. Thousands of items
    may be parked while thousands of sessions are open."""
    found: defaultdict[Path, set[str]] = defaultdict(set)
    for item in parked:
        if isinstance(item.event, SessionStarted):
            continue  # it contains no prompts: `status` does not list it as parked either
        project = getattr(item.event, "project", None)
        if item.cursor is not None:
            found[item.cursor.path].add(item.consumer.name)
        elif isinstance(project, Project):
            found[project.root].add(item.consumer.name)
    return found
