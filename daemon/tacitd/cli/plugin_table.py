"""The plugins' hooks for the command line: commands, sections of `context`, explanations for `why`, items.

To find the hooks, each plugin's package is imported and every installed distribution is looked into, which takes too long
for a command. So they are kept in one file of the cache directory, with a stamp of what they were made from: the entry
points' files of the distributions on `sys.path`, and the modules that declare plugins. If the stamp differs, or the file
is missing or damaged, it is made again. If it cannot be written, only time is lost.

Nothing heavy is imported at the top, because `tacitd context` is called at a session's start.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacitd import __version__
from tacitd.errors import TacitdError
from tacitd.state.paths import cache_dir

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from tacitd.plugins import FoundPlugins

LARGEST = 1 << 20
"""Bytes of the table that are read; five plugins need about 6,000."""
TABLE_FILE = "plugins.json"
"""File in the cache directory, mode 0600."""
SCHEMA = 3

Stamp = Mapping[str, list[int]]
"""(mtime in ns, size) of files by path; both 0 if there is none."""


@dataclass(frozen=True, slots=True)
class PluginHooks:
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


@dataclass(frozen=True, slots=True)
class PluginTable:
    """The hooks of all plugins, and what is wrong with those that are left out."""

    plugins: tuple[PluginHooks, ...] = ()
    broken: tuple[str, ...] = ()


def load_table(environ: Mapping[str, str], reserved: Collection[str] = ()) -> PluginTable:
    """Return the table from its file, or make it. `reserved`: commands that plugins cannot have.

    Raises ConfigError if the environment names no usable home.
    """
    file, stamp = cache_dir(environ) / TABLE_FILE, _stamp_entry_points(sys.path)
    try:
        return _read_table(file, stamp)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return _make_table(file, stamp, reserved)


def _read_table(file: Path, stamp: str) -> PluginTable:
    """Read the table. Raises OSError, ValueError, KeyError, TypeError or AttributeError if it must be made again."""
    stored = json.loads(_read_own_file(file))
    if stored["schema"] != SCHEMA or stored["stamp"] != stamp:
        raise ValueError("the table is of other entry points")
    for path, expected in stored["modules"].items():
        if _stat_file(path) != expected:
            raise ValueError(f"{path} changed")
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


def _read_own_file(file: Path) -> bytes:
    """Read the table's file, which names modules that will be imported, so nobody else may have written it.

    Raises OSError, also if it is a link, not a regular file, another user's, writable by others, or too large.
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or others:
            raise PermissionError(f"{file} is not a file that only this user can write")
        data = os.read(descriptor, LARGEST + 1)
    finally:
        os.close(descriptor)
    if len(data) > LARGEST:
        raise OSError(f"{file} is too large")
    return data


def _check_row(row: Iterable[Any]) -> tuple[str, str, str]:
    where, about, group = row
    return str(where), str(about), str(group)


def _make_table(file: Path, stamp: str, reserved: Collection[str]) -> PluginTable:
    """Load the declarations of all plugins, and write the table if that is possible."""
    from tacitd.plugins import find_declarations, list_entry_points

    points = list_entry_points()
    made = build_table(find_declarations(points), reserved)
    stored = {
        "schema": SCHEMA,
        "stamp": stamp,
        "modules": dict(_stamp_modules(points)),
        "plugins": [asdict(one) for one in made.plugins],
        "broken": made.broken,
    }
    from tacitd.files.locks import make_private_dir
    from tacitd.files.replaced import replace_file

    if made.broken:  # it may load at the next call, in another environment
        return made
    # A directory that cannot be written to costs time at the next call, and nothing else.
    with suppress(OSError, TacitdError):
        make_private_dir(file.parent)
        replace_file(file, json.dumps(stored).encode(), mode=0o600)
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


def _stamp_entry_points(places: Iterable[str]) -> str:
    """A digest of the entry points' files on a path, of the interpreter and of this version.

    A distribution's metadata is a directory of its own, and its installer writes `entry_points.txt` there, so that an
    installation, an update or a removal changes a name, a size or a time.
    """
    digest = hashlib.sha256(f"{sys.version} {__version__} {sys.prefix}".encode())
    for file in sorted(set(_list_entry_point_files(places))):
        digest.update(f"\0{file} {_stat_file(file)}".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _list_entry_point_files(places: Iterable[str]) -> Iterator[str]:
    for place in dict.fromkeys(places):
        with suppress(OSError), os.scandir(place or ".") as entries:
            for entry in entries:
                if entry.name.endswith((".dist-info", ".egg-info")):
                    yield os.path.join(os.path.abspath(place), entry.name, "entry_points.txt")  # noqa: PTH100, PTH118


def _stamp_modules(points: Iterable[EntryPoint]) -> Iterator[tuple[str, list[int]]]:
    """The modules that declare plugins: an edited checkout changes no metadata."""
    for point in points:
        with suppress(Exception):  # a package that cannot be imported is reported as a broken plugin
            spec = find_spec(point.value.partition(":")[0])
            if spec is not None and spec.origin is not None:
                yield spec.origin, _stat_file(spec.origin)


def _stat_file(path: str) -> list[int]:
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return [0, 0]
    return [found.st_mtime_ns, found.st_size]
