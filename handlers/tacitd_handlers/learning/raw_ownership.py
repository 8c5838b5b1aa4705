"""Which files in a project's `tmp/` are ours to read, rename and remove: what a repository brought along is not.

A clone brings what was committed, an unpacked archive what was packed. A raw file among it looks like one of ours, and
its facts would become lines that every later session loads. So a raw file is ours only where

- git does not track it. Such a file is never read, changed or removed, and where git cannot say, none is;
- it was not there when the project was first seen. Of one that was, only what is appended later counts: another tool
  wrote that here.

What was there at the first sight is kept in a log. The times of the files themselves are not used: whoever packs an
archive chooses them.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tacitd.clock import Clock
from tacitd.errors import FileRefusedError
from tacitd.files import git
from tacitd.files.disk import Disk
from tacitd.files.log import Log
from tacitd_handlers.learning.safe_read import resolve_links
from tacitd_handlers.learning.store import CLAIMED, RAW, SUMMARY, ProjectPaths, RawAccess

LOG = "first-sights.jsonl"
HEAD = 65_536
"""Bytes at a file's beginning by which it is recognised."""
RETRY = 60.0
"""Seconds before git is asked again where it could not say."""

Tracked = frozenset[str] | None
"""Case-folded names in `tmp/` that git tracks; None where git cannot say."""


@dataclass(frozen=True, slots=True)
class BroughtFile:
    """A file that was not written here, as it was when that was noticed."""

    size: int
    """Bytes."""
    head: str
    """SHA-256 of its first 64 KB; "" where it was not read: it was tracked, or could not be."""


@dataclass(frozen=True, slots=True)
class _TrackedAnswer:
    """What git said, until the index changes."""

    tracked: Tracked
    stamp: tuple[int, int, int] | None
    tmp: Path
    asked_at: float
    """Seconds of the monotonic clock."""

    def is_current(self, stamp: tuple[int, int, int] | None, tmp: Path, now: float) -> bool:
        """Whether git need not be asked again."""
        fresh = self.tracked is not None or now - self.asked_at < RETRY
        return fresh and (self.stamp, self.tmp) == (stamp, tmp)


@dataclass(slots=True)
class RawOwnership:
    """Which raw files are ours, by project. Thread-safe.

    Its log holds `{"project": "/…/app", "at": 1795149000.0, "files": {"learning-raw.jsonl": [120, "…"]}}`: `at` in
    seconds since 1970, UTC; for each file its size and the digest of its beginning, null when it is gone, or "made" where
    tacitd made it under a name that nobody could foresee. Later records of a project add to earlier ones.
    """

    home: Path
    clock: Clock
    known_since: Mapping[Path, float] = field(default_factory=dict)
    """Projects that were written in before first sights were noted, and since when: what lies there counts as ours."""
    disk: Disk | None = None
    read: git.ReadGit = git.read_git
    _brought: dict[Path, dict[str, BroughtFile]] = field(default_factory=dict, init=False)
    _made: dict[Path, set[str]] = field(default_factory=dict, init=False)
    """Names of claimed files that are ours whatever git says."""
    _answers: dict[Path, _TrackedAnswer] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _log: Log = field(init=False)

    def __post_init__(self) -> None:
        self._log = Log(self.home / LOG, self.disk)
        for record in self._log.read():
            self._fold(record)

    def inspect_files(self, files: ProjectPaths) -> RawAccess:
        """What may be done with the project's raw files now. The first call notes the first sight of the project.

        Raises OSError where that cannot be written down, and FileRefusedError where `tmp/` cannot be listed: until then
        nothing there can be trusted.
        """
        tmp = resolve_links(files.tmp_dir)
        if not tmp.is_relative_to(resolve_links(files.root)):
            return RawAccess(raw="closed", summary="closed")
        # In this order: a checkout that has begun since then does not bring what is listed here.
        present = dict(_list_present(files))
        tracked = self._list_tracked(files, tmp)
        with self._lock:
            if files.root not in self._brought:
                self._note_first_sight(files, tracked, present)
            self._note_changes(files, tracked, present)
            made = frozenset(self._made.get(files.root, ()))
            return judge_raw_files(files, tracked, self._brought[files.root], present, made)

    def note_taken(self, files: ProjectPaths, name: str, size: int) -> None:
        """The facts up to this byte of a file that was brought along have been taken. Raises OSError."""
        with self._lock:
            self._note(files, {name: BroughtFile(size, _digest(files.tmp_dir / name, size))})

    def note_made(self, files: ProjectPaths, names: Iterable[str]) -> None:
        """We are about to make claimed files with these names, which hold random parts. Raises OSError."""
        record = {"project": str(files.root), "at": self.clock.now(), "files": dict.fromkeys(names, "made")}
        with self._lock:
            self._log.append(record, sync=True)
            self._fold(record)

    def note_replaced(self, files: ProjectPaths, name: str) -> None:
        """We have written this file anew, so it is ours. Raises OSError."""
        with self._lock:
            if name in self._brought.get(files.root, {}):
                self._note(files, {name: None})

    def _note_first_sight(self, files: ProjectPaths, tracked: Tracked, present: Mapping[str, int]) -> None:
        if files.root in self.known_since:
            self._note(files, {}, self.known_since[files.root])
            return
        self._note(files, {name: _describe(files, name, size, tracked) for name, size in present.items()})

    def _note_changes(self, files: ProjectPaths, tracked: Tracked, present: Mapping[str, int]) -> None:
        """Follow what git and others do with the files: tracked, no longer tracked, replaced, gone."""
        if tracked is None:
            return
        brought = self._brought[files.root]
        changes: dict[str, BroughtFile | None] = {}
        for name, size in present.items():
            was = brought.get(name)
            if name.casefold() in tracked:
                if was is None or was.head:
                    changes[name] = BroughtFile(size, "")
            elif was is not None and not was.head:
                # `git rm --cached` leaves the file: nothing that is in it by now was written here.
                if (now := _describe(files, name, size, tracked)) != was:
                    changes[name] = now
            elif (
                was is not None
                and not name.endswith(CLAIMED)
                and not _begins_with(files.tmp_dir / name, was, size)
            ):
                changes[name] = None
        changes |= {name: None for name in brought if name not in present and name.casefold() not in tracked}
        if changes:
            self._note(files, changes)

    def _note(
        self, files: ProjectPaths, changes: Mapping[str, BroughtFile | None], at: float | None = None
    ) -> None:
        values = {name: [one.size, one.head] if one is not None else None for name, one in changes.items()}
        record = {"project": str(files.root), "at": self.clock.now() if at is None else at, "files": values}
        self._log.append(record, sync=True)
        self._fold(record)

    def _fold(self, record: Mapping[str, object]) -> None:
        root, changes = record.get("project"), record.get("files")
        if not isinstance(root, str) or not isinstance(changes, dict):
            return
        brought = self._brought.setdefault(Path(root), {})
        for name, value in changes.items():
            match value:
                case [int(size), str(head)]:
                    brought[str(name)] = BroughtFile(size, head)
                case "made":
                    self._made.setdefault(Path(root), set()).add(str(name))
                case _:
                    brought.pop(str(name), None)

    def _list_tracked(self, files: ProjectPaths, tmp: Path) -> Tracked:
        """What git tracks in `tmp/`, the real path, from memory while the index stays the same."""
        repository, within = git.find_repository(files.root), git.find_repository(tmp)
        if repository is None or within is None:
            return frozenset() if repository is within else None
        if repository.here != within.here or not tmp.is_relative_to(repository.here):
            return None  # `tmp` is a submodule, whose own index may track the files
        if git.is_index_locked(repository):
            return None
        now, stamp = self.clock.monotonic(), _stamp(repository.git_dir / "index")
        known = self._answers.get(files.root)
        if known is not None and known.is_current(stamp, tmp, now):
            return known.tracked
        tracked = git.list_tracked(repository.here, tmp, "*", self.read)
        self._answers[files.root] = _TrackedAnswer(tracked, stamp, tmp, now)
        return tracked


def judge_raw_files(
    files: ProjectPaths,
    tracked: Tracked,
    brought: Mapping[str, BroughtFile],
    present: Mapping[str, int],
    made: frozenset[str] = frozenset(),
) -> RawAccess:
    """Given what git tracks, what was brought along, the sizes of what is there, and the names of files that tacitd made,
    return what may be done."""

    def is_foreign(name: str) -> bool:
        if tracked is None:
            return name not in made
        return name.casefold() in tracked or name in brought

    raw: Literal["own", "appended", "closed"] = "own"
    if tracked is None or RAW.casefold() in tracked:
        raw = "closed"
    elif RAW in brought:
        raw = "appended"
    summary: Literal["own", "stale", "closed"] = "own"
    if tracked is None or SUMMARY.casefold() in tracked:
        summary = "closed"
    elif SUMMARY in brought:
        summary = "stale"
    claimed = sorted(name for name in present if name.endswith(CLAIMED) and not is_foreign(name))
    begin = brought[RAW].size if raw == "appended" else 0
    return RawAccess(
        raw=raw,
        begin=begin,
        source=brought[RAW].head if raw == "appended" else "",
        summary=summary,
        claimed=tuple(files.tmp_dir / name for name in claimed),
        foreign=tuple(sorted(name for name in present if name != SUMMARY and is_foreign(name))),
        waiting=bool(claimed) or (raw != "closed" and present.get(RAW, 0) > begin),
        known=tracked is not None,
    )


def describe_foreign(files: ProjectPaths, access: RawAccess) -> tuple[str, str] | None:
    """What `status` says of raw files that are left alone, and the hint; None where there are none."""
    if not access.foreign:
        return None
    names = ", ".join(access.foreign[:5]) + (", …" if len(access.foreign) > 5 else "")
    if not access.known:
        what = (
            f"git cannot say whether it tracks {names} in {files.tmp_dir}: they are not read and not changed"
        )
        return what, f"`git -C {files.root} status` says why"
    what = f"{names} in {files.tmp_dir} came with the project: they are not read and not changed"
    return what, "remove them if nobody needs them; what is learned here goes on without them"


def _list_present(files: ProjectPaths) -> Iterator[tuple[str, int]]:
    """Names and sizes of the ordinary files in `tmp/` that have our names.

    Two names are looked up and not listed: a file system that ignores case finds them in any.
    """
    try:
        for path in (files.raw_file, files.summary_file):
            with suppress(FileNotFoundError):
                found = path.lstat()
                if stat.S_ISREG(found.st_mode):
                    yield path.name, found.st_size
        with os.scandir(files.tmp_dir) as entries:
            for entry in entries:
                named = entry.name.startswith("learning-raw.") and entry.name.endswith(CLAIMED)
                if named and entry.is_file(follow_symlinks=False):
                    yield entry.name, entry.stat(follow_symlinks=False).st_size
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        hint = "give tacitd the right to read it"
        raise FileRefusedError(f"{files.tmp_dir} cannot be listed: {error.strerror}", hint) from error


def _describe(files: ProjectPaths, name: str, size: int, tracked: Tracked) -> BroughtFile:
    if tracked is None or name.casefold() in tracked:
        return BroughtFile(size, "")
    return BroughtFile(size, _digest(files.tmp_dir / name, size))


def _begins_with(path: Path, brought: BroughtFile, size: int) -> bool:
    """Whether this is still the file that was brought along, with or without more at its end. One that cannot be read
    now is not taken for another."""
    return size >= brought.size and _digest(path, brought.size) in (brought.head, "")


def _digest(path: Path, size: int) -> str:
    """The digest of the first 64 KB of so many bytes; "" where the file cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return ""
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return ""
        return hashlib.sha256(file.read(min(size, HEAD))).hexdigest()


def _stamp(index: Path) -> tuple[int, int, int] | None:
    try:
        seen = index.stat()
    except OSError:
        return None
    return seen.st_mtime_ns, seen.st_size, seen.st_ino
