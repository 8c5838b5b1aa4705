"""One pass over everything below a root: which transcripts there are, and the stamp of each.

Listing directories and `lstat` belong here. What changed since the last pass is in follow.py and stamps.py. Nothing here
opens a file, because opening a FIFO that has the name of a transcript would block.

Paths are `str` in the form of `os.fsdecode` (undecodable bytes become surrogates), because twenty thousand `Path`
objects take more time and memory than the whole pass.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Self

from msgspec import Struct, field

_FIELDS = struct.Struct("<qqqQ")

IsTranscript = Callable[[str], bool]
"""Whether a file with this path is a transcript: `base.Source.is_transcript`."""


class Stamp(bytes):
    """What identifies a file's state: any difference means that the file changed (DESIGN "Sources").

    Bytes and not a struct of four numbers: there is one for each transcript, and it takes 96 bytes instead of 200.
    """

    __slots__ = ()

    def __new__(cls, size: int, mtime_ns: int, ctime_ns: int, inode: int) -> Self:
        """`size`: bytes. `mtime_ns`: last write. `ctime_ns`: last change of the inode, which a program cannot set back. Both are
        nanoseconds since 1970, UTC."""
        try:
            packed = _FIELDS.pack(size, mtime_ns, ctime_ns, inode)
        except struct.error:  # a program set a time after the year 2262, which some file systems can store
            packed = _FIELDS.pack(size, _wrap(mtime_ns), _wrap(ctime_ns), inode)
        return super().__new__(cls, packed)

    @property
    def size(self) -> int:
        """Bytes."""
        return int(_FIELDS.unpack(self)[0])

    @property
    def mtime_ns(self) -> int:
        """Last write: nanoseconds since 1970, UTC. A time after the year 2262 counts as long past."""
        return int(_FIELDS.unpack(self)[1])


def _wrap(number: int) -> int:
    """The number modulo 2**64, as a signed one."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


class Listing(Struct):
    """What a pass found. Keys are paths in the form of `os.fsdecode`."""

    stamps: dict[str, Stamp] = field(default_factory=dict)
    """Every transcript that is a regular file."""
    directories: set[str] = field(default_factory=set)
    """Every directory that could be listed, including the top."""
    odd: dict[str, str] = field(default_factory=dict)
    """What has the name of a transcript (or of a project's folder) and is not one: path to reason. Never opened."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """What could not be read: path to reason. What is below is unknown, which does not mean gone."""


def scan_below(
    directories: Iterable[str],
    is_transcript: IsTranscript,
    *,
    top: str,
    known: Mapping[str, Stamp] = MappingProxyType({}),
) -> Listing:
    """Given directories at or below `top`, return what is in them and below. Each directory is listed once.

    A missing directory gives an empty listing. `top` may be a link, because people move it to another disk. Links below it
    are not followed. Takes about 100 ms for 20,000 files. Raises nothing: what cannot be read is in `.unreadable`.

    Of `known` stamps, those that are still the same are in the result, and not a copy of each.
    """
    found = Listing()
    waiting = list(directories)
    while waiting:
        directory = waiting.pop()
        if directory not in found.directories:
            waiting.extend(_list_one(directory, is_transcript, found, known, at_top=directory == top))
    return found


def stamp_of(status: os.stat_result) -> Stamp:
    """Given the result of `lstat`, return the stamp."""
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def odd_kind(mode: int) -> str:
    """Given the mode of something that is not a regular file, return what it is, in words for a person."""
    if stat.S_ISLNK(mode):
        return "a symbolic link; links below the root are not followed"
    if stat.S_ISDIR(mode):
        return "a directory"
    return "a FIFO, which would block its reader" if stat.S_ISFIFO(mode) else "not a regular file"


def _list_one(
    directory: str, is_transcript: IsTranscript, found: Listing, known: Mapping[str, Stamp], *, at_top: bool
) -> list[str]:
    """Add one directory's transcripts to `found`, and return its subdirectories."""
    below: list[str] = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.path)
                elif is_transcript(entry.path):
                    _take(entry, found, known)
                elif at_top and entry.is_symlink():
                    found.odd[entry.path] = odd_kind(stat.S_IFLNK)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        found.unreadable[directory] = error.strerror or str(error)
        return []
    found.directories.add(directory)
    return below


def _take(entry: os.DirEntry[str], found: Listing, known: Mapping[str, Stamp]) -> None:
    """Add the stamp of one transcript to `found`, or the reason why it has none."""
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
    except OSError as error:
        found.unreadable[entry.path] = error.strerror or str(error)
        return
    if stat.S_ISREG(status.st_mode):
        stamp, before = stamp_of(status), known.get(entry.path)
        found.stamps[entry.path] = before if before is not None and before == stamp else stamp
    else:
        found.odd[entry.path] = odd_kind(status.st_mode)


def as_paths(paths: Iterable[str]) -> tuple[Path, ...]:
    """Given paths as text, return them as paths, in the same order."""
    return tuple(map(Path, paths))
