"""The banner of `tacitd run`: what it watches, what it may cost, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator

from loguru import logger

from tacitd import __version__
from tacitd.app import App
from tacitd.config.durations import format_duration
from tacitd.contract import Task
from tacitd.events import NoProject
from tacitd.handler import load_hook
from tacitd.service.doctor import examine_client
from tacitd.work.work_status import describe_waiting

NO_TASK = Task(0, "job", "", NoProject("", "it is for no project"), None)


def banner_lines(app: App) -> Iterator[str]:
    """The lines of the banner."""
    budget = app.config.budget
    stamps = app.engine.follower.stamps
    roots = ", ".join(map(str, app.engine.source.roots))
    yield f"tacitd {__version__} watches {roots} ({len(stamps)} transcripts)"
    if app.engine.first_start.is_now:
        yield "first start: earlier prompts are not read; `tacitd scan --since 30d` reads them, after naming the cost"
    yield (
        f"it may cost at most ${budget.usd_per_day:.2f} a day, ${budget.usd_per_month:.2f} a month and "
        f"{budget.calls_per_day} calls a day"
    )
    yield (
        f"learned lines are written {format_duration(app.config.session.idle)} after a session goes idle, or 2 min after "
        f"its client has ended"
    )
    yield from _list_plugin_lines(app)
    document = app.read_status()
    for text in describe_waiting(document["waits"], document["sessions"]):
        yield f"waits: {text}"
    yield f"state: {app.paths.state_dir}; socket: {app.paths.socket}"
    missing = {one["id"]: (one["what"], one["hint"]) for one in document["degraded"]}
    if app.engine.first_start.is_now:
        found = examine_client(app.paths, app.config, app.environ)
        missing |= {one.id: (one.what, one.hint) for one in found if one.id not in missing}
    for what, hint in missing.values():
        yield f"missing: {what}"
        if hint:
            yield f"  hint: {hint}"
    yield "Press Ctrl-C to stop; no work is lost"


def _list_plugin_lines(app: App) -> Iterator[str]:
    """The lines of the plugins' hooks. One that fails is logged, and the others are printed."""
    for plugin in app.found.plugins:
        hook = plugin.prompt_parts.get("banner")
        if not hook or plugin.name not in app.plugins.by_name:
            continue
        try:
            tools = app.plugins.by_name[plugin.name].make_tools(NO_TASK)
            yield from list(load_hook(hook)(tools))
        except Exception as error:  # noqa: BLE001  a third-party hook may raise anything
            logger.warning("the banner's lines of {} are left out: {}", plugin.name, error)
