"""The status document of an App: the engine's status, what only the composition root knows, and the snapshot on disk."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from loguru import logger

from tacitd import status
from tacitd.dispatch.session_ends import open_sessions
from tacitd.errors import TacitdError
from tacitd.files.busy_files import PATIENCE
from tacitd.files.replaced import replace_file
from tacitd.handler import Degradation
from tacitd.model.health import ModelHealth
from tacitd.state.paths import SNAPSHOT
from tacitd.version_check import check_installed_version

if TYPE_CHECKING:
    from tacitd.app import App


def list_app_degradations(app: App) -> list[Degradation]:
    """The degradations of the parts that the engine does not know."""
    return [
        *_model_degradations(app),
        *_unfinished_degradations(app),
        *_busy_degradations(app),
        *_recovered_degradations(app),
        *check_installed_version(),
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
    now = app.clock.monotonic()
    return (
        [
            Degradation(
                "files.busy",
                f"{one.path} is open in {one.editor}; tacitd's change to it waits",
                f"save and close it; otherwise the change is written within {_minutes(one.since + PATIENCE - now)}",
            )
            for one in app.guards.busy_files.list_waiting()
        ]
        if app.guards.busy_files is not None
        else []
    )


def _minutes(seconds: float) -> str:
    count = max(1, math.ceil(seconds / 60))
    return "a minute" if count == 1 else f"{count} minutes"


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


def build_status(app: App) -> dict[str, Any]:
    """The whole status document. Engine thread, or after the engine has ended."""
    describe = getattr(app.model, "describe", None)
    model = describe() if describe is not None else {}
    found = status.build_engine_status(app.engine, build_spending(app), model)
    return found | {"sessions": list_session_rows(app, found["waits"])}


def list_session_rows(app: App, waits: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Given the rows of `waits`, return those of `sessions`: open sessions whose lines are not written yet. Engine thread."""
    return open_sessions(app.engine, lambda project: app.write_modes.get_mode(project) != "off", waits)


def write_snapshot(app: App) -> None:
    """Write the document that `tacitd status` shows without a running daemon. A failure is logged: no work depends on it."""
    try:
        replace_file(app.paths.state_dir / SNAPSHOT, json.dumps(build_status(app)).encode(), mode=0o600)
    except (OSError, TacitdError) as error:
        logger.warning("the status snapshot cannot be written: {}", error)


def build_spending(app: App) -> dict[str, Any]:
    """What was spent today and this month, in calls and dollars, and the limits."""
    caps = app.config.budget
    limits = {
        "calls_per_day": caps.calls_per_day,
        "usd_per_day": caps.usd_per_day,
        "usd_per_month": caps.usd_per_month,
    }
    return asdict(app.budget.get_spending(app.clock.now())) | limits
