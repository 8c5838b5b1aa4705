"""Decide which files in a project's `tmp/` are ours to read, rename and remove.

A clone or an unpacked archive can contain a raw file. It looks like one of ours, and its facts would become lines that
every later session loads. A raw file is therefore ours only if

- git does not track it. A tracked file is never read, changed or removed. If git cannot list its tracked
  files, no file is ours;
- it did not exist when the project was first seen. Of a file that did, only bytes appended later count, because a program
  on this machine wrote them.

The files that existed at first sight are recorded in a log. Modification times are not used, because the author of an
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

from msgspec import Struct

from tacitd.clock import Clock
from tacitd.errors import FileRefusedError
from tacitd.files import git
from tacitd.files.disk import Disk
from tacitd.files.log import Log
from tacitd_handlers.learning.safe_read import resolve_links
from tacitd_handlers.learning.store import CLAIMED, RAW, SUMMARY, ProjectPaths, RawAccess

LOG = "first-sights.jsonl"
HEAD = 65_536
"""Number of bytes at a file's beginning whose digest identifies it."""
RETRY = 60.0
"""Seconds before git is asked again after it could not list what it tracks."""

Tracked = frozenset[str] | None
"""Case-folded names of the files in `tmp/` that git tracks; None if git cannot list them."""


class BroughtFile(Struct, frozen=True):
    """A file that came with the project, as it was when it was first seen."""

    size: int
    """Size in bytes."""
    head: str
    """SHA-256 of its first 64 KB in hexadecimal; "" if it was not read, because it was tracked or unreadable."""


class _TrackedAnswer(Struct, frozen=True):
    """Git's answer, valid until the index changes."""

    tracked: Tracked
    stamp: tuple[int, int, int] | None
    tmp: Path
    asked_at: float
    """When git was asked: seconds of the monotonic clock."""

    def is_current(self, stamp: tuple[int, int, int] | None, tmp: Path, now: float) -> bool:
        """Whether the answer still applies, so that git is not asked again."""
        fresh = self.tracked is not None or now - self.asked_at < RETRY
        return fresh and (self.stamp, self.tmp) == (stamp, tmp)


@dataclass(slots=True)
class RawOwnership:
    """Knows which raw files are ours, by project. Thread-safe.

    Its log has records `{"project": "/…/app", "at": 1795149000.0, "files": {"learning-raw.jsonl": [120, "…"]}}`. `at` is in
    seconds since 1970, UTC. Each file has its size and the digest of its beginning; or null once it no longer counts as
    brought along; or "made" if tacitd made it under a name with a random part. Later records of a project add to earlier
    ones.
    """

    home: Path
    clock: Clock
    known_since: Mapping[Path, float] = field(default_factory=dict)
    """Projects in which tacitd wrote before this log existed, with the time of the first write (seconds since 1970, UTC).

    The files that existed in them count as ours.
    """
    disk: Disk | None = None
    read: git.ReadGit = git.read_git
    _brought: dict[Path, dict[str, BroughtFile]] = field(default_factory=dict, init=False)
    _made: dict[Path, set[str]] = field(default_factory=dict, init=False)
    """Names of claimed files that are ours even if git cannot list its tracked files."""
    _answers: dict[Path, _TrackedAnswer] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _log: Log = field(init=False)

    def __post_init__(self) -> None:
        self._log = Log(self.home / LOG, self.disk)
        for record in self._log.read():
            self._fold(record)

    def inspect_files(self, files: ProjectPaths) -> RawAccess:
        """Return what may be done with the project's raw files now. The first call records the first sight.

        Raises OSError if the record cannot be written, and FileRefusedError if `tmp/` cannot be listed. Without the record
        or the list, no file there can be trusted.
        """
        tmp = resolve_links(files.tmp_dir)
        if not tmp.is_relative_to(resolve_links(files.root)):
            return RawAccess(raw="closed", summary="closed")
        # The files are listed before git is asked: a file that a checkout creates in between is then not in the list.
        present = dict(_list_present(files))
        tracked = self._list_tracked(files, tmp)
        with self._lock:
            if files.root not in self._brought:
                self._note_first_sight(files, tracked, present)
            self._note_changes(files, tracked, present)
            made = frozenset(self._made.get(files.root, ()))
            return judge_raw_files(files, tracked, self._brought[files.root], present, made)

    def note_taken(self, files: ProjectPaths, name: str, size: int) -> None:
        """Record that the facts of a brought file were taken up to byte offset `size`. Raises OSError."""
        with self._lock:
            self._note(files, {name: BroughtFile(size, _digest(files.tmp_dir / name, size))})

    def note_made(self, files: ProjectPaths, names: Iterable[str]) -> None:
        """Record that claimed files with these names, which have random parts, are about to be made. Raises OSError."""
        record = {"project": str(files.root), "at": self.clock.now(), "files": dict.fromkeys(names, "made")}
        with self._lock:
            self._log.append(record, sync=True)
            self._fold(record)

    def note_replaced(self, files: ProjectPaths, name: str) -> None:
        """Record that this file was replaced by ours. Raises OSError."""
        with self._lock:
            if name in self._brought.get(files.root, {}):
                self._note(files, {name: None})

    def _note_first_sight(self, files: ProjectPaths, tracked: Tracked, present: Mapping[str, int]) -> None:
        if files.root in self.known_since:
            self._note(files, {}, self.known_since[files.root])
            return
        self._note(files, {name: _describe(files, name, size, tracked) for name, size in present.items()})

    def _note_changes(self, files: ProjectPaths, tracked: Tracked, present: Mapping[str, int]) -> None:
        """Record changes since the last look: files that are newly tracked, no longer tracked, replaced, or gone."""
        if tracked is None:
            return
        brought = self._brought[files.root]
        changes: dict[str, BroughtFile | None] = {}
        for name, size in present.items():
            before = brought.get(name)
            if name.casefold() in tracked:
                if before is None or before.head:
                    changes[name] = BroughtFile(size, "")
            elif before is not None and not before.head:
                # `git rm --cached` leaves the file in place, with contents that came with the repository.
                if (now := _describe(files, name, size, tracked)) != before:
                    changes[name] = now
            elif (
                before is not None
                and not name.endswith(CLAIMED)
                and not _begins_with(files.tmp_dir / name, before, size)
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
        """Return what git tracks in `tmp`, a real path. The last answer is used while the index is unchanged."""
        repository, within = git.find_repository(files.root), git.find_repository(tmp)
        if repository is None or within is None:
            return frozenset() if repository is within else None
        if repository.here != within.here or not tmp.is_relative_to(repository.here):
            return None  # `tmp` is a submodule, and its own index may track the files
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
    """Return what may be done with the raw files. Pure.

    `tracked`: the names that git tracks. `brought`: the files that came with the project, by name. `present`: the sizes of
    the files that exist, by name. `made`: the names of claimed files that tacitd made.
    """

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
    """Return text and hint for `status` about raw files that are not ours; None if there are none."""
    if not access.foreign:
        return None
    names = ", ".join(access.foreign[:5]) + (", …" if len(access.foreign) > 5 else "")
    if not access.known:
        what = (
            f"git cannot list its tracked files, so {names} in {files.tmp_dir} are not read and not changed"
        )
        return what, f"run `git -C {files.root} status` to see why"
    what = f"{names} in {files.tmp_dir} came with the project: they are not read and not changed"
    return what, "delete them if they are not needed; learning works without them"


def _list_present(files: ProjectPaths) -> Iterator[tuple[str, int]]:
    """Yield names and sizes of the regular files in `tmp/` that have our names.

    The raw file and the summary are looked up by name, because a file system may ignore case.
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
        hint = "make it readable for tacitd"
        raise FileRefusedError(f"{files.tmp_dir} cannot be listed: {error.strerror}", hint) from error


def _describe(files: ProjectPaths, name: str, size: int, tracked: Tracked) -> BroughtFile:
    if tracked is None or name.casefold() in tracked:
        return BroughtFile(size, "")
    return BroughtFile(size, _digest(files.tmp_dir / name, size))


def _begins_with(path: Path, brought: BroughtFile, size: int) -> bool:
    """Whether this is still the file that was brought along, possibly with more at its end.

    A file that cannot be read now counts as the same one.
    """
    return size >= brought.size and _digest(path, brought.size) in (brought.head, "")


def _digest(path: Path, size: int) -> str:
    """SHA-256 in hexadecimal of the first `size` bytes, at most HEAD; "" if the file cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return ""
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)  # `open` would leave that of a directory open
        return ""
    with open(fd, "rb") as file:
        return hashlib.sha256(file.read(min(size, HEAD))).hexdigest()


def _stamp(index: Path) -> tuple[int, int, int] | None:
    try:
        seen = index.stat()
    except OSError:
        return None
    return seen.st_mtime_ns, seen.st_size, seen.st_ino
