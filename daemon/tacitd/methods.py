"""The methods of the control socket. Commands that run an engine in their own process use the same table.

Each method takes named parameters and returns a JSON value. docs/socket.md lists them; a test compares the two.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, get_args

from msgspec.structs import asdict

from tacitd import __version__
from tacitd.app import App
from tacitd.errors import FileRefusedError, StoreLostError, TacitdError, UnavailableError, UsageError
from tacitd.events import NoProject, Project
from tacitd.files.atomic import list_kept_copies
from tacitd.files.disk import DISK
from tacitd.files.purge import contains_texts
from tacitd.files.row_history import find_row_change
from tacitd.handler import Decision, DecisionChoice, Degradation, StoredItem
from tacitd.housekeeping import IN_FORCE, list_other_items, purge_own_files, reload_config
from tacitd.plugins import collect_footprints
from tacitd.session_context.plugin_view import list_items
from tacitd.session_context.session_texts import SessionTexts
from tacitd.status import make_status_line
from tacitd.work.activities import NO_LINE, STORED, find_newest, list_since
from tacitd.work.asked_tasks import AskedTasks, make_command
from tacitd.work.stored_problems import find_store_refusal
from tacitd.work.task_rows import ENGINE, NewTask

RpcMethod = Callable[[Mapping[str, Any]], Any]
QUESTIONS = ("status", "lag", "statusline", "session_text")
"""Methods that only read, which may be asked twice."""


def build_methods(app: App) -> dict[str, RpcMethod]:
    call_soon = app.engine.inbox.call_soon
    parts = app.engine.source, app.found.plugins, app.store, app.clock, app.environ, call_soon
    texts = SessionTexts(*parts, app.stalls)
    table: dict[str, RpcMethod] = {
        "ping": lambda _: answer_ping(find_store_refusal(app.engine)),
        "status": lambda _: app.read_status(),
        "sync": lambda params: _sync(app, params),
        "wake": lambda _: _wake(app),
        "due": lambda params: _run_job(app, params),
        "lag": lambda _: _count_scanned(app),
        "hint": lambda params: _take_hint(app, params),
        "statusline": lambda _: {"line": make_status_line(app.read_status())},
        "session_text": partial(_make_session_text, app, texts),
        "undo": lambda params: _undo(app, params),
        "decide": lambda params: _decide(app, params),
        "task": lambda params: _run_task(app, params),
        "reload": lambda _: _reload(app),
        "stop": lambda _: _stop(app),
    }
    if app.environ.get("TACITD_DEBUG") == "1":  # for the tests of the watchdog only
        table["debug.wedge"] = lambda _: app.engine.inbox.call_soon(threading.Event().wait)
    return table | {name: partial(_ask_new_store, table[name]) for name in QUESTIONS}


def _ask_new_store(question: RpcMethod, params: Mapping[str, Any]) -> Any:
    """Answer a question; if it is what meets the damage of the store, from the new one."""
    try:
        return question(params)
    except StoreLostError:
        return question(params)


def answer_ping(problem: Degradation | None) -> dict[str, Any]:
    """That the daemon answers, and what no row of the store can say: why it cannot be written."""
    told = None if problem is None else asdict(problem)
    return {"version": __version__, "pid": os.getpid(), "problem": told}


def _reload(app: App) -> dict[str, Any]:
    changed = reload_config(app)
    if changed:
        app.replaced.wait(IN_FORCE)
    return {"changed": changed}


def _sync(app: App, params: Mapping[str, Any]) -> dict[str, Any]:
    """Wait until everything is handled or parked. `due`: jobs (`{"job", "project"}`) to run after that. `write`: also the jobs
    of everything that waits."""
    timeout = params.get("timeout")
    seconds = float(timeout) if timeout is not None else None
    if seconds is not None and not seconds >= 0:
        hint = "give the maximum seconds to wait, or leave it out"
        raise UsageError(f"the timeout {timeout} is not valid", hint)
    deadline = None if seconds is None else app.clock.monotonic() + seconds
    jobs = list[dict[str, Any]]()
    mark = _ask_new_store(lambda _: find_newest(app.store.rows), {})
    done = _wait_until_handled(app, deadline)
    if done and (params.get("write") or params.get("due")):
        waits = _ask_new_store(lambda _: app.read_status(), {})["waits"]
        asked = [*params.get("due", ()), *(one for one in waits if params.get("write") and one["job"])]
        jobs = [_run_job(app, {"job": one["job"], "project": one["project"]}) for one in asked]
        done = _wait_until_handled(app, deadline)
    document = _ask_new_store(lambda _: app.read_status(), {})
    said = {key: document[key] for key in ("parked", "degraded", "waits", "rescued")}
    rows = [one.describe() for one in _ask_new_store(lambda _: list_since(app.store.rows, mark), {})]
    made = {"made": [row for row in rows if row["did"] == STORED]}
    made["unmade"] = [row for row in rows if row["did"] == NO_LINE]
    return {"done": done, **said, "jobs": jobs, **made}


def _wait_until_handled(app: App, deadline: float | None) -> bool:
    """False at the deadline (monotonic seconds; None: no limit)."""
    left = None if deadline is None else max(0.0, deadline - app.clock.monotonic())
    try:
        app.engine.sync(left if left is None else min(left, threading.TIMEOUT_MAX))
    except TimeoutError:
        return False
    return True


def _take_hint(app: App, params: Mapping[str, Any]) -> dict[str, Any]:
    """Answers at once, because a person's prompt waits for the hook."""
    data = params.get("input")
    if not isinstance(data, dict):
        return {"taken": False}
    app.engine.inbox.call_soon(partial(app.engine.take_hook_input, data))
    return {"taken": True}


def _make_session_text(app: App, texts: SessionTexts, params: Mapping[str, Any]) -> dict[str, Any]:
    """What a client's hook prints for a session. In the caller's thread, because the session's start waits."""
    data, source = params.get("input"), app.engine.source
    hook = source.read_hook(data) if isinstance(data, dict) else None
    is_asked = hook is not None and hook.kind
    return {"text": source.format_answer(hook, texts.answer_hook(hook)) if hook and is_asked else ""}


def _undo(app: App, params: Mapping[str, Any]) -> dict[str, Any]:
    id, dry_run = str(params["id"]), bool(params.get("dry_run"))
    change = find_row_change(app.store.rows, id)
    if change is None:
        raise TacitdError(f"no change has the id {id!r}", "`tacitd history --all` lists them")
    undone = _asked(app).undo(app.plugins.by_name, change, dry_run=dry_run)
    app.check_sources()
    return undone


def _decide(app: App, params: Mapping[str, Any]) -> dict[str, Any]:
    """Raises UsageError, FileRefusedError for a purge while a change of a file waits, and what the plugin's hook raises."""
    name, root, choice = str(params["plugin"]), params.get("root"), params["choice"]
    plugin = next((one for one in app.found.plugins if one.name == name and one.items), None)
    if plugin is None or choice not in get_args(DecisionChoice):
        raise UsageError(f"no item of {name} can be decided about with {params['choice']!r}")
    text = str(params.get("text", ""))
    decision = Decision(str(params["id"]), choice, Path(str(root)) if root else None, text)
    if name not in app.plugins.by_name:
        raise UnavailableError(f"the handler {name} does not run", "`tacitd status` says why")
    if params.get("purge"):
        # Its words would be blanked in a change that is still to be written into a file.
        for (path,) in app.store.rows("SELECT path FROM plan LIMIT 1"):
            raise FileRefusedError(f"a change of {path} waits to be written", "try again when it is done")
    items = list_items(plugin, app.environ, decision.root)
    purge = [*app.plugins.list_wanting("purge"), ENGINE] if params.get("purge") else []
    done = _asked(app).decide(app.plugins.by_name[name], decision, items, purge)
    if not purge:
        return {"what": done.what, "purged": [], "left": [], "yours": []}
    others = list_other_items(app, decision.id)
    return {"what": done.what, **_purge_words(app, decision.id, done.texts, others)}


def _asked(app: App) -> AskedTasks:
    return AskedTasks(app.store, app.engine.runner, app.clock.now, app.engine.wake.set, app.stopping.is_set)


def _run_task(app: App, params: Mapping[str, Any]) -> dict[str, Any]:
    """Have a plugin do what a person's command asks, and wait for it. `project`: a directory. Raises what the plugin raised."""
    plugin = app.plugins.by_name.get(str(params["plugin"]))
    if plugin is None:
        raise UnavailableError(f"the plugin {params['plugin']} does not run", "`tacitd status` says why")
    project = _project(app, params["project"]) if params.get("project") else None
    with app.store.write() as tx:
        new = make_command(tx, params, project, app.clock.now())
    done = _asked(app).run(plugin, new)
    return {"made": [asdict(one) for one in done.notices]}


def _purge_words(app: App, id: str, texts: Sequence[str], others: Mapping[str, StoredItem]) -> dict[str, Any]:
    """Do at once what the decision has queued, and say what was changed and what is left."""
    purged: list[Path] = []
    # Before the logs: what a plugin takes out of a file, it may write down.
    for one in app.plugins.list_wanting("purge"):
        plugin = app.plugins.by_name[one]
        done = _asked(app).run(plugin, NewTask(one, "", "purge", id, data={"texts": list(texts)}))
        purged += [change.path for change in done.files]
        purged += [Path(each.text) for each in done.notices if each.did == "purged"]
    purged += purge_own_files(app, id, texts, others)
    kept = [{"text": text, "id": others[text].id} for text in texts if text in others]
    shared: dict[Path, None] = {}
    for made in collect_footprints(app.found.plugins, app.environ).values():
        for path in made.kept:
            inside = (each for each in sorted(path.rglob("*")) if each.is_file()) if path.is_dir() else [path]
            shared |= dict.fromkeys(inside)
        for place in made.places:
            shared |= dict.fromkeys(list_kept_copies(place, DISK))
    yours = [str(path) for path in shared if contains_texts(path, texts, keep=others)]
    return {"purged": [str(path) for path in purged], "left": kept, "yours": yours}


def _wake(app: App) -> dict[str, Any]:
    """A command changed rows, or reads what was typed before. Works also while the loop waits for something."""
    with suppress(TimeoutError):
        app.engine.inbox.call(app.engine.read_all, 1.5)
    app.engine.wake.set()
    return {"pid": os.getpid()}


def _project(app: App, directory: object) -> Project:
    cwd = str(directory)
    place = app.stalls.ask(cwd, partial(app.projects.find_project, cwd))
    if isinstance(place, NoProject):
        raise UsageError(f"{place.cwd} is not a project: {place.reason}", "name a directory that you work in")
    return place


def _run_job(app: App, params: Mapping[str, Any]) -> dict[str, Any]:
    """Start a job now, for one project or for all. Returns at once: `sync` waits for it."""
    job = str(params["job"])
    project = _project(app, params["project"]) if params.get("project") else None
    with app.store.write() as tx:
        if not app.plugins.queue_jobs(tx, job, project):
            raise UsageError(f"no handler has a job {job!r}")
    app.engine.wake.set()
    return {"job": job, "project": str(project.root) if project else None}


def _count_scanned(app: App) -> dict[str, int]:
    """Of the prompts of old transcripts, how many wait for a handler that calls the model, and how many do not any more."""
    ((total, waiting),) = app.store.rows(
        "SELECT count(*), count(CASE WHEN t.state = 'waiting' THEN 1 END) FROM prompt_task t JOIN prompt_text w USING(prompt) "
        "WHERE w.priority = 'scan'"
    )
    return {"done": total - waiting, "waiting": waiting}


def _stop(app: App) -> dict[str, Any]:
    app.asked_to_stop.set()  # at once: a loop that is being left for a reload runs nothing more
    app.engine.inbox.call_soon(app.request_stop)
    return {"stopping": True}
