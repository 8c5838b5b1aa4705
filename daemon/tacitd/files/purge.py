"""Blanking a person's words in tacitd's own files, for `tacitd forget --purge`.

Files keep their length, because a process may have them open or append to them. A long text is blanked wherever it is, a shorter one
of several words where no word or path goes on beside it. A single short word is not looked for, because it may be a word of a record's
own (`done`).
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import Any

from tacitd.text.lazy_pattern import compile_lazily

BLANK = "[forgotten]"
"""In place of a text in a record."""
WITHIN = 12
"""Characters. A text of at least this length is blanked wherever it is, also as a part of a word."""
SHORTEST = 4
"""Characters. A shorter text is not looked for."""
LARGEST = 64 << 20
"""Bytes of a file; a larger one is none of tacitd's."""
_UNSPACED = compile_lazily("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uff66-\uff9f]")
"""A character of a script that puts no spaces between words, so that no word can go on beside another."""
# In JSON a new line is \n.
_BEFORE = r"(?:(?<![.\w/\\@-])|(?<=\\[nrt]))"
_AFTER = r"(?![\w/@-]|[.:]\w|\\(?![nrt\"]))"


def blank_value(value: Any, texts: Collection[str], keep: Collection[str] = ()) -> Any:
    """A JSON value with the texts blanked in its strings and keys."""
    match value:
        case str():
            form = _compile_texts(frozenset(texts), frozenset(keep))
            if form is None or value in keep:
                return value
            return form.sub(lambda found: found[0] if found.lastindex else BLANK, value)
        case dict():
            return {
                blank_value(str(name), texts, keep): blank_value(each, texts, keep)
                for name, each in value.items()
            }
        case list():
            return [blank_value(each, texts, keep) for each in value]
        case _:
            return value


def blank_in_place(path: Path, texts: Collection[str], *, keep: Collection[str] = ()) -> bool:
    """Replace the texts in a file by dots, and return whether there were any.

    The file keeps its length, and bytes that another process appends meanwhile stay. A link, and what is not a regular
    file, is left alone. Raises OSError.
    """
    form = _compile_texts(frozenset(texts), frozenset(keep))
    try:
        fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENXIO, errno.EISDIR):
            return False
        raise
    with open(fd, "r+b", buffering=0) as file:
        size = os.fstat(fd).st_size
        if form is None or not stat.S_ISREG(os.fstat(fd).st_mode) or size > LARGEST:
            return False
        data = os.pread(fd, size, 0).decode("utf-8", "surrogateescape")
        changed = False
        for at in form.finditer(data):
            if not at.lastindex:
                start, length = (
                    len(text.encode("utf-8", "surrogateescape")) for text in (data[: at.start()], at[0])
                )
                os.pwrite(file.fileno(), b"." * length, start)
                changed = True
        return changed


def contains_texts(path: Path, texts: Collection[str], *, keep: Collection[str] = ()) -> bool:
    """Whether a file has a text that `blank_in_place` would replace. A link, or what is not a regular file, has none.

    Raises OSError.
    """
    form = _compile_texts(frozenset(texts), frozenset(keep))
    if form is None or path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
        return False
    return any(not at.lastindex for at in form.finditer(path.read_text("utf-8", "surrogateescape")))


def _is_phrase(text: str) -> bool:
    return len(text) >= SHORTEST and any(map(str.isspace, text.strip()))


def _is_long(text: str) -> bool:
    return len(text) >= WITHIN or (len(text) >= SHORTEST and _UNSPACED.search(text) is not None)


@lru_cache(8)
def _compile_texts(texts: frozenset[str], keep: frozenset[str]) -> re.Pattern[str] | None:
    """A pattern of these texts, and of those of `keep` that contain one, in a group: what stays. At one place the longest is taken."""
    wanted = [text for text in texts if text.strip() and (_is_long(text) or _is_phrase(text))]
    kept = [one for one in keep if any(text in one for text in wanted)]
    forms = [
        (len(text), one if _is_long(text) else _BEFORE + one + _AFTER)
        for text in wanted
        for one in _list_spellings(text)
    ]
    forms += [(len(text), f"({one})") for text in kept for one in _list_spellings(text)]
    ordered = sorted(forms, key=lambda form: -form[0])
    return re.compile("|".join(form for _, form in ordered)) if wanted else None


def _list_spellings(text: str) -> list[str]:
    """A text as it is and as in JSON, escaped for a regular expression."""
    return list(map(re.escape, {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}))
