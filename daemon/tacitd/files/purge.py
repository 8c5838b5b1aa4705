"""Blanking a person's words in tacitd's own files, for `tacitd forget --purge`.

`purge_texts` changes the files in the state directory, `blank_in_place` one that a plugin names. They keep their length, because a
process may have them open or append to them. Which words are blanked is decided by the owner of the item.

How a text is looked for depends on what else it could be. A long one is blanked wherever it is. A short one of several words
is blanked where no word or path goes on beside it. A single short word may also be a word of a record's own (`done`), so it
is blanked in sentences, and as a whole text under a key of texts. One of fewer than SHORTEST characters is in too many
sentences: it is blanked as a whole text only. `find_left_texts` names the words that are left, and where.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tacitd.text.lazy_pattern import compile_lazily

BLANK = "[forgotten]"
"""In place of a text in a record."""
WITHIN = 12
"""Characters. A text of at least this length is blanked wherever it is, also as a part of a word."""
SHORTEST = 4
"""Characters. A shorter text is not looked for in longer ones."""
DATABASE = ".sqlite"
"""What the names of a database's files contain."""
LARGEST = 64 << 20
"""Bytes of a file; a larger one is none of tacitd's."""
TEXT_KEYS = frozenset(("fact", "facts", "line", "new", "old", "text", "words"))
"""The keys of records whose values are a person's or a model's texts, and never words of the record's own."""
_BEFORE, _AFTER = r"(?<![\w/\\.@-])", r"(?![\w/\\@-]|[.:]\w)"
_UNSPACED = compile_lazily("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uff66-\uff9f]")
"""A character of a script that puts no spaces between words."""
# In JSON a new line is \n.
_BEFORE_BYTES = r"(?:(?<![.\w\x80-\xff/\\@-])|(?<=\\[nrt]))"
_AFTER_BYTES = r"(?![\w\x80-\xff/@-]|[.:]\w|\\(?![nrt\"]))"


def purge_texts(directory: Path, texts: Collection[str], *, keep: Collection[str] = ()) -> list[Path]:
    """Blank these texts in every file below `directory`, and return the files that changed. Links are not followed.

    `keep`: texts of other items, which stay whole although they are or contain one of `texts`. Raises OSError; calling it again
    continues.
    """
    wanted = sorted({text for text in texts if text.strip()}, key=len, reverse=True)
    return [path for path in _list_files(directory) if wanted and _purge_file(path, wanted, keep)]


def find_left_texts(directory: Path, texts: Collection[str]) -> dict[str, list[Path]]:
    """By single short word that is still in a file below `directory` after `purge_texts`, those files. Raises OSError."""
    words = sorted({text for text in texts if text.strip() and _is_word(text) and not _is_long(text)})
    found: dict[str, list[Path]] = {}
    for path in _list_files(directory) if words else ():
        try:
            data = path.read_bytes() if path.stat().st_size <= LARGEST else b""
        except FileNotFoundError:  # replaced meanwhile, see `_list_files`
            continue
        for word in words:
            forms = "|".join(_BEFORE_BYTES + one + _AFTER_BYTES for one in _list_spellings(word))
            if re.search(forms.encode("latin-1"), data):
                found.setdefault(word, []).append(path)
    return found


def blank_value(value: Any, texts: Collection[str], keep: Collection[str] = (), key: str = "") -> Any:
    """A JSON value with the texts blanked in its strings and keys. `key`: that of the value; see the module's docstring."""
    match value:
        case str():
            return _blank_text(value, texts, keep, key)
        case dict():
            return {
                _blank_text(name, texts, keep, ""): blank_value(each, texts, keep, str(name))
                for name, each in value.items()
            }
        case list():
            return [blank_value(each, texts, keep, key) for each in value]
        case _:
            return value


def _blank_text(value: str, texts: Collection[str], keep: Collection[str], key: str) -> str:
    if value in keep:
        return value
    if value in texts and (not _is_word(value) or key in TEXT_KEYS):
        return BLANK
    long, phrases, words = _compile_texts(tuple(texts), tuple(keep))
    is_sentence = any(map(str.isspace, value))
    searched = long if value.startswith(("/", "~/")) else words if is_sentence else phrases
    if searched is None:
        return value
    return searched.sub(lambda found: found[0] if found.lastindex else BLANK, value)


def _is_word(text: str) -> bool:
    """Whether it could be a word of a record's own, or is too short to tell."""
    return len(text) < WITHIN and not any(map(str.isspace, text))


def _is_long(text: str) -> bool:
    """Whether it is blanked wherever it is. A script without spaces has no words that could go on beside it."""
    return len(text) >= WITHIN or (len(text) >= SHORTEST and _UNSPACED.search(text) is not None)


@lru_cache(8)
def _compile_texts(
    texts: tuple[str, ...], keep: tuple[str, ...]
) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None, re.Pattern[str] | None]:
    """The pattern of the long texts, of these and phrases, and of these and single words. The first group is what stays."""
    searched = [text for text in texts if text.strip() and len(text) >= SHORTEST]
    long = [text for text in searched if _is_long(text)]
    phrases = [text for text in searched if _is_long(text) or not _is_word(text)]
    return _compile_set(long, keep), _compile_set(phrases, keep), _compile_set(searched, keep)


def _compile_set(texts: Sequence[str], keep: Collection[str]) -> re.Pattern[str] | None:
    """A pattern of these texts, and of those of `keep` that contain one, in a group. At one place the longest is taken."""
    forms = [
        (text, re.escape(text) if _is_long(text) else _BEFORE + re.escape(text) + _AFTER) for text in texts
    ]
    forms += [(text, f"({re.escape(text)})") for text in _list_kept(texts, keep)]
    return (
        re.compile("|".join(form for _, form in sorted(forms, key=lambda one: -len(one[0]))))
        if texts
        else None
    )


def _list_kept(texts: Collection[str], keep: Collection[str]) -> list[str]:
    return [one for one in keep if any(text in one for text in texts)]


def _list_files(directory: Path) -> Iterator[Path]:
    for path in sorted(directory.rglob("*")):
        # The daemon replaces its files meanwhile: a temporary one may be gone.
        try:
            is_file = stat.S_ISREG(path.lstat().st_mode)
        except FileNotFoundError:
            continue
        # A second descriptor of the store, once closed, would drop SQLite's locks. The store removes words itself.
        if is_file and DATABASE not in path.name:
            yield path


def _purge_file(path: Path, texts: Sequence[str], keep: Collection[str]) -> bool:
    return path.suffix in (".log", ".json", ".jsonl") and blank_in_place(path, texts, keep=keep)


def blank_in_place(path: Path, texts: Collection[str], begin: int = 0, *, keep: Collection[str] = ()) -> bool:
    """Replace the texts in a file by dots, from byte `begin` on, and return whether there were any.

    The file keeps its length, and bytes that another process appends meanwhile stay. A single short word is replaced as a
    whole string of JSON only in a file of records (`.jsonl`), where it is not a key. A link, and what is not a regular
    file, is left alone. Raises OSError.
    """
    form = _compile_bytes(texts, keep, is_log=path.name.endswith("jsonl"))
    try:
        fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENXIO, errno.EISDIR):
            return False
        raise
    with open(fd, "r+b", buffering=0) as file:
        size = os.fstat(fd).st_size
        if not stat.S_ISREG(os.fstat(fd).st_mode) or size > LARGEST or form is None:
            return False
        found = [at.span() for at in form.finditer(os.pread(fd, size, begin)) if not at.lastindex]
        for start, end in found:
            os.pwrite(file.fileno(), b"." * (end - start), begin + start)
        return bool(found)


def contains_texts(path: Path, texts: Collection[str], *, keep: Collection[str] = ()) -> bool:
    """Whether a file has a text that `blank_in_place` would replace. A link, or what is not a regular file, has none.

    Raises OSError.
    """
    form = _compile_bytes(texts, keep, is_log=path.name.endswith("jsonl"))
    if form is None or path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
        return False
    return any(not at.lastindex for at in form.finditer(path.read_bytes()))


def _compile_bytes(
    texts: Collection[str], keep: Collection[str], *, is_log: bool
) -> re.Pattern[bytes] | None:
    """A pattern of each spelling of each text in a file, and of those of `keep` that contain one, in a group."""
    given = [text for text in texts if text.strip()]
    forms = [form for text in given for form in _list_forms(text, is_log=is_log)]
    if not forms:
        return None
    forms += [(len(one), f"({one})") for text in _list_kept(given, keep) for one in _list_spellings(text)]
    ordered = sorted(forms, key=lambda form: -form[0])
    return re.compile("|".join(form for _, form in ordered).encode("latin-1"))


def _list_forms(text: str, *, is_log: bool) -> Iterator[tuple[int, str]]:
    """The length and the regular expression, of bytes as Latin-1, of each spelling of a text in a file."""
    for spelling in _list_spellings(text):
        size = len(spelling)
        if _is_long(text):
            yield size, spelling
            continue
        if not _is_word(text) or is_log:
            yield size, rf'(?<="){spelling}(?="(?!\s*:))'
        # Not between two quotes, where it may be a record's own word.
        if len(text) >= SHORTEST and _is_word(text):
            yield (
                size,
                rf'{_BEFORE_BYTES}(?<!"){spelling}{_AFTER_BYTES}|{_BEFORE_BYTES}{spelling}(?!"){_AFTER_BYTES}',
            )
        elif len(text) >= SHORTEST:
            yield size, _BEFORE_BYTES + spelling + _AFTER_BYTES


def _list_spellings(text: str) -> list[str]:
    """A text as it is and as in JSON: the bytes as Latin-1, escaped for a regular expression."""
    found = dict.fromkeys((text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]))
    return [re.escape(one.encode("utf-8", "replace").decode("latin-1")) for one in found]
