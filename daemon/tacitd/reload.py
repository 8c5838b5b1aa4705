"""Reloading the configuration of a running daemon: all of it, or nothing.

First everything is read and checked; a wrong value raises, and the old configuration stays in force. Then the App ends when no
task runs, and `tacitd run` builds another one in the same process. Paths (`state/paths.py`) are not part of the configuration; a
change of them takes a restart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacitd.config.settings import Config, list_settings, load_config
from tacitd.errors import ConfigError
from tacitd.handler import Degradation

REFUSED = "config.refused"
"""The degradation of a configuration that could not be reloaded."""
IN_FORCE = 8.0
"""Seconds for which a caller waits until the new configuration is in force: a task that runs may take longer."""

if TYPE_CHECKING:
    from tacitd.app import App


def reload_config(app: App) -> list[str]:
    """Read the configuration again; if it changed, ask for another App. Returns the keys that changed. Any thread.

    Raises ConfigError if it is wrong. Nothing has changed then, and `status` shows a degradation until it is corrected.
    """
    try:
        new = _load(app)
    except ConfigError as error:
        app.degraded[REFUSED] = _refused(error)
        raise
    changed = list_changed_keys(app.config, new)
    app.degraded.pop(REFUSED, None)
    if changed:
        app.request_reload(new)
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
