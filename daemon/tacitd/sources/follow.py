"""Which transcripts changed or vanished. Correct even if every hint was lost (DESIGN "Sources").

watch.py gives hints. Nothing here opens a file: opening a FIFO that has the name of a transcript would block. Paths are `str`,
because twenty thousand `Path` objects take more time and memory than a whole pass.

A hinted file is compared in the next poll, and four times in the next second if a client's hook named it. Files that changed, or
that a hook named, within the hour are compared every 2 s, all files and directories every 60 s, and at once after lost hints, a
clock jump, a sleep, a stopped process, or on request. The directories are listed again if one of them changed, and every five
minutes. While one has no watch, that is done every few seconds.

One limit is the file system's: before Linux 6.13, a file that is rewritten in place to the same size within one tick of
the kernel's clock (4 ms) keeps its stamp.
"""

from __future__ import annotations

import errno
import math
import os
import stat
import struct
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from msgspec import Struct, field

from tacitd.clock import Clock
from tacitd.handler import Degradation
from tacitd.sources.source import Source
from tacitd.sources.watch import IsTranscript, SilentWatcher, limit_hint

WatcherFor = Callable[[Path, Callable[[], None], IsTranscript], SilentWatcher]
"""Makes the watcher of a root, given what it calls for each hint and which files are transcripts."""

HOT = 3600.0
"""Seconds for which a changed file is hot, that is, compared often."""
MANY = 2000
"""So many hot files are compared in every pass, the newest: 5 ms, a quarter of a percent of a core."""
HOT_EVERY = 2.0
"""Seconds between two comparisons of the hot files."""
HINT_LASTS, HINTED_EVERY = 1.0, 0.25
"""Seconds for which, and between whose comparisons, a file is compared that a hook named: a client may run the hook of a prompt before
it writes the prompt."""
ALL_EVERY = 60.0
"""Seconds between two comparisons of all files, if each directory has a watch."""
LIST_EVERY = 300.0
"""Seconds after which the directories are listed, though their stamps are the same: not every file system keeps these."""
SETTLED = 2.0
"""Seconds after a directory's last change from which on a later one gives it another stamp, however coarse its times are."""
JUMP = 5.0
"""Seconds by which the two clocks may differ, or a poll may be late, before everything is compared."""


class FileChanges(Struct, frozen=True):
    """What one poll found. No path is in both of the fields, each change of a stamp is reported once, and what is new is changed."""

    changed: tuple[Path, ...] = ()
    vanished: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed or self.vanished)


class _Root(Struct):
    """One watched root and the state of its watches."""

    top: str
    watcher: SilentWatcher
    there: bool = False
    unwatched: int = 0
    """How many directories had no watch in the last comparison of all."""
    is_partial: bool = False
    """Whether that was so twice in a row: a new directory may get its watch a moment later."""


class Follower:
    """Follows all transcripts below the roots of a source.

    Call it from one thread, at `next_in` or when `wake` is called; what only reads may be called from other threads.
    """

    def __init__(
        self, source: Source, clock: Clock, watcher_for: WatcherFor, wake: Callable[[], None]
    ) -> None:
        self._clock = clock
        self._source = source
        self._roots = [
            _Root(os.fspath(root), watcher_for(root, wake, source.is_transcript)) for root in source.roots
        ]
        self._stamps: dict[str, Stamp] = {}
        self._own: dict[str, Stamp] = {}
        """Those of persons."""
        self._hot: dict[str, float] = {}
        """When the hot files changed last (monotonic seconds), oldest first."""
        self._changes: dict[str, bool] = {}
        """What is to be reported: True for a change, False for a file that is gone."""
        self._hinted: dict[str, float] = {}
        """Files that a hook named, and until when each poll compares them: monotonic seconds."""
        self._bare = set[str]()
        """Directories without a transcript when all were listed. The others are in the paths of `_stamps`, which saves a megabyte."""
        self._mark: int | None = None
        """Of all directories then: see `mark_directories`."""
        self._listed_at = 0.0
        self._odd: Mapping[str, str] = {}
        self._unreadable: Mapping[str, str] = {}
        self._first = True
        self._last = (0.0, 0.0)
        self._all_at = self._hot_at = 0.0

    def start(self) -> None:
        """The first comparison afterwards is of everything, so that no change between the two is missed."""
        for root in self._roots:
            root.watcher.start()

    def stop(self) -> None:
        for root in self._roots:
            root.watcher.stop()

    def take_stock(self) -> None:
        """Compare everything, at the start: what is there is not reported as a change, but is among the `stamps`."""
        self._compare(full=True)
        self._changes = {}

    def poll(self, *, full: bool = False) -> FileChanges:
        """Compare what may have changed (everything with `full`), and return the changes."""
        self._compare(full=full)
        changes, self._changes = self._changes, {}
        return FileChanges(
            tuple(Path(path) for path, is_there in changes.items() if is_there),
            tuple(Path(path) for path, is_there in changes.items() if not is_there),
        )

    def _compare(self, *, full: bool) -> None:
        now = self._clock.monotonic()
        lost = [root.watcher.repair_watching() for root in self._roots]
        # Hints are drained before the comparison: one that comes during it stays for the next poll.
        paths = {
            os.fspath(hint) for root in self._roots for hint in root.watcher.drain_hints()
        } | self._hinted.keys()
        self._hinted = {path: until for path, until in self._hinted.items() if now < until}
        # Time in sleep, and a set clock, move the clocks differently; a stopped process polls late. Hints may have been lost then.
        wall, monotonic = self._last
        late = now - max(monotonic, min(self._all_at, self._hot_at if self._hot else self._all_at))
        jumped = abs((self._clock.now() - wall) - (now - monotonic)) > JUMP or late > JUMP
        is_due = now >= self._all_at
        if full or self._first or any(lost) or jumped or (is_due and self._may_have_others(now)):
            self._compare_all(now)
        else:
            if is_due:
                self._all_at, self._hot_at = now + ALL_EVERY, now + HOT_EVERY
            self._compare_some(paths | self._stamps.keys() if is_due else paths, now)
        self._last = (self._clock.now(), now)

    def note_hint(self, path: Path) -> Path | None:
        """If it is a transcript below a root, compare this file in the next poll and often from then on, and return the path by which it
        is known. It may be anything, also a file that does not exist yet or is in a directory without a watch."""
        real = os.path.realpath(path)
        for root in self._roots:
            top = os.path.realpath(root.top)
            if real.startswith(f"{top}/") and self._source.is_transcript(real):
                known = root.top + real.removeprefix(top)
                now = self._clock.monotonic()
                self._hinted[known] = now + HINT_LASTS
                self._hot.pop(known, None)  # to the newest place
                self._hot[known] = now
                return Path(known)
        return None

    def next_in(self) -> float:
        """Seconds until the next poll is due without a hint, at most 60."""
        due = min(self._all_at, self._hot_at if self._hot else self._all_at)
        if self._hinted:
            due = min(due, self._last[1] + HINTED_EVERY)
        return max(0.0, due - self._clock.monotonic())

    @property
    def is_well(self) -> bool:
        """Whether no watcher has ended since the last poll."""
        return all(root.watcher.is_well for root in self._roots)

    @property
    def stamps(self) -> Mapping[str, Stamp]:
        """Every known transcript with its last stamp. A live view."""
        return self._stamps

    def list_own(self) -> dict[str, Stamp]:
        """The transcripts that are not a sub-agent's, by their path, as of the last poll."""
        return self._own.copy()

    def list_unseen(self) -> tuple[str, ...]:
        """Roots that do not exist, and what cannot be examined, with a slash behind it: which transcripts are there is unknown."""
        return tuple(
            f"{path}/" for path in (*(root.top for root in self._roots if not root.there), *self._unreadable)
        )

    def list_degradations(self) -> list[Degradation]:
        """The present problems, each with a hint."""
        found: list[Degradation] = []
        for root in self._roots:
            problems = root.watcher.list_problems()
            found += problems
            if self._first:
                continue
            if not root.there and (hint := self._source.absent_hint(root.top)):
                what = f"{root.top} does not exist: there is no transcript yet"
                found.append(Degradation("transcripts.absent", what, hint))
            elif root.there and root.is_partial and not problems:
                what = f"{root.unwatched} folder(s) below {root.top} have no watch and are polled every few seconds instead"
                found.append(Degradation("watch.limit", what, limit_hint(errno.ENOSPC)))
        found += _list_problem("transcripts.unreadable", "cannot be read", self._unreadable, _UNREADABLE_HINT)
        found += _list_problem("transcripts.odd", "not read", self._odd, _ODD_HINT)
        return found

    def _may_have_others(self, now: float) -> bool:
        """Whether there may be other files and directories than those that were listed, or other problems."""
        if self._mark is None or now - self._listed_at >= LIST_EVERY or self._odd or self._unreadable:
            return True
        if any(root.unwatched or not root.there for root in self._roots):
            return True
        return mark_directories(list_parents(self._stamps) | self._bare) != self._mark

    def _compare_all(self, now: float) -> None:
        settled = time.time() - SETTLED
        listing = scan_below(self._source)
        for path in [path for path in self._stamps if path not in listing.stamps]:
            # Below an unreadable directory it is unknown, and not gone.
            if not any(path == one or path.startswith(f"{one}/") for one in listing.unreadable):
                self._note_gone(path)
        self._take_listing(listing, now)
        self._hot = {path: since for path, since in self._hot.items() if now - since < HOT}
        took, self._all_at, self._hot_at = self._clock.monotonic() - now, now + ALL_EVERY, now + HOT_EVERY
        for root in self._roots:
            root.there = root.top in listing.directories or root.top in listing.unreadable
            start = f"{root.top}/"
            below = [one for one in listing.directories if one.startswith(start) or one == root.top]
            before, root.unwatched = root.unwatched, len(root.watcher.list_unwatched(below))
            root.is_partial = bool(before and root.unwatched)
            if root.unwatched or not root.there:
                # The slower the listing, the less often it is done, so that unwatched directories cost little CPU time.
                self._all_at = min(self._all_at, now + max(HOT_EVERY, 40 * took))
        self._odd, self._unreadable, self._first = listing.odd, listing.unreadable, False
        self._bare = listing.directories - list_parents(listing.stamps)
        self._mark, self._listed_at = mark_directories(listing.directories, settled), now

    def _compare_some(self, paths: Collection[str], now: float) -> None:
        """Compare these files, and the hot ones if they are due."""
        folders = [path for path in paths if self._compare_path(path, now)]
        if folders:
            listing = scan_below(self._source, folders)
            self._take_listing(listing, now)
            if any(root.watcher.list_unwatched(listing.directories) for root in self._roots):
                self._all_at = min(self._all_at, now + HOT_EVERY)
        if now >= self._hot_at:
            self._hot_at = now + HOT_EVERY
            for path in list(self._hot)[-MANY:]:
                self._compare_path(path, now)

    def _compare_path(self, path: str, now: float) -> bool:
        """Returns whether it is a directory. What is unreadable or odd, the next comparison of all reports."""
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            self._note_gone(path)
            return False
        except OSError:  # unknown, which does not mean gone
            return False
        stamp = stamp_of(status)
        if self._stamps.get(path) == stamp or not is_utf8(path):
            return False
        if not stat.S_ISREG(status.st_mode):
            self._note_gone(path)
        elif self._source.is_transcript(path):
            self._note_change(path, stamp, now)
        return stat.S_ISDIR(status.st_mode)

    def _take_listing(self, listing: Listing, now: float) -> None:
        """Record what was listed. In the first comparison a file's mtime decides how long it stays hot."""
        if not self._first:
            for path, stamp in listing.stamps.items():
                if self._stamps.get(path) != stamp:
                    self._note_change(path, stamp, now)
            return
        wall = self._clock.now()
        for path, stamp in listing.stamps.items():
            self._set_stamp(path, stamp)
        ages = [(max(0.0, wall - stamp.mtime_ns / 1e9), path) for path, stamp in listing.stamps.items()]
        self._hot |= {path: now - age for age, path in sorted(ages, reverse=True) if age < HOT}

    def _note_change(self, path: str, stamp: Stamp, now: float) -> None:
        self._hot.pop(path, None)  # to the newest place
        self._hot[path] = now
        self._set_stamp(path, stamp)

    def _set_stamp(self, path: str, stamp: Stamp) -> None:
        self._stamps[path] = stamp
        self._changes[path] = True
        if not self._source.is_subagent(path):
            self._own[path] = stamp

    def _note_gone(self, path: str) -> None:
        if self._stamps.pop(path, None) is not None:
            self._own.pop(path, None)
            self._hot.pop(path, None)
            self._changes[path] = False


_UNREADABLE_HINT = "Make them readable for the user that runs tacitd; reading then continues by itself."
_ODD_HINT = (
    "If these are not transcripts, nothing is lost; otherwise put the real file or folder in their place."
)


def _list_problem(id: str, verb: str, items: Mapping[str, str], hint: str) -> list[Degradation]:
    """One degradation for a list of paths with reasons; [] if the list is empty."""
    if not items:
        return []
    shown = [
        f"{path.encode(errors='backslashreplace').decode()}: {why}" for path, why in list(items.items())[:3]
    ]
    more = f", and {len(items) - 3} more" if len(items) > 3 else ""
    return [Degradation(id, f"{len(items)} {verb} ({'; '.join(shown)}{more})", hint)]


# --- One pass over everything below a root: which transcripts there are, and the stamp of each.


NOT_UTF8 = "its name is not UTF-8"
_FIELDS = struct.Struct("<4Q")
_MASK = (1 << 64) - 1


class Stamp(bytes):
    """A file's size, the times of its last write and of the last change of its inode, and the inode: any difference means that it
    changed. Bytes and not a struct: there is one for each transcript, and it takes 72 bytes instead of 200."""

    __slots__ = ()

    @property
    def size(self) -> int:
        """Bytes."""
        return int(_FIELDS.unpack(self)[0])

    @property
    def mtime_ns(self) -> int:
        """Last write: nanoseconds since 1970, UTC. A time before that is far ahead."""
        return int(_FIELDS.unpack(self)[1])


class Listing(Struct):
    """What a pass found, by path."""

    stamps: dict[str, Stamp] = field(default_factory=dict)
    """Every transcript that is a regular file."""
    directories: set[str] = field(default_factory=set)
    """Every directory that could be listed, including the tops."""
    odd: dict[str, str] = field(default_factory=dict)
    """What has the name of a transcript (or of a project's folder) and is not one: path to reason. Never opened."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """What could not be read: path to reason. What is below is unknown, which does not mean gone."""


def scan_below(source: Source, directories: Iterable[str] | None = None) -> Listing:
    """Given a source, return what is in these directories and below; None: in its roots.

    A root may be a link, because people move it to another disk. Links below it are not followed. Takes about 130 ms for 20,000 files
    in 5,000 directories. Raises nothing: what is absent is left out, and what cannot be read is in `.unreadable`.
    """
    tops = {os.fspath(root) for root in source.roots}
    found, waiting = Listing(), list(tops if directories is None else directories)
    while waiting:
        directory = waiting.pop()
        if directory in found.directories:
            continue
        try:
            with os.scandir(directory) as entries:
                its = source.of(f"{directory}/")
                _take_entries(entries, found, waiting, its, is_at_top=directory in tops)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            found.unreadable[directory] = error.strerror or str(error)
            continue
        found.directories.add(directory)
    return found


def _take_entries(
    entries: Iterable[os.DirEntry[str]],
    found: Listing,
    waiting: list[str],
    source: Source,
    *,
    is_at_top: bool,
) -> None:
    """Of one directory. Almost all that a pass costs is here."""
    for entry in entries:
        path = entry.path
        if not is_utf8(path):
            if entry.is_dir(follow_symlinks=False) or source.is_transcript(path):
                found.odd[path] = NOT_UTF8
        elif entry.is_dir(follow_symlinks=False):
            waiting.append(path)
        elif source.is_transcript(path):
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            except OSError as error:
                found.unreadable[path] = error.strerror or str(error)
                continue
            if stat.S_ISREG(status.st_mode):
                # The same text as in the stamps of the pass before: a second copy of each would be large.
                found.stamps[sys.intern(path)] = stamp_of(status)
            else:
                found.odd[path] = odd_kind(status.st_mode)
        elif reason := odd_kind(stat.S_IFLNK) if is_at_top and entry.is_symlink() else source.why_odd(path):
            found.odd[path] = reason


def list_parents(paths: Iterable[str]) -> set[str]:
    return {path.rpartition("/")[0] for path in paths}  # a third of the time of `os.path.dirname`


def mark_directories(directories: Collection[str], settled: float = math.inf) -> int | None:
    """What is another number if files or directories were added to these directories or removed; None if one of them changed after
    `settled` (seconds since 1970), so that its times may not tell of a later change, or cannot be read."""
    mark = 0
    for path in directories:
        try:
            status = os.stat(path)  # noqa: PTH116
        except OSError:
            return None
        if status.st_mtime > settled:
            return None
        mark += hash((path, stamp_of(status)))
    return mark


def stamp_of(status: os.stat_result) -> Stamp:
    # Some file systems store times for which 64 bits are too few.
    times = status.st_mtime_ns & _MASK, status.st_ctime_ns & _MASK
    return Stamp(_FIELDS.pack(status.st_size, *times, status.st_ino))


def odd_kind(mode: int) -> str:
    """Given the mode of something that is not a regular file, return what it is, in words for a person."""
    if stat.S_ISLNK(mode):
        return "a symbolic link; links below the root are not followed"
    if stat.S_ISDIR(mode):
        return "a directory"
    return "a FIFO, which would block its reader" if stat.S_ISFIFO(mode) else "not a regular file"


def is_utf8(path: str) -> bool:
    """Whether a path in the form of `os.fsdecode`, which has surrogates for other bytes, is UTF-8."""
    try:
        return path.isascii() or bool(path.encode())
    except UnicodeEncodeError:
        return False
