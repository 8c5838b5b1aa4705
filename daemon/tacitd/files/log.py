"""The log: append-only JSONL (DESIGN "Files", X-03).

One record is one `write` on an O_APPEND descriptor, so a crash tears at most the last line, and a reader skips what does
not parse. Writing, reading and compacting records belong here. What a record means, and folding records ("later keys
override"), belongs to their owner.

Several processes may append. Each append holds the file's flock for a few microseconds. The write itself does not need
it, because the kernel appends it in one piece. But another process may be compacting the log, and a write that a full
disk cut short must be completed before another process appends a line.
"""

from __future__ import annotations

import errno
import os
from _thread import RLock  # that of threading, whose import takes longer than reading a small log
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tacitd.errors import LogDamagedError
from tacitd.files.disk import Disk, RealDisk, is_regular, make_dirs, mode_within, path_exists, write_all
from tacitd.files.temporary import removed_on_failure, write_temp

BLANK = "[forgotten]"
"""What replaces a person's words in a record, after `tacitd forget --purge`."""
LINE_LIMIT = 16 << 20
"""Bytes: a longer line is not one of tacitd's records. It is skipped and counted, and never kept in memory."""
_CHUNK = 1 << 20
_ADDRESSES = 20
_DAMAGED = {errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENXIO}
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class Log:
    """One append-only JSONL file. Thread-safe. The file is opened or created at the first append, never by reading."""

    def __init__(
        self, path: Path, disk: Disk | None = None, *, private: bool = True, terminated: bool = False
    ) -> None:
        """`private`: 0600 in 0700 directories. Otherwise the mode follows the directory's, as for a project's files.

        `terminated`: a line is a record only if it ends with a newline, and a torn line never becomes a record. So a
        record whose `append` raised is never read, even if everything but its newline was written. Only for logs that
        no other tool writes, because another tool may leave out the last newline.
        """
        self.path = path
        self.bad = 0
        """How many lines of the last `read` are not records."""
        self.bad_at: list[int] = []
        """Byte offsets of the first twenty of them."""
        self._disk = disk or RealDisk()
        self._private = private
        self._terminated = terminated
        # Written after a torn line before the next record. With `terminated` the NUL makes the torn line unparsable,
        # even if it is a whole record without its newline.
        self._seal = b"\0\n" if terminated else b"\n"
        self._lock = RLock()
        self._fd: int | None = None
        self._dirty = False
        self._new_name = False
        self._sync_failed = False

    def append(self, record: Mapping[str, Any], *, sync: bool = False) -> None:
        """Append one record with one write. If the last line is torn, the write begins with a seal that ends that line.

        `sync`: the record is durable when this returns. Raises OSError (disk full, read-only): the file may then contain
        a part of the record, and the log can still be used. With `sync`, an error can also mean that the record is in
        the file but not durable, so a caller may append it again and readers must accept the same record twice. Raises
        LogDamagedError if the file cannot be opened.
        """
        line = encode_record(record) + b"\n"
        with self._lock:
            fd = self._locked()
            try:
                # Before the write: one that fails may have written a part, which the next append seals.
                self._dirty = True
                write_all(fd, self._seal + line if self._torn(fd) else line, self._disk)
            finally:
                self._disk.unlock(fd)
            if sync:
                self.flush()

    def flush(self) -> None:
        """Make everything appended durable with one fdatasync; do nothing if nothing was appended.

        Raises OSError. After a failed sync the kernel marks the lost pages as clean, and a second sync would succeed
        without storing them (disk.py). So the next flush writes a new file instead.
        """
        with self._lock:
            if not self._dirty or self._fd is None:
                return
            if self._sync_failed:
                self._rewrite(None)
                return
            try:
                # fdatasync(2) also stores the file's size, which is needed to read what was appended.
                self._disk.sync_data(self._fd)
            except OSError:
                self._sync_failed = True
                raise
            # fsync(2) of a file does not make its name durable; that of the directory does.
            if self._new_name:
                self._disk.sync_dir(self.path.parent)
            self._dirty = self._new_name = False

    def read(self, containing: bytes = b"") -> Iterator[dict[str, Any]]:
        """Yield every record, oldest first, in bounded memory. Lines that do not parse are skipped and counted in `bad`.

        `containing`: only lines that contain these bytes, which takes a tenth of the time. Records that are appended meanwhile may or may not be included. Raises OSError if the file cannot be read.
        """
        self.bad, self.bad_at = 0, []
        for offset, line in self._lines():
            if containing not in line:
                continue
            record = decode_record(line)
            if record is not None:
                yield record
            elif line.strip():
                self._is_bad(offset)

    def compact(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Replace the log with a new file that contains `records`.

        `records` is consumed while appends wait, so a generator over `read()` misses nothing that another thread or
        process appends. Raises OSError; the old file is then unchanged.
        """
        with self._lock:
            self._rewrite(encode_record(record) + b"\n" for record in records)

    @property
    def disk(self) -> Disk:
        """The disk that it is on, for a file beside it."""
        return self._disk

    @property
    def size(self) -> int:
        """Bytes; 0 if the file does not exist."""
        try:
            return self._named().st_size
        except FileNotFoundError:
            return 0

    def read_stamp(self) -> tuple[int, ...]:
        """The file's device, inode, modification time (ns) and, last, its size; () if it does not exist.

        Equal stamps mean that nobody has appended to the file or replaced it. Raises OSError.
        """
        try:
            found = self._named()
        except FileNotFoundError:
            return ()
        return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size

    def append_and_close(self, record: Mapping[str, Any]) -> None:
        """Append a record, durable when this returns, and close the descriptor: for a log that is seldom written, by somebody who has
        no end at which to close it. Raises what `append` and `flush` raise."""
        try:
            self.append(record)
        finally:
            self.close()

    def close(self) -> None:
        """Flush and close the descriptor. The next append opens it again. Raises OSError from the flush."""
        with self._lock:
            self.flush()
            self._drop()

    def _locked(self) -> int:
        """The locked descriptor of the file that has the path now.

        Another process may have replaced the file by a compaction before or while this waited for the lock. A lock on
        the replaced file excludes no other process, so the path is opened again until descriptor and path are the same file.
        """
        while True:
            fd = self._fd if self._fd is not None else self._open()
            self._disk.lock(fd, wait=True)
            if self._is_current(fd):
                return fd
            self._drop()

    def _open(self) -> int:
        make_dirs(self.path.parent, self._disk, private=self._private)
        new = not self.size
        mode = (
            None
            if self._private or path_exists(self.path, self._disk)
            else mode_within(self.path.parent, self._disk)
        )
        try:
            fd = self._disk.open_append(self.path, 0o600)
        except OSError as error:
            if error.errno in _DAMAGED:
                raise LogDamagedError(
                    f"{self.path}: {error.strerror}", "repair it, or move it away"
                ) from error
            raise
        if not is_regular(self._disk.fstat(fd)):
            self._disk.close(fd)
            raise LogDamagedError(f"{self.path} is not an ordinary file", "move it away")
        if mode is not None:
            self._disk.chmod(fd, mode)
        self._fd, self._new_name = fd, new
        return fd

    def _is_current(self, fd: int) -> bool:
        try:
            named = self._named()
        except FileNotFoundError:
            return False
        held = self._disk.fstat(fd)
        return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)

    def _named(self) -> os.stat_result:
        # Resolving takes longer than the rest of an append, so only links are resolved.
        found = self._disk.stat(self.path)
        return found if is_regular(found) else self._disk.stat(self._disk.resolve(self.path))

    def _drop(self) -> None:
        if self._fd is not None:
            self._disk.close(self._fd)
            self._fd = None

    def _torn(self, fd: int) -> bool:
        size = self._disk.fstat(fd).st_size
        return size > 0 and self._disk.pread(fd, 1, size - 1) != b"\n"

    def _rewrite(self, parts: Iterable[bytes] | None) -> None:
        """Replace the file with a new one that contains `parts`, or, if None, the same bytes."""
        fd = self._locked()
        try:
            target = self._disk.resolve(self.path)
            source = parts if parts is not None else self._chunks(fd)
            temp = write_temp(target, _blocks(source), self._disk.fstat(fd), None, self._disk)
            with removed_on_failure(temp, self._disk):
                self._disk.replace(temp, target)
        finally:
            self._disk.unlock(fd)
        # A process that waited for the lock now finds, in `_locked`, that the path names another file.
        self._drop()
        self._disk.sync_dir(target.parent)
        self._dirty = self._new_name = self._sync_failed = False

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        try:
            fd = self._disk.open_read(self.path)
        except FileNotFoundError:
            return
        try:
            yield from self._split(fd)
        except OSError as error:
            # An error of pread has no file name, but a message needs it.
            error.filename = error.filename or str(self.path)
            raise
        finally:
            self._disk.close(fd)

    def _split(self, fd: int) -> Iterator[tuple[int, bytes]]:
        held, start, overlong = b"", 0, False
        # A line longer than the limit is dropped piece by piece: `overlong` stays set until its newline.
        for chunk in self._chunks(fd):
            *lines, held = (held + chunk).split(b"\n")
            for line in lines:
                if not overlong:
                    yield start, line
                start += len(line) + 1
                overlong = False
            if len(held) > LINE_LIMIT:
                if not overlong:
                    self._is_bad(start)
                start, held, overlong = start + len(held), b"", True
        if held and not overlong and not self._terminated:
            yield start, held

    def _chunks(self, fd: int) -> Iterator[bytes]:
        offset = 0
        # `pread` leaves the descriptor's offset alone, which appends and other readers share.
        while chunk := self._disk.pread(fd, _CHUNK, offset):
            yield chunk
            offset += len(chunk)

    def _is_bad(self, offset: int) -> None:
        self.bad += 1
        if len(self.bad_at) < _ADDRESSES:
            self.bad_at.append(offset)


def encode_record(record: Mapping[str, Any]) -> bytes:
    """A record as compact JSON in UTF-8, with the keys in their order. A lone surrogate becomes U+FFFD."""
    try:
        return _encode(record if isinstance(record, dict) else dict(record))
    except UnicodeEncodeError:
        return _encode(_replace_surrogates(record))


def _replace_surrogates(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case Mapping():
            return {_replace_surrogates(key): _replace_surrogates(each) for key, each in value.items()}
        case list() | tuple():
            return [_replace_surrogates(each) for each in value]
        case _:
            return value


def decode_record(line: bytes) -> dict[str, Any] | None:
    """The record of a line; None if it is not a JSON object."""
    try:
        return _decode(line)
    except (ValueError, RecursionError):
        return None


def _blocks(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks of about 1 MB, because one write for each record would be slow."""
    block = bytearray()
    for part in parts:
        block += part
        if len(block) >= _CHUNK:
            yield bytes(block)
            block.clear()
    if block:
        yield bytes(block)
