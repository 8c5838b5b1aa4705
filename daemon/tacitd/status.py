"""The status document: what tacitd does, waits for, learned and spent, and what is wrong, as data. `cli/status_command.py`
prints it.

It is made of SELECTs, by whoever asks. What only the daemon knows is a row that its loop writes (`work/work_status.py`). The
document is a contract, described in docs/socket.md: `schema` is increased if a field changes its meaning. Times are ISO 8601,
UTC.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
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
from tacitd.text.wording import count_noun, format_dollars
from tacitd.work.activities import summarise_learned
from tacitd.work.project_rows import Choices, read_choices
from tacitd.work.stored_problems import list_stored_problems, list_unfinished
from tacitd.work.work_status import (
    DaemonNote,
    ParkedTask,
    list_endings,
    list_parked,
    list_pauses,
    list_sessions,
    list_waits,
    read_note,
)

if TYPE_CHECKING:
    from tacitd.app import App
    from tacitd.contract import Rows
    from tacitd.engine import Engine
    from tacitd.plugin import PluginSpec

LISTED = 3
"""Of transcripts that cannot be read, and of file systems that do not answer; the others are counted."""

SCHEMA = 1
_PART = msgspec.json.Decoder(dict[str, Any])


def read_status(
    rows: Rows,
    plugins: Iterable[PluginSpec],
    now: float,
    *,
    pid: int | None = None,
    problem: Degradation | None = None,
    last: DaemonNote | None = None,
) -> dict[str, Any]:
    """The whole document at `now`, seconds since 1970. `pid`: the process of the daemon, if it answers. `problem`: why it
    cannot write the store, so that no row says it. `last`: its note, which a store that was begun anew does not have yet."""
    note = read_note(rows) or last
    if note is None:
        return _describe_unknown(pid, problem)
    runs, settings = pid is not None, SettingsInForce(rows)
    choices = read_choices(rows, settings.get("projects", "write", "local"), now)
    parts, silent = _read_parts(rows, plugins, note, now)
    endings = list_endings(rows, note, settings, now)
    waits, paused, calls = list(list_waits(parts, endings)), list_pauses(rows), list_running(rows, now)
    state = "paused" if any(one["scope"] == "all" for one in paused) else "running"
    problems = [*([problem] if problem is not None else ()), *note.problems]
    problems += list_stored_problems(rows, note.plugins, now)
    rejected = rows(
        "SELECT plugin, reason, count(*) FROM prompt_task WHERE state = 'rejected' GROUP BY plugin, reason "
        "ORDER BY count(*) DESC"
    )
    return {
        "schema": SCHEMA,
        "running": runs,
        "version": note.version,
        "pid": pid,
        "since": utc_seconds(note.since),
        "as_of": utc_seconds(now if runs else note.passed),
        "state": state if runs else "stopped",
        "paused": paused,
        "watching": _watching(rows, note, len(settings.get("projects", "exclude", []))),
        "model": {"program": note.program or None, "children": len(calls)},
        "budget": _budget(rows, settings, now),
        "calls": [
            {"purpose": one.purpose, "project": one.project, "since": utc_seconds(one.since)} for one in calls
        ],
        "learned": summarise_learned(rows, now),
        "handlers": _handlers(rows, note, now),
        "waits": waits,
        "parked": list(_parked(rows, note, choices, problem, now)),
        "rescued": sum(number for *_, number in rejected),
        "rescued_by_reason": [{"handler": name, "reason": why, "texts": n} for name, why, n in rejected],
        "degraded": [asdict(one) for one in [*problems, *silent]],
        "slices": parts,
        "sessions": list_sessions(rows, note.payers, endings, waits, choices),
    }


def read_stored_status(
    state_dir: Path,
    plugins: Iterable[PluginSpec],
    now: float,
    pid: int | None = None,
    problem: Degradation | None = None,
) -> dict[str, Any]:
    """The same from a state directory. A store that cannot be read is a problem of the document."""
    try:
        store = open_readonly(state_dir)
        if store is None:
            return _describe_unknown(pid, problem)
        with store:
            return read_status(store.rows, plugins, now, pid=pid, problem=problem)
    except TacitdError as error:
        return _describe_unknown(pid, problem or Degradation("state.unreadable", error.what, error.hint))


def _describe_unknown(pid: int | None, problem: Degradation | None) -> dict[str, Any]:
    """The document where no daemon has run, or where nothing can be read."""
    about = {"running": pid is not None, "pid": pid, "state": "stopped" if pid is None else "running"}
    return {"schema": SCHEMA, **about, "degraded": [asdict(problem)] if problem is not None else []}


def make_status_line(document: Mapping[str, Any]) -> str:
    """What was learned today, what waits, what was spent today, and whether something is wrong, on one short line."""
    if "version" not in document:
        return "tacitd: has not run here yet"
    parts = [f"{document['learned']['today']} learned today"]
    if waiting := max((one["waiting"] for one in document["handlers"].values()), default=0):
        parts.append(f"{count_noun(waiting, 'prompt')} waiting")
    budget = document["budget"]
    parts.append(f"{format_dollars(budget['usd_today'])} of ${budget['usd_per_day']:.2f} today")
    if any(one["scope"] == "all" for one in document["paused"]):
        parts.append("paused")
    if problems := len(document["degraded"]):
        parts.append(f"{count_noun(problems, 'problem')}: tacitd status")
    return f"tacitd: {' · '.join(parts)}"


def _read_parts(
    rows: Rows, plugins: Iterable[PluginSpec], note: DaemonNote, now: float
) -> tuple[dict[str, Any], list[Degradation]]:
    """Each plugin's own part as JSON, with its `lines` as `says`, and a problem for each that fails."""
    found, silent = dict[str, Any](), list[Degradation]()
    for spec in plugins:
        if spec.name not in note.plugins or not spec.status:
            continue
        part: dict[str, Any] = {}
        try:
            told = load_hook(spec.status)(rows, now)
            part = _PART.decode(msgspec.json.encode(dict(told), enc_hook=str))
            list(map(dict, part.get("waits", ())))  # otherwise it would fail later
            if "lines" in part:
                part["says"] = [str(line) for line in part.pop("lines")]
        except BaseException as error:  # noqa: BLE001  a third-party plugin may raise anything, also SystemExit
            part = {}
            what = f"the handler {spec.name} cannot report its status: {type(error).__name__}: {error}"
            silent.append(Degradation("handler.status", what, "the rest of the status is valid"))
        found[spec.name] = part
    return found, silent


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


def _handlers(rows: Rows, note: DaemonNote, now: float) -> dict[str, Any]:
    tasks = {
        plugin: counts
        for plugin, *counts in rows(
            "SELECT plugin, count(CASE WHEN reason = '' AND due <= ? THEN 1 END), "
            "count(CASE WHEN reason <> '' AND kind <> 'session-started' THEN 1 END) FROM task GROUP BY plugin",
            now,
        )
    }
    waiting: dict[str, int] = dict(
        rows("SELECT plugin, count(*) FROM prompt_task WHERE state = 'waiting' GROUP BY plugin")
    )
    found = dict[str, Any]()
    for name in note.plugins:
        transcripts, size = note.unread if name in note.readers else (0, 0)
        busy, parked = tasks.get(name, (0, 0))
        waits = waiting.get(name, 0) if name in note.payers else 0
        lag = {"transcripts": transcripts, "bytes": size}
        found[name] = {"lag": lag, "busy": busy, "parked": parked, "waiting": waits}
    return found


def _parked(
    rows: Rows, note: DaemonNote, choices: Choices, problem: Degradation | None, now: float
) -> Iterator[dict[str, Any]]:
    """Work that waits for something, or that a person paused. Everything waits while the store cannot be written."""
    found = [*list_unfinished(rows, now)]
    if problem is not None:
        every, what = ", ".join(note.plugins), "everything that was typed since"
        found.insert(0, ParkedTask(every, what, "", problem.what, problem.hint, note.passed))
    found += [one for one in list_parked(rows, choices, now) if one.plugin in note.plugins]
    for one in found:
        yield {
            "handler": one.plugin,
            "what": one.what,
            **({"project": one.root} if one.root else {}),
            "reason": one.reason,
            "hint": one.hint,
            "since": utc_seconds(one.since),
            "attempts": one.tries,
            "not_before": _format_time(one.not_before),
        }


def _format_time(at: float | None) -> str | None:
    """None too for a time that cannot be expressed: third-party plugins name times."""
    try:
        return utc_seconds(at) if at is not None else None
    except (ValueError, OverflowError, OSError):
        return None


def _budget(rows: Rows, settings: SettingsInForce, now: float) -> dict[str, Any]:
    caps = settings.caps
    refused = check_caps(rows, caps, now)
    return asdict(read_spending(rows, now)) | {
        "calls_per_day": caps.calls_per_day,
        "usd_per_day": caps.usd_per_day,
        "usd_per_month": caps.usd_per_month,
        "reached": refused.detail if refused is not None else "",
        "until": _format_time(refused.retry_at) if refused is not None else None,
    }


# --- what only the running daemon knows: nothing here touches a disk


def make_note(app: App) -> DaemonNote:
    engine, running = app.engine, [one for one in app.found.plugins if one.name in app.plugins.by_name]
    unread = engine.find_unread() if engine.reader.has_unread else {}
    return DaemonNote(
        __version__,
        os.getpid(),
        engine.started_at,
        engine.passed_at,
        str(engine.source.home),
        len(engine.follower.list_own()),
        dict(sum(map(Counter[str], engine.reader.odd_lines.values()), Counter[str]())),
        (sum(size > 0 for size in unread.values()), sum(max(0, size) for size in unread.values())),
        app.model.program if isinstance(app.model, ModelHealth) else "",
        [one.name for one in running],
        [one.name for one in running if one.observe or one.gather],
        [one.name for one in running if one.gather],
        {session: round(at, -1) for session, at in engine.sessions.list_leaving().items()},
        list_own_problems(app),
    )


def list_own_problems(app: App) -> list[Degradation]:
    """What is wrong and no row says. Any thread."""
    found = [*list_engine_problems(app.engine), *app.found.failed, *app.degraded.values()]
    wrong = app.model.get_fault() if isinstance(app.model, ModelHealth) else None
    found += [Degradation(*wrong)] if wrong is not None else []
    for path, mark in app.editors.list_open():
        what = f"{path} is open in an editor ({mark.name}); tacitd's change to it waits"
        hint = "save and close it; a mark that is older than ten minutes does not count"
        found.append(Degradation("files.busy", what, hint))
    for copy, target in app.editors.list_copies():
        what = f"{copy} contains what was saved in {target or 'a file beside it'} while tacitd wrote there"
        hint = "compare the two, copy what is missing into the file, then remove the copy"
        found.append(Degradation("files.recovered", what, hint))
    return [*found, *app.outdated]


def list_engine_problems(engine: Engine) -> list[Degradation]:
    """What is wrong with following and reading, and why a reload waits."""
    found = [*engine.follower.list_degradations(), *engine.recognition.list_degradations()]
    refused = list(engine.reader.refused.items())
    for path, why in refused[:LISTED]:
        found.append(Degradation("transcript.unreadable", f"{path}: {why.what}", why.hint))
    if len(refused) > LISTED:
        what = f"{len(refused) - LISTED} more transcripts cannot be read"
        found.append(Degradation("transcript.unreadable", what, refused[LISTED][1].hint))
    if engine.fault is not None:
        found.append(engine.fault)
    if stuck := engine.stalls.list_stuck():
        what = f"the file system of {', '.join(stuck[:LISTED])} does not answer; what was typed there waits"
        found.append(Degradation("projects.stuck", what, "check the mount; everything else goes on"))
    running = [f"{name} in {lane}" if lane else name for name, lane in engine.runner.running]
    if engine.is_leaving and running:
        hint = "no other work begins meanwhile; it waits for five minutes at most"
        found.append(Degradation("config.waits", f"the reload waits for {', '.join(running)}", hint))
    return found
