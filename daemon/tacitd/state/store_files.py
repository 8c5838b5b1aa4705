"""The files of the store: how they are created, on which file system they are, and how they are put aside. Nothing here opens
the store itself: see `tacitd.store`.

    tacitd.sqlite                        the store, 0600; SQLite makes -wal, -shm or -journal beside it with the same mode
    tacitd.sqlite.2026-02-19T14-30-05    one that was damaged or replaced, put aside at this local time; removed after 30 days
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from functools import cache
from pathlib import Path

from tacitd.text.lazy_pattern import compile_lazily

STORE = "tacitd.sqlite"
"""The store's file name in the state directory."""
BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite appends to the name for its own files."""
KEPT_DAYS = 30
"""Days for which a store that was put aside is kept."""
MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = (
    "9p afs beegfs ceph cifs drvfs fuse.glusterfs fuse.sshfs fuse.vmhgfs-fuse gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 "
    "prl_fs smb3 smbfs vboxsf vmhgfs"
)
NETWORK = frozenset(_NETWORK.split())
"""File systems that other machines write too, or that share no memory maps with them: the write-ahead log is not safe there."""
_ASIDE = compile_lazily(
    re.escape(STORE) + r"\.(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)(?:\.\d+)?(?:-wal|-journal)?\Z"
)
_DATE = "%Y-%m-%dT%H-%M-%S"


def create_store(path: Path) -> None:
    """Create an empty file of mode 0600, or take all rights of others from the one that is there. Raises OSError.

    SQLite would create it with the umask's mode, and gives its other files the mode of this one.
    """
    path.parent.mkdir(0o700, parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)


def was_left_open(path: Path) -> bool:
    """Whether the last process that wrote the store ended without closing it, or another one has it open."""
    return any(has_bytes(Path(f"{path}{end}")) for end in ("-wal", "-journal"))


def has_bytes(path: Path) -> bool:
    """Whether there is a file of this name that is not empty."""
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


@cache
def is_on_network(directory: Path) -> bool:
    """Whether a directory is on a network file system. False where the system does not say so, as on macOS."""
    try:
        lines = MOUNTS.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return False
    place, best = os.path.realpath(directory), ("", "")
    for line in lines:
        mount, _, kind = line.partition(" - ")
        root = mount.split(" ")[4]
        if "\\" in root:
            root = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), root)
        if len(root) >= len(best[0]) and f"{place}/".startswith(f"{root.rstrip('/')}/"):
            best = root, kind.split(" ")[0]
    return best[1] in NETWORK


def put_aside(path: Path, now: float) -> Path | None:
    """Rename the store and what SQLite has beside it, and return the new path; None if there is no store. `now`: seconds since
    1970, UTC. Raises OSError.

    The store is renamed first: without it SQLite drops the other files, but it without them would be an older state.
    """
    name = f"{path}.{datetime.fromtimestamp(now).strftime(_DATE)}"
    target = next(one for n in range(1000) if not (one := Path(f"{name}.{n}" if n else name)).exists())
    try:
        path.rename(target)
    except FileNotFoundError:
        return None
    if target.stat().st_mode & 0o077:  # another program's file came in its place
        target.chmod(0o600)
    for end in BESIDE:
        with suppress(FileNotFoundError):
            if end == "-shm":
                os.unlink(f"{path}{end}")  # noqa: PTH108
            else:
                os.rename(f"{path}{end}", f"{target}{end}")  # noqa: PTH104
    return target


def list_aside(directory: Path) -> Iterator[tuple[Path, float]]:
    """The stores that were put aside, each file with the time: seconds since 1970, UTC."""
    for path in sorted(directory.iterdir()):
        if found := _ASIDE.match(path.name):
            yield path, datetime.strptime(found[1], _DATE).timestamp()


def remove_aside(directory: Path, before: float) -> int:
    """Delete the stores that were put aside before a time, and return how many files that were. Raises OSError."""
    old = [path for path, at in list_aside(directory) if at < before]
    for path in old:
        path.unlink(missing_ok=True)
    return len(old)
