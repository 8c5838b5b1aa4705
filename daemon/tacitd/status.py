"""The status document: the engine's state as data. Its form on a terminal belongs in `cli/status_command.py`.

The document is a contract, described in docs/status.md: `schema` is increased if a field changes its meaning. Times are
ISO 8601, UTC.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from tacitd import __version__
from tacitd.clock import utc_seconds
from tacitd.consumers.consumer import Consumer
from tacitd.dispatch.backoff import Parked
from tacitd.dispatch.work_item import WorkItem
from tacitd.engine import Engine
from tacitd.events import Project, SessionStarted
from tacitd.handler import Degradation

SCHEMA = 1


def build_engine_status(engine: Engine, spent: Mapping[str, Any], model: Mapping[str, Any]) -> dict[str, Any]:
    """The status document without `sessions`. `spent`: the fields of `budget`; `model`: those of `model`. Engine thread."""
    paused = [asdict(pause) for pause in engine.pauses.list_pauses()]
    parked = [
        (item, why)
        for item, why in engine.dispatcher.work_queue.list_parked()
        if not isinstance(item.event, SessionStarted)
    ]
    slices, silent = _plugin_statuses(engine)
    return {
        "schema": SCHEMA,
        "running": True,
        "version": __version__,
        "pid": os.getpid(),
        "since": utc_seconds(engine.started_at),
        "as_of": utc_seconds(engine.clock.now()),
        "state": "paused" if any(pause["scope"] == "all" for pause in paused) else "running",
        "paused": paused,
        "watching": _watching(engine),
        "model": dict(model),
        "budget": dict(spent),
        "handlers": {name: _handler(engine, c) for name, c in engine.consumers.items()},
        "waits": list(_waits(engine, slices)),
        "parked": [*(_parked(engine, item, why) for item, why in parked), *_unreadable(engine)],
        "dead_letters": engine.dispatcher.dead_letters.count,
        "rescued": len(engine.dispatcher.rescue.list_entries()),
        "rescued_by_reason": _rescued_by_reason(engine),
        "degraded": [asdict(d) for d in [*engine.list_degradations(), *silent]],
        "slices": slices,
    }


def _rescued_by_reason(engine: Engine) -> list[dict[str, Any]]:
    """Count the texts in the rescue log for each handler and reason, the highest count first."""
    kept = engine.dispatcher.rescue.list_entries()
    counts = Counter((str(one.get("handler", "")), str(one.get("reason", ""))) for one in kept)
    return [{"handler": name, "reason": why, "texts": n} for (name, why), n in counts.most_common()]


def _plugin_statuses(engine: Engine) -> tuple[dict[str, Any], list[Degradation]]:
    """What each handler reported last, with the time, and a degradation for each that failed."""
    found = {name: engine.dispatcher.statuses.get_part(name) for name in engine.consumers}
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
    transcripts = [path for path in engine.follower.stamps if not engine.source.is_subagent(path)]
    projects = sorted(str(root) for root in engine.watched_files.projects)
    counts = {"transcripts": len(transcripts), "lines": engine.pool.count_lines()}
    return {"root": str(engine.source.home), **counts, "projects": projects}


def _handler(engine: Engine, consumer: Consumer) -> dict[str, Any]:
    """A handler's lag and counts, as for a consumer group of a log."""
    stamps = engine.follower.stamps.items()
    lags = (
        stamp.size - consumer.get_offset(path)
        for path, stamp in stamps
        if not engine.source.is_subagent(path)
    )
    behind = [lag for lag in lags if lag > 0]
    items = [
        item
        for (name, _), item in engine.dispatcher.work_queue.items_by_transcript.items()
        if name == consumer.plugin.name
    ]
    gathering = sum(1 for item in items if item.gather_until > engine.clock.monotonic())
    busy = sum(1 for item in items if item.busy)
    return {
        "lag": {"transcripts": len(behind), "bytes": sum(behind)},
        "gathering": gathering,
        "waiting": sum(
            len(engine.pool.peek_prompts(item.cursor.path, item.cursor.offset))
            for item in items
            if item.cursor
        ),
        "busy": busy,
        "parked": sum(1 for item in items if item.parked is not None),
        "first_start": _format_time(consumer.first_start),
    }


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
