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
_CODEC = ("utf-8", "surrogateescape")
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
            pairs = ((str(name), each) for name, each in value.items())
            return {blank_value(name, texts, keep): blank_value(each, texts, keep) for name, each in pairs}
        case list():
            return [blank_value(each, texts, keep) for each in value]
        case _:
            return value


def blank_in_place(path: Path, texts: Collection[str], *, keep: Collection[str] = ()) -> bool:
    """Replace the texts in a file by dots, and return whether there were any.

    The file keeps its length, and bytes that another process appends meanwhile stay. A link, and what is not a regular
    file, is left alone. Raises OSError.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENXIO, errno.EISDIR):
            return False
        raise
    try:
        places = _find_texts(fd, texts, keep)
        for start, length in places:
            os.pwrite(fd, b"." * length, start)
        return bool(places)
    finally:
        os.close(fd)


def contains_texts(path: Path, texts: Collection[str], *, keep: Collection[str] = ()) -> bool:
    """Whether a file has a text that `blank_in_place` would replace. A link, or what is not a regular file, has none.

    Raises OSError.
    """
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return bool(_find_texts(file.fileno(), texts, keep))


def _find_texts(fd: int, texts: Collection[str], keep: Collection[str]) -> list[tuple[int, int]]:
    """Where the texts begin in an ordinary file, and their lengths, in bytes."""
    form, found = _compile_texts(frozenset(texts), frozenset(keep)), os.fstat(fd)
    if form is None or not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
        return []
    data = os.pread(fd, found.st_size, 0).decode(*_CODEC)
    parts = ((data[: at.start()], at[0]) for at in form.finditer(data) if not at.lastindex)
    return [(len(before.encode(*_CODEC)), len(text.encode(*_CODEC))) for before, text in parts]


@lru_cache(8)
def _compile_texts(texts: frozenset[str], keep: frozenset[str]) -> re.Pattern[str] | None:
    """A pattern of these texts, and of those of `keep` that contain one, in a group: what stays. At one place the longest is taken."""
    forms = list[tuple[int, str]]()
    for text in filter(str.strip, texts):
        is_long = len(text) >= WITHIN or (len(text) >= SHORTEST and _UNSPACED.search(text) is not None)
        if is_long or (len(text) >= SHORTEST and any(map(str.isspace, text.strip()))):
            spelled = spell_text(text)
            forms.append((len(text), spelled if is_long else _BEFORE + spelled + _AFTER))
    wanted = re.compile("|".join(form for _, form in forms)) if forms else None
    if wanted is None:
        return None
    forms += [(len(one), f"({spell_text(one)})") for one in keep if wanted.search(one)]
    return re.compile("|".join(form for _, form in sorted(forms, key=lambda form: -form[0])))


def spell_text(text: str) -> str:
    """A pattern of a text as it is and as in JSON."""
    return f"(?:{'|'.join(map(re.escape, list_spellings(text)))})"


def list_spellings(text: str) -> list[str]:
    return list(dict.fromkeys((text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])))
