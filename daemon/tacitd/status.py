"""The status document: the daemon's state as data, its degradations, and the snapshot on disk. Its form on a terminal
belongs in `cli/status_command.py`.

The document is a contract, described in docs/socket.md: `schema` is increased if a field changes its meaning. Times are
ISO 8601, UTC. Any thread: it waits for no pass of the loop and for no write.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from loguru import logger
from msgspec.structs import asdict

from tacitd import __version__
from tacitd.clock import utc_seconds
from tacitd.errors import TacitdError
from tacitd.files.replaced import replace_file
from tacitd.handler import Degradation
from tacitd.model.health import ModelHealth
from tacitd.state.first_design import list_left
from tacitd.state.paths import SNAPSHOT
from tacitd.work import work_status
from tacitd.work.breaker import list_degradations as list_closed
from tacitd.work.status_parts import StatusPart

if TYPE_CHECKING:
    from tacitd.app import App

SCHEMA = 1


def build_status(app: App) -> dict[str, Any]:
    """The whole document. Handlers have a moment to report; one that does not has its last part, with its time."""
    parts, rows, now = app.parts.ask(), app.store.rows, app.clock.now()
    engine = app.engine
    paused = [{"scope": scope, "name": name} for scope, name in work_status.list_pauses(rows)]
    slices = {name: {**one.part, "as_of": _format_time(one.as_of)} for name, one in parts.items()}
    waits = list(_waits(app, slices))
    describe_model = getattr(app.model, "describe", dict)
    rescued = work_status.count_rescued(rows)
    return {
        "schema": SCHEMA,
        "running": True,
        "version": __version__,
        "pid": os.getpid(),
        "since": utc_seconds(engine.started_at),
        "as_of": utc_seconds(now),
        "state": "paused" if any(pause["scope"] == "all" for pause in paused) else "running",
        "paused": paused,
        "watching": _watching(app) | {"excluded": _count_excluded(app)},
        "model": dict(describe_model()),
        "budget": _budget(app),
        "calls": [
            {"purpose": one.purpose, "project": one.project, "since": utc_seconds(one.since)}
            for one in app.budget.list_running()
        ],
        "learned": app.activities.summarise_learned(),
        "handlers": {name: _handler(app, name) for name in app.queues},
        "waits": waits,
        "parked": [*_parked_rows(app), *_unreadable(app)],
        "dead_letters": sum(n for _, _, n in rescued) + work_status.count_rejected_events(rows),
        "rescued": sum(n for _, _, n in rescued),
        "rescued_by_reason": [{"handler": name, "reason": why, "texts": n} for name, why, n in rescued],
        "degraded": [asdict(d) for d in [*app.list_degradations(), *_silent(parts)]],
        "slices": slices,
        "sessions": list_session_rows(app, waits),
    }


def make_status_line(app: App) -> str:
    """One short line: what was learned today, what waits, what was spent today, and whether something is wrong."""
    rows = app.store.rows
    parts = [f"{app.activities.summarise_learned()['today']} learned today"]
    waiting = Counter[str]()
    paying = [one.name for one in app.found.plugins if one.uses_model and one.name in app.queues]
    for name in paying:
        waiting["prompts"] = max(waiting["prompts"], work_status.count_waiting(rows, name))
    for row in list_waits(app):
        number, _, noun = row["what"].partition(" ")
        if number.isdecimal():
            waiting[noun if noun.endswith("s") else f"{noun}s"] += int(number)
    named = [f"{n} {noun[:-1] if n == 1 else noun}" for noun, n in waiting.items() if n]
    parts += [f"{', '.join(named)} waiting"] if named else []
    parts.append(f"${app.budget.get_spending().usd_today:.2f} of ${app.config.budget.usd_per_day:.2f} today")
    if any(scope == "all" for scope, _ in work_status.list_pauses(rows)):
        parts.append("paused")
    if problems := len(app.list_degradations()):
        parts.append("1 problem: tacitd status" if problems == 1 else f"{problems} problems: tacitd status")
    return f"tacitd: {' · '.join(parts)}"


def list_session_rows(app: App, waits: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Given the rows of `waits`, return those of `sessions`: open sessions whose lines are not written yet, soonest first.

    Paused and parked work is left out: the session's end alone brings no line of it.
    """
    gathered = {(str(row["handler"]), str(row["project"])) for row in waits}
    paying = [one.name for one in app.found.plugins if one.uses_model and one.name in app.queues]
    found, choices = list[dict[str, Any]](), app.engine.choices
    for ending in app.engine.sessions.list_endings():
        known = work_status.find_session(app.store.rows, ending.session)
        if known is None:
            continue
        root, waiting, parked = known
        if choices.is_paused(root, ending.session) or choices.modes.get(root, choices.default_mode) == "off":
            continue
        if any(name not in parked and (waiting.get(name) or (name, root) in gathered) for name in paying):
            about = utc_seconds(ending.at)
            found.append({"session": ending.session, "project": root, "lines_about": about})
    return found


def write_snapshot(app: App) -> None:
    """Write the document that `tacitd status` shows without a running daemon. A failure is logged: no work depends on it."""
    try:
        replace_file(app.paths.state_dir / SNAPSHOT, json.dumps(build_status(app)).encode(), mode=0o600)
    except (OSError, TacitdError) as error:
        logger.warning("the status snapshot cannot be written: {}", error)


def _silent(parts: Mapping[str, StatusPart]) -> list[Degradation]:
    return [one.fault for one in parts.values() if one.fault is not None]


def list_waits(app: App) -> list[dict[str, Any]]:
    """The rows of `waits`, from what handlers reported last."""
    return list(_waits(app, {name: app.parts.get_part(name).part for name in app.queues}))


def _waits(app: App, slices: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What handlers have gathered for a later job, and when that job is due because the project's sessions are idle."""
    quiet = _quiet_times(app)
    for name, said in slices.items():
        waits = said.get("waits")
        for one in waits if isinstance(waits, list) else ():
            if not isinstance(one, Mapping):
                continue
            root = str(one.get("project", ""))
            rest = {key: str(one.get(key, "")) for key in ("what", "until", "job")}
            yield {"handler": name, "project": root, **rest, "at": _format_time(quiet.get(root))}


def _quiet_times(app: App) -> dict[str, float]:
    """By the root of a project, when the last live session in it ends if nothing more happens."""
    found: dict[str, float] = {}
    for ending in app.engine.sessions.list_endings():
        known = work_status.find_session(app.store.rows, ending.session)
        if known is not None:
            found[known[0]] = max(ending.at, found.get(known[0], 0.0))
    return found


def _watching(app: App) -> dict[str, Any]:
    engine = app.engine
    counts = {
        "transcripts": len(engine.follower.list_own()),
        "lines": work_status.count_odd_lines(engine.reader.odd_lines),
    }
    projects = sorted(str(root) for root in list(app.services.watched))
    return {"root": str(engine.source.home), **counts, "projects": projects}


def _handler(app: App, name: str) -> dict[str, Any]:
    """A handler's lag and counts."""
    rows, now = app.store.rows, app.clock.now()
    reads = any(one.name == name and one.reads_records for one in app.found.plugins)
    transcripts, size = work_status.measure_lag(rows, name, app.engine.find_unread()) if reads else (0, 0)
    gathering, parked, goes_out = work_status.count_tasks(rows, name, now)
    return {
        "lag": {"transcripts": transcripts, "bytes": size},
        "gathering": gathering,
        "busy": sum(plugin == name for plugin, _ in app.engine.runner.running),
        "parked": parked,
        "waiting": work_status.count_waiting(rows, name),
        "goes_out": _format_time(goes_out),
        "first_start": _format_time(app.engine.first_start.at),
    }


def _parked_rows(app: App) -> Iterator[dict[str, Any]]:
    """Work that waits for something, and work that a person paused."""
    problem = app.engine.problem
    if problem is not None:
        stopped = {"handler": ", ".join(app.queues), "what": "everything that was typed since"}
        since = utc_seconds(app.engine.passed_at)
        yield stopped | {
            "reason": problem.what,
            "hint": problem.hint,
            "since": since,
            "attempts": 1,
            "not_before": None,
        }
    for one in work_status.list_parked(
        app.store.rows, app.engine.is_held, app.engine.choices, app.clock.now()
    ):
        if one.plugin not in app.queues:
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


def _unreadable(app: App) -> list[dict[str, Any]]:
    """Rows of `parked` for transcripts that cannot be read now."""
    reading = ", ".join(one.name for one in app.found.plugins if one.reads_records and one.name in app.queues)
    return [
        {
            "handler": reading,
            "what": str(path),
            "reason": why.what,
            "hint": why.hint,
            "since": utc_seconds(app.clock.now()),
            "attempts": 0,
            "not_before": None,
        }
        for path, why in list(app.engine.reader.refused.items())
    ]


def _format_time(at: float | None) -> str | None:
    """ISO 8601; None if there is no time, or one that cannot be expressed: third-party handlers name times too."""
    try:
        return utc_seconds(at) if at is not None else None
    except (ValueError, OverflowError, OSError):
        return None


def _budget(app: App) -> dict[str, Any]:
    """What was spent today and this month, in calls and dollars, and the limits."""
    caps = app.config.budget
    limits = {
        "calls_per_day": caps.calls_per_day,
        "usd_per_day": caps.usd_per_day,
        "usd_per_month": caps.usd_per_month,
    }
    refused = app.budget.check_caps()
    reached = {
        "reached": refused.detail if refused is not None else "",
        "until": _format_time(refused.retry_at) if refused is not None else None,
    }
    return asdict(app.budget.get_spending()) | limits | reached


def _count_excluded(app: App) -> int:
    """What a person excluded: projects by command, and patterns of the configuration."""
    return app.write_modes.count_excluded() + len(app.config.projects.exclude)


def list_app_degradations(app: App) -> list[Degradation]:
    """The degradations of the parts that the engine does not know."""
    return [
        *list_closed(app.store.rows, app.clock.now()),
        *app.found.failed,
        *app.degraded.values(),
        *app.plugins.list_degradations(),
        *_model_degradations(app),
        *_unfinished_degradations(app),
        *_busy_degradations(app),
        *_recovered_degradations(app),
        *_earlier_degradations(app),
        *app.outdated,
    ]


def _model_degradations(app: App) -> list[Degradation]:
    wrong = app.model.get_fault() if isinstance(app.model, ModelHealth) else None
    return [Degradation(*wrong)] if wrong is not None else []


def _unfinished_degradations(app: App) -> list[Degradation]:
    """Transactions that were begun and cannot be finished now."""
    waits = [each for each in app.history.known_pending if not each.busy]
    return [
        Degradation("files.unfinished", f"{p.root}: {p.reason}", p.hint or "tacitd tries again")
        for p in waits
    ]


def _busy_degradations(app: App) -> list[Degradation]:
    """Files whose change waits because an editor has them open."""
    return (
        [
            Degradation(
                "files.busy",
                f"{one.path} is open in an editor ({one.mark.name}); tacitd's change to it waits",
                "save and close it; a mark that is older than ten minutes does not count",
            )
            for one in app.guards.busy_files.list_waiting()
        ]
        if app.guards.busy_files is not None
        else []
    )


def _recovered_degradations(app: App) -> list[Degradation]:
    """Copies of what was saved while a file was swapped, and that is in no file."""
    return [
        Degradation(
            "files.recovered",
            f"{copy.path} contains what was saved in {copy.target or 'a file beside it'} while tacitd wrote there",
            "compare the two, copy what is missing into the file, then remove the copy",
        )
        for copy in app.late_writes.recovered
    ]


def _earlier_degradations(app: App) -> list[Degradation]:
    """Files of the first design in the state directory."""
    left = [str(path.relative_to(app.paths.state_dir)) for path in list_left(app.paths.state_dir)]
    if not left:
        return []
    named = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
    what = (
        f"{app.paths.state_dir} has files of an earlier version, which are not read: {named}. What you excluded, shared and "
        "paused there counts; what waited there is not learned"
    )
    hint = (
        "`tacitd scan --since 30d` reads the transcripts again, after naming the cost; then remove the files"
    )
    return [Degradation("state.earlier", what, hint)]
