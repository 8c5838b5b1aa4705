"""A new configuration for a daemon that runs: whole or not at all.

Everything is read and checked first; a wrong value raises, and the old configuration stays. Then it is put in place in
one turn of the engine. Where the files are (`paths.py`) is no configuration, and takes a restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tacitd.config import Config, flat, load
from tacitd.dispatch import PAUSED
from tacitd.errors import ConfigError
from tacitd.handler import Degradation
from tacitd.parking import Pauses

REFUSED = "config.refused"
"""The degradation of a configuration that could not be reloaded."""

if TYPE_CHECKING:
    from tacitd.app import App


def reload(app: App) -> list[str]:
    """Read the configuration again, and put it in place. Returns the keys that changed. Not in the engine's thread.

    Raises ConfigError where it is wrong: nothing has changed then, and that is a degradation until it is mended.
    """
    try:
        new = _load(app)
    except ConfigError as error:
        app.degraded[REFUSED] = _refused(error)
        raise
    changed = differing(app.config, new)
    if changed:
        app.engine.call(lambda: put(app, new, changed))
    app.degraded.pop(REFUSED, None)
    return changed


def check_refused(app: App) -> None:
    """Look again at a configuration that was refused at a reload: the degradation goes when the old one is back in place.

    A mended one is not put in place by itself: a file that is being edited may be right for a moment. Engine thread.
    """
    if REFUSED not in app.degraded:
        return
    try:
        changed = differing(app.config, _load(app))
    except ConfigError as error:
        app.degraded[REFUSED] = _refused(error)
        return
    if changed:
        what = f"the configuration can be read again, and is not in force yet ({', '.join(changed)})"
        app.degraded[REFUSED] = Degradation(REFUSED, what, "tacitd reload")
    else:
        del app.degraded[REFUSED]


def _load(app: App) -> Config:
    found = app.found
    return load(app.paths.config_file, app.environ, found.sections(), broken=bool(found.failed))


def _refused(error: ConfigError) -> Degradation:
    what = f"the configuration was not reloaded, the old one is in force: {error.what}"
    return Degradation(
        REFUSED, what, f"{error.hint}; then `tacitd reload`" if error.hint else "`tacitd reload`"
    )


def differing(old: Config, new: Config) -> list[str]:
    """The keys whose values differ."""
    before = {key: value for key, value, _ in flat(old)}
    return [key for key, value, _ in flat(new) if before.get(key) != value]


def put(app: App, new: Config, changed: list[str]) -> None:
    """Put it in place, everywhere that anything of it is kept. Engine thread. Raises nothing: all of it was checked."""
    engine = app.engine
    app.config = new
    app.budget.recap(new.budget)
    reconfigure = getattr(app.model, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(new.claude)
    engine.sessions.idle = new.session.idle
    app.projects.exclude(new.projects.exclude)
    app.choices.by_default(new.projects.write)
    engine.dispatcher.pauses = Pauses(new.dispatch.first_pause, new.dispatch.longest_pause)
    _tools(app, new)
    app.on_level(new.log.level)
    if any(key.split(".")[0] in ("claude", "budget") for key in changed):
        _try_again(app)


def _tools(app: App, new: Config) -> None:
    """Handlers may have kept their tools: what they read through them changes under them."""
    for name, tools in list(app.tools.items()):
        _update(tools.settings, {key: new.section(key) for key in tools.settings})
        assert isinstance(tools.directives, list)
        tools.directives[:] = app.directives(new)
        app.tools[name] = replace(tools, write=new.projects.write)


def _update(settings: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    assert isinstance(settings, dict)
    settings.update(new)


def _try_again(app: App) -> None:
    """What waited for the model or the budget may go on now."""
    agenda, now = app.engine.dispatcher.agenda, app.clock.monotonic()
    for turn, parked in agenda.parked():
        if not parked.reason.startswith(PAUSED):
            turn.parked = replace(parked, due=now)
            agenda.wake(turn)
