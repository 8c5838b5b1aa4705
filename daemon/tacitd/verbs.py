"""The methods of the control socket. Commands that run an engine in their own process use the same table.

Each method takes named parameters and returns a JSON value. docs/socket.md lists them; a test compares the two.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tacitd import __version__
from tacitd.app import App
from tacitd.engine import Engine
from tacitd.errors import UsageError
from tacitd.events import Due, NoProject, Project
from tacitd.holds import Hold
from tacitd.notices import STORED, notice_line
from tacitd.reload import reload
from tacitd.report import document
from tacitd.retries import retry_rejected
from tacitd.slices import due_jobs

Verb = Callable[[Mapping[str, Any]], Any]


def verbs(app: App) -> dict[str, Verb]:
    """The table of methods by name."""
    table: dict[str, Verb] = {
        "ping": lambda _: {"version": __version__, "pid": os.getpid()},
        "status": lambda _: app.engine.call(lambda: snapshot(app)),
        "sync": lambda params: _sync(app, params),
        "pause": lambda params: _hold(app, params, held=True),
        "resume": lambda params: _hold(app, params, held=False),
        "due": lambda params: _due(app, params),
        "scan": lambda params: _scan(app, params),
        "lag": lambda params: app.engine.call(lambda: _lag(app.engine, params)),
        "rescued": lambda _: {"kept": [dict(one) for one in app.engine.dispatcher.rescue.kept()]},
        "retry": lambda params: _retry(app, params),
        "drop": lambda params: {"dropped": app.engine.call(lambda: _drop(app, params))},
        "reload": lambda _: {"changed": reload(app)},
        "stop": lambda _: _stop(app),
    }
    if app.environ.get("TACITD_DEBUG") == "1":  # for the tests of the watchdog only
        table["debug.wedge"] = lambda _: _wedge(app)
    return table


def _wedge(app: App) -> dict[str, Any]:
    """Block the engine's loop for ever."""

    def stay() -> None:
        threading.Event().wait()

    app.engine.post(stay)
    return {"wedged": True}


def snapshot(app: App) -> dict[str, Any]:
    """The whole status document. Engine thread."""
    return document(app)


def _sync(app: App, params: Mapping[str, Any]) -> dict[str, Any]:
    """Wait until everything that exists now is handled or parked. Return what is parked, what waits, what was made.

    `timeout`: maximum seconds, none waits without a limit. `due`: jobs (`{"job", "project"}`) to run after that, and to
    wait for. `write`: also run the jobs of everything that waits. Raises UsageError for a wrong timeout, job or project.
    """
    timeout = params.get("timeout")
    seconds = float(timeout) if timeout is not None else None
    if seconds is not None and not seconds >= 0:
        raise UsageError(
            f"the timeout {timeout} is not valid", "give the maximum seconds to wait, or leave it out"
        )
    deadline = None if seconds is None else app.clock.monotonic() + seconds
    mark, waited, jobs = app.notices.mark(), list[dict[str, Any]](), list[dict[str, Any]]()
    done = _handled(app, deadline)
    if done and (params.get("write") or params.get("due")):
        waited = app.engine.call(lambda: snapshot(app))["waits"]
        asked = [*params.get("due", ()), *(one for one in waited if params.get("write") and one["job"])]
        jobs = [_due(app, {"job": one["job"], "project": one["project"]}) for one in asked]
        done = _handled(app, deadline)
    document = app.engine.call(lambda: snapshot(app))
    said = {key: document[key] for key in ("parked", "degraded", "waits", "dead_letters", "rescued")}
    rows = [asdict(one) | {"line": notice_line(one)} for one in app.notices.since(mark)]
    made = {"made": [row for row in rows if row["did"] == STORED]}
    made["unmade"] = [row for row in rows if row["did"] != STORED]
    return {"done": done, **said, "waited": waited, "jobs": jobs, **made}


def _handled(app: App, deadline: float | None) -> bool:
    """Wait until everything is handled or parked; return False at the deadline (monotonic seconds; None: no limit)."""
    left = None if deadline is None else max(0.0, deadline - app.clock.monotonic())
    try:
        app.engine.sync(left if left is None else min(left, threading.TIMEOUT_MAX))
    except TimeoutError:
        return False
    return True


def _hold(app: App, params: Mapping[str, Any], *, held: bool) -> dict[str, Any]:
    hold = Hold("all")
    if "" in (params.get("session"), params.get("project")):
        raise UsageError("the name is empty", "leave it out for everything")
    if params.get("session"):
        hold = Hold("session", str(params["session"]))
    elif params.get("project"):
        hold = Hold("project", str(_project(app, params["project"]).root))
    changed = app.engine.call(lambda: app.engine.hold(hold, held=held))
    return {"scope": hold.scope, "name": hold.name, "held": held, "changed": changed}


def _project(app: App, directory: object) -> Project:
    place = app.engine.project_of(str(directory))
    if isinstance(place, NoProject):
        raise UsageError(f"{place.cwd} is not a project: {place.reason}", "name a directory that you work in")
    return place


def _due(app: App, params: Mapping[str, Any]) -> dict[str, Any]:
    """Start a job now, for one project or for all. Returns at once: `sync` waits for it."""
    job = str(params["job"])
    owners = due_jobs(app.found.slices, job)
    if not owners:
        raise UsageError(f"no handler has a job {job!r}")
    project = _project(app, params["project"]) if params.get("project") else None

    def post() -> None:
        for name in owners:
            app.engine.dispatcher.post(Due(job, project), only=name)

    app.engine.call(post)
    return {"job": job, "project": str(project.root) if project else None}


def _scan(app: App, params: Mapping[str, Any]) -> dict[str, Any]:
    """Read these transcripts again from their first byte.

    Only prompts that are not older than `since` (seconds since 1970) and belong to `projects` (roots; none: all) count.
    """
    since, paths = float(params["since"]), [Path(str(name)) for name in params["transcripts"]]
    only = [str(root) for root in params.get("projects", ())]
    return {"transcripts": app.engine.call(lambda: app.engine.rewind(paths, since, only), None)}


def _drop(app: App, params: Mapping[str, Any]) -> int:
    """Delete texts from the rescue log, and stop their parked work. Returns how many were deleted. Engine thread."""
    ids = [str(id) for id in params["ids"]]
    dropped = sum(app.engine.dispatcher.rescue.drop(id) for id in ids)
    app.engine.dispatcher.forget(ids)
    return dropped


def _retry(app: App, params: Mapping[str, Any]) -> dict[str, Any]:
    """Try rejected prompts again: `ids`, or `all`. Raises UsageError without either, or with both."""
    if bool(params.get("all")) == bool(params.get("ids")):
        raise UsageError("name ids, or all", "`tacitd rescue` lists the ids; `--all` tries everything again")
    ids = None if params.get("all") else {str(id) for id in params["ids"]}
    return app.engine.call(lambda: retry_rejected(app, ids), None)


def _lag(engine: Engine, params: Mapping[str, Any]) -> dict[str, int]:
    """The handled and the total bytes of these transcripts, for the handlers that call the model."""
    done = total = 0
    for path in map(Path, params["transcripts"]):
        stamp = engine.follower.stamps.get(path)
        if stamp is not None:
            total += stamp.size
            done += min([stamp.size, *(c.stands(path) for c in engine.consumers.values() if c.slice.pays)])
    return {"done": done, "total": total}


def _stop(app: App) -> dict[str, Any]:
    app.engine.post(app.leave)
    return {"stopping": True}
