"""Reloading the configuration of a running daemon: all of it, or nothing.

First everything is read and checked; a wrong value raises, and the old configuration stays in force. Then the engine's
thread applies it in one call. Paths (`state/paths.py`) are not part of the configuration; a change of them takes a restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tacitd.config.settings import Config, list_settings, load_config
from tacitd.errors import ConfigError
from tacitd.handler import Degradation
from tacitd.state.settings_in_force import replace_settings
from tacitd.work.tries import Pauses

REFUSED = "config.refused"
"""The degradation of a configuration that could not be reloaded."""

if TYPE_CHECKING:
    from tacitd.app import App
    from tacitd.store import Store


def reload_config(app: App) -> list[str]:
    """Read the configuration again and apply it. Returns the keys that changed. Not in the engine's thread.

    Raises ConfigError if it is wrong. Nothing has changed then, and `status` shows a degradation until it is corrected.
    """
    try:
        new = _load(app)
    except ConfigError as error:
        app.degraded[REFUSED] = _refused(error)
        raise
    changed = list_changed_keys(app.config, new)
    if changed:
        app.engine.call(lambda: apply_config(app, new, changed))
    app.degraded.pop(REFUSED, None)
    return changed


def check_refused(app: App) -> None:
    """Check a refused configuration again, and clear the degradation if the file is as before. Engine thread.

    A corrected configuration is not applied without a reload, because a file that is being edited may be valid for a moment.
    """
    if REFUSED not in app.degraded:
        return
    try:
        changed = list_changed_keys(app.config, _load(app))
    except ConfigError as error:
        app.degraded[REFUSED] = _refused(error)
        return
    if changed:
        what = f"the configuration is valid again, but not in force yet ({', '.join(changed)})"
        app.degraded[REFUSED] = Degradation(REFUSED, what, "run `tacitd reload`")
    else:
        del app.degraded[REFUSED]


def _load(app: App) -> Config:
    found = app.found
    return load_config(
        app.paths.config_file, app.environ, found.collect_sections(), broken=bool(found.failed)
    )


def _refused(error: ConfigError) -> Degradation:
    what = f"the configuration was not reloaded, the old one is in force: {error.what}"
    return Degradation(
        REFUSED, what, f"{error.hint}; then run `tacitd reload`" if error.hint else "run `tacitd reload`"
    )


def list_changed_keys(old: Config, new: Config) -> list[str]:
    """The keys whose values differ."""
    before = {key: value for key, value, _ in list_settings(old)}
    return [key for key, value, _ in list_settings(new) if before.get(key) != value]


def apply_config(app: App, new: Config, changed: list[str]) -> None:
    """Apply a checked configuration to every part that keeps a value of it. Never raises. Engine thread."""
    engine = app.engine
    app.config = new
    app.budget.set_caps(new.budget)
    reconfigure = getattr(app.model, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(new.claude)
    engine.sessions.idle = new.session.idle
    app.projects.set_excludes(new.projects.exclude)
    app.write_modes.set_default(new.projects.write)
    pauses = Pauses(new.dispatch.first_pause, new.dispatch.longest_pause)
    app.services.pauses = engine.runner.pauses = pauses
    engine.set_default_mode(new.projects.write)
    _tools(app, new)
    app.plugins.set_config(new)
    app.set_log_level(new.log.level)
    store_settings(app.store, new)
    if any(key.split(".")[0] in ("claude", "budget") for key in changed):
        _retry_parked(app)


def store_settings(store: Store, config: Config) -> None:
    """Store the configuration in force, which commands read. Raises UnwritableError, StoreLostError."""
    with store.write() as tx:
        replace_settings(tx, list_settings(config))


def _tools(app: App, new: Config) -> None:
    """Change the handlers' tools in place, because a handler may have kept a reference to them."""
    for name, tools in list(app.tools.items()):
        _update(tools.settings, {key: new.get_section(key) for key in tools.settings})
        assert isinstance(tools.directives, list)
        tools.directives[:] = new.list_directives(app.paths.home)
        app.tools[name] = replace(tools, write=new.projects.write)
        if (running := app.handlers.get(name)) is not None:
            running.tools = app.tools[name]
            running.gather = running.plugin.find_gather(running.tools.settings)


def _update(settings: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    assert isinstance(settings, dict)
    settings.update(new)


def _retry_parked(app: App) -> None:
    """Try again what waits for the model or the budget, also before the time that was named."""
    now = app.clock.now()
    with app.store.write() as tx:
        tx.execute("UPDATE task SET due = ?, not_before = NULL WHERE reason <> ''", now)
