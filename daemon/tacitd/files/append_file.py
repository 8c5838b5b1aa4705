"""Files that are only appended to, also by people and other programs (L-04, L-54, E-23).

One append is one `write` on an O_APPEND descriptor and one sync. If the last line is torn, the write begins with a newline. A
task's lines are planned with its commit, appended once after it, and finished by a later process if this one ends before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tacitd.errors import FileBusyError, FileRefusedError, UnwritableError, describe_failure
from tacitd.files.disk import DISK, Disk, find_stat, is_regular, make_dirs, read_all, same_file, write_all
from tacitd.files.locks import is_alive

if TYPE_CHECKING:
    from tacitd.contract import Database, NewLine, Tx

TAIL = 64 << 10
"""Bytes of the end of a file in which a line is looked for before it is appended."""


class HeldFile:
    """A file whose flock is held, so that no other program that uses this module appends to it."""

    def __init__(self, fd: int, target: Path, disk: Disk, *, new: bool) -> None:
        self._fd = fd
        self._target = target
        self._disk = disk
        self._new = new

    def read(self, last: int | None = None) -> bytes:
        """All its bytes, or the last so many. Raises OSError."""
        if last is None:
            return read_all(self._fd, self._disk)
        return self._disk.pread(self._fd, last, max(0, self._disk.fstat(self._fd).st_size - last))

    def append(self, text: bytes, *, on_new_line: bool = True) -> None:
        """Append `text`, whole lines in UTF-8; durable when this returns. `on_new_line`: behind a torn line, which otherwise goes on
        with it. Raises OSError with the file's name: it may then contain a part of the text, or all of it without being durable."""
        try:
            torn = on_new_line and self.read(1) not in (b"", b"\n")
            write_all(self._fd, (b"\n" if torn else b"") + text, self._disk)
            self._disk.sync(self._fd)
        except OSError as error:
            error.filename = error.filename or str(self._target)
            raise
        if self._new:
            self._disk.sync_dir(self._target.parent)
            self._new = False


@contextmanager
def hold_file(path: Path, disk: Disk = DISK) -> Iterator[HeldFile]:
    """Hold the file's lock; it is made if it is missing. Waits without a limit.

    A new file is 0600; an existing one keeps its mode; of a symlink it is the target's lock. Raises OSError, and
    FileRefusedError if it is not an ordinary file.
    """
    make_dirs(path.parent, disk, private=True)
    target = disk.resolve(path)
    while True:
        there = find_stat(target, disk)
        if there is not None and not is_regular(there):  # opening a device can have effects
            raise FileRefusedError(f"{path} is not an ordinary file", "move it away")
        fd = disk.open_append(target, 0o600)
        try:
            disk.lock(fd, wait=True)
            # Another program may have put a new file in its place before the lock was there: that one is opened then.
            now = find_stat(target, disk)
            if now is not None and same_file(disk.fstat(fd), now):
                yield HeldFile(fd, target, disk, new=there is None)
                return
        finally:
            disk.close(fd)


def append_text(path: Path, text: bytes, *, disk: Disk = DISK) -> None:
    """Append `text` to the file, as `HeldFile.append` does. Raises what that and `hold_file` raise."""
    with hold_file(path, disk) as file:
        file.append(text)


def append_missing(path: Path, lines: Sequence[str], disk: Disk = DISK) -> None:
    """Append the lines that are not among the last ones of the file, each once. Raises OSError, FileRefusedError."""
    if not lines:
        return
    with hold_file(path, disk) as file:
        there = set(file.read(TAIL).split(b"\n"))
        new = [data for line in dict.fromkeys(lines) if (data := line.encode()) not in there]
        if new:
            file.append(b"".join(data + b"\n" for data in new))


# --- lines of tasks


def plan_lines(tx: Tx, lines: Sequence[NewLine], process: str) -> None:
    """Store lines that are to be appended."""
    tx.executemany(
        "INSERT INTO line_plan(path, line, process) VALUES(?, ?, ?)",
        [(str(line.path), line.text, process) for line in lines],
    )


def note_failure(
    store: Database, path: str, error: FileBusyError | FileRefusedError | OSError, now: float
) -> None:
    """Store why a planned change of a file is not written, for `status` and `sync`."""
    if isinstance(error, OSError):  # without the name of a temporary file
        error = OSError(error.errno, error.strerror or str(error))
    told = ("plan", path, *describe_failure(error))
    if store.rows("SELECT 1 FROM degradation WHERE (owner, id, what, hint) = (?, ?, ?, ?)", *told):
        return
    with suppress(UnwritableError), store.write() as tx:  # a full disk: the store says so itself
        forget_failure(tx, path)
        tx.execute("INSERT INTO degradation VALUES(?, ?, ?, ?, ?)", *told, now)


def forget_failure(tx: Tx, path: str) -> None:
    """The file could be written."""
    tx.execute("DELETE FROM degradation WHERE owner = 'plan' AND id = ?", path)


def finish_lines(store: Database, process: str, now: float, on_step: Callable[[str], None]) -> None:
    """Append what was planned by this process, or by one that is gone. What cannot be appended now stays planned. For one thread."""
    from loguru import logger  # most who append are commands, which load less

    by_path = dict[str, list[tuple[int, str]]]()
    for number, path, line, planner in store.rows(
        "SELECT number, path, line, process FROM line_plan ORDER BY number"
    ):
        if planner == process or not is_alive(planner):
            by_path.setdefault(path, []).append((number, line))
    for path, lines in by_path.items():
        try:
            append_missing(Path(path), [line for _, line in lines])
        except (FileRefusedError, OSError) as error:
            logger.warning("{} cannot be written now: {}", path, error)
            note_failure(store, path, error, now)
            continue
        on_step("appended")
        with store.write() as tx:
            tx.executemany("DELETE FROM line_plan WHERE number = ?", [(number,) for number, _ in lines])
            forget_failure(tx, path)
