"""Keep mirrors out of git: which operations list them in `.git/info/exclude`, and where that cannot be done."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from tacitd.events import Project
from tacitd.files import git
from tacitd.files.operations import Operation
from tacitd_handlers.learning.mirrors.mirror_names import MIRROR_PATTERNS, MODULE_MIRRORS, PROJECT_MIRROR
from tacitd_handlers.learning.store import text_of
from tacitd_handlers.learning.visibility import (
    build_excludes,
    exclude_file,
    list_writable_dirs,
    why_not_hidden,
)


def why_shown_by_git(project: Project) -> str:
    """Why git would show a new mirror in this project; "" if it can be kept out of git, or outside git."""
    if not project.git:
        return ""
    path = exclude_file(project)
    if path is not None and all(os.access(one, os.W_OK) for one in (path, path.parent) if one.exists()):
        return ""
    if all(git.is_ignored(project.root, project.root / name) for name in (PROJECT_MIRROR, MODULE_MIRRORS)):
        return ""
    return why_not_hidden(project) or f"{path} is read-only"


def build_hiding(project: Project) -> list[Operation]:
    """Operations that keep the mirrors out of git; none if they are kept out already."""
    path = exclude_file(project)
    present = text_of(path).splitlines() if path is not None else []
    return build_excludes(project, [one for one in MIRROR_PATTERNS if one not in present])


def list_outside(project: Project, operations: Iterable[Operation]) -> list[Path]:
    """The directories outside the project's root that these operations write in."""
    places = [one.path.parent for one in operations if not one.path.is_relative_to(project.root)]
    return list(dict.fromkeys([*places, *list_writable_dirs(project)]))
