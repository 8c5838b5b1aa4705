"""Blanking a person's words in tacitd's own files, for `tacitd forget --purge`.

`purge_texts` changes the files in the state directory, `blank_in_place` one that a plugin names. A log is written anew through `Log.compact`, so that a process that appends
to it meanwhile loses nothing. Other files (the text log, a status document) keep their length, because a process may have
them open. Which words are blanked is decided by the owner of the item.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from tacitd.files.disk import Disk
from tacitd.files.log import Log

BLANK = "[forgotten]"
"""What stands in a record in place of the words."""
WITHIN = 12
"""Characters. A text of at least this length is also blanked where it is a part of a longer one; a shorter one could be a
part of a path or of another word."""
LARGEST = 64 << 20
"""Bytes of a file that is not a log; a larger one is none of tacitd's."""


def purge_texts(directory: Path, texts: Collection[str], disk: Disk | None = None) -> list[Path]:
    """Blank these texts in every file below `directory`, and return the files that changed. Links are not followed.

    Raises OSError; calling it again continues.
    """
    wanted = sorted({text for text in texts if text.strip()}, key=len, reverse=True)
    return [path for path in _list_files(directory) if wanted and _purge_file(path, wanted, disk)]


def blank_value(value: Any, texts: Sequence[str]) -> Any:
    """A JSON value with the texts blanked: strings and keys that are one of them, or contain a long one."""
    match value:
        case str():
            if value in texts:
                return BLANK
            for text in texts:
                if len(text) >= WITHIN:
                    value = value.replace(text, BLANK)
            return value
        case dict():
            return {blank_value(key, texts): blank_value(each, texts) for key, each in value.items()}
        case list():
            return [blank_value(each, texts) for each in value]
        case _:
            return value


def _list_files(directory: Path) -> Iterator[Path]:
    for path in sorted(directory.rglob("*")):
        if stat.S_ISREG(path.lstat().st_mode):
            yield path


def _purge_file(path: Path, texts: Sequence[str], disk: Disk | None) -> bool:
    if path.name.endswith("jsonl"):
        log = Log(path, disk)
        if not any(blank_value(record, texts) != record for record in log.read()):
            return False
        log.compact(blank_value(record, texts) for record in log.read())
        log.close()
        return True
    if path.suffix in (".log", ".json") and path.stat().st_size <= LARGEST:
        return blank_in_place(path, [text for text in texts if len(text) >= WITHIN])
    return False


def blank_in_place(path: Path, texts: Collection[str], begin: int = 0) -> bool:
    """Replace the texts in a file by dots, from byte `begin` on, and return whether there were any.

    The file keeps its length, and bytes that another process appends meanwhile stay. A short text is only replaced where
    it is a whole string of JSON. A link, and what is not a regular file, is left alone. Raises OSError.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENXIO, errno.EISDIR):
            return False
        raise
    with open(fd, "r+b", buffering=0) as file:
        size = os.fstat(fd).st_size
        if not stat.S_ISREG(os.fstat(fd).st_mode) or size > LARGEST:
            return False
        data = os.pread(fd, size, begin)
        found = sorted(
            {(at.start(), at.end()) for form in _list_forms(texts) for at in re.finditer(form, data)}
        )
        for start, end in found:
            os.pwrite(file.fileno(), b"." * (end - start), begin + start)
        return bool(found)


def _list_forms(texts: Collection[str]) -> Iterator[bytes]:
    """For each spelling of each text in a file, a regular expression of its bytes."""
    for text in texts:
        if not text.strip():
            continue
        for spelling in {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}:
            form = re.escape(spelling.encode("utf-8", "replace"))
            yield form if len(text) >= WITHIN else rb'(?<=")' + form + rb'(?=")'
