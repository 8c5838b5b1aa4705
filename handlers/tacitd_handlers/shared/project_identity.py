"""Which project a directory belongs to, so that two folders of one name are two projects and two clones are one.

A project is its remote, without user, token and scheme; without a remote it is the path of its main work tree.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from tacitd.files.git import find_repository
from tacitd.files.git_remotes import read_remote


class ProjectIdentity(NamedTuple):
    """A project."""

    key: str
    """`github.com/me/app`, or the path of its main work tree."""
    root: Path
    """The top of its main work tree."""


def identify_project(directory: Path) -> ProjectIdentity:
    """Return the project that contains a directory, which need not exist. Outside git it is the directory itself."""
    here = next((path for path in (directory, *directory.parents) if path.is_dir()), directory)
    found = find_repository(Path(os.path.realpath(here)))
    top = found.top if found is not None else Path(os.path.realpath(directory))
    remote = read_remote(found) if found is not None else ""
    return ProjectIdentity(remote or os.fspath(top), top)
