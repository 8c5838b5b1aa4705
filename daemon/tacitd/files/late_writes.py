"""Late writes: what is written into a file after it was swapped out (X-07, X-08).

A program that opened a file before the swap (an editor that saves in place, a shell's `>>`) continues to write into the
old file, which has no name any more. The kernel keeps that file while any process has a descriptor of it. So tacitd keeps
a descriptor too, for a minute, and checks the file after two seconds, after ten, and after the minute. What was written is
a person's text and takes precedence:

- Whole lines that were only appended are appended to the file that has the name now.
- If the old file was empty or cut off at the swap and is complete now, and only tacitd changed the named file since, the
  complete version gets the name, with tacitd's changes applied to it. This happens if the swap came between an editor's
  truncation and its write.
- Anything else is kept in a copy beside the file, which no sweep removes, and reported until that copy is gone. Copies
  that a crash in the middle of a swap left behind are reported too.

Within the minute nothing is recovered before it was unchanged for a second, because it may be half written.

Keeping descriptors and recovering late writes belong here. The swap is in replaced.py, the names of copies are in
temporary.py, and the thread that calls this is in follow_up.py.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tacitd.clock import Clock
from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk, RealDisk, read_all, write_all
from tacitd.files.replaced import Change, edit_file, leave_unchanged
from tacitd.files.temporary import LIMIT, copy_name, list_kept_copies, read_snapshot

KEEP = 60.0
"""Seconds for which an old file is kept after the swap, and again after each late write."""
LOOKS = (2.0, 10.0, KEEP)
"""Seconds after the swap at which the old file is checked."""
REST = 1.0
"""Seconds for which the old file must be unchanged before it is recovered."""
AT_ONCE = 64
"""Highest number of kept descriptors; beyond it the oldest is checked early and closed."""


class RecoveredCopy(Struct, frozen=True):
    """A copy with a person's text that is not in any other file."""

    path: Path
    target: Path | None
    """The file that it was written for; None if an earlier process left the copy: then it is a file of the same directory."""


class _OldFile(Struct, frozen=True):
    """An old file that was swapped out."""

    fd: int
    target: Path
    size: int
    """Bytes that are known: those at the swap, or at the last recovery."""
    digest: bytes
    """The digest of its first `size` bytes."""
    blank: bool
    """Whether these bytes are only white space."""
    number: int
    """The number of tacitd's change at the swap. The old file lacks that change and all later ones."""
    begun: float
    """Monotonic seconds: when it was swapped out, or when a late write was last recovered."""
    due: float
    """Monotonic seconds."""
    moved: tuple[tuple[int, int], float] | None = None
    """Its (size, modification time in ns) when a change was found, and the monotonic time of that."""
    copy: Path | None = None
    """The copy that its bytes were last written to."""


class _OwnChange(Struct, frozen=True):
    """A change that tacitd made to a file while an older version of it is kept."""

    number: int
    change: Change
    saw: bytes
    """The digest of the file before it."""
    wrote: bytes
    """The digest of the file after it."""


class LateWrites:
    """The files that were swapped out within the last minute. Thread-safe; raises nothing."""

    def __init__(
        self, clock: Clock, disk: Disk | None = None, *, on_kept: Callable[[], None] = lambda: None
    ) -> None:
        """`on_kept` is called when a file is kept, in any thread."""
        self._clock = clock
        self._disk = disk or RealDisk()
        self._lock = threading.Lock()
        self._kept: list[_OldFile] = []
        self._in_work: list[_OldFile] = []
        """Those that a thread is checking now. `_ours` must keep the changes that they lack."""
        self._ours: dict[Path, list[_OwnChange]] = {}
        self._number = 0
        self._evicting = threading.local()
        self._copies: dict[Path, Path | None] = {}
        self._on_kept = on_kept

    def keep_old_file(self, target: Path, old: Path, seen: bytes, change: Change, wrote: bytes) -> None:
        """Keep a descriptor of `target`'s old file, whose name `old` is about to be removed.

        Its bytes were `seen`. The file now has the bytes `wrote`, the result of `change` on `seen`.
        """
        try:
            fd = self._disk.open_read(old)
        except OSError:  # no descriptor is left, or the file is gone: late writes to it are not recovered
            fd = -1
        now = self._clock.monotonic()
        with self._lock:
            self._number += 1
            self._ours.setdefault(target, []).append(
                _OwnChange(self._number, change, _digest(seen), _digest(wrote))
            )
            # The change above is kept without a descriptor too, because older kept files lack it.
            if fd >= 0:
                one = _OldFile(
                    fd, target, len(seen), _digest(seen), not seen.strip(), self._number, now, now + LOOKS[0]
                )
                self._kept.append(one)
        if not getattr(self._evicting, "now", False):
            self._evict()
        self._forget_changes()
        self._on_kept()

    def check_due(self) -> None:
        """Check the old files that are due. One with a late write is kept for another minute."""
        now = self._clock.monotonic()
        with self._lock:
            due = [one for one in self._kept if one.due <= now]
            self._kept = [one for one in self._kept if one.due > now]
            self._in_work += due
        for one in due:
            try:
                again = self._check_file(one, now)
            except (OSError, FileRefusedError):  # the file cannot be written now: retried in a minute
                again = replace(one, due=now + KEEP)
            with self._lock:
                self._in_work.remove(one)
                if again is not None:
                    self._kept.append(again)
            if again is None:
                self._disk.close(one.fd)
        self._forget_changes()

    def next_in(self) -> float | None:
        """Seconds until the next check is due; None if nothing is kept."""
        with self._lock:
            due = min((one.due for one in (*self._kept, *self._in_work)), default=None)
        return None if due is None else max(0.0, due - self._clock.monotonic())

    def close(self) -> None:
        """Check all of them a last time and close their descriptors. For the end of the process."""
        with self._lock:
            kept, self._kept = self._kept, []
            self._in_work += kept
        # In the order of the swaps, so that what was appended first is above.
        for one in sorted(kept, key=lambda one: one.number):
            self._check_last_time(one, None)
        with self._lock:
            self._in_work.clear()
        self._forget_changes()

    def find_copies(self, directories: Iterable[Path]) -> None:
        """Record the copies in these directories that earlier processes left."""
        for directory in directories:
            for path in list_kept_copies(directory, self._disk):
                self._copies.setdefault(path, None)

    @property
    def recovered(self) -> tuple[RecoveredCopy, ...]:
        """The copies that still exist."""
        for path in list(self._copies):
            try:
                self._disk.stat(path)
            except FileNotFoundError:
                self._copies.pop(path, None)
            except OSError:
                continue
        return tuple(RecoveredCopy(path, target) for path, target in sorted(self._copies.items()))

    def _evict(self) -> None:
        """Check the oldest early, until at most AT_ONCE are kept.

        A recovery swaps out another file, which is kept too. So this loops, and `keep_old_file` does not start it again in the
        same thread.
        """
        self._evicting.now = True
        try:
            while True:
                with self._lock:
                    if len(self._kept) <= AT_ONCE:
                        return
                    oldest = self._kept.pop(0)
                    self._in_work.append(oldest)
                self._check_last_time(oldest, self)
                with self._lock:
                    self._in_work.remove(oldest)
        finally:
            self._evicting.now = False

    def _forget_changes(self) -> None:
        """Drop the changes that every kept file contains."""
        with self._lock:
            oldest: dict[Path, int] = {}
            for one in (*self._kept, *self._in_work):
                oldest[one.target] = min(one.number, oldest.get(one.target, one.number))
            self._ours = {
                target: [each for each in self._ours.get(target, ()) if each.number >= number]
                for target, number in oldest.items()
            }

    def _check_file(self, one: _OldFile, now: float) -> _OldFile | None:
        """Check one old file; return how it is kept on, or None if it need not be. Raises OSError and FileRefusedError."""
        found = self._disk.fstat(one.fd)
        if found.st_nlink or found.st_size > LIMIT:
            # With another name (a backup by hard links) a write is meant for that name. A file this long is not text.
            return None
        data = read_all(one.fd, self._disk)
        if len(data) == one.size and _digest(data) == one.digest:
            upcoming = [one.begun + seconds for seconds in LOOKS if one.begun + seconds > now]
            return replace(one, due=upcoming[0], moved=None) if upcoming else None
        stamp = found.st_size, found.st_mtime_ns
        if now < one.begun + KEEP:
            # It may be half written: wait until its size and time are the same at two checks a second apart. After the
            # minute it is recovered as it is.
            if one.moved is None or one.moved[0] != stamp:
                return replace(one, moved=(stamp, now), due=now + REST)
            if now - one.moved[1] < REST:
                return replace(one, due=one.moved[1] + REST)
        return replace(self._bring_in(one, data, self), begun=now, due=now + LOOKS[0], moved=None)

    def _check_last_time(self, one: _OldFile, second: LateWrites | None) -> None:
        """The last check of one old file: what cannot be brought into the named file is kept in a copy."""
        data = b""
        try:
            found = self._disk.fstat(one.fd)
            data = b"" if found.st_nlink or found.st_size > LIMIT else read_all(one.fd, self._disk)
            if data and (len(data) != one.size or _digest(data) != one.digest):
                self._bring_in(one, data, second)
        except (OSError, FileRefusedError):
            with suppress(OSError, FileRefusedError):
                self._write_copy(one, data)
        self._disk.close(one.fd)

    def _bring_in(self, one: _OldFile, data: bytes, second: LateWrites | None) -> _OldFile:
        """Bring the late write `data` into the named file, or into a copy; return the new state of the old file.

        Raises OSError and FileRefusedError. The write may have been recovered all the same; then a retry finds its lines
        and does not add them again.
        """
        copy = one.copy
        # `added` is empty unless the known bytes are unchanged, so that the rest was appended.
        added = data[one.size :] if _digest(data[: one.size]) == one.digest else b""
        # Without a newline in between, the addition continues the old last line and is not made of whole lines.
        whole = data[one.size - 1 : one.size] in (b"", b"\n") or added.startswith((b"\n", b"\r\n"))
        # If the known bytes are blank, the addition may as well be a complete new version, so it is not just appended.
        done = bool(added) and whole and not one.blank and self._add_lines(one, data, added, second)
        grown = bool(added) or one.blank
        if not done and not (grown and self._bring_under_the_name(one, data, second)):
            copy = self._write_copy(one, data)
        return replace(one, size=len(data), digest=_digest(data), blank=not data.strip(), copy=copy)

    def _add_lines(self, one: _OldFile, late: bytes, added: bytes, second: LateWrites | None) -> bool:
        """Append the whole lines `added`, the end of `late`, to the named file, unless it has them.

        False if there is no such file now, if it is empty, or if it has only some of the lines: then these are not
        additions but the rest of another version.
        """
        is_added = True

        def change(data: bytes | None) -> bytes | None:
            nonlocal is_added
            known = find_known_lines(data or b"", added)
            # If the file has some of the lines, it must have all lines of the late version. Otherwise a person saved a
            # version without some of them, and appending would mix the two.
            is_added = bool(data and data.strip()) and (
                not any(known) or all(find_known_lines(data or b"", late))
            )
            return append_lines(data, added) if is_added and not any(known) else None

        edit_file(one.target, change, disk=self._disk, second=second)
        return is_added

    def _changes_since(self, one: _OldFile, data: bytes) -> list[_OwnChange]:
        """Given the named file's bytes, return tacitd's changes since the swap; [] if anything else changed it since.

        The chain of digests proves it: each change started from what the one before it wrote, and the last one wrote
        these bytes.
        """
        with self._lock:
            ours = [each for each in self._ours.get(one.target, ()) if each.number >= one.number]
        unbroken = all(before.wrote == after.saw for before, after in pairwise(ours))
        return ours if ours and unbroken and ours[-1].wrote == _digest(data) else []

    def _bring_under_the_name(self, one: _OldFile, data: bytes, second: LateWrites | None) -> bool:
        """Replace the named file with `data` and tacitd's changes since. False if that is not safe or not complete.

        Trigger: an editor completed the old file, and only tacitd changed the named file since.
        Why: tacitd read the file between the editor's truncation and its write, so what it read was not a version that
        a person saved.
        Outcome: the completed version has the name, with tacitd's changes applied to it.
        """
        if not data.strip():
            return False
        now = read_snapshot(one.target, self._disk)
        ours = self._changes_since(one, now.data) if now is not None else []
        if now is None or not ours:
            return False
        wanted = data
        for each in ours:
            after = each.change(wanted)
            wanted = wanted if after is None else after
        if wanted == now.data:
            # The file needs no change, but the completed version may have lines that are not in it.
            return False
        # `ours` leads to exactly these bytes. If a person saves others meanwhile, nothing is replaced.
        expected = now.data
        edit_file(
            one.target,
            lambda before: wanted if before == expected else None,
            disk=self._disk,
            second=_WithoutChange(second) if second is not None else None,
        )
        # `edit_file` also returns False if a person saved meanwhile, so the file itself says whether it was done.
        there = read_snapshot(one.target, self._disk)
        return there is not None and there.data == wanted

    def _write_copy(self, one: _OldFile, data: bytes) -> Path | None:
        """Write `data` into a copy beside the file, unless it is blank or equal to the file. Returns the copy, if any.

        One old file has one copy: an earlier copy of it is removed if no person changed it, because the writer itself
        overwrote those bytes.
        """
        now = read_snapshot(one.target, self._disk)
        there = now.data if now is not None else b""
        if not data.strip() or data == there:
            return one.copy
        copy = copy_name(one.target, there)
        self._write_file(copy, data, self._disk.fstat(one.fd).st_mode & 0o777)
        self._copies[copy] = one.target
        before = read_snapshot(one.copy, self._disk) if one.copy is not None else None
        if one.copy is not None and before is not None and _digest(before.data) == one.digest:
            self._disk.unlink(one.copy)
        return copy

    def _write_file(self, copy: Path, data: bytes, mode: int) -> None:
        """Write a copy, durably. It has its final name from the first byte on, so that a crash leaves a part that is
        reported too."""
        fd = self._disk.open_new(copy, 0o600)
        try:
            write_all(fd, data, self._disk)
            self._disk.chmod(fd, mode)
            # The late writer's bytes have no other name, so the copy must survive a power cut before they are given up.
            self._disk.sync(fd)
            self._disk.sync_dir(copy.parent)
        except BaseException:
            with suppress(OSError):
                self._disk.unlink(copy)
            raise
        finally:
            self._disk.close(fd)


class _WithoutChange:
    """Keeps what a recovery swapped out, with a change that does nothing.

    Setting the file to one version is not a change that can be applied to another version.
    """

    def __init__(self, second: LateWrites) -> None:
        self._second = second

    def keep_old_file(self, target: Path, old: Path, seen: bytes, change: Change, wrote: bytes) -> None:
        """As `LateWrites.keep_old_file`."""
        self._second.keep_old_file(target, old, seen, leave_unchanged, wrote)


def find_known_lines(data: bytes, added: bytes) -> list[bool]:
    """Given a file's bytes and added lines, return for each line that is not blank whether the file has it."""
    there = {line.strip() for line in data.splitlines()}
    return [line.strip() in there for line in added.splitlines() if line.strip()]


def append_lines(data: bytes | None, added: bytes) -> bytes | None:
    """Given a file's bytes, return them with these lines appended; None if it has them in one piece, or is missing."""
    if data is None or not added.strip() or _as_whole_lines(added) in _as_whole_lines(data):
        return None
    joined = not data or data.endswith(b"\n") or added.startswith((b"\n", b"\r\n"))
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    return data + (b"" if joined else newline) + added


def _as_whole_lines(data: bytes) -> bytes:
    """The bytes with a newline before and after, so that a search matches only whole lines."""
    return b"\n" + data.replace(b"\r\n", b"\n").strip(b"\n") + b"\n"


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
