"""The second look: what is written into a file after it was swapped out.

Whoever opened a file before our swap (an editor that saves in place, a shell's `>>`) goes on writing into the old one,
which by then has no name. The kernel keeps it as long as somebody holds a descriptor; so do we, for a minute, and look
again: after two seconds, after ten, and after the minute. What came is somebody's words, and they win:

- whole lines that were only added are added to the file that has the name now;
- a file that was empty or cut off when we swapped it, and is complete now, is brought under the name, with our changes
  made to it, if nobody but tacitd changed the file since: an editor truncated it and then wrote it, and we came in between;
- whatever else it is, it is kept in a copy beside the file, which no sweep removes, and reported until it is gone. The
  same is reported of copies that a crash in the middle of a swap left behind.

Within the minute nothing is brought in before it was unchanged for a second, because it may be half written.

How a swap goes is replaced.py's, what such a copy is called is temporary.py's, and when it is time is follow_up.py's.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from tacitd.clock import Clock
from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk, RealDisk, read_all, write_all
from tacitd.files.replaced import Change, edit, leave_unchanged
from tacitd.files.temporary import LIMIT, copy_name, kept_for_a_person, look

KEEP = 60.0
"""Seconds after the swap, and after each time that something came."""
LOOKS = (2.0, 10.0, KEEP)
"""Seconds after the swap at which it is looked at."""
REST = 1.0
"""Seconds for which the old file must be unchanged before it is brought in."""
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
    blank: bool
    """Whether these are no words."""
    number: int
    """The change of ours that was made when it was swapped out; it and all later ones are missing in the old file."""
    begun: float
    """Monotonic seconds: when it was swapped out, or when something came last."""
    due: float
    """Monotonic seconds."""
    moved: tuple[tuple[int, int], float] | None = None
    """Its size and modification time when it was found to be changed, and the monotonic time of that."""
    copy: Path | None = None
    """Where its bytes were kept at the last look."""


@dataclass(frozen=True, slots=True)
class _Ours:
    """A change that tacitd made to a file while an older version of it is kept."""

    number: int
    change: Change
    saw: bytes
    """The digest of what the file was before."""
    wrote: bytes
    """The digest of what the file was afterwards."""


class SecondLook:
    """The files that were swapped out a moment ago. Thread-safe; raises nothing."""

    def __init__(self, clock: Clock, disk: Disk | None = None) -> None:
        self._clock = clock
        self._disk = disk or RealDisk()
        self._lock = threading.Lock()
        self._kept: list[_Kept] = []
        self._in_work: list[_Kept] = []
        """Those that a thread looks at now. What tacitd changed since is needed for them too."""
        self._ours: dict[Path, list[_Ours]] = {}
        self._number = 0
        self._evicting = threading.local()
        self._copies: dict[Path, Path | None] = {}
        self.on_kept: Callable[[], None] = lambda: None
        """Called when there is something new to look at. Any thread."""

    def keep(self, target: Path, old: Path, seen: bytes, change: Change, wrote: bytes) -> None:
        """Keep the old file of `target`, which is about to lose its name `old`.

        Its bytes were `seen`; the file is `wrote` now, which `change` made of them.
        """
        try:
            fd = self._disk.open_read(old)
        except OSError:  # no descriptor left, or it is gone: then there is no second look
            fd = -1
        now = self._clock.monotonic()
        with self._lock:
            self._number += 1
            self._ours.setdefault(target, []).append(
                _Ours(self._number, change, _digest(seen), _digest(wrote))
            )
            if fd >= 0:
                one = _Kept(
                    fd, target, len(seen), _digest(seen), not seen.strip(), self._number, now, now + LOOKS[0]
                )
                self._kept.append(one)
        if not getattr(self._evicting, "now", False):
            self._evict()
        self._forget_changes()
        self.on_kept()

    def look(self) -> None:
        """Look at those whose time has come. One that somebody wrote into is kept for another minute."""
        now = self._clock.monotonic()
        with self._lock:
            due = [one for one in self._kept if one.due <= now]
            self._kept = [one for one in self._kept if one.due > now]
            self._in_work += due
        for one in due:
            try:
                again = self._looked_at(one, now)
            except (OSError, FileRefusedError):  # the file cannot be written now: the next minute, again
                again = replace(one, due=now + KEEP)
            with self._lock:
                self._in_work.remove(one)
                if again is not None:
                    self._kept.append(again)
            if again is None:
                self._disk.close(one.fd)
        self._forget_changes()

    def next_in(self) -> float | None:
        """Seconds until there is something to look at; None: nothing is kept."""
        with self._lock:
            due = min((one.due for one in (*self._kept, *self._in_work)), default=None)
        return None if due is None else max(0.0, due - self._clock.monotonic())

    def close(self) -> None:
        """Look at all of them, because there will be no later."""
        with self._lock:
            kept, self._kept = self._kept, []
            self._in_work += kept
        for one in sorted(kept, key=lambda one: one.number):
            self._last(one, None)
        with self._lock:
            self._in_work.clear()
        self._forget_changes()

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

    def _evict(self) -> None:
        """Look at the oldest before their time, until no more than AT_ONCE are kept.

        What comes out of a file that this changes is kept in turn, so the oldest are taken again and again.
        """
        self._evicting.now = True
        try:
            while True:
                with self._lock:
                    if len(self._kept) <= AT_ONCE:
                        return
                    oldest = self._kept.pop(0)
                    self._in_work.append(oldest)
                self._last(oldest, self)
                with self._lock:
                    self._in_work.remove(oldest)
        finally:
            self._evicting.now = False

    def _forget_changes(self) -> None:
        """Forget the changes that no kept file lacks."""
        with self._lock:
            oldest: dict[Path, int] = {}
            for one in (*self._kept, *self._in_work):
                oldest[one.target] = min(one.number, oldest.get(one.target, one.number))
            self._ours = {
                target: [each for each in self._ours.get(target, ()) if each.number >= number]
                for target, number in oldest.items()
            }

    def _looked_at(self, one: _Kept, now: float) -> _Kept | None:
        """The same file as it is kept on; None where it need not be. Raises OSError and FileRefusedError."""
        found = self._disk.fstat(one.fd)
        if found.st_nlink or found.st_size > LIMIT:
            # It has a name still (a backup by hard links): what is written there is meant for there. Or it is no text.
            return None
        data = read_all(one.fd, self._disk)
        if len(data) == one.size and _digest(data) == one.digest:
            upcoming = [one.begun + seconds for seconds in LOOKS if one.begun + seconds > now]
            return replace(one, due=upcoming[0], moved=None) if upcoming else None
        stamp = found.st_size, found.st_mtime_ns
        if now < one.begun + KEEP:
            if one.moved is None or one.moved[0] != stamp:
                return replace(one, moved=(stamp, now), due=now + REST)
            if now - one.moved[1] < REST:
                return replace(one, due=one.moved[1] + REST)
        return replace(self._settle(one, data, self), begun=now, due=now + LOOKS[0], moved=None)

    def _last(self, one: _Kept, second: SecondLook | None) -> None:
        """There is no other look: what cannot be brought into the file is kept beside it."""
        data = b""
        try:
            found = self._disk.fstat(one.fd)
            data = b"" if found.st_nlink or found.st_size > LIMIT else read_all(one.fd, self._disk)
            if data and (len(data) != one.size or _digest(data) != one.digest):
                self._settle(one, data, second)
        except (OSError, FileRefusedError):
            with suppress(OSError, FileRefusedError):
                self._beside(one, data)
        self._disk.close(one.fd)

    def _settle(self, one: _Kept, data: bytes, second: SecondLook | None) -> _Kept:
        """Bring what came since into the file, or beside it; return how the old one is now.

        Raises OSError and FileRefusedError; it may have been brought in all the same, and is not a second time.
        """
        copy = one.copy
        added = data[one.size :] if _digest(data[: one.size]) == one.digest else b""
        whole = data[one.size - 1 : one.size] in (b"", b"\n") or added.startswith((b"\n", b"\r\n"))
        # To a file without words anything can be added: that is a new version as well.
        done = bool(added) and whole and not one.blank and self._add(one, data, added, second)
        grown = bool(added) or one.blank
        if not done and not (grown and self._bring_under_the_name(one, data, second)):
            copy = self._beside(one, data)
        return replace(one, size=len(data), digest=_digest(data), blank=not data.strip(), copy=copy)

    def _add(self, one: _Kept, late: bytes, added: bytes, second: SecondLook | None) -> bool:
        """Add the whole lines `added`, the end of `late`, to the file, unless they are in it already. False: there is no such file now, it
        is empty, or it has some of the lines: then these are no additions, but the rest of a version.
        """
        is_added = True

        def change(data: bytes | None) -> bytes | None:
            nonlocal is_added
            known = find_known_lines(data or b"", added)
            # Where the file has the lines, it must have what was before them too: somebody may have saved a version without.
            is_added = bool(data and data.strip()) and (
                not any(known) or all(find_known_lines(data or b"", late))
            )
            return with_tail(data, added) if is_added and not any(known) else None

        edit(one.target, change, disk=self._disk, second=second)
        return is_added

    def _changes_since(self, one: _Kept, data: bytes) -> list[_Ours]:
        """Given the file's bytes, return what tacitd changed in it since; [] if anybody saved it since.

        Each change must have been made to what the one before it wrote, and the last one must have written these bytes.
        """
        with self._lock:
            ours = [each for each in self._ours.get(one.target, ()) if each.number >= one.number]
        unbroken = all(before.wrote == after.saw for before, after in pairwise(ours))
        return ours if ours and unbroken and ours[-1].wrote == _digest(data) else []

    def _bring_under_the_name(self, one: _Kept, data: bytes, second: SecondLook | None) -> bool:
        """Make the file that version, with our changes since. False: it would lose words, or tell nothing of it.

        Trigger: an editor completed the old file, and the file is as we left it. Why: what we read was not what anybody
        meant. Outcome: the completed version has the name, and our changes are made to it.
        """
        if not data.strip():
            return False
        now = look(one.target, self._disk)
        ours = self._changes_since(one, now.data) if now is not None else []
        if now is None or not ours:
            return False
        wanted = data
        for each in ours:
            after = each.change(wanted)
            wanted = wanted if after is None else after
        if wanted == now.data:
            return now.data == data
        expected = now.data
        edit(
            one.target,
            lambda before: wanted if before == expected else None,
            disk=self._disk,
            second=_Unrepeated(second) if second is not None else None,
        )
        there = look(one.target, self._disk)
        return there is not None and there.data == wanted

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


class _Unrepeated:
    """Keeps what the second look itself swapped out: making one version the file is no change to be made to another."""

    def __init__(self, second: SecondLook) -> None:
        self._second = second

    def keep(self, target: Path, old: Path, seen: bytes, change: Change, wrote: bytes) -> None:
        """As SecondLook.keep."""
        self._second.keep(target, old, seen, leave_unchanged, wrote)


def find_known_lines(data: bytes, added: bytes) -> list[bool]:
    """Given a file's bytes and lines, return for each line that is not empty whether the file has it."""
    there = {line.strip() for line in data.splitlines()}
    return [line.strip() in there for line in added.splitlines() if line.strip()]


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
