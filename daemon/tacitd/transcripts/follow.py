"""Truth about transcripts: which changed, vanished or are new, also where every hint was lost.

Here belongs when what is compared. What a stamp is stands in `listing.py`, what was known in `known.py`, where
hints come from in `watch.py`; nothing here opens a file.

The measure is DESIGN "Hints and truth": a hint is looked at in the next poll; files that changed within the hour
every 2 s; everything every 60 s, and at once after lost hints, a clock jump, a sleep, a stopped process, or
when asked. Directories that have no watch are listed every 2 to 4 s.

One limit is the file system's: before Linux 6.13, a file that is rewritten in place to the same size within one
tick of the kernel's clock (4 ms) has the stamp it had.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tacitd.clock import Clock
from tacitd.handler import Degradation
from tacitd.transcripts.known import Changes, Known, Stamps
from tacitd.transcripts.listing import SUFFIX, Listing, Stamp, odd_kind, scan_below, stamp_of, top_of
from tacitd.transcripts.watch import Watcher, limit_hint

HOT_EVERY = 2.0
"""Seconds between two comparisons of the hot files."""
DEAF_AT_MOST = 4.0
"""Seconds within which a change below an unwatched directory is seen, however slow listing is."""
ALL_EVERY = 60.0
"""Seconds between two comparisons of everything."""
JUMP = 5.0
"""Seconds by which the two clocks may disagree, or a poll be late, before nothing is taken for granted."""


@dataclass(slots=True)
class _Root:
    """One watched root and what is known of its watching."""

    top: str
    watcher: Watcher
    there: bool = False
    unwatched: dict[str, int] = field(default_factory=dict)
    """Directories without a watch: how many times they were found so."""


class Follower:
    """Follows all transcripts below some roots (`~/.claude`). Call it from one thread, whenever `next_in` or
    `wake` says so; `degradations` may be read from others."""

    def __init__(
        self,
        roots: Sequence[Path],
        clock: Clock,
        watcher_for: Callable[[Path, Callable[[], None]], Watcher],
        wake: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._roots = [_Root(top_of(root), watcher_for(root, wake)) for root in roots]
        self._known = Known()
        self._odd: Mapping[str, str] = {}
        self._unreadable: Mapping[str, str] = {}
        self._first = True
        self._last = (0.0, 0.0)
        self._full_at = self._hot_at = self._deaf_at = 0.0

    def start(self) -> None:
        """Begin to watch. The first `poll` after it is a full one, so that nothing falls between the two."""
        for root in self._roots:
            root.watcher.start()

    def stop(self) -> None:
        """End all watching."""
        for root in self._roots:
            root.watcher.stop()

    def poll(self, *, full: bool = False) -> Changes:
        """Look at what may have changed (at everything, with `full`), and return what did."""
        now = self._clock.monotonic()
        lost = [root.watcher.check() for root in self._roots]
        hints = [{str(hint) for hint in root.watcher.drain()} for root in self._roots]
        if full or self._first or any(lost) or self._jumped(now) or now >= self._full_at:
            self._compare_all(now)
        else:
            self._compare_some(hints, now)
        self._last = (self._clock.now(), now)
        return self._known.news()

    def next_in(self) -> float:
        """Seconds until the next poll is due if no hint comes before: 0 if it is overdue, 60 at most."""
        due = self._full_at
        if self._known.hot:
            due = min(due, self._hot_at)
        if any(root.unwatched or not root.there for root in self._roots):
            due = min(due, self._deaf_at)
        return max(0.0, due - self._clock.monotonic())

    @property
    def well(self) -> bool:
        """Whether hints come from each root, or it is known why not: it is missing, or the system refused."""
        return all(
            root.watcher.alive or not root.there or bool(root.watcher.problems()) for root in self._roots
        )

    @property
    def stamps(self) -> Mapping[Path, Stamp]:
        """Every transcript that is known, with its last stamp. A live view."""
        return Stamps(self._known.stamps)

    def degradations(self) -> list[Degradation]:
        """What is not as it should be, and what cures it."""
        found = [problem for root in self._roots for problem in root.watcher.problems()]
        for root in self._roots:
            found += _root_problems(root, first=self._first)
        found += _list_problem("transcripts.unreadable", "cannot be read", self._unreadable, _UNREADABLE_HINT)
        found += _list_problem("transcripts.odd", "left alone", self._odd, _ODD_HINT)
        return found

    def _jumped(self, now: float) -> bool:
        """Whether the machine slept, its clock was set, or this process stood still."""
        wall, monotonic = self._last
        late = now - max(monotonic, min(self._full_at, self._hot_at if self._known.hot else self._full_at))
        return abs((self._clock.now() - wall) - (now - monotonic)) > JUMP or late > JUMP

    def _compare_all(self, now: float) -> None:
        """List everything below all roots."""
        whole = Listing()
        for root in self._roots:
            listing = scan_below([root.top], top=root.top)
            root.there = root.top in listing.directories or root.top in listing.unreadable
            self._note_unwatched(root, listing.directories, afresh=True)
            whole.stamps.update(listing.stamps)
            whole.odd.update(listing.odd)
            whole.unreadable.update(listing.unreadable)
        self._known.compare(whole, now, wall=self._clock.now() if self._first else None)
        self._odd, self._unreadable, self._first = whole.odd, whole.unreadable, False
        self._full_at, self._hot_at, self._deaf_at = now + ALL_EVERY, now + HOT_EVERY, now + HOT_EVERY

    def _compare_some(self, hints: Sequence[Iterable[str]], now: float) -> None:
        """Look at what was hinted at, and at what is due."""
        deaf_due = now >= self._deaf_at
        for root, paths in zip(self._roots, hints, strict=True):
            folders = [path for path in paths if self._look(path, now)]
            if folders or (deaf_due and root.unwatched):
                self._list_again(root, {*folders, *(root.unwatched if deaf_due else ())}, now)
        if now >= self._hot_at:
            self._hot_at = now + HOT_EVERY
            for path in self._known.next_hot():
                if not self._same(path):
                    self._look(path, now)
        if deaf_due:
            took = self._clock.monotonic() - now
            self._deaf_at = now + min(DEAF_AT_MOST, max(HOT_EVERY, 40 * took))

    def _same(self, path: str) -> bool:
        """Whether a file is as it was. Two thousand are asked every 2 s: this is all that an idle engine does."""
        try:
            status = os.lstat(path)
        except OSError:
            return False
        known = self._known.stamps.get(path)
        now = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        return known == now and stat.S_ISREG(status.st_mode)

    def _look(self, path: str, now: float) -> bool:
        """Compare one path. True: it is a directory."""
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            self._known.gone(path)
            return False
        except OSError:  # unknown, not gone: the next full pass says what is the matter
            return False
        if stat.S_ISREG(status.st_mode) and path.endswith(SUFFIX):
            self._known.take(path, stamp_of(status), now)
        elif not stat.S_ISREG(status.st_mode):
            self._known.gone(path)
            if not stat.S_ISDIR(status.st_mode):
                self._odd = {**self._odd, path: odd_kind(status.st_mode)}
        return stat.S_ISDIR(status.st_mode)

    def _list_again(self, root: _Root, directories: set[str], now: float) -> None:
        """List directories that are new or have no watch, with all below."""
        listing = scan_below([root.top] if root.top in directories else sorted(directories), top=root.top)
        for path, stamp in listing.stamps.items():
            self._known.take(path, stamp, now)
        self._note_unwatched(root, listing.directories, afresh=False)

    def _note_unwatched(self, root: _Root, directories: set[str], *, afresh: bool) -> None:
        """Remember which of these directories give no hints; with `afresh`, of all."""
        before = root.unwatched
        kept = {} if afresh else {path: n for path, n in before.items() if path not in directories}
        root.unwatched = kept | {
            path: before.get(path, 0) + 1 for path in root.watcher.unwatched(directories)
        }


_UNREADABLE_HINT = (
    "Give the user that runs tacitd the right to read them; what is below goes on by itself then."
)
_ODD_HINT = "Nothing is lost if these are no transcripts; else put the real file or folder in their place."


def _root_problems(root: _Root, *, first: bool) -> list[Degradation]:
    """That a root is missing, or partly without watches.

    A directory is only spoken of when it was found unwatched twice: one that was just made may get its watch
    a moment later.
    """
    if not root.there:
        if first:
            return []
        what = f"{root.top} does not exist: there is no transcript yet"
        return [Degradation("transcripts.absent", what, "Use Claude Code once, or set CLAUDE_CONFIG_DIR.")]
    deaf = sum(1 for times in list(root.unwatched.values()) if times > 1)
    if not deaf or root.watcher.problems():
        return []
    what = f"{deaf} folder(s) below {root.top} have no watch, and are polled every few seconds instead"
    return [Degradation("watch.limit", what, limit_hint(28))]


def _list_problem(id: str, verb: str, items: Mapping[str, str], hint: str) -> list[Degradation]:
    """One degradation for a list of paths with reasons, or none."""
    if not items:
        return []
    shown = [f"{_printable(path)}: {why}" for path, why in list(items.items())[:3]]
    more = f", and {len(items) - 3} more" if len(items) > 3 else ""
    return [Degradation(id, f"{len(items)} {verb} ({'; '.join(shown)}{more})", hint)]


def _printable(path: str) -> str:
    """Given a path that may hold undecodable bytes, return text that can be printed anywhere."""
    return path.encode(errors="backslashreplace").decode()
