"""`tacitd uninstall`: removes tacitd's own files by name, and names what stays and why. A person's files are never touched.

The order is: the service, the daemon, the socket, the copies made for the client, and with `purge` what only tacitd needs: its state, locks, marks and
generated files. What was learned stays and is named. docs/files.md lists every file.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path

from tacitd.control.client import call_daemon
from tacitd.errors import TacitdError
from tacitd.files.atomic import edit_file, list_kept_copies, remove_empty, sweep_temporary
from tacitd.files.disk import DISK
from tacitd.files.locks import acquire_lock
from tacitd.handler import Footprint
from tacitd.service.detach import wait_until_gone
from tacitd.service.managers import Manager
from tacitd.state.paths import Paths
from tacitd.text.wording import count_noun

_NAMES = """
lock start.log tacitd.log tacitd.[0-9].log tacitd.sqlite tacitd.sqlite-wal
tacitd.sqlite-shm tacitd.sqlite.[0-9]* choices.jsonl hooks/tacitd-hook socket tacitd.sock
"""
STATE_FILES = tuple(_NAMES.split())
"""The files of the state directory, as docs/files.md lists them; a test compares the two."""
STATE_FOLDERS = ("hooks", "model")
"""The folders of the state directory. A person may have others, and files of their own in these."""
SOCKET_NAME = "tacitd.sock"
"""The entry of `STATE_FILES` that is removed only if it is a socket."""


def uninstall_daemon(
    places: Paths,
    manager: Manager | None,
    *,
    purge: bool,
    footprints: Callable[[], Mapping[str, Footprint]] = dict,
) -> Iterator[str]:
    """Uninstall, and yield a line for each thing that was done or stays. `footprints` is called after the
    daemon has ended. Raises UnavailableError if it does not end."""
    if manager is not None:
        yield from manager.uninstall()
    with suppress(TacitdError):
        call_daemon(places.socket, "stop")
        yield "stopped the daemon"
    wait_until_gone(places.state_dir)
    # None starts meanwhile.
    with acquire_lock(places.state_dir / "lock") if places.state_dir.is_dir() else nullcontext():
        said = list(_unlink_socket(places.socket))
        yield from said
        found = list(footprints().values())
        reasons = {file: why for one in found for file, why in one.reasons.items()}
        for file in _join(one.copies for one in found):
            yield from _unlink_file(file)
        for file, without in {file: take for one in found for file, take in one.parts.items()}.items():
            yield from _take_part(file, without)
        for file in _join(one.edited_copies for one in found):
            yield from _name_kept(file, reasons.get(file, ""))
        if purge:
            yield from (text for text in _purge(places, found, reasons) if text not in said)
        else:
            yield f"kept {places.state_dir}: positions, budget and history (`--purge` removes them)"
    yield "kept everything that was learned"
    yield from dict.fromkeys(text for one in found for text in one.advice)


def _join(paths: Iterable[Iterable[Path]]) -> list[Path]:
    return list(dict.fromkeys(chain.from_iterable(paths)))


def describe_removal(prefix: str = sys.prefix) -> str:
    """How the program itself is removed, by whom it was installed. `prefix`: of its environment."""
    if "/uv/tools/" in prefix:
        return "to remove the program itself, run `uv tool uninstall tacitd`"
    if "/pipx/venvs/" in prefix:
        return "to remove the program itself, run `pipx uninstall tacitd`"
    return f"to remove the program itself, delete the virtual environment {prefix} and the links to it in ~/.local/bin"


def _unlink_socket(path: Path) -> Iterator[str]:
    """Remove the socket. TACITD_SOCKET may name a person's file, so anything but a socket is kept."""
    if path.is_socket() and not path.is_symlink():
        path.unlink(missing_ok=True)
        yield f"removed {path}"
    elif path.exists() or path.is_symlink():
        yield f"kept {path}: it is not a socket"
    with suppress(OSError):
        if path.parent.name.startswith("tacitd"):
            path.parent.rmdir()


def _purge(places: Paths, found: Sequence[Footprint], reasons: Mapping[Path, str]) -> Iterator[str]:
    directories = _join(one.places for one in found)
    for file in _join(one.removed for one in found):
        yield from _unlink_file(file)
    for directory in directories:
        sweep_temporary(directory, math.inf, DISK)
    yield from _empty_state(places.state_dir)
    for directory in _join(one.own for one in found):
        with suppress(OSError):
            directory.rmdir()
    for file in _join(one.kept for one in found):
        yield from _name_kept(file, reasons.get(file, ""))
    for directory in directories:
        for copy in list_kept_copies(directory, DISK):
            yield f"kept {copy}: it was saved while tacitd replaced a file"
    if places.config_file.is_file():
        yield f"kept {places.config_file}: you wrote it"


def list_state_files(state_dir: Path) -> list[Path]:
    """The files in the state directory that tacitd made, by their names."""
    return [path for path in _list_entries(state_dir) if _is_ours(path, path.relative_to(state_dir))]


def _list_entries(state_dir: Path) -> Iterator[Path]:
    """The entries at the top, and in place of the two folders the files in them. Links are not followed."""
    for entry in sorted(state_dir.iterdir()) if state_dir.is_dir() else ():
        if entry.name in STATE_FOLDERS and entry.is_dir() and not entry.is_symlink():
            for place, folders, names in os.walk(entry):
                links = [name for name in folders if (Path(place) / name).is_symlink()]
                yield from (Path(place) / name for name in (*links, *names))
        else:
            yield entry


def _is_ours(path: Path, name: Path) -> bool:
    """Whether this file has a name and is of the kind that tacitd makes there. `name`: below the state directory."""
    if str(name) == SOCKET_NAME:
        return path.is_socket() and not path.is_symlink()
    is_named = any(fnmatch(str(name), pattern) for pattern in STATE_FILES)
    return is_named and (path.is_file() or path.is_symlink() or path.is_socket())


def _empty_state(state_dir: Path) -> Iterator[str]:
    """Remove the files that docs/files.md lists in the state directory, and the folders that are empty then;
    others are named."""
    if not state_dir.is_dir():
        return
    tops = [state_dir / name for name in STATE_FOLDERS if not (state_dir / name).is_symlink()]
    folders = [state_dir, *(Path(place) for top in tops for place, _, _ in os.walk(top))]
    for folder in folders:
        sweep_temporary(folder, math.inf, DISK)
    for file in list_state_files(state_dir):
        file.unlink()
    for folder in reversed(folders):
        with suppress(OSError):
            folder.rmdir()
    if not state_dir.exists():
        yield f"removed {state_dir}"
        return
    yield f"removed tacitd's files in {state_dir}"
    for entry in _list_entries(state_dir):
        what = "a socket" if entry.name == SOCKET_NAME else "tacitd's"
        yield f"kept {entry}: it is not {what}"


def _unlink_file(path: Path) -> Iterator[str]:
    """Remove a regular file. A link or a directory under its name is not tacitd's and stays."""
    if path.is_file() and not path.is_symlink():
        path.unlink()
        yield f"removed {path}"


def _take_part(path: Path, without: Callable[[bytes], bytes]) -> Iterator[str]:
    """Take tacitd's part out of a person's file; a file that is empty then was tacitd's."""
    try:
        if path.is_file() and edit_file(path, lambda data: without(data or b"")):
            yield f"removed tacitd's lines from {path}"
            remove_empty(path, DISK)
    except (OSError, TacitdError) as error:
        yield from _name_kept(path, f"tacitd's lines in it cannot be removed ({error})")


def _name_kept(path: Path, reason: str) -> Iterator[str]:
    why = f": {reason}" if reason else ""
    if path.is_dir():
        files = sum(1 for one in path.rglob("*") if one.is_file())
        yield from [f"kept {path} ({count_noun(files, 'file')}){why}"] if files else []
    elif path.exists():
        yield f"kept {path}{why}"
