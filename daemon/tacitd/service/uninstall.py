"""`tacitd uninstall`: removes tacitd's own files and names what stays and why. A person's files are never touched.

The order is: the service, the daemon, the socket, the copies made for the client, and with `purge` what only tacitd needs: its state, locks, marks and
generated files. What was learned stays and is named. docs/files.md lists every file.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from tacitd.control.client import call_daemon
from tacitd.errors import TacitdError, UnavailableError
from tacitd.files.disk import RealDisk
from tacitd.files.locks import Lock, acquire_lock
from tacitd.files.temporary import list_kept_copies, sweep_temporary
from tacitd.handler import Footprint
from tacitd.service.managers import Manager
from tacitd.state import first_design
from tacitd.state.hook_files import HOOKS_DIR
from tacitd.state.paths import Paths
from tacitd.store import open_readonly

STATE_FILES = (
    "lock",
    "start.log",
    "schema.json",
    "status.json",
    "tacitd.log",
    "tacitd.[0-9].log",
    "budget.jsonl",
    "history.jsonl",
    "history-archive.jsonl",
    "tacitd.sqlite",
    "tacitd.sqlite-wal",
    "tacitd.sqlite-shm",
    "choices.jsonl",
    "own-sessions.jsonl",
    "session-context.jsonl",
    "hooks/tacitd-hook",
    "socket",
    "tacitd.sock",
)
"""The files of the state directory, as docs/files.md lists them; a test compares the two."""


MODEL_DIRECTORIES = ("work", "children")
"""The directories of `model/` in the state directory. A daemon that never called the model has made only one of them."""

SOCKET_NAME = "tacitd.sock"
"""The entry of `STATE_FILES` that is removed only if it is a socket."""


def uninstall_daemon(
    places: Paths,
    manager: Manager | None,
    *,
    purge: bool,
    footprints: Callable[[], Mapping[str, Footprint]] = dict,
) -> Iterator[str]:
    """Uninstall, and yield a line for each thing that was done or stays.

    `footprints` is called after the daemon has ended and before its state is removed. Raises UnavailableError if the
    daemon does not end.
    """
    if manager is not None:
        yield from manager.uninstall()
    with suppress(TacitdError):
        call_daemon(places.socket, "stop")
        yield "stopped the daemon"
    lock = _wait_for_lock(places)
    try:
        said = list(_unlink_socket(places.socket))
        yield from said
        by_name = footprints()
        for file in dict.fromkeys(file for one in by_name.values() for file in one.copies):
            yield from _unlink_file(file)
        reasons = {file: why for one in by_name.values() for file, why in one.reasons.items()}
        for file in dict.fromkeys(file for one in by_name.values() for file in one.edited_copies):
            yield from _name_kept(file, reasons.get(file, ""))
        if purge:
            yield from (text for text in _purge(places, by_name) if text not in said)
        else:
            yield f"kept {places.state_dir}: positions, budget and history (`--purge` removes them)"
    finally:
        if lock is not None:
            lock.release()
    yield "kept everything that was learned"


def _wait_for_lock(places: Paths) -> Lock | None:
    """Take the daemon's lock, so that none starts meanwhile. None if there is no state directory.

    Raises UnavailableError if a daemon still holds the lock after 20 s.
    """
    if not places.state_dir.is_dir():
        return None
    deadline = time.monotonic() + 20
    while True:
        try:
            return acquire_lock(places.state_dir / "lock")
        except UnavailableError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _unlink_socket(path: Path) -> Iterator[str]:
    """Remove the socket. TACITD_SOCKET may name a person's file, so anything but a socket is kept."""
    if path.is_socket() and not path.is_symlink():
        path.unlink(missing_ok=True)
        yield f"removed {path}"
    elif path.exists() or path.is_symlink():
        yield _keep_no_socket(path)
    with suppress(OSError):
        if path.parent.name.startswith("tacitd"):
            path.parent.rmdir()


def _keep_no_socket(path: Path) -> str:
    return f"kept {path}: it is not a socket"


def _purge(places: Paths, by_name: Mapping[str, Footprint]) -> Iterator[str]:
    footprints = by_name.values()
    reasons = {file: why for one in footprints for file, why in one.reasons.items()}
    for file in dict.fromkeys(file for one in footprints for file in one.removed):
        yield from _unlink_file(file)
    for directory in dict.fromkeys(place for one in footprints for place in one.places):
        sweep_temporary(directory, math.inf, RealDisk())
    yield from _empty_state(places.state_dir, by_name)
    for directory in dict.fromkeys(place for one in footprints for place in one.own):
        with suppress(OSError):
            directory.rmdir()
    for file in dict.fromkeys(file for one in footprints for file in one.kept):
        yield from _name_kept(file, reasons.get(file, ""))
    for directory in dict.fromkeys(place for one in footprints for place in one.places):
        for copy in list_kept_copies(directory, RealDisk()):
            yield f"kept {copy}: it was saved while tacitd replaced a file"
    if places.config_file.is_file():
        yield f"kept {places.config_file}: you wrote it"


def _empty_state(state_dir: Path, names: Iterable[str]) -> Iterator[str]:
    """Remove the files that docs/files.md lists in the state directory.

    TACITD_STATE_DIR may name a directory with other files in it: those stay and are named.
    """
    if not state_dir.is_dir():
        return
    handlers = state_dir / "handlers"
    known = {*names, *_list_plugins(state_dir)}
    model = state_dir / "model"
    if not model.is_symlink():
        for directory in _directories(model):
            if directory.name in MODEL_DIRECTORIES:
                shutil.rmtree(directory)
        with suppress(OSError):
            model.rmdir()
    for directory in _directories(handlers):
        if directory.name in known or any(
            (directory / name).is_file() for name in first_design.HANDLER_FILES
        ):
            shutil.rmtree(directory)
    with suppress(OSError):
        handlers.rmdir()
    sweep_temporary(state_dir, math.inf, RealDisk())
    for pattern in (*STATE_FILES, *first_design.FILES):
        for file in state_dir.glob(pattern):
            if _is_ours(file):
                file.unlink()
    for directory in (state_dir / HOOKS_DIR, state_dir):
        with suppress(OSError):
            directory.rmdir()
    if not state_dir.exists():
        yield f"removed {state_dir}"
        return
    yield f"removed tacitd's files in {state_dir}"
    for file in sorted(state_dir.iterdir()):
        if file.name == SOCKET_NAME:
            yield _keep_no_socket(file)
        else:
            yield f"kept {file}: it is not tacitd's"


def _list_plugins(state_dir: Path) -> list[str]:
    """The plugins that the store knows, also those that are not installed any more."""
    try:
        store = open_readonly(state_dir)
        if store is None:
            return []
        with store:
            tables = ["job", "prompt_task", *(["adapter_commit"] if "adapter" in store.versions else [])]
            return [name for one in tables for (name,) in store.rows(f"SELECT DISTINCT plugin FROM {one}")]
    except TacitdError:  # it is damaged
        return []


def _is_ours(file: Path) -> bool:
    """Whether this entry of `STATE_FILES` is of the kind that tacitd makes there, or a link."""
    if file.name == SOCKET_NAME:
        return file.is_socket() and not file.is_symlink()
    return file.is_file() or file.is_symlink() or file.is_socket()


def _directories(parent: Path) -> list[Path]:
    found = list(parent.iterdir()) if parent.is_dir() else []
    return [one for one in found if one.is_dir() and not one.is_symlink()]


def _unlink_file(path: Path) -> Iterator[str]:
    """Remove a regular file. A link or a directory under its name is not tacitd's and stays."""
    if path.is_file() and not path.is_symlink():
        path.unlink()
        yield f"removed {path}"


def _name_kept(path: Path, reason: str) -> Iterator[str]:
    why = f": {reason}" if reason else ""
    if path.is_dir():
        files = sum(1 for one in path.rglob("*") if one.is_file())
        yield from [f"kept {path} ({files} files){why}"] if files else []
    elif path.exists():
        yield f"kept {path}{why}"
