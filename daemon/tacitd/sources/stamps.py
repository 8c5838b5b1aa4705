"""The known state of every transcript, and which of them are hot. No disk, no clock.

follow.py reads the files' stamps and passes them on; this module decides what has changed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tacitd.sources.listing import Listing, Stamp, as_paths, is_below

HOT = 3600.0
"""Seconds for which a changed file is hot, that is, compared often."""
MANY = 2000
"""Up to this many hot files are all compared in every pass: 5 ms, a quarter of a percent of a core."""
AT_ONCE = 500
"""If more are hot, this many of the newest are compared in every pass, and as many of the others in rotation."""

ChangeKind = Literal["changed", "vanished", "created"]


class FileChanges(Struct, frozen=True):
    """What one poll found. No path is in two of the fields, and each change of a stamp is reported once."""

    changed: tuple[Path, ...] = ()
    vanished: tuple[Path, ...] = ()
    created: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed or self.vanished or self.created)


class KnownStamps:
    """The last stamp of every transcript, and when each last changed."""

    def __init__(self) -> None:
        self.stamps: dict[str, Stamp] = {}
        self._hot: dict[str, float] = {}  # in the order of the last change, oldest first
        self._turn = 0
        self._changes: dict[str, ChangeKind] = {}

    def note_stamp(self, path: str, stamp: Stamp, at: float) -> None:
        """Record a file's stamp, seen at `at` (monotonic seconds)."""
        before = self.stamps.get(path)
        if before == stamp:
            return
        # The handlers' positions have the same names.
        self.stamps[sys.intern(path)] = stamp
        self._warm(path, at)
        reported = self._changes.get(path)
        # Several changes between two polls become one: vanished and created again is "changed", created and changed is "created".
        if before is None and reported != "vanished":
            self._changes[path] = "created"
        elif reported != "created":
            self._changes[path] = "changed"

    def note_gone(self, path: str) -> None:
        """Record that the path does not exist or is not a transcript."""
        if self.stamps.pop(path, None) is None:
            return
        self._hot.pop(path, None)
        if self._changes.get(path) == "created":
            del self._changes[path]
        else:
            self._changes[path] = "vanished"

    def compare_listing(self, listing: Listing, at: float, *, wall: float | None = None) -> None:
        """Record a listing of everything. Files below an unreadable directory are kept, because they are unknown and not gone.

        `at`: monotonic seconds. With `wall` (seconds since 1970) it is the first listing: a file's mtime decides then how
        long it stays hot.
        """
        if wall is not None:
            self.stamps.update(listing.stamps)
            self._changes = dict.fromkeys(listing.stamps, "created")
            self._hot = _hot_by_mtime(listing.stamps, at, wall)
            return
        for path in [path for path in self.stamps if path not in listing.stamps]:
            if not is_below(path, listing.unreadable):
                self.note_gone(path)
        for path, stamp in listing.stamps.items():
            self.note_stamp(path, stamp, at)
        self._cool(at)

    def take_changes(self) -> FileChanges:
        """The changes since the last call."""
        kinds: dict[ChangeKind, list[str]] = {"changed": [], "vanished": [], "created": []}
        for path, kind in self._changes.items():
            kinds[kind].append(path)
        self._changes = {}
        return FileChanges(
            as_paths(kinds["changed"]), as_paths(kinds["vanished"]), as_paths(kinds["created"])
        )

    def drop_changes(self) -> None:
        """Report nothing of the changes since the last call of `take_changes`."""
        self._changes = {}

    @property
    def has_hot(self) -> bool:
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
        """Move a path to the newest place."""
        self._hot.pop(path, None)
        self._hot[path] = at

    def _cool(self, at: float) -> None:
        """Drop what has not changed for an hour. The time is monotonic, so no clock jump affects it."""
        self._hot = {path: since for path, since in self._hot.items() if at - since < HOT}


class StampView(Mapping[Path, Stamp]):
    """All known transcripts and their stamps, read-only. A view, so that `Path` objects are only made on request."""

    def __init__(self, stamps: Mapping[str, Stamp]) -> None:
        self._stamps = stamps

    def __getitem__(self, path: Path) -> Stamp:
        return self._stamps[str(path)]

    def __iter__(self) -> Iterator[Path]:
        return map(Path, list(self._stamps))

    def __len__(self) -> int:
        return len(self._stamps)


def _hot_by_mtime(stamps: Mapping[str, Stamp], at: float, wall: float) -> dict[str, float]:
    """The hot files of the first listing, with their monotonic times. An mtime in the future counts as now."""
    since = int((wall - HOT) * 1e9)
    recent = [(mtime, path) for path, stamp in stamps.items() if (mtime := stamp.mtime_ns) > since]
    return {path: at - max(0.0, wall - mtime / 1e9) for mtime, path in sorted(recent)}
