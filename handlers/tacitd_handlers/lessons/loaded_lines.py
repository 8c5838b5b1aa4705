"""Leave out lessons that repeat a line which the session loads anyway: each line once in the context (SPEC E-30).

The lines are those of LEARNED.md and of the AGENTS.md files from the project's root to the directory, and for the text at a
session's start those of the person's rules file. Nothing of these files is printed; they are only compared.

`lesson load` must start fast, so the comparison is imported only where a line shares words with a lesson.
"""

# Importing pathlib takes longer than loading the lessons.
# ruff: noqa: PTH110, PTH113, PTH118, PTH120

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tacitd_handlers.lessons.load_output import Rows

LIMIT = 200_000
"""Bytes that are read of a file."""
_ENOUGH = 0.5
"""The share of a lesson's words that must occur in the files before it is compared."""


def read_loaded_lines(directory: str, *more: str) -> list[str]:
    """Return the bullets of the files that a session in this directory loads, and of the files `more`.

    A file that cannot be read counts as missing.
    """
    folders = [directory]
    while not os.path.exists(os.path.join(folders[-1], ".git")):
        above = os.path.dirname(folders[-1])
        if above == folders[-1]:
            folders = [directory]  # outside git the project is the directory itself
            break
        folders.append(above)
    top = folders[-1]
    paths = [os.path.join(folder, "AGENTS.md") for folder in folders]
    if os.path.isfile(os.path.join(top, ".git")):
        # A linked worktree: LEARNED.md is in the main one.
        from pathlib import Path

        from tacitd.files.git import find_repository

        found = find_repository(Path(top))
        top = os.fspath(found.top) if found is not None else top
    lines: list[str] = []
    own = [os.path.join(top, name) for name in ("LEARNED.md", ".claude/rules/tacitd/AGENTS.md")]
    for path in (*own, *paths, *more):
        lines += [line.strip()[2:] for line in _read(path).split("\n") if line.strip()[:2] in ("- ", "* ")]
    return lines


def drop_loaded(groups: dict[str, Rows], lines: list[str]) -> tuple[dict[str, Rows], int]:
    """Given rows by scope, return those that repeat none of the lines, and how many were left out."""
    if not lines or not any(groups.values()):
        return groups, 0
    text = "\n".join(lines).casefold()
    kept = {
        scope: [row for row in rows if not _is_loaded(row[1], text, lines)] for scope, rows in groups.items()
    }
    return kept, sum(map(len, groups.values())) - sum(map(len, kept.values()))


def _is_loaded(row: str, text: str, lines: list[str]) -> bool:
    from tacitd_handlers.lessons.load_output import FIRM

    action = row.rsplit(" -> BECAUSE ", 1)[0].rpartition(" -> DO ")[2].casefold()
    words = [word for word in action.split() if len(word) > 3] or action.split()
    # A stem is a prefix of its word, so a few letters of each word are looked for.
    if sum(word[:4] in text for word in words) < len(words) * _ENOUGH:
        return False
    from tacitd_handlers.lessons import pattern
    from tacitd_handlers.lessons.similarity import is_said_by

    try:
        lesson = pattern.parse_pattern(row[2:].removesuffix(FIRM))
    except pattern.PatternError:
        return False
    return any(is_said_by(lesson, line) for line in lines)


def _read(path: str) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # O_NONBLOCK: a FIFO does not block
    except OSError:
        return ""
    try:
        return os.read(fd, LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(fd)
