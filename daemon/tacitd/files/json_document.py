"""A JSON object in a file that people and other programs also write: strict reading, and changes under a lock.

Key order, unknown keys and the bytes of what is not changed are kept (SPEC P-06, P-08). A file that cannot be parsed is
never replaced. What the object means does not belong here: the caller brings its own check. No pydantic, because a
session's start imports this.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tacitd.errors import FileBusyError, FileRefusedError
from tacitd.files.disk import Disk, RealDisk, read_all
from tacitd.files.locks import make_private_dir, wait_for_lock
from tacitd.files.replaced import UNGUARDED, EditGuards, edit_file
from tacitd.files.temporary import read_snapshot
from tacitd.text.json_splice import change_json_values

LOCK = ".tacitd.lock"
"""Locked (flock) while files of the directory are changed. The file itself stays and has no contents."""
PATIENCE = 2.0
"""Seconds for which a file that is empty or incomplete is read again, because another program may be writing it."""
PERSISTENCE = 10.0
"""Seconds for which a change is tried again while another program keeps saving the file."""
_BETWEEN = 0.02
"""Seconds between two tries."""
_BOM = b"\xef\xbb\xbf"

Json = dict[str, Any]
T = TypeVar("T")


class NotUnderstoodError(FileRefusedError):
    """A file that is not the expected document. It is left as it is."""


@contextmanager
def lock_directory(directory: Path, disk: Disk | None = None) -> Iterator[None]:
    """Hold the directory's lock; create the directory with mode 0700 if needed (SPEC P-33).

    Waits without a limit while another process has the lock. Raises OSError.
    """
    disk = disk or RealDisk()
    make_private_dir(directory, disk)
    with wait_for_lock(directory / LOCK, disk):
        yield


def read_document(path: Path, disk: Disk | None = None, *, patient: bool = True) -> Json | None:
    """Return the object in a file; None if there is no file. Raises OSError, and NotUnderstoodError with path and reason.

    An empty or incomplete file may be one that an editor is writing now. With `patient` it is read again for up to two
    seconds.
    """
    disk = disk or RealDisk()

    def once() -> Json | None:
        seen = read_snapshot(disk.resolve(path), disk)
        return None if seen is None else parse_document(seen.data, path)

    return retry_while_busy(once) if patient else once()


def parse_document(data: bytes, path: Path) -> Json:
    """Given a file's bytes, return the object. `path` is for messages.

    Raises NotUnderstoodError if they are empty, not UTF-8, not JSON, not an object, or have a key twice.
    """

    def pairs(found: list[tuple[str, Any]]) -> Json:
        made = dict(found)
        if len(made) != len(found):
            twice = next(key for i, (key, _) in enumerate(found) if key in dict(found[:i]))
            raise ValueError(f"the key {twice!r} occurs twice")
        return made

    def constant(name: str) -> Any:
        raise ValueError(f"{name} is not allowed in JSON")

    if not data.strip():
        raise NotUnderstoodError(f"{path} is empty", "write `{}` into it, or remove it")
    try:
        text = data.removeprefix(_BOM).decode("utf-8")
        made = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except RecursionError:
        raise NotUnderstoodError(f"{path} is nested too deeply", "correct it by hand") from None
    except ValueError as error:
        raise NotUnderstoodError(
            f"{path} is not JSON: {error}", "correct it by hand, or move it away"
        ) from None
    if not isinstance(made, dict):
        raise NotUnderstoodError(
            f"{path} does not contain a JSON object", "correct it by hand, or move it away"
        )
    return made


def dump_document(document: Json, before: bytes | None = None) -> bytes:
    """Return the object as UTF-8 JSON, indented by two spaces.

    `before` is the file's old contents: its byte order mark or missing last newline is kept. Raises NotUnderstoodError
    for a value that JSON cannot express.
    """
    try:
        text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
    except ValueError as error:
        raise NotUnderstoodError(f"this cannot be written as JSON: {error}") from None
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate: only an escape can express it
        data = json.dumps(document, indent=2).encode()
    bare = before is not None and not before.endswith(b"\n")
    return (_BOM if before and before.startswith(_BOM) else b"") + data + (b"" if bare else b"\n")


def change_document(
    path: Path,
    make: Callable[[Json | None], Json | None],
    disk: Disk | None = None,
    guards: EditGuards = UNGUARDED,
) -> bool:
    """Change a document, also while another program saves it. Returns whether it was changed. Mode 0600.

    `make` gets the current object (None: no file) and returns the new one, or None for no change. It must be pure,
    because it is called again if the file was saved in between (SPEC X-07). If it raises, the file is not changed.
    What is not changed keeps its bytes, if the new object can be made so. Raises OSError, FileRefusedError, NotUnderstoodError,
    and FileBusyError if an editor has the file open.
    """

    def bytes_of(before: bytes | None) -> bytes | None:
        old = None if before is None else parse_document(before, path)
        new = make(old)
        if new is None or (old is not None and _same(new, old)):
            return None
        spliced = None if before is None or old is None else _splice(before, old, new)
        return dump_document(new, before) if spliced is None else spliced

    return retry_while_busy(lambda: edit_file(path, bytes_of, mode=0o600, disk=disk, guards=guards))


def _splice(before: bytes, old: Json, new: Json) -> bytes | None:
    """Change only the values that differ; None if that does not give `new`, such as for keys in another order."""
    bom = _BOM if before.startswith(_BOM) else b""
    try:
        made = change_json_values(before.removeprefix(_BOM).decode(), old, new).encode()
        return bom + made if _same(json.loads(made), new) else None
    except (ValueError, RecursionError):  # too many or too deep values, or a lone surrogate
        return None


def retry_while_busy(work: Callable[[], T]) -> T:
    """Call `work` again while it fails because another program is saving the file. Raises the last error."""
    began = time.monotonic()
    while True:
        try:
            return work()
        except NotUnderstoodError as error:
            # Before FileRefusedError, its base class: a half-written file is complete after a shorter time.
            if time.monotonic() - began >= PATIENCE or not _may_be_half_written(error):
                raise
        except FileBusyError as busy:
            if busy.editor or time.monotonic() - began >= PERSISTENCE:
                raise
            time.sleep(busy.seconds / 4)
        except FileRefusedError as error:
            if time.monotonic() - began >= PERSISTENCE or "keeps editing" not in error.what:
                raise
        time.sleep(_BETWEEN)


def _may_be_half_written(error: NotUnderstoodError) -> bool:
    """Whether a half-written file can cause this error."""
    return error.what.endswith("is empty") or "is not JSON" in error.what


def _same(one: Json, other: Json) -> bool:
    """Whether two objects are written as the same JSON. `==` ignores key order and takes `1` for `true`."""
    return json.dumps(one) == json.dumps(other)


def read_tail(path: Path, size: int = 64 << 10, disk: Disk | None = None) -> bytes:
    """Return the last `size` bytes of a file; b"" if there is no file. Raises OSError."""
    disk = disk or RealDisk()
    try:
        fd = disk.open_read(path)
    except FileNotFoundError:
        return b""
    try:
        end = disk.fstat(fd).st_size
        return disk.pread(fd, size, max(0, end - size)) if end > size else read_all(fd, disk)
    finally:
        disk.close(fd)
