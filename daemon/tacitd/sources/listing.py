"""One pass over everything below a root: which transcripts there are, and the stamp of each.

What changed since the last pass is in follow.py. Nothing here opens a file, because opening a FIFO that has the name of a
transcript would block. Paths are `str`, because twenty thousand `Path` objects take more time and memory than the whole pass.
One that is not UTF-8 is odd: clients write ASCII names.
"""

from __future__ import annotations

import os
import stat
import struct
import sys
from collections.abc import Callable, Iterable

from msgspec import Struct, field

NOT_UTF8 = "its name is not UTF-8"
IsTranscript = Callable[[str], bool]
"""Whether a file with this path is a transcript: `Source.is_transcript`."""
_FIELDS = struct.Struct("<4Q")
_MASK = (1 << 64) - 1


class Stamp(bytes):
    """What identifies a file's state: its size, the times of the last write and of the last change of the inode, and the inode. Any
    difference means that the file changed (DESIGN "Sources").

    Bytes and not a struct of four numbers: there is one for each transcript, and it takes 72 bytes instead of 200.
    """

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


def scan_below(
    directories: Iterable[str],
    is_transcript: IsTranscript,
    *,
    tops: Iterable[str],
    why_odd: Callable[[str], str] = lambda path: "",
) -> Listing:
    """Given directories at or below some tops, return what is in them and below. Each directory is listed once.

    A missing directory gives an empty listing. A top may be a link, because people move it to another disk. Links below it
    are not followed. Takes about 130 ms for 20,000 files in 5,000 directories. Raises nothing: what cannot be read is in
    `.unreadable`. `why_odd`: `Source.why_odd`.
    """
    found, waiting, known = Listing(), list(directories), frozenset(tops)
    while waiting:
        directory = waiting.pop()
        if directory in found.directories:
            continue
        try:
            with os.scandir(directory) as entries:
                waiting += [
                    below
                    for entry in entries
                    if (below := _take_entry(entry, found, is_transcript, why_odd, at_top=directory in known))
                ]
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            found.unreadable[directory] = error.strerror or str(error)
            continue
        found.directories.add(directory)
    return found


def stamp_of(status: os.stat_result) -> Stamp:
    """Given the result of `lstat`, return the stamp."""
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


def _take_entry(
    entry: os.DirEntry[str],
    found: Listing,
    is_transcript: IsTranscript,
    why_odd: Callable[[str], str],
    *,
    at_top: bool,
) -> str:
    """Take a directory's entry; return its path if it is a directory to be listed, otherwise ""."""
    path, is_folder = entry.path, entry.is_dir(follow_symlinks=False)
    if not is_utf8(path):
        if is_folder or is_transcript(path):
            found.odd[path] = NOT_UTF8
        return ""
    if is_folder:
        return path
    if not is_transcript(path):
        if reason := odd_kind(stat.S_IFLNK) if at_top and entry.is_symlink() else why_odd(path):
            found.odd[path] = reason
        return ""
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return ""
    except OSError as error:
        found.unreadable[path] = error.strerror or str(error)
        return ""
    if stat.S_ISREG(status.st_mode):
        # The same text as in the stamps of the pass before: a second copy of each would be large.
        found.stamps[sys.intern(path)] = stamp_of(status)
    else:
        found.odd[path] = odd_kind(status.st_mode)
    return ""
