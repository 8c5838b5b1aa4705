"""The plugins' hooks for the command line: commands, sections of `context`, explanations for `why`, items.

To find the hooks, each plugin's package is imported and every installed distribution is looked into, which takes too long
for a command. So they are kept in one file of the cache directory, with a stamp of what they were made from: the entry
points' files of the distributions on `sys.path`, and the modules that declare plugins. If the stamp differs, or the file
is missing or damaged, it is made again. If it cannot be written, only time is lost.

Nothing heavy is imported at the top, because `tacitd context` is called at a session's start.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from tacitd.cli.stored_table import (
    TABLE_FILE,
    read_stored,
    stamp_entry_points,
    stat_file,
    write_stored,
)
from tacitd.state.paths import cache_dir

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from tacitd.plugins import FoundPlugins


class PluginHooks(Struct, frozen=True):
    """What one plugin offers to the command line. See `tacitd.handler.Plugin` for each field."""

    name: str
    commands: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    context: str = ""
    context_order: int = 50
    context_budget: int = 1_000
    context_for_agents: bool = False
    context_files: str = ""
    explain: str = ""
    items: str = ""
    changes: str = ""
    report: str = ""


class PluginTable(Struct, frozen=True):
    """The hooks of all plugins, and what is wrong with those that are left out."""

    plugins: tuple[PluginHooks, ...] = ()
    broken: tuple[str, ...] = ()


def load_table(environ: Mapping[str, str], reserved: Collection[str] = ()) -> PluginTable:
    """Return the table from its file, or make it. `reserved`: commands that plugins cannot have.

    Raises ConfigError if the environment names no usable home.
    """
    file, stamp = cache_dir(environ) / TABLE_FILE, stamp_entry_points(sys.path)
    try:
        return _read_table(file, stamp)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return _make_table(file, stamp, reserved)


def _read_table(file: Path, stamp: str) -> PluginTable:
    """Read the table. Raises OSError, ValueError, KeyError, TypeError or AttributeError if it must be made again."""
    stored = read_stored(file, stamp)
    plugins = [
        PluginHooks(
            str(one["name"]),
            {str(name): _check_row(row) for name, row in one["commands"].items()},
            str(one["context"]),
            int(one["context_order"]),
            int(one["context_budget"]),
            bool(one["context_for_agents"]),
            str(one["context_files"]),
            str(one["explain"]),
            str(one["items"]),
            str(one["changes"]),
            str(one["report"]),
        )
        for one in stored["plugins"]
    ]
    return PluginTable(tuple(plugins), tuple(str(what) for what in stored["broken"]))


def _check_row(row: Iterable[Any]) -> tuple[str, str, str]:
    where, about, group = row
    return str(where), str(about), str(group)


def _make_table(file: Path, stamp: str, reserved: Collection[str]) -> PluginTable:
    """Load the declarations of all plugins, and write the table if that is possible."""
    from tacitd.plugins import find_declarations, list_entry_points

    points = list_entry_points()
    made = build_table(find_declarations(points), reserved)
    stored = {
        "stamp": stamp,
        "modules": dict(_stamp_modules(points)),
        "plugins": [asdict(one) for one in made.plugins],
        "broken": made.broken,
    }
    if not made.broken:  # otherwise it may load at the next call, in another environment
        write_stored(file, stored)
    return made


def build_table(found: FoundPlugins, reserved: Collection[str] = ()) -> PluginTable:
    """Given the plugins, return the table. A command that another plugin or the engine has is left out and reported."""
    taken, plugins = set(reserved), list[PluginHooks]()
    broken = [one.what for one in found.failed]
    for one in sorted(found.plugins, key=lambda plugin: (plugin.order, plugin.name)):
        try:
            rows = {str(name): _check_row(row) for name, row in one.commands.items()}
            hooks = PluginHooks(
                one.name,
                rows,
                str(one.context),
                int(one.context_order),
                int(one.context_budget),
                bool(one.context_for_agents),
                str(one.context_files),
                str(one.explain),
                str(one.items),
                str(one.changes),
                str(one.report),
            )
        except Exception as error:  # noqa: BLE001  a third-party declaration may have any type
            broken.append(f"the hooks of {one.name} cannot be read: {type(error).__name__}: {error}")
            continue
        broken += [
            f"the command {name} of {one.name} is left out: there is another of this name"
            for name in rows
            if name in taken
        ]
        kept = {name: row for name, row in rows.items() if name not in taken}
        taken |= set(kept)
        plugins.append(replace(hooks, commands=kept))
    return PluginTable(tuple(plugins), tuple(broken))


def _stamp_modules(points: Iterable[EntryPoint]) -> Iterator[tuple[str, list[int]]]:
    """The modules that declare plugins: an edited checkout changes no metadata."""
    from importlib.util import find_spec

    for point in points:
        with suppress(Exception):  # a package that cannot be imported is reported as a broken plugin
            spec = find_spec(point.value.partition(":")[0])
            if spec is not None and spec.origin is not None:
                yield spec.origin, stat_file(spec.origin)
