"""The settings for commands without a daemon, from a file, because pydantic takes many times longer to import than Python to start.

The file in the cache directory has the table of the last configuration without errors, and what it was made from: the bytes of
config.toml, the variables, the entry points of the installed distributions, and the modules that were imported for it. If any of
that differs, the configuration is read and checked again. It is stored only if all settings are declared by tacitd's own packages,
whose models look at nothing else; a third party's may look at files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacitd.cli.stored_table import read_stored, stamp_entry_points, stat_file, write_stored
from tacitd.config.settings_table import SettingRow, SettingsTable
from tacitd.errors import TacitdError
from tacitd.state.paths import cache_dir
from tacitd.text.hashes import sha256

if TYPE_CHECKING:
    from pydantic import BaseModel

SETTINGS_FILE = "settings.json"
"""File in the cache directory, mode 0600."""
OWN = frozenset({"tacitd", "tacitd_handlers"})


def load_settings_table(file: Path, environ: Mapping[str, str]) -> SettingsTable:
    """The settings of the engine and of all plugins, from config.toml and the variables. Raises ConfigError."""
    stamp = _stamp_sources(file, environ)
    try:
        return _read_table(cache_dir(environ) / SETTINGS_FILE, stamp)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, TacitdError):
        return _make_table(file, environ, stamp)


def _stamp_sources(file: Path, environ: Mapping[str, str]) -> str:
    """A digest of what the settings are made from. "" if that cannot be read."""
    try:
        content = repr(file.read_bytes())
    except FileNotFoundError:
        content = ""
    except (OSError, ValueError):
        return ""
    # In their order: if a variable is given in two spellings, the last one counts.
    variables = [(name, value) for name, value in environ.items() if name.upper().startswith("TACITD_")]
    made_from = [stamp_entry_points(sys.path), str(file), content, variables]
    return sha256(repr(made_from).encode("utf-8", "surrogateescape")).hexdigest()


def _read_table(file: Path, stamp: str) -> SettingsTable:
    """Read the table. Raises OSError, ValueError, KeyError or TypeError if it must be made again."""
    stored = read_stored(file, stamp)
    rows = [
        SettingRow(str(key), value, str(about), str(written)) for key, value, about, written in stored["rows"]
    ]
    return SettingsTable(tuple(rows), tuple(str(what) for what in stored["removed"]))


def _make_table(file: Path, environ: Mapping[str, str], stamp: str) -> SettingsTable:
    from tacitd.config.settings import load_config
    from tacitd.config.settings_table import make_settings_table
    from tacitd.plugins import find_plugins

    plugins = find_plugins()
    sections = plugins.collect_sections()
    made = make_settings_table(load_config(file, environ, sections), plugins.failed)
    # A daemon may have imported modules that changed since. The configuration may have changed while it was read.
    if (
        stamp
        and not plugins.failed
        and all(map(_is_own, sections.values()))
        and stamp == _stamp_sources(file, environ)
    ):
        content = {
            "stamp": stamp,
            "modules": dict(_stamp_modules()),
            "rows": made.rows,
            "removed": made.removed,
        }
        with suppress(TacitdError):  # no usable home
            write_stored(cache_dir(environ) / SETTINGS_FILE, content)
    return made


def _is_own(model: type[BaseModel]) -> bool:
    return model.__module__.partition(".")[0] in OWN


def _stamp_modules() -> Iterator[tuple[str, list[int]]]:
    """All modules that are loaded and not Python's own: an edited checkout changes no metadata."""
    for name, module in list(sys.modules.items()):
        place: Any = getattr(module, "__file__", None)
        if isinstance(place, str) and name.partition(".")[0] not in sys.stdlib_module_names:
            yield place, stat_file(place)
