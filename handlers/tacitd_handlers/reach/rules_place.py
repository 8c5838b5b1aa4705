"""The place of the person's rules file: whether tacitd may write there. Nothing is changed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tacitd.errors import FileRefusedError
from tacitd.files import git
from tacitd.files.write_checks import refuse_unwritable

LARGEST = 1 << 20
"""Bytes. A longer file was not made by tacitd."""


def check_place(path: Path) -> None:
    """Raise FileRefusedError if something else is in the file's place, or it cannot be written."""
    rules = path.parent
    if os.path.lexists(rules) and not rules.is_dir():
        raise FileRefusedError(f"{rules} is not a directory", "move it away")
    if rules.is_dir() and not os.access(rules, os.W_OK | os.X_OK):
        raise FileRefusedError(f"{rules} is read-only", f"chmod u+w {rules}")
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode):
        what = "a link" if stat.S_ISLNK(found.st_mode) else "not a regular file"
        raise FileRefusedError(f"{path} is {what}", "move it away")
    if found.st_uid != os.geteuid():
        raise FileRefusedError(f"{path} belongs to another user", "move it away")
    if found.st_size > LARGEST:
        raise FileRefusedError(f"{path} is longer than 1 MB", "move it away")
    refuse_unwritable(path)


def find_work_tree(path: Path) -> Path | None:
    """The git work tree that the file is or would be in; None if it is in none."""
    existing = next(one for one in (path.parent, *path.parents) if one.is_dir())
    found = git.find_repository(Path(os.path.realpath(existing)))
    return found.here if found is not None else None
