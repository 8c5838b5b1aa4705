"""A JSON object in a file that others write too: read strictly, changed under a lock, its key order and unknown keys kept.

A file that cannot be understood is never replaced. Nothing here knows what the object means; whoever changes it brings
a check of his own. Light: no pydantic.
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
from tacitd.files.locks import private_dir
from tacitd.files.replaced import UNGUARDED, EditGuards, edit
from tacitd.files.temporary import look

LOCK = ".tacitd.lock"
"""Held while files of the directory are changed; it stays, and means nothing by being there."""
PATIENCE = 2.0
"""Seconds for which a file that somebody is just writing is looked at again."""
PERSISTENCE = 10.0
"""Seconds for which it is tried to get a change in between somebody's saves."""
_BETWEEN = 0.02
_BOM = b"\xef\xbb\xbf"

Json = dict[str, Any]
T = TypeVar("T")


class NotUnderstoodError(FileRefusedError):
    """A file that is not the document that it should be. It is left as it is."""


@contextmanager
def locked(directory: Path, disk: Disk | None = None) -> Iterator[None]:
    """Hold the directory's lock; makes the directory, 0700. Waits for whoever has it. Raises OSError."""
    disk = disk or RealDisk()
    private_dir(directory, disk)
    fd = disk.open_append(directory / LOCK, 0o600)
    try:
        disk.lock(fd, wait=True)
        yield
    finally:
        disk.close(fd)


def read(path: Path, disk: Disk | None = None, *, patient: bool = True) -> Json | None:
    """The object in a file; None where there is none. Raises OSError, and NotUnderstoodError with place and reason.

    A file that is empty or torn may be one that an editor is writing now: it is looked at again for two seconds, where
    there is time for that.
    """
    disk = disk or RealDisk()

    def once() -> Json | None:
        seen = look(disk.resolve(path), disk)
        return None if seen is None else parse(seen.data, path)

    return patiently(once) if patient else once()


def parse(data: bytes, path: Path) -> Json:
    """Given a file's bytes, return the object. Raises NotUnderstoodError: not UTF-8, not JSON, a key twice, no object."""

    def pairs(found: list[tuple[str, Any]]) -> Json:
        made = dict(found)
        if len(made) != len(found):
            twice = next(key for i, (key, _) in enumerate(found) if key in dict(found[:i]))
            raise ValueError(f"the key {twice!r} stands there twice")
        return made

    def constant(name: str) -> Any:
        raise ValueError(f"{name} is no JSON")

    if not data.strip():
        raise NotUnderstoodError(f"{path} is empty", "write `{}` into it, or remove it")
    try:
        text = data.removeprefix(_BOM).decode("utf-8")
        made = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except RecursionError:
        raise NotUnderstoodError(f"{path} is nested too deeply", "mend it by hand") from None
    except ValueError as error:
        raise NotUnderstoodError(f"{path} is not JSON: {error}", "mend it by hand, or move it away") from None
    if not isinstance(made, dict):
        raise NotUnderstoodError(f"{path} holds no object", "mend it by hand, or move it away")
    return made


def dump(document: Json, before: bytes | None = None) -> bytes:
    """The object as tacitd writes it: two spaces, UTF-8; a byte order mark and a missing last newline stay.

    Raises NotUnderstoodError for what JSON cannot hold.
    """
    try:
        text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
    except ValueError as error:
        raise NotUnderstoodError(f"this cannot be written as JSON: {error}") from None
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:  # half an emoji: JSON knows how to say that
        data = json.dumps(document, indent=2).encode()
    bare = before is not None and not before.endswith(b"\n")
    return (_BOM if before and before.startswith(_BOM) else b"") + data + (b"" if bare else b"\n")


def change(
    path: Path,
    make: Callable[[Json | None], Json | None],
    disk: Disk | None = None,
    guards: EditGuards = UNGUARDED,
) -> bool:
    """Change a document, 0600, also while somebody else saves it. True: it was changed.

    `make` is given the object as it stands (None: no file) and returns the new one, or None to leave it alone; it must
    be pure, because it is called again when somebody saves in between. What it raises leaves the file untouched.
    Raises OSError, FileRefusedError, NotUnderstoodError; FileBusyError where the guards say that somebody edits it.
    """

    def bytes_of(before: bytes | None) -> bytes | None:
        old = None if before is None else parse(before, path)
        new = make(old)
        return None if new is None or (old is not None and _same(new, old)) else dump(new, before)

    return patiently(lambda: edit(path, bytes_of, mode=0o600, disk=disk, guards=guards))


def patiently(work: Callable[[], T]) -> T:
    """Try again for a while what failed because somebody is just saving. Raises what it raised last."""
    began = time.monotonic()
    while True:
        try:
            return work()
        except NotUnderstoodError as error:
            if time.monotonic() - began >= PATIENCE or not _may_pass(error):
                raise
        except FileBusyError as busy:
            if busy.editor or time.monotonic() - began >= PERSISTENCE:
                raise
            time.sleep(busy.seconds / 4)
        except FileRefusedError as error:
            if time.monotonic() - began >= PERSISTENCE or "keeps editing" not in error.what:
                raise
        time.sleep(_BETWEEN)


def _may_pass(error: NotUnderstoodError) -> bool:
    """Whether a file that is half written would look like this."""
    return error.what.endswith("is empty") or "is not JSON" in error.what


def _same(one: Json, other: Json) -> bool:
    """Whether nothing changed, the order of the keys and the difference of `1` and `true` included."""
    return json.dumps(one) == json.dumps(other)


def tail(path: Path, size: int = 64 << 10, disk: Disk | None = None) -> bytes:
    """The last bytes of a file; b"" where there is none. Raises OSError."""
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
