"""Bytes to lines: opening a transcript, reading bounded slices of it, and salvaging damaged lines.

Newlines, byte offsets and the end of a JSON object belong here. What a record means does not.

What Claude Code guarantees: one flush is one `write` of whole lines on an O_APPEND descriptor, and nothing is rewritten
(CLAUDE_CODE fact 6). What real files contain nevertheless (fact 7, section 13): a last line that is still being written,
two records without a newline between them, a truncated record followed by the next one on the same line, runs of NUL
bytes, U+2028 inside strings, lines of a megabyte. So lines are split at b"\n" only, bytes after the last newline wait until the
session is over, and a line that does not parse is searched for every complete record in it.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgspec

from tacitd.errors import FileRefusedError, TacitdError
from tacitd.text.lazy_pattern import compile_lazily

LONGEST = 8 << 20
"""Bytes. A longer line is skipped in pieces and counted, its offsets are recorded, and it is never kept in memory."""

_CHUNK = 1 << 20
_TRIES = 400_000
"""How many possible beginnings of a record are tried in one damaged line. With `_WORK` it bounds a hostile line."""
_WORK = 32
"""How many bytes may be decoded to salvage a line, as a multiple of its length."""


def open_transcript(path: Path | str) -> int:
    """Given a path, return a descriptor to read from; the caller closes it.

    It does not follow a symbolic link (O_NOFOLLOW) and does not block on a FIFO (O_NONBLOCK). Raises FileNotFoundError if
    the file does not exist, FileRefusedError if it is not a readable regular file.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        hint = f"check its permissions: ls -l '{path}'" if isinstance(error, PermissionError) else ""
        if error.errno in (errno.ELOOP, errno.EMLINK):
            hint = "put the file itself there; links are not followed"
        raise FileRefusedError(f"{path} cannot be opened: {error.strerror}", hint) from error
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise FileRefusedError(f"{path} is not a regular file", "move it out of the folder of the transcripts")


def read_some(path: Path | str, length: int, *, start: int = 0) -> bytes:
    """Up to `length` bytes of a file from `start` on; b"" if it cannot be read."""
    try:
        fd = open_transcript(path)
    except (OSError, FileRefusedError):
        return b""
    try:
        return os.pread(fd, length, start)
    except OSError:
        return b""
    finally:
        os.close(fd)


def read_slice(fd: int, offset: int, limit: int, longest: int) -> tuple[bytes, int]:
    """Given an offset at a line's start, return about `limit` bytes after it, and the length of the complete lines in them.

    It reads more only if a single line is longer than `limit`: of one longer than `longest`, one byte more than that and 0. Raises OSError.
    """
    want = min(max(limit, 1), longest + 1)
    left = max(os.fstat(fd).st_size - offset, 0)
    while True:
        # Not more than there is: a buffer of the size that is asked for is made first, for most files with a system call.
        data = os.pread(fd, min(want, left), offset)
        cut = data.rfind(b"\n") + 1
        # Without a newline in a full read, this line is longer than `want`: read four times as much of it.
        if cut or want >= left or want > longest:
            return data, cut
        want = min(want * 4, longest + 1)


def skip_line(fd: int, offset: int, limit: int) -> tuple[int, bool]:
    """Search the newline after `offset` in at most `limit` bytes, without keeping them.

    Returns (offset after it, True), or (offset up to which there is none, False). Raises OSError.
    """
    end = offset + limit
    while offset < end and (data := os.pread(fd, min(_CHUNK, end - offset), offset)):
        found = data.find(b"\n")
        if found >= 0:
            return offset + found + 1, True
        offset += len(data)
    return offset, False


# --- salvage ---------------------------------------------------------------------------------------------


class _AnyObject(msgspec.Struct, gc=False):
    """An object of which no field is decoded."""


_OBJECT = msgspec.json.Decoder(_AnyObject)
_WHERE = compile_lazily(r"\(byte (\d+)\)")
_ESCAPE = compile_lazily(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)", re.S
)


def replace_surrogates(line: bytes) -> bytes:
    """A line with lone surrogate escapes replaced by U+FFFD, at the same offsets. JavaScript cuts strings between the halves of an
    emoji; strict decoders then refuse the whole line."""
    if b"\\ud" not in line and b"\\uD" not in line:
        return line
    return _ESCAPE.sub(lambda found: b"\\ufffd" if len(found[0]) == 6 else found[0], line)


def salvage_records(line: bytes, is_record: Callable[[bytes], bool]) -> list[tuple[int, int]]:
    """Given a line that does not parse, return the (start, end) of every complete record in it.

    A record is an object for which `is_record` is true, and that is not nested in another. After a truncated object nothing
    proves which object encloses the next one, so that one counts only if the bytes after it do not continue an enclosing object.
    Text inside a string cannot be mistaken for a record, because its quotes are escaped.
    """
    found: list[tuple[int, int]] = []
    budget = _WORK * len(line) + _CHUNK
    # `clean`: everything before `edge` was complete records, so an object at `edge` is not nested in another one.
    clean, edge = True, 0
    at = line.find(b'{"')
    for _ in range(_TRIES):
        if at < 0 or budget < 0:
            break
        whole, reached = _object_at(line, at)
        # Each object is decoded from its beginning: without a budget, nested truncated ones would take quadratic time.
        budget -= reached - at
        if not whole:
            # A truncated object has no end, so the next one may begin inside its bytes: the client glues them
            # (CLAUDE_CODE fact 7).
            at = line.find(b'{"', at + 1)
            continue
        top = clean and not line[edge:at].strip(b"\0 \t\r")
        goes_on = line[reached : reached + 64].lstrip(b"\0 \t\r").startswith((b",", b"}", b"]", b":"))
        clean, edge = (top or not goes_on) and is_record(line[at:reached]), reached
        if clean:
            found.append((at, reached))
        # Behind the object: those inside a complete one are its parts.
        at = line.find(b'{"', reached)
    return found


def leading_objects(data: bytes) -> list[tuple[int, int]]:
    """Given bytes that begin where a record begins, return the (start, end) of the complete JSON objects that follow each other
    from the first byte on. What is appended later cannot change them. Objects after a torn one may be parts of it."""
    data = replace_surrogates(data)
    found: list[tuple[int, int]] = []
    at = end = 0
    while True:
        at = len(data) - len(data[end:].lstrip(b"\0 \t\r"))
        whole, end = _object_at(data, at) if data.startswith(b"{", at) else (False, at)
        if not whole:
            return found
        found.append((at, end))


def _object_at(line: bytes, start: int) -> tuple[bool, int]:
    """Whether a complete object starts here, and where it ends, or how far it was decoded.

    msgspec's error message has the number of the byte that it failed at: "trailing characters (byte N)" after a complete
    value, "(byte N)" at a syntax error. So msgspec finds the end of an object at the speed of C. Tests check the wording
    and the counting.
    """
    try:
        _OBJECT.decode(memoryview(line)[start:])
    except RecursionError:
        # How far it was decoded is unknown. It counts as 4 KB, so that a line of nothing but brackets has an end.
        return False, min(len(line), start + 4096)
    except msgspec.DecodeError as error:
        message = str(error)
        where = _WHERE.search(message)
        if where is None:
            return False, len(line)
        stop = start + int(where[1]) - 1
        if "trailing characters" not in message:
            return False, stop
        # msgspec counts from behind the white space that follows the object.
        return True, line.rindex(b"}", start, stop) + 1
    return True, len(line.rstrip())


# --- A position in a transcript: an offset, and a mark that identifies the bytes before it (DESIGN "Sources").
#
# A position belongs to a path. The inode does not identify a file: after a restored home or a changed
# device number, old records must not look new. The bytes before the offset identify it.


MARK = 256
"""How many bytes before the offset the mark covers."""

_FIRST_BACK, _BACK = 1 << 12, 1 << 16
"""Bytes. Most transcripts end with a newline, and there are thousands."""


class Position(NamedTuple):
    """How far a transcript was handled."""

    offset: int
    """Bytes: 0, or the end of a record, after its newline if it has one."""
    crc: int
    """CRC-32 of the up to 256 bytes before `offset`."""


def mark_at(fd: int, offset: int) -> int:
    start = max(0, offset - MARK)
    return crc32(os.pread(fd, offset - start, start))


def position_at(path: Path, offset: int) -> Position:
    """The position at `offset` of the file as it is now. Raises FileNotFoundError, FileRefusedError."""
    fd = open_transcript(path)
    try:
        return Position(offset, mark_at(fd, offset))
    finally:
        os.close(fd)


def find_baseline(path: Path | str) -> Position:
    """The position after the last newline that the file has now; offset 0 if it has none.

    At the first start, everything before it counts as read. Raises FileNotFoundError, FileRefusedError.
    """
    fd = open_transcript(path)
    try:
        end, cut, chunk = os.fstat(fd).st_size, 0, _FIRST_BACK
        while end > 0 and not cut:
            start = max(0, end - chunk)
            cut = os.pread(fd, end - start, start).rfind(b"\n") + 1
            end, chunk = start, _BACK
        return Position(end + cut, mark_at(fd, end + cut))
    finally:
        os.close(fd)


def find_baselines(paths: Iterable[str]) -> Iterator[tuple[str, Position]]:
    """Yield each transcript with its baseline, for the first start. One that cannot be read now is left out, with a warning in the
    log, and read from its first byte when that is possible: its records are older than the first start."""
    for path in paths:
        try:
            yield path, find_baseline(path)
        except (OSError, TacitdError) as error:
            from loguru import logger  # the fast commands import this module

            logger.warning("{}: {}", path, error)
