"""Read rules and instruction files as a survey needs them. They may be anything: nothing here raises or blocks."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from tacitd.text.lazy_pattern import compile_lazily

USER_RULES = Path("rules/tacitd.md")
"""The file of what is known of the person, relative to Claude Code's directory."""
MOST = 500
"""Modules that are looked at."""
LIMIT = 1 << 20
"""Bytes that are read of a file."""
_ITEM = compile_lazily(r"^ {0,3}[-*+] ", re.MULTILINE)


def leads_out(path: Path, root: Path) -> bool:
    """Whether the real path of a file is outside the work tree."""
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def find_link(path: Path, root: Path) -> Path | None:
    """The first link on the way from the work tree to a file, such as `.claude`; None if there is none."""
    names = path.relative_to(root).parts
    places = (root.joinpath(*names[:n]) for n in range(1, len(names) + 1))
    return next((place for place in places if place.is_symlink()), None)


def find_defect(path: Path) -> str:
    """Why a path that exists has no lines for the client."""
    if not path.is_file():
        return "is a link to nothing" if not path.exists() else "is not an ordinary file"
    return "has no line" if os.access(path, os.R_OK) else "cannot be read"


def count_bullets(path: Path) -> int:
    """The number of bullets of a file, without those in comments, code and front matter; 0 if it cannot be read."""
    from tacitd.text.markdown import lines_of  # a session's start counts none

    return len(lines_of(read_text(path).encode("utf-8", "replace")))


def list_rules(directory: Path) -> list[Path]:
    """The rules in a directory, by name."""
    try:
        names = sorted(entry.name for entry in os.scandir(directory) if entry.name.endswith(".md"))
    except OSError:
        return []
    return [directory / name for name in names[:MOST]]


def count_items(path: Path) -> int:
    """The number of list items of a file, without its front matter; 0 if it is not a readable regular file."""
    text = read_text(path)
    _, mark, rest = text.partition("\n---\n") if text.startswith("---\n") else ("", "", "")
    return len(_ITEM.findall(rest if mark else text))


def read_text(path: Path) -> str:
    """The beginning of a file; "" if it is not a readable regular file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return os.read(descriptor, LIMIT).decode("utf-8", "replace") if regular else ""
    except OSError:
        return ""
    finally:
        os.close(descriptor)
