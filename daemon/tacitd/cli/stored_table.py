"""Files in the cache directory: what the command line knows of plugins, with the help of the program, and the settings.

`plugin_table` and `stored_settings` make them. `tacitd --help` is answered from the first alone, so only what `json` imports is
imported here.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from tacitd import __version__
from tacitd.text.hashes import sha256

TYPE_CHECKING = False  # importing typing takes a third of a start of Python
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

LARGEST = 1 << 20
"""Bytes of the table that are read; seven plugins need about 10,000."""
TABLE_FILE = "plugins.json"
"""File in the cache directory, mode 0600."""
SCHEMA = 4


def read_stored(file: str | os.PathLike[str], stamp: str) -> dict[str, Any]:
    """Read the table. Raises OSError, ValueError, KeyError, TypeError or AttributeError if it must be made again."""
    stored: dict[str, Any] = json.loads(_read_own_file(file))
    if stored["schema"] != SCHEMA or stored["stamp"] != stamp:
        raise ValueError("the table is of other entry points")
    for path, expected in stored["modules"].items():
        if stat_file(path) != expected:
            raise ValueError(f"{path} changed")
    return stored


def write_stored(file: Path, stored: Mapping[str, Any]) -> None:
    """Write the table. A directory that cannot be written to costs time at the next call, and nothing else."""
    from tacitd.errors import TacitdError
    from tacitd.files.locks import make_private_dir
    from tacitd.files.replaced import replace_file

    with suppress(OSError, TacitdError):
        make_private_dir(file.parent)
        replace_file(file, json.dumps({**stored, "schema": SCHEMA}).encode(), mode=0o600)


def _read_own_file(file: str | os.PathLike[str]) -> bytes:
    """Read the table's file, which names modules that will be imported, so nobody else may have written it.

    Raises OSError, also if it is a link, not a regular file, another user's, writable by others, or too large.
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or others:
            raise PermissionError(f"{file!s} is not a file that only this user can write")
        data = os.read(descriptor, LARGEST + 1)
    finally:
        os.close(descriptor)
    if len(data) > LARGEST:
        raise OSError(f"{file!s} is too large")
    return data


def stamp_entry_points(places: Iterable[str]) -> str:
    """A digest of the entry points' files on a path, of the engine's commands, of the interpreter and of this version.

    A distribution's metadata is a directory of its own, and its installer writes `entry_points.txt` there, so that an
    installation, an update or a removal changes a name, a size or a time.
    """
    programs = [__file__.replace("stored_table", name) for name in ("program", "command_table")]
    files = [*programs, *sorted(set(_list_entry_point_files(places)))]
    stamps = [f"{sys.version} {__version__} {sys.prefix}", *(f"{file} {stat_file(file)}" for file in files)]
    return sha256("\0".join(stamps).encode("utf-8", "surrogateescape")).hexdigest()


def _list_entry_point_files(places: Iterable[str]) -> Iterator[str]:
    for place in dict.fromkeys(places):
        with suppress(OSError):
            whole = os.path.abspath(place)  # noqa: PTH100
            for name in os.listdir(place or "."):  # noqa: PTH208
                if name.endswith((".dist-info", ".egg-info")):
                    yield f"{whole}/{name}/entry_points.txt"


def stat_file(path: str) -> list[int]:
    """(mtime in ns, size) of a file; both 0 if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return [0, 0]
    return [found.st_mtime_ns, found.st_size]
