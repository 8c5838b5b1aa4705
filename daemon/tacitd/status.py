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
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loguru import logger
from msgspec.structs import asdict

from tacitd import __version__
from tacitd.clock import utc_seconds
from tacitd.consumers.consumer import Consumer
from tacitd.dispatch.backoff import Parked
from tacitd.dispatch.lag_counters import WorkCounts, count_work
from tacitd.dispatch.session_ends import open_sessions
from tacitd.dispatch.work_item import WorkItem
from tacitd.engine import Engine
from tacitd.errors import TacitdError
from tacitd.events import Project, SessionStarted
from tacitd.files.replaced import replace_file
from tacitd.handler import Degradation
from tacitd.model.health import ModelHealth
from tacitd.state.paths import SNAPSHOT

if TYPE_CHECKING:
    from tacitd.app import App

SCHEMA = 1


def build_status(app: App, *, exact: bool = False) -> dict[str, Any]:
    """The whole document. `exact`: nothing of it is kept from an earlier call, also if very much waits."""
    engine, dispatcher, get_part = app.engine, app.engine.dispatcher, app.status_parts.get_part
    if exact:
        app.status_parts.forget_all()
    paused = [asdict(pause) for pause in engine.pauses.list_pauses()]
    slices, silent = _plugin_statuses(engine)
    waits = get_part("waits", lambda: list(_waits(engine, slices)))
    counts = get_part("work", lambda: _count_work(engine))
    describe_model = getattr(app.model, "describe", dict)
    return {
        "schema": SCHEMA,
        "running": True,
        "version": __version__,
        "pid": os.getpid(),
        "since": utc_seconds(engine.started_at),
        "as_of": utc_seconds(engine.clock.now()),
        "state": "paused" if any(pause["scope"] == "all" for pause in paused) else "running",
        "paused": paused,
        "watching": _watching(engine) | {"excluded": _count_excluded(app)},
        "model": dict(describe_model()),
        "budget": _budget(app),
        "calls": [
            {"purpose": one.purpose, "project": one.project, "since": utc_seconds(one.since)}
            for one in app.budget.list_running()
        ],
        "learned": app.activities.summarise_learned(),
        "handlers": {
            name: _handler(engine, one, counts.get(name, WorkCounts()))
            for name, one in engine.consumers.items()
        },
        "waits": waits,
        "parked": get_part("parked", lambda: [*_parked_rows(engine), *_unreadable(engine)]),
        "dead_letters": dispatcher.outcomes.dead_letters.count,
        "rescued": len(dispatcher.outcomes.rescue.list_entries()),
        "rescued_by_reason": get_part("rescued", lambda: _rescued_by_reason(engine)),
        "degraded": [asdict(d) for d in [*engine.list_degradations(), *silent]],
        "slices": slices,
        "sessions": get_part("sessions", lambda: list_session_rows(app, waits)),
    }


def make_status_line(app: App) -> str:
    """One short line: what was learned today, what waits, what was spent today, and whether something is wrong. Engine thread."""
    engine = app.engine
    now = engine.clock.now()
    parts = [f"{app.activities.summarise_learned()['today']} learned today"]
    waiting = Counter[str]()
    for name, consumer in engine.consumers.items():
        if consumer.plugin.uses_model:
            waiting["prompts"] = max(waiting["prompts"], _count_waiting(engine, name))
    for row in list_waits(engine):
        number, _, noun = row["what"].partition(" ")
        if number.isdecimal():
            waiting[noun if noun.endswith("s") else f"{noun}s"] += int(number)
    named = [f"{n} {noun[:-1] if n == 1 else noun}" for noun, n in waiting.items() if n]
    parts += [f"{', '.join(named)} waiting"] if named else []
    parts.append(
        f"${app.budget.get_spending(now).usd_today:.2f} of ${app.config.budget.usd_per_day:.2f} today"
    )
    if any(pause.scope == "all" for pause in engine.pauses.list_pauses()):
        parts.append("paused")
    if problems := len(engine.list_degradations()):
        parts.append("1 problem: tacitd status" if problems == 1 else f"{problems} problems: tacitd status")
    return f"tacitd: {' · '.join(parts)}"


def _count_waiting(engine: Engine, name: str) -> int:
    """The number of prompts that this handler has not handled."""
    items = engine.dispatcher.work_queue.items_by_transcript.items()
    return sum(
        len(engine.pool.peek_prompts(item.cursor.path, item.cursor.offset))
        for (owner, _), item in items
        if owner == name and item.cursor
    )


def list_session_rows(app: App, waits: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Given the rows of `waits`, return those of `sessions`: open sessions whose lines are not written yet. Engine thread."""
    return open_sessions(app.engine, lambda project: app.write_modes.get_mode(project) != "off", waits)


def write_snapshot(app: App) -> None:
    """Write the document that `tacitd status` shows without a running daemon. A failure is logged: no work depends on it."""
    try:
        replace_file(app.paths.state_dir / SNAPSHOT, json.dumps(build_status(app)).encode(), mode=0o600)
    except (OSError, TacitdError) as error:
        logger.warning("the status snapshot cannot be written: {}", error)


def _rescued_by_reason(engine: Engine) -> list[dict[str, Any]]:
    """Count the texts in the rescue log for each handler and reason, the highest count first."""
    kept = engine.dispatcher.outcomes.rescue.list_entries()
    counts = Counter((str(one.get("handler", "")), str(one.get("reason", ""))) for one in kept)
    return [{"handler": name, "reason": why, "texts": n} for (name, why), n in counts.most_common()]


def _plugin_statuses(engine: Engine) -> tuple[dict[str, Any], list[Degradation]]:
    """What each handler reported last, with the time, and a degradation for each that failed."""
    found = {name: engine.dispatcher.outcomes.statuses.get_part(name) for name in engine.consumers}
    slices = {name: {**one.part, "as_of": _format_time(one.as_of)} for name, one in found.items()}
    return slices, [one.fault for one in found.values() if one.fault is not None]


def list_waits(engine: Engine) -> list[dict[str, Any]]:
    """The rows of `waits`. Engine thread."""
    return list(_waits(engine, _plugin_statuses(engine)[0]))


def _waits(engine: Engine, slices: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What handlers have gathered for a later job, and when that job is due because the project's sessions are idle."""
    for name, said in slices.items():
        waits = said.get("waits")
        for one in waits if isinstance(waits, list) else ():
            if not isinstance(one, Mapping):
                continue
            root = str(one.get("project", ""))
            at = engine.sessions.quiet_at(partial(_is_in, engine, root)) if root else None
            rest = {key: str(one.get(key, "")) for key in ("what", "until", "job")}
            yield {"handler": name, "project": root, **rest, "at": _format_time(at)}


def _is_in(engine: Engine, root: str, cwd: str) -> bool:
    place = engine.project_of(cwd)
    return isinstance(place, Project) and str(place.root) == root


def _watching(engine: Engine) -> dict[str, Any]:
    projects = sorted(str(root) for root in engine.watched_files.projects)
    counts = {"transcripts": engine.lag.transcripts, "lines": engine.pool.count_lines()}
    return {"root": str(engine.source.home), **counts, "projects": projects}


def _count_work(engine: Engine) -> dict[str, WorkCounts]:
    def count_prompts(path: Path, offset: int) -> int:
        return len(engine.pool.peek_prompts(path, offset))

    items = engine.dispatcher.work_queue.items_by_transcript.values()
    return count_work(items, count_prompts, engine.clock.monotonic())


def _handler(engine: Engine, consumer: Consumer, counts: WorkCounts) -> dict[str, Any]:
    """A handler's lag and counts, as for a consumer group of a log."""
    transcripts, size = engine.lag.get_lag(consumer.plugin.name)
    return {
        "lag": {"transcripts": transcripts, "bytes": size},
        **{name: value for name, value in asdict(counts).items() if name != "gather_until"},
        "goes_out": _format_time(_as_wall(engine, counts.gather_until)),
        "first_start": _format_time(consumer.first_start),
    }


def _as_wall(engine: Engine, monotonic: float | None) -> float | None:
    return None if monotonic is None else engine.clock.now() + monotonic - engine.clock.monotonic()


def _parked_rows(engine: Engine) -> Iterator[dict[str, Any]]:
    for item, why in engine.dispatcher.work_queue.list_parked():
        if not isinstance(item.event, SessionStarted):
            yield _parked(engine, item, why)


def _parked(engine: Engine, item: WorkItem, parked: Parked) -> dict[str, Any]:
    about: dict[str, Any] = {"handler": item.consumer.plugin.name, "what": item.label}
    place = getattr(item.event, "project", None)
    if item.event is None and item.cursor is not None:
        place = engine.project_of(item.cursor.cwd)
    if isinstance(place, Project):
        about["project"] = str(place.root)
    until = _format_time(parked.not_before)
    return about | {
        "reason": parked.reason,
        "hint": parked.hint,
        "since": utc_seconds(parked.since),
        "attempts": parked.attempts,
        "not_before": until,
    }


def _unreadable(engine: Engine) -> list[dict[str, Any]]:
    """Rows of `parked` for transcripts that cannot be read now."""
    rows = []
    for path, why in engine.pool.unreadable.items():
        stamp = engine.follower.stamps.get(path)
        behind = [
            n for n, c in engine.consumers.items() if stamp is not None and c.get_offset(path) < stamp.size
        ]
        if behind:
            row: dict[str, Any] = {
                "handler": ", ".join(behind),
                "what": str(path),
                "reason": why.what,
                "hint": why.hint,
            }
            rows.append(row | {"since": utc_seconds(engine.clock.now()), "attempts": 0, "not_before": None})
    return rows


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
    refused = app.budget.check_caps(app.clock.now())
    reached = {
        "reached": refused.detail if refused is not None else "",
        "until": _format_time(refused.retry_at) if refused is not None else None,
    }
    return asdict(app.budget.get_spending(app.clock.now())) | limits | reached


def _count_excluded(app: App) -> int:
    """What a person excluded: projects by command, and patterns of the configuration."""
    return app.write_modes.count_excluded() + len(app.config.projects.exclude)


def list_app_degradations(app: App) -> list[Degradation]:
    """The degradations of the parts that the engine does not know."""
    return [
        *_model_degradations(app),
        *_unfinished_degradations(app),
        *_busy_degradations(app),
        *_recovered_degradations(app),
        *app.outdated,
    ]


def _model_degradations(app: App) -> list[Degradation]:
    wrong = app.model.get_fault() if isinstance(app.model, ModelHealth) else None
    return [Degradation(*wrong)] if wrong is not None else []


def _unfinished_degradations(app: App) -> list[Degradation]:
    """Transactions that were begun and cannot be finished now."""
    waits = [each for each in app.history.pending if not each.busy]
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
