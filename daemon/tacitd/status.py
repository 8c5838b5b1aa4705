"""The status document: what tacitd does, waits for, learned and spent, and what is wrong, as data. Its form on a terminal belongs in
`cli/status_command.py`.

It is made of SELECTs, by whoever asks: the command, with and without a daemon, and the daemon itself. What only the daemon knows is a
row that its loop writes (`work/work_status.py`). The document is a contract, described in docs/socket.md: `schema` is increased if a
field changes its meaning. Times are ISO 8601, UTC.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from tacitd import __version__
from tacitd.clock import utc_seconds
from tacitd.errors import TacitdError
from tacitd.handler import Degradation, load_hook
from tacitd.model.budget import list_running, read_spending
from tacitd.model.call_caps import check_caps
from tacitd.model.port import ModelHealth
from tacitd.state.settings_in_force import SettingsInForce
from tacitd.store import open_readonly
from tacitd.text.wording import format_dollars
from tacitd.work import work_status
from tacitd.work.activities import summarise_learned
from tacitd.work.project_rows import Choices, read_choices
from tacitd.work.stored_problems import list_stored_problems, list_unfinished
from tacitd.work.work_status import DaemonNote, list_endings, list_sessions, list_waits, read_note

if TYPE_CHECKING:
    from tacitd.app import App
    from tacitd.contract import Rows
    from tacitd.plugin import PluginSpec

SCHEMA = 1


def read_status(
    rows: Rows,
    plugins: Iterable[PluginSpec],
    now: float,
    *,
    pid: int | None = None,
    problem: Degradation | None = None,
    note: DaemonNote | None = None,
) -> dict[str, Any]:
    """The whole document at `now`, seconds since 1970, UTC.

    `pid`: the process of the daemon, if it answers. `problem`: why it cannot write the store, so that no row says it. `note`: what the
    daemon says of itself if the store is new and has no note yet.
    """
    note = read_note(rows) or note
    if note is None:
        return _describe_unknown(pid, problem)
    runs, settings = pid is not None, SettingsInForce(rows)
    choices = read_choices(rows, settings.get("projects", "write", "local"), now)
    slices, silent = _read_parts(rows, plugins, note, now)
    endings = list_endings(rows, note, settings, now)
    waits = list(list_waits(slices, endings))
    rescued = work_status.count_rescued(rows)
    paused = [{"scope": scope, "name": name} for scope, name in work_status.list_pauses(rows)]
    problems = [*([problem] if problem is not None else ()), *list_stored_problems(rows, note.plugins, now)]
    is_paused = any(pause["scope"] == "all" for pause in paused)
    calls = list_running(rows, now)
    return {
        "schema": SCHEMA,
        "running": runs,
        "version": note.version,
        "pid": pid,
        "since": utc_seconds(note.since),
        "as_of": utc_seconds(now if runs else note.passed),
        "state": "stopped" if not runs else "paused" if is_paused else "running",
        "paused": paused,
        "watching": _watching(rows, note, len(settings.get("projects", "exclude", []))),
        "model": {"program": note.program or None, "children": len(calls)},
        "budget": _budget(rows, settings, now),
        "calls": [
            {"purpose": one.purpose, "project": one.project, "since": utc_seconds(one.since)} for one in calls
        ],
        "learned": summarise_learned(rows, now),
        "handlers": {name: _handler(rows, note, name, now) for name in note.plugins},
        "waits": waits,
        "parked": [*_stopped(note, problem), *_unwritten(rows, now), *_parked(rows, note, choices, now)],
        "dead_letters": sum(n for _, _, n in rescued),
        "rescued": sum(n for _, _, n in rescued),
        "rescued_by_reason": [{"handler": name, "reason": why, "texts": n} for name, why, n in rescued],
        "degraded": [asdict(one) for one in [*problems, *silent]],
        "slices": slices,
        "sessions": list_sessions(rows, note.payers, endings, waits, choices),
    }


def read_stored_status(
    state_dir: Path,
    plugins: Iterable[PluginSpec],
    now: float,
    pid: int | None = None,
    problem: Degradation | None = None,
) -> dict[str, Any]:
    """The same from a state directory, for a process without a store of its own. A store that cannot be read is a problem of the
    document."""
    try:
        store = open_readonly(state_dir)
        if store is None:
            return read_status(lambda *_: [], plugins, now, pid=pid, problem=problem)
        with closing(store):
            return read_status(store.rows, plugins, now, pid=pid, problem=problem)
    except TacitdError as error:
        return _describe_unknown(pid, problem or Degradation("state.unreadable", error.what, error.hint))


def _describe_unknown(pid: int | None, problem: Degradation | None) -> dict[str, Any]:
    """The document where no daemon has run, or where nothing can be read."""
    told = {"running": pid is not None, "pid": pid, "state": "stopped" if pid is None else "running"}
    return {"schema": SCHEMA, **told, "degraded": [asdict(problem)] if problem is not None else []}


def make_status_line(document: Mapping[str, Any]) -> str:
    """One short line: what was learned today, what waits, what was spent today, and whether something is wrong."""
    if "version" not in document:
        return "tacitd: has not run here yet"
    parts = [f"{document['learned']['today']} learned today"]
    waiting = Counter[str]()
    waiting["prompts"] = max((one["waiting"] for one in document["handlers"].values()), default=0)
    for row in document["waits"]:
        number, _, noun = row["what"].partition(" ")
        if number.isdecimal():
            waiting[noun if noun.endswith("s") else f"{noun}s"] += int(number)
    named = [f"{n} {noun[:-1] if n == 1 else noun}" for noun, n in waiting.items() if n]
    parts += [f"{', '.join(named)} waiting"] if named else []
    budget = document["budget"]
    parts.append(f"{format_dollars(budget['usd_today'])} of ${budget['usd_per_day']:.2f} today")
    if any(one["scope"] == "all" for one in document["paused"]):
        parts.append("paused")
    if problems := len(document["degraded"]):
        parts.append("1 problem: tacitd status" if problems == 1 else f"{problems} problems: tacitd status")
    return f"tacitd: {' · '.join(parts)}"


def describe_shortly(document: Mapping[str, Any]) -> str:
    """The same for a service manager: what is watched, what waits, and the first problem."""
    if "version" not in document:
        return "starts"
    parts = [f"watches {document['watching']['transcripts']} transcripts"]
    busy = sum(one["busy"] for one in document["handlers"].values())
    if document["state"] == "paused":
        parts.append("paused")
    parts += [f"{n} {what}" for n, what in ((busy, "busy"), (len(document["parked"]), "parked")) if n]
    parts += [one["what"].replace("\n", " ") for one in document["degraded"][:1]]
    return "; ".join(parts)


def _read_parts(
    rows: Rows, plugins: Iterable[PluginSpec], note: DaemonNote, now: float
) -> tuple[dict[str, Any], list[Degradation]]:
    """Each plugin's own part, and a problem for each that fails."""
    found, silent = dict[str, Any](), list[Degradation]()
    specs = {one.name: one for one in plugins}
    for name in note.plugins:
        spec = specs.get(name)
        if spec is not None and spec.status:
            part, fault = read_part(name, lambda spec=spec: load_hook(spec.status)(rows, now))  # type: ignore[misc]
            found[name] = part | {"as_of": utc_seconds(now)}
            silent += [fault] if fault is not None else []
    return found, silent


def read_part(name: str, ask: Callable[[], Mapping[str, Any]]) -> tuple[dict[str, Any], Degradation | None]:
    """A plugin's part as JSON, with its `lines` as `says`; an empty one, and the problem, if the plugin fails."""
    try:
        part: dict[str, Any] = work_status.make_json(dict(ask()))
    except BaseException as error:  # noqa: BLE001  a third-party plugin may raise anything, also SystemExit
        what = f"the handler {name} cannot report its status: {type(error).__name__}: {error}"
        return {}, Degradation("handler.status", what, "the rest of the status is valid")
    if "lines" in part:
        part["says"] = [str(line) for line in part.pop("lines")]
    return part, None


def _watching(rows: Rows, note: DaemonNote, patterns: int) -> dict[str, Any]:
    projects = [
        root
        for (root,) in rows(
            "SELECT root FROM project WHERE number IN (SELECT project FROM session WHERE last >= ? "
            "UNION SELECT project FROM prompt WHERE ingested >= ?) ORDER BY root",
            note.since,
            note.since,
        )
    ]
    counts = {"root": note.root, "transcripts": note.transcripts, "lines": dict(note.lines)}
    sources: dict[str, int] = dict(
        rows("SELECT source, count(*) FROM transcript GROUP BY source ORDER BY source")
    )
    ((excluded,),) = rows("SELECT count(*) FROM choice WHERE scope = 'project' AND what = 'exclude'")
    return counts | {"sources": sources, "projects": projects, "excluded": excluded + patterns}


def _handler(rows: Rows, note: DaemonNote, name: str, now: float) -> dict[str, Any]:
    """A plugin's lag and counts."""
    reads = name in note.readers
    transcripts, size = note.unread if reads else (0, 0)
    gathering, busy, parked, goes_out = work_status.count_tasks(rows, name, now)
    return {
        "lag": {"transcripts": transcripts, "bytes": size},
        "gathering": gathering,
        "busy": busy,
        "parked": parked,
        "waiting": work_status.count_waiting(rows, name) if name in note.payers else 0,
        "goes_out": _format_time(goes_out),
        "first_start": utc_seconds(note.first_start),
    }


def _stopped(note: DaemonNote, problem: Degradation | None) -> Iterator[dict[str, Any]]:
    """Everything waits while the store cannot be written."""
    if problem is not None:
        stopped = {"handler": ", ".join(note.plugins), "what": "everything that was typed since"}
        since = utc_seconds(note.passed)
        more = {"since": since, "attempts": 1, "not_before": None}
        yield stopped | {"reason": problem.what, "hint": problem.hint} | more


def _unwritten(rows: Rows, now: float) -> Iterator[dict[str, Any]]:
    """Changes of files that are decided and could not be written."""
    for one in list_unfinished(rows, now):
        about = {"handler": one.plugin, "what": "a change of a file"}
        about |= {"project": one.root} if one.root else {}
        more = {"since": utc_seconds(one.since), "attempts": 1, "not_before": None}
        yield about | {"reason": f"{one.path} cannot be written{one.why}", "hint": one.hint} | more


def _parked(rows: Rows, note: DaemonNote, choices: Choices, now: float) -> Iterator[dict[str, Any]]:
    """Work that waits for something, and work that a person paused."""
    for one in work_status.list_parked(rows, choices, now):
        if one.plugin not in note.plugins:
            continue
        about: dict[str, Any] = {"handler": one.plugin, "what": one.what}
        about |= {"project": one.root} if one.root else {}
        yield about | {
            "reason": one.reason,
            "hint": one.hint,
            "since": utc_seconds(one.since),
            "attempts": one.tries,
            "not_before": _format_time(one.not_before),
        }


def _format_time(at: float | None) -> str | None:
    """ISO 8601; None if there is no time, or one that cannot be expressed: third-party plugins name times too."""
    try:
        return utc_seconds(at) if at is not None else None
    except (ValueError, OverflowError, OSError):
        return None


def _budget(rows: Rows, settings: SettingsInForce, now: float) -> dict[str, Any]:
    """What was spent today and this month, in calls and dollars, and the limits."""
    caps = settings.caps
    refused = check_caps(rows, caps, now)
    limits = {
        "calls_per_day": caps.calls_per_day,
        "usd_per_day": caps.usd_per_day,
        "usd_per_month": caps.usd_per_month,
    }
    reached = {
        "reached": refused.detail if refused is not None else "",
        "until": _format_time(refused.retry_at) if refused is not None else None,
    }
    return asdict(read_spending(rows, now)) | limits | reached


# --- what only the running daemon knows: nothing here touches a disk


def make_note(app: App) -> DaemonNote:
    """What the daemon says of itself now. Loop's thread."""
    engine, running = app.engine, [one for one in app.found.plugins if one.name in app.plugins.by_name]
    unread = engine.find_unread() if engine.reader.has_unread else {}
    model = app.model.describe() if isinstance(app.model, ModelHealth) else {}
    return DaemonNote(
        __version__,
        os.getpid(),
        engine.started_at,
        engine.passed_at,
        str(engine.source.home),
        len(engine.follower.list_own()),
        work_status.count_odd_lines(engine.reader.odd_lines),
        (sum(size > 0 for size in unread.values()), sum(max(0, size) for size in unread.values())),
        str(model.get("program") or ""),
        engine.first_start.at,
        [one.name for one in running],
        [one.name for one in running if one.observe or one.gather],
        [one.name for one in running if one.gather],
        {session: round(at, -1) for session, at in engine.sessions.list_leaving().items()},
    )


def list_own_problems(app: App) -> list[Degradation]:
    """What is wrong and no row says. Any thread."""
    return [
        *app.engine.list_degradations(),
        *app.found.failed,
        *app.degraded.values(),
        *_list_model_faults(app),
        *_list_files(app),
        *app.outdated,
    ]


def _list_model_faults(app: App) -> Iterator[Degradation]:
    wrong = app.model.get_fault() if isinstance(app.model, ModelHealth) else None
    if wrong is not None:
        yield Degradation(*wrong)


def _list_files(app: App) -> Iterator[Degradation]:
    """Files that an editor has open, and copies of what was saved while a file was swapped."""
    for path, mark in app.editors.list_open():
        what = f"{path} is open in an editor ({mark.name}); tacitd's change to it waits"
        hint = "save and close it; a mark that is older than ten minutes does not count"
        yield Degradation("files.busy", what, hint)
    for copy, target in app.editors.list_copies():
        what = f"{copy} contains what was saved in {target or 'a file beside it'} while tacitd wrote there"
        hint = "compare the two, copy what is missing into the file, then remove the copy"
        yield Degradation("files.recovered", what, hint)
