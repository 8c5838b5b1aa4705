"""The second look: what is written into a file after it was swapped out.

Whoever opened a file before our swap (an editor that saves in place, a shell's `>>`) goes on writing into the old one,
which by then has no name. The kernel keeps it as long as somebody holds a descriptor; so do we, for a minute, and look
once more. What came is somebody's words, and they win: where something was only added it is added to the file that has
the name now; whatever else it is, it is kept in a copy beside it, which no sweep removes, and said until it is gone. The
same is said of copies that a crash in the middle of a swap left behind.

How a swap goes is replaced.py's, what such a copy is called is temporary.py's, and when it is time is the engine's.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tacitd.clock import Clock
from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk, RealDisk, read_all, write_all
from tacitd.files.replaced import edit
from tacitd.files.temporary import LIMIT, copy_name, kept_for_a_person, look

KEEP = 60.0
"""Seconds after the swap."""
AT_ONCE = 64
"""Descriptors that are kept at most; the oldest is looked at before its time where there are more."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """A copy of somebody's words that do not stand in any file."""

    path: Path
    target: Path | None
    """The file they were meant for; None: the daemon that swapped it out is gone, it is one in the same directory."""


@dataclass(frozen=True, slots=True)
class _Kept:
    fd: int
    target: Path
    size: int
    digest: bytes
    """Of what was seen in it: its first `size` bytes."""
    due: float
    """Monotonic seconds."""
    copy: Path | None = None
    """Where its bytes were kept at the last look."""


class SecondLook:
    """The files that were swapped out a moment ago. Thread-safe; raises nothing."""

    def __init__(self, clock: Clock, disk: Disk | None = None) -> None:
        self._clock = clock
        self._disk = disk or RealDisk()
        self._lock = threading.Lock()
        self._kept: list[_Kept] = []
        self._copies: dict[Path, Path | None] = {}

    def keep(self, target: Path, old: Path, seen: bytes) -> None:
        """`old` names what stood under `target`, and is about to lose that name; its bytes were `seen`."""
        try:
            fd = self._disk.open_read(old)
        except OSError:  # no descriptor left, or it is gone: then there is no second look
            return
        due = self._clock.monotonic() + KEEP
        with self._lock:
            self._kept.append(_Kept(fd, target, len(seen), _digest(seen), due))
            over, self._kept = self._kept[:-AT_ONCE], self._kept[-AT_ONCE:]
        for one in over:
            self._last(one)

    def look(self) -> None:
        """Look at those whose minute is over. One that somebody wrote into is kept for another minute."""
        now = self._clock.monotonic()
        with self._lock:
            due = [one for one in self._kept if one.due <= now]
            self._kept = [one for one in self._kept if one.due > now]
        for one in due:
            try:
                again = self._settled(one, self)
            except (OSError, FileRefusedError):  # the file cannot be written now: the next minute, again
                again = one
            if again is None:
                self._disk.close(one.fd)
                continue
            with self._lock:
                self._kept.append(replace(again, due=now + KEEP))

    def close(self) -> None:
        """Look at all of them, because there will be no later."""
        with self._lock:
            kept, self._kept = self._kept, []
        for one in kept:
            self._last(one)

    def find(self, directories: Iterable[Path]) -> None:
        """Remember the copies that lie there since a crash."""
        for directory in directories:
            for path in kept_for_a_person(directory, self._disk):
                self._copies.setdefault(path, None)

    @property
    def recovered(self) -> tuple[Recovered, ...]:
        """The copies that are still there."""
        for path in list(self._copies):
            try:
                self._disk.stat(path)
            except FileNotFoundError:
                self._copies.pop(path, None)
            except OSError:
                continue
        return tuple(Recovered(path, target) for path, target in sorted(self._copies.items()))

    @property
    def waiting(self) -> int:
        """How many descriptors are kept now."""
        return len(self._kept)

    def _last(self, one: _Kept) -> None:
        """There is no other look: what cannot be brought into the file is kept beside it."""
        try:
            self._settled(one, None)
        except (OSError, FileRefusedError):
            with suppress(OSError, FileRefusedError):
                self._beside(one, read_all(one.fd, self._disk))
        self._disk.close(one.fd)

    def _settled(self, one: _Kept, second: SecondLook | None) -> _Kept | None:
        """Bring what came since into the file, or beside it; return how the old one is now, None where nothing came.

        Raises OSError and FileRefusedError; it may have been brought in all the same, and is not a second time.
        """
        found = self._disk.fstat(one.fd)
        if found.st_nlink or found.st_size > LIMIT:
            # It has a name still (a backup by hard links): what is written there is meant for there. Or it is no text.
            return None
        data = read_all(one.fd, self._disk)
        if len(data) == one.size and _digest(data) == one.digest:
            return None
        added = data[one.size :] if _digest(data[: one.size]) == one.digest else b""
        whole = data[one.size - 1 : one.size] in (b"", b"\n") or added.startswith((b"\n", b"\r\n"))
        copy = one.copy
        if not added or not whole or not self._added(one.target, added, second):
            copy = self._beside(one, data)
        return replace(one, size=len(data), digest=_digest(data), copy=copy)

    def _added(self, target: Path, added: bytes, second: SecondLook | None) -> bool:
        """Add whole lines at the end of the file, unless they stand in it already. False: there is no such file now."""
        if look(target, self._disk) is None:
            return False
        edit(target, lambda data: with_tail(data, added), disk=self._disk, second=second)
        return True

    def _beside(self, one: _Kept, data: bytes) -> Path | None:
        """Keep a copy, unless what it says is nothing, or stands in the file. It is the only one of this old file: what
        the same writer wrote over is gone, as it would be in a file with a name."""
        now = look(one.target, self._disk)
        there = now.data if now is not None else b""
        if not data.strip() or data == there:
            return one.copy
        copy = copy_name(one.target, there)
        self._write(copy, data, self._disk.fstat(one.fd).st_mode & 0o777)
        self._copies[copy] = one.target
        before = look(one.copy, self._disk) if one.copy is not None else None
        if one.copy is not None and before is not None and _digest(before.data) == one.digest:
            self._disk.unlink(one.copy)
        return copy

    def _write(self, copy: Path, data: bytes, mode: int) -> None:
        """Under its own name from the first byte on: what is half written when a crash comes is offered, too."""
        fd = self._disk.open_new(copy, 0o600)
        try:
            write_all(fd, data, self._disk)
            self._disk.chmod(fd, mode)
            self._disk.sync(fd)
            self._disk.sync_dir(copy.parent)
        except BaseException:
            with suppress(OSError):
                self._disk.unlink(copy)
            raise
        finally:
            self._disk.close(fd)


def with_tail(data: bytes | None, added: bytes) -> bytes | None:
    """Given a file's bytes, return them with these lines at their end; None where they are there, or it is gone."""
    if data is None or not added.strip() or _lined(added) in _lined(data):
        return None
    joined = not data or data.endswith(b"\n") or added.startswith((b"\n", b"\r\n"))
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    return data + (b"" if joined else newline) + added


def _lined(data: bytes) -> bytes:
    """Whole lines, so that one is not taken for the beginning of another."""
    return b"\n" + data.replace(b"\r\n", b"\n").strip(b"\n") + b"\n"


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
