"""What is known of every transcript, and which of them are hot. Bookkeeping only: no disk, no clock.

`follow.py` looks at files and tells this what it saw; this says what is new about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tacitd.transcripts.listing import Listing, Stamp, as_paths

HOT = 3600.0
"""Seconds for which a file that changed is compared often."""
MANY = 2000
"""Up to so many hot files are all compared at every pass: 5 ms, a quarter of a percent of a core."""
AT_ONCE = 500
"""Where more are hot, so many of the newest are compared at every pass, and as many of the others by turns."""

Kind = Literal["changed", "vanished", "born"]


@dataclass(frozen=True, slots=True)
class Changes:
    """What one poll found. No path is in two of them, and each change of a stamp is reported once."""

    changed: tuple[Path, ...] = ()
    vanished: tuple[Path, ...] = ()
    born: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed or self.vanished or self.born)


class Known:
    """The last stamp of every transcript, and when each was last seen to change."""

    def __init__(self) -> None:
        self.stamps: dict[str, Stamp] = {}
        self._hot: dict[str, float] = {}  # in the order of the last change, oldest first
        self._turn = 0
        self._news: dict[str, Kind] = {}

    def take(self, path: str, stamp: Stamp, at: float) -> None:
        """A file was seen with this stamp, at `at` (monotonic seconds)."""
        before = self.stamps.get(path)
        if before == stamp:
            return
        self.stamps[path] = stamp
        self._warm(path, at)
        reported = self._news.get(path)
        if before is None and reported != "vanished":
            self._news[path] = "born"
        elif reported != "born":
            self._news[path] = "changed"

    def gone(self, path: str) -> None:
        """Nothing stands at this path, or nothing that is a transcript."""
        if self.stamps.pop(path, None) is None:
            return
        self._hot.pop(path, None)
        if self._news.get(path) == "born":
            del self._news[path]
        else:
            self._news[path] = "vanished"

    def compare(self, listing: Listing, at: float, *, wall: float | None = None) -> None:
        """Take a listing of everything. What lies below an unreadable directory is kept: unknown is not gone.

        With `wall` (seconds since 1970) it is the first one: how hot a file is then comes from its mtime.
        """
        for path in [path for path in self.stamps if path not in listing.stamps]:
            if not _below_any(path, listing.unreadable):
                self.gone(path)
        for path, stamp in listing.stamps.items():
            self.take(path, stamp, at)
        if wall is not None:
            self._hot = _hot_by_mtime(listing.stamps, at, wall)
        self._cool(at)

    def news(self) -> Changes:
        """What is new since the last call."""
        kinds: dict[Kind, list[str]] = {"changed": [], "vanished": [], "born": []}
        for path, kind in self._news.items():
            kinds[kind].append(path)
        self._news = {}
        return Changes(as_paths(kinds["changed"]), as_paths(kinds["vanished"]), as_paths(kinds["born"]))

    @property
    def hot(self) -> bool:
        """Whether any file changed within the hour."""
        return bool(self._hot)

    def next_hot(self) -> list[str]:
        """The files to compare in this pass."""
        paths = list(self._hot)
        if len(paths) <= MANY:
            return paths
        newest, rest = paths[-AT_ONCE:], paths[:-AT_ONCE]
        start = self._turn % len(rest)
        self._turn = start + AT_ONCE
        return newest + (rest + rest)[start : start + AT_ONCE]

    def _warm(self, path: str, at: float) -> None:
        """Put a path at the hot end."""
        self._hot.pop(path, None)
        self._hot[path] = at

    def _cool(self, at: float) -> None:
        """Forget what has not changed for an hour. Monotonic time, so that no clock jump cools anything."""
        self._hot = {path: since for path, since in self._hot.items() if at - since < HOT}


class Stamps(Mapping[Path, Stamp]):
    """All known transcripts and their stamps, read-only: a view, so that no paths are made until asked for."""

    def __init__(self, stamps: Mapping[str, Stamp]) -> None:
        self._stamps = stamps

    def __getitem__(self, path: Path) -> Stamp:
        return self._stamps[str(path)]

    def __iter__(self) -> Iterator[Path]:
        return map(Path, list(self._stamps))

    def __len__(self) -> int:
        return len(self._stamps)


def _below_any(path: str, directories: Mapping[str, str]) -> bool:
    """Whether a path is one of these, or below one of them."""
    return any(path == one or path.startswith(one + "/") for one in directories)


def _hot_by_mtime(stamps: Mapping[str, Stamp], at: float, wall: float) -> dict[str, float]:
    """How hot files are that were there before us. A time in the future counts as now."""
    aged = [(max(0.0, wall - stamp.mtime_ns / 1e9), path) for path, stamp in stamps.items()]
    return {path: at - age for age, path in sorted(aged, reverse=True) if age < HOT}
