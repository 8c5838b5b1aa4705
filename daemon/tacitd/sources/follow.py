"""Which transcripts changed, vanished or are new. Correct even if every hint was lost (DESIGN "Sources").

When which file is compared belongs here. Stamps are in listing.py, what was known before in stamps.py, and hints come from
watch.py. Nothing here opens a file.

A hinted file is compared in the next poll; one that a client's hook named waits a moment (`note_hint`). Files that changed
within the hour are compared every 2 s, all files every 60 s, and at once after lost hints, a clock jump, a sleep, a stopped
process, or on request. Directories without a watch are listed every 2 to 4 s. In the comparison of each minute, a directory is
listed if its own times say that an entry came or went; its files are compared in any case, because appends do not change it.

One limit is the file system's: before Linux 6.13, a file that is rewritten in place to the same size within one tick of
the kernel's clock (4 ms) keeps its stamp.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from tacitd.clock import Clock
from tacitd.handler import Degradation
from tacitd.sources.base import Source
from tacitd.sources.listing import (
    IsTranscript,
    Known,
    Listing,
    Stamp,
    has_stamp,
    is_utf8,
    odd_kind,
    scan_below,
    stamp_of,
)
from tacitd.sources.stamps import FileChanges, KnownStamps, StampView
from tacitd.sources.watch import Watcher, limit_hint

WatcherFor = Callable[[Path, Callable[[], None], IsTranscript], Watcher]
"""Makes the watcher of a root, given what it calls for each hint and which files are transcripts."""

HINT_FOR = 1.5
"""Seconds for which a file that a hook named is looked at."""
HINT_EVERY = 0.2
"""Seconds until the first of these looks, and between two. Until the first, hints of the watch for this file wait too."""
HOT_EVERY = 2.0
"""Seconds between two comparisons of the hot files."""
UNWATCHED_AT_MOST = 4.0
"""Longest time in seconds until a change below an unwatched directory is seen, however slow listing is."""
ALL_EVERY = 60.0
"""Seconds between two comparisons of all files."""
AFRESH_EVERY = 600.0
"""Seconds between two of these that list all directories, for file systems that keep no time of a directory's last change."""
SETTLED = 60.0
"""Seconds since the last change of a directory after which it is listed again only if it changed. A second change in the same
tick of a clock cannot be seen by the time."""
JUMP = 5.0
"""Seconds by which the two clocks may differ, or a poll may be late, before everything is compared."""


class _Root(Struct):
    """One watched root and the state of its watches."""

    top: str
    watcher: Watcher
    there: bool = False
    directories: Mapping[str, Stamp | None] = field(default_factory=dict)
    """`Known.directories`."""
    unwatched: dict[str, int] = field(default_factory=dict)
    """The directories without a watch, with how many times in a row they were found so."""


class Follower:
    """Follows all transcripts below the roots of a source.

    Call it from one thread, at `next_in` or when `wake` is called; `list_degradations` may be read from other threads.
    """

    def __init__(
        self,
        source: Source,
        clock: Clock,
        watcher_for: WatcherFor,
        wake: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._source = source
        self._is_transcript = source.is_transcript
        self._roots = [
            _Root(os.fspath(root), watcher_for(root, wake, source.is_transcript)) for root in source.roots
        ]
        self._known = KnownStamps()
        self._hinted: dict[str, float] = {}
        """Files that a hook named, and until when they are looked at: monotonic seconds."""
        self._hint_at = float("inf")
        """When these are looked at again."""
        self._held: set[str] = set()
        """Those of them that wait for their first look."""
        self._odd: Mapping[str, str] = {}
        self._unreadable: Mapping[str, str] = {}
        self._first = True
        self._last = (0.0, 0.0)
        self._full_at = self._afresh_at = self._hot_at = self._unwatched_at = 0.0

    def start(self) -> None:
        """Start watching. The first `poll` afterwards compares everything, so that no change between the two is missed."""
        for root in self._roots:
            root.watcher.start()

    def stop(self) -> None:
        """Stop watching."""
        for root in self._roots:
            root.watcher.stop()

    def list_all(self) -> None:
        """Compare everything, and report no change: at the start all are new."""
        self._compare_due(full=True)
        self._known.drop_changes()

    def poll(self, *, full: bool = False) -> FileChanges:
        """Compare what may have changed (everything with `full`), and return the changes."""
        self._compare_due(full=full)
        return self._known.take_changes()

    def _compare_due(self, *, full: bool) -> None:
        now = self._clock.monotonic()
        lost = [root.watcher.repair_watching() for root in self._roots]
        hinted = self._take_hinted(now)
        hints = [
            {str(hint) for hint in root.watcher.drain_hints()} - self._held
            | {path for path in hinted if path.startswith(f"{root.top}/")}
            for root in self._roots
        ]
        # Hints are drained before the comparison: one that comes during it stays for the next poll.
        if full or self._first or any(lost) or self._jumped(now) or now >= self._afresh_at:
            self._compare_all(now, afresh=True)
        elif now >= self._full_at:
            self._compare_all(now, afresh=False)
        else:
            self._compare_some(hints, now)
        self._last = (self._clock.now(), now)

    def note_hint(self, path: Path, *, at_once: bool = False) -> Path | None:
        """Compare this file soon, if it is a transcript below a root, and return the path by which it is known, else None.

        Trigger: a client names a transcript before it writes into it, about 0.1 s later, and then sends its request. Why: the
        file may be in a directory without a watch, or not exist yet, and a person waits while the processor reads it. Outcome:
        it is compared after HINT_EVERY, not sooner, and then for a moment again and again. `at_once`: beginning with the next
        poll. The path may be anything.
        """
        real = os.path.realpath(path)
        for root in self._roots:
            top = os.path.realpath(root.top)
            if real.startswith(f"{top}/") and self._is_transcript(real):
                known = root.top + real.removeprefix(top)
                now = self._clock.monotonic()
                self._hinted[known] = now + HINT_FOR
                self._hint_at = now if at_once else min(self._hint_at, now + HINT_EVERY)
                self._held.add(known)
                return Path(known)
        return None

    def _take_hinted(self, now: float) -> set[str]:
        """The files that hooks named and that are to be compared now."""
        if now < self._hint_at:
            return set()
        found = set(self._hinted)
        self._held.clear()
        self._hinted = {path: until for path, until in self._hinted.items() if until > now}
        self._hint_at = now + HINT_EVERY if self._hinted else float("inf")
        return found

    def next_in(self) -> float:
        """Seconds until the next poll is due without a hint: 0 if it is overdue, at most 60."""
        due = min(self._full_at, self._hint_at)
        if self._known.has_hot:
            due = min(due, self._hot_at)
        if any(root.unwatched or not root.there for root in self._roots):
            due = min(due, self._unwatched_at)
        return max(0.0, due - self._clock.monotonic())

    @property
    def is_well(self) -> bool:
        """Whether each root gives hints, or the reason is known: it is missing, or the system refused the watch."""
        return all(
            root.watcher.alive or not root.there or bool(root.watcher.list_problems()) for root in self._roots
        )

    @property
    def stamps(self) -> Mapping[Path, Stamp]:
        """Every known transcript with its last stamp. A live view."""
        return StampView(self._known.stamps)

    def list_own(self) -> dict[str, Stamp]:
        """The transcripts that are not a sub-agent's, by their path as text: for passes over all of them, in which `Path` objects
        would take most of the time."""
        stamps = self._known.stamps
        return {name: stamp for name, stamp in stamps.items() if not self._source.is_subagent(name)}

    def list_degradations(self) -> list[Degradation]:
        """The present problems, each with a hint."""
        found = [problem for root in self._roots for problem in root.watcher.list_problems()]
        for root in self._roots:
            found += _root_problems(root, self._source.absent_hint(Path(root.top)), first=self._first)
        found += _list_problem("transcripts.unreadable", "cannot be read", self._unreadable, _UNREADABLE_HINT)
        found += _list_problem("transcripts.odd", "not read", self._odd, _ODD_HINT)
        return found

    def _jumped(self, now: float) -> bool:
        """Whether the machine slept, its clock was set, or this process was stopped since the last poll.

        Time in sleep, and a set clock, move the wall clock and the monotonic clock differently; a stopped process polls late.
        In each case hints may have been lost or times may be wrong, so everything is compared.
        """
        wall, monotonic = self._last
        late = now - max(
            monotonic, min(self._full_at, self._hot_at if self._known.has_hot else self._full_at)
        )
        return abs((self._clock.now() - wall) - (now - monotonic)) > JUMP or late > JUMP

    def _compare_all(self, now: float, *, afresh: bool) -> None:
        """Compare everything below all roots; `afresh`: list also the directories that have not changed."""
        wall, listings = self._clock.now(), list[Listing]()
        for root in self._roots:
            known = Known(self._known.stamps, {} if afresh else root.directories)
            listing = scan_below(
                [root.top], self._is_transcript, top=root.top, known=known, why_odd=self._source.why_odd
            )
            root.directories = _find_settled(listing, wall)
            root.there = root.top in listing.directories or root.top in listing.unreadable
            self._note_unwatched(root, listing.directories, afresh=True)
            listings.append(listing)
        # Most sources have one root, and a second dictionary of all its files would be large.
        whole = listings[0] if len(listings) == 1 else _join_listings(listings)
        self._known.compare_listing(whole, now, wall=wall if self._first else None)
        self._odd, self._unreadable, self._first = whole.odd, whole.unreadable, False
        self._full_at, self._hot_at, self._unwatched_at = now + ALL_EVERY, now + HOT_EVERY, now + HOT_EVERY
        if afresh:
            self._afresh_at = now + AFRESH_EVERY

    def _compare_some(self, hints: Sequence[Iterable[str]], now: float) -> None:
        """Compare the hinted files and those that are due."""
        unwatched_due = now >= self._unwatched_at
        for root, paths in zip(self._roots, hints, strict=True):
            folders = [path for path in paths if self._compare_path(path, now)]
            if folders or (unwatched_due and root.unwatched):
                self._list_again(root, {*folders, *(root.unwatched if unwatched_due else ())}, now)
        if now >= self._hot_at:
            self._hot_at = now + HOT_EVERY
            for path in self._known.next_hot():
                if not self._is_same(path):
                    self._compare_path(path, now)
        if unwatched_due:
            # The slower the listing, the less often it is done, so that unwatched directories cost little CPU time.
            took = self._clock.monotonic() - now
            self._unwatched_at = now + min(UNWATCHED_AT_MOST, max(HOT_EVERY, 40 * took))

    def _is_same(self, path: str) -> bool:
        """Whether a file has its known stamp. An idle engine does only this, for up to two thousand files every 2 s."""
        try:
            status = os.lstat(path)
        except OSError:
            return False
        return has_stamp(status, self._known.stamps.get(path)) and stat.S_ISREG(status.st_mode)

    def _compare_path(self, path: str, now: float) -> bool:
        """Compare one path. Returns whether it is a directory."""
        if not is_utf8(path):  # named by the next full comparison
            return False
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            self._known.note_gone(path)
            return False
        except OSError:  # unknown, which does not mean gone; the next full comparison reports the reason
            return False
        if stat.S_ISREG(status.st_mode) and self._is_transcript(path):
            self._known.note_stamp(path, stamp_of(status), now)
        elif not stat.S_ISREG(status.st_mode):
            self._known.note_gone(path)
            if not stat.S_ISDIR(status.st_mode):
                self._odd = {**self._odd, path: odd_kind(status.st_mode)}
        return stat.S_ISDIR(status.st_mode)

    def _list_again(self, root: _Root, directories: set[str], now: float) -> None:
        """List directories that are new or have no watch, with everything below."""
        below = [root.top] if root.top in directories else sorted(directories)
        listing = scan_below(below, self._is_transcript, top=root.top)
        for path, stamp in listing.stamps.items():
            self._known.note_stamp(path, stamp, now)
        self._note_unwatched(root, listing.directories, afresh=False)

    def _note_unwatched(self, root: _Root, directories: Collection[str], *, afresh: bool) -> None:
        """Record which of these directories give no hints; `afresh`: replace the records of all directories."""
        before = root.unwatched
        kept = {} if afresh else {path: n for path, n in before.items() if path not in directories}
        root.unwatched = kept | {
            path: before.get(path, 0) + 1 for path in root.watcher.list_unwatched(directories)
        }


def _join_listings(listings: Sequence[Listing]) -> Listing:
    whole = Listing()
    for one in listings:
        whole.stamps.update(one.stamps)
        whole.odd.update(one.odd)
        whole.unreadable.update(one.unreadable)
    return whole


def _find_settled(listing: Listing, wall: float) -> Mapping[str, Stamp | None]:
    """The directories of a listing at `wall` (seconds since 1970) for the next one."""
    before = (wall - SETTLED) * 1e9
    return {
        directory: stamp if stamp is not None and stamp.ctime_ns < before else None
        for directory, stamp in listing.directories.items()
    }


_UNREADABLE_HINT = "Make them readable for the user that runs tacitd; reading then continues by itself."
_ODD_HINT = (
    "If these are not transcripts, nothing is lost; otherwise put the real file or folder in their place."
)


def _root_problems(root: _Root, absent_hint: str, *, first: bool) -> list[Degradation]:
    """The problems of a root: it is missing, or partly without watches.

    A directory is reported only after it was found unwatched twice, because a new one may get its watch a moment later.
    """
    if not root.there:
        if first or not absent_hint:
            return []
        what = f"{root.top} does not exist: there is no transcript yet"
        return [Degradation("transcripts.absent", what, absent_hint)]
    count = sum(1 for times in list(root.unwatched.values()) if times > 1)
    if not count or root.watcher.list_problems():
        return []
    what = f"{count} folder(s) below {root.top} have no watch and are polled every few seconds instead"
    return [Degradation("watch.limit", what, limit_hint(28))]


def _list_problem(id: str, verb: str, items: Mapping[str, str], hint: str) -> list[Degradation]:
    """One degradation for a list of paths with reasons; [] if the list is empty."""
    if not items:
        return []
    shown = [f"{_printable(path)}: {why}" for path, why in list(items.items())[:3]]
    more = f", and {len(items) - 3} more" if len(items) > 3 else ""
    return [Degradation(id, f"{len(items)} {verb} ({'; '.join(shown)}{more})", hint)]


def _printable(path: str) -> str:
    """Given a path that may contain undecodable bytes, return text that can be printed anywhere."""
    return path.encode(errors="backslashreplace").decode()
