"""What waits for a session's end: rows of the status document, which commands of plugins read too. Nothing heavy is imported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tacitd.clock import utc_seconds
from tacitd.state.settings_in_force import SettingsInForce
from tacitd.store import open_readonly
from tacitd.work.daemon_note import DaemonNote, Rows, read_note
from tacitd.work.project_rows import Choices, read_choices

Ending = tuple[str, str, float, str]
"""An open session, the root of its project, when it ends if nothing more happens (seconds since 1970, UTC), and its client."""


def read_stored_waits(
    state_dir: Path, now: float, plugin: str, find_part: Callable[[Rows, float], Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of `waits` of a plugin, of which `find_part` is its part of the status, and those of `sessions`. Raises TacitdError."""
    store = open_readonly(state_dir)
    if store is None:
        return [], []
    with store:
        rows, note = store.rows, read_note(store.rows)
        if note is None:
            return [], []
        settings = SettingsInForce(rows)
        endings = list_endings(rows, note, settings, now)
        waits = list(list_waits({plugin: find_part(rows, now)}, endings))
        choices = read_choices(store.rows, settings.get("projects", "write", "local"), now)
        return waits, list_sessions(rows, note.payers, endings, waits, choices)


def list_endings(rows: Rows, note: DaemonNote, settings: SettingsInForce, now: float) -> list[Ending]:
    """The open sessions, by the time at which each ends: soonest first."""
    idle = settings.get("session", "idle", 0.0)
    found = rows(
        "SELECT s.id, r.root, s.last, s.source FROM session s JOIN project r ON r.number = s.project WHERE s.ended IS NULL"
    )
    endings = [
        (id, root, max(now, note.ends.get(id, last + idle)), source) for id, root, last, source in found
    ]
    return sorted(endings, key=lambda one: (one[2], one[0]))


def list_waits(slices: Mapping[str, Any], endings: Iterable[Ending]) -> Iterator[dict[str, Any]]:
    """What plugins have gathered for a later job, and when that job is due because the project's sessions are idle."""
    quiet = {root: at for _, root, at, _ in endings}  # the latest of each project: they are sorted
    for name, said in slices.items():
        waits = said.get("waits")
        for one in waits if isinstance(waits, list) else ():
            if not isinstance(one, Mapping):
                continue
            root = str(one.get("project", ""))
            rest = {key: str(one.get(key, "")) for key in ("what", "until", "job")}
            at = utc_seconds(quiet[root]) if root in quiet else None
            yield {"handler": name, "project": root, **rest, "at": at}


def list_sessions(
    rows: Rows,
    payers: Sequence[str],
    endings: Iterable[Ending],
    waits: Iterable[Mapping[str, Any]],
    choices: Choices,
) -> list[dict[str, Any]]:
    """The open sessions whose lines are not written yet, soonest first. `payers`: the plugins that ask the model about prompts.

    Paused and parked work is left out: the session's end alone brings no line of it.
    """
    gathered = {(str(row["handler"]), str(row["project"])) for row in waits}
    found = list[dict[str, Any]]()
    for session, root, at, source in endings:
        if choices.is_paused(root, session) or choices.modes.get(root, choices.default_mode) == "off":
            continue
        waiting, parked = _find_waiting(rows, session, root)
        if any(name not in parked and (waiting.get(name) or (name, root) in gathered) for name in payers):
            about = {"session": session, "source": source, "project": root}
            found.append(about | {"lines_about": utc_seconds(at)})
    return found


def _find_waiting(rows: Rows, session: str, root: str) -> tuple[dict[str, int], set[str]]:
    """How many prompts of a session wait by plugin, and the plugins with parked work about it or its project."""
    waiting: dict[str, int] = dict(
        rows(
            "SELECT t.plugin, count(*) FROM prompt p JOIN prompt_task t ON t.prompt = p.number "
            "WHERE p.session = ? AND t.state = 'waiting' GROUP BY t.plugin",
            session,
        )
    )
    parked = rows(
        "SELECT DISTINCT plugin FROM task WHERE reason <> '' AND kind <> 'session-started' AND "
        "(session = ? OR project = (SELECT number FROM project WHERE root = ?))",
        session,
        root,
    )
    return waiting, {plugin for (plugin,) in parked}
