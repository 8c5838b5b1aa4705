"""The files by which editors mark a file as open: their names, and what each contains.

What editors do, as found in their sources:

- vim keeps `.NAME.swp` (`.swo`, `.swn`, down to `.saa`) beside the file from opening to closing. Its first block contains
  `b0`, the program's version, the process id at byte 24 (little-endian), the host name at byte 68. nano writes the same
  block if locking is on. With a `directory` option that ends in `//` (the default of Neovim) the swap file is in that
  directory, and its name is the whole path with `%` for `/`.
- vim creates and removes a file named `4913` just before it saves, to test whether it may write in the directory.
- Emacs (and joe, jed) keep a symlink `.#NAME` to `user@host.pid:boot` while a buffer has unsaved changes. On file systems
  without symlinks it is a file with this text. `#NAME#` is Emacs' copy of unsaved changes; it remains after a crash.
- Kate keeps `.NAME.kate-swp` while there are unsaved changes, LibreOffice `.~lock.NAME#` while the document is open.
- JetBrains' editors write `NAME___jb_tmp___` and rename it; GIO (gedit) writes `.goutputstream-XXXXXX` and renames it.
- VS Code, Sublime Text and Helix leave no mark.

Finding and reading these files belongs here. How long a change waits because of a mark is in busy_files.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from tacitd.files.disk import Disk, is_regular
from tacitd.text.lazy_pattern import compile_lazily

HEADER = 1024
"""Bytes of a swap file or of a lock file that are read."""
_VIM_SUFFIX = compile_lazily(r"\.s[a-w][a-z]\Z")
_OWNER = compile_lazily(r"\A[^@\n]*@(?P<host>[^\n]*)\.(?P<pid>[0-9]{1,9})(?::[0-9]+)?\s*\Z")


class EditorLock(Struct, frozen=True):
    """A file that marks another file as open in an editor."""

    path: Path
    editor: str
    """The editor's name, for people."""
    changed_ns: int
    """Modification time in nanoseconds since 1970, by the clock of the file system."""
    pid: int | None = None
    """The editor's process; None if the file does not name one."""
    host: str = ""
    """The machine of that process; empty if the file does not name one."""
    brief: bool = False
    """Whether the editor removes it at once, so that an old one is a leftover."""


def find_editor_locks(target: Path, disk: Disk, swap_directories: Sequence[Path] = ()) -> list[EditorLock]:
    """Given the real path of a file, return the editors' marks for it.

    `swap_directories` are directories in which vim keeps swap files under the whole path. A directory that cannot be
    listed and a mark that has disappeared count as no mark.
    """
    found: list[EditorLock] = []
    with suppress(OSError):
        for name in sorted(disk.names(target.parent)):
            if (kind := match_lock(name, target.name)) is not None:
                found += _read_lock(target.parent / name, *kind, disk)
    whole = str(target).replace("/", "%")
    for directory in swap_directories:
        found += _read_lock(directory / f"{whole}.swp", "vim", False, disk)
    return found


def match_lock(name: str, edited: str) -> tuple[str, bool] | None:
    """Given a file's name and the name of an edited file beside it, return (editor, whether the mark is brief).

    None if the first does not mark the second.
    """
    stem = "." + edited.removeprefix(".")
    if name.startswith(stem + ".") and _VIM_SUFFIX.fullmatch(name[len(stem) :]):
        return "vim", False
    if name in ("4913", f"{edited}___jb_tmp___", f"{edited}___jb_old___"):
        return ("vim" if name == "4913" else "a JetBrains editor"), True
    if name.startswith(".goutputstream-"):
        return "gedit", True
    lasting = {
        f".#{edited}": "Emacs",
        f"#{edited}#": "Emacs",
        f".~lock.{edited}#": "LibreOffice",
        f"{stem}.kate-swp": "Kate",
    }
    return (lasting[name], False) if name in lasting else None


def parse_swap_header(head: bytes) -> tuple[str, int | None, str] | None:
    """Given the first bytes of a swap file, return (editor, process id, host); None if it is not one.

    The process id is None if the header has 0: the swap file was recovered, or its editor ended normally.
    """
    if len(head) < 108 or not head.startswith(b"b0"):
        return None
    pid = int.from_bytes(head[24:28], "little")
    editor = "nano" if head[2:6].lower() == b"nano" else "vim"
    return editor, pid or None, _read_text(head[68:108])


def parse_lock_owner(text: str) -> tuple[int, str] | None:
    """Given `user@host.pid:boot` (`:boot` is optional), return (process id, host); None for anything else."""
    found = _OWNER.match(text)
    return (int(found["pid"]), found["host"]) if found is not None else None


def is_held(lock: EditorLock, host: str, is_alive: Callable[[int], bool]) -> bool | None:
    """Whether the lock's process runs; None if the lock names no process, or a process of another machine."""
    if lock.pid is None or lock.host not in ("", host):
        return None
    return is_alive(lock.pid)


def process_is_alive(pid: int) -> bool:
    """Whether a process with this id runs, under any user."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _read_lock(path: Path, editor: str, brief: bool, disk: Disk) -> Iterator[EditorLock]:
    with suppress(OSError):
        found = disk.stat(path)
        pid, host = None, ""
        if not brief and is_regular(found):
            head = _read_head(path, disk)
            if (swap := parse_swap_header(head)) is not None:
                editor, pid, host = swap
            elif (owner := parse_lock_owner(head.decode("utf-8", "replace"))) is not None:
                pid, host = owner
        elif not brief and (owner := parse_lock_owner(disk.read_link(path))) is not None:
            pid, host = owner
        yield EditorLock(path, editor, found.st_mtime_ns, pid, host, brief)


def _read_head(path: Path, disk: Disk) -> bytes:
    fd = disk.open_read(path)
    try:
        return disk.pread(fd, HEADER, 0)
    finally:
        disk.close(fd)


def _read_text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("utf-8", "replace")
