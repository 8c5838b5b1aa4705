"""Where a project's mirrors are, and what is there now. Nothing is written here.

A mirror is read only if it is a plain file that belongs to the user and that no link leads to. Git must not track it:
a tracked one came with the repository, or the person shares it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal

from msgspec import Struct

from tacitd.errors import FileRefusedError
from tacitd.events import Project
from tacitd.files import git
from tacitd.files.worktrees import list_linked_worktrees
from tacitd_handlers.learning.folders import AGENTS, LEARNED
from tacitd_handlers.learning.mirrors.mirror_names import (
    PROJECT_MIRROR,
    is_module_mirror,
    name_module_mirrors,
)
from tacitd_handlers.learning.safe_read import read_plain_bytes

READ_LIMIT = 1 << 20
"""Bytes. tacitd copies some 40,000; what is longer is not read."""
NOT_WRITTEN = "was not written by this tacitd"
REVISIONS = ("HEAD", "", "FETCH_HEAD", "ORIG_HEAD")
"""Where git has what it brought last: a commit, the index, what was fetched, what HEAD was before a merge or reset."""
OLD_POINTER = "@../../LEARNED.md\n"
"""What earlier versions wrote instead of a mirror: an import, which only works at the project's root."""


class MirrorTarget(Struct, frozen=True):
    """One mirror of a project, in one of its work trees."""

    path: Path
    tree: Path
    """The top level of its work tree."""
    source: Path
    """The file that it mirrors. For a linked work tree it is the main one's, unless the files are shared through git."""
    folder: str = ""
    """The module's folder relative to the work tree; "" for the mirror of LEARNED.md."""

    @property
    def name(self) -> str:
        """The source's path relative to its work tree."""
        return f"{self.folder}/{AGENTS}" if self.folder else LEARNED


class FoundMirror(Struct, frozen=True):
    """What is at a mirror's path now."""

    state: Literal["absent", "ours", "edited", "foreign"]
    """`ours`: as it was written. `edited`: written by tacitd and changed since. `foreign`: anything else."""
    data: bytes | None = None
    why: str = ""
    """Why it is foreign."""


def list_trees(project: Project) -> list[Path]:
    """The project's root, and the linked work trees of its repository."""
    return [project.root, *(list_linked_worktrees(project.root) if project.git else ())]


def list_targets(trees: Sequence[Path], folders: Iterable[str], *, own_sources: bool) -> list[MirrorTarget]:
    """Return the mirrors that a project has. `own_sources`: each work tree mirrors its own files."""
    root, named = trees[0], name_module_mirrors(folders)
    found: list[MirrorTarget] = []
    for tree in trees:
        home = tree if own_sources else root
        found.append(MirrorTarget(tree / PROJECT_MIRROR, tree, home / LEARNED))
        found += [
            MirrorTarget(tree / name, tree, home / folder / AGENTS, folder) for folder, name in named.items()
        ]
    return found


def list_leftovers(
    written: Iterable[Path], targets: Iterable[MirrorTarget], trees: Sequence[Path]
) -> list[Path]:
    """Mirrors of modules that are gone, and of names that are not used any more."""
    current = {target.path for target in targets}
    return [
        path
        for path in written
        if path not in current
        and any(path.is_relative_to(tree) and _is_ours(path.relative_to(tree)) for tree in trees)
    ]


def _is_ours(path: Path) -> bool:
    return is_module_mirror(PurePosixPath(path)) or path == Path(PROJECT_MIRROR)


def inspect_mirror(path: Path, tree: Path, written: Sequence[str]) -> FoundMirror:
    """Look at a mirror. `written`: the texts that tacitd may have written there last, none if it wrote none."""
    try:
        if (why := _find_obstacle(path, tree)) is not None:
            return FoundMirror("foreign", why=f"{path} {why}")
        data = read_plain_bytes(path, READ_LIMIT)
    except FileRefusedError as error:
        return FoundMirror("foreign", why=error.what)
    except OSError as error:
        return FoundMirror("foreign", why=f"{path} cannot be read: {error.strerror}")
    if data is None:
        return FoundMirror("absent")
    if any(data == text.encode("utf-8", "replace") for text in (*written, OLD_POINTER)):
        return FoundMirror("ours", data)
    if len(data) == READ_LIMIT or b"\0" in data:
        return FoundMirror("foreign", why=f"{path} is not a text of tacitd's")
    if written:
        return FoundMirror("edited", data)
    return FoundMirror("foreign", data, f"{path} {NOT_WRITTEN}")


def _find_obstacle(path: Path, tree: Path) -> str | None:
    """Why nothing is read or written at this path; None if nothing is in the way. Raises OSError."""
    places = [
        tree.joinpath(*path.relative_to(tree).parts[:n]) for n in range(1, len(path.relative_to(tree).parts))
    ]
    for place in places:
        mode = _mode_of(place)
        if mode is None:
            return None
        if stat.S_ISLNK(mode):
            return f"is behind the link {place}"
        if not stat.S_ISDIR(mode):
            return f"cannot be made: {place} is not a directory"
    mode = _mode_of(path)
    if mode is None:
        return None
    if stat.S_ISLNK(mode):
        return "is a link"
    if not stat.S_ISREG(mode):
        return "is not an ordinary file"
    return "belongs to another user" if path.lstat().st_uid != os.geteuid() else None


def _mode_of(path: Path) -> int | None:
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return None


def why_not_ours(project: Project, tree: Path, path: Path) -> str:
    """Why git forbids to write or read this mirror; "" if it does not. It asks `git`."""
    match is_mirror_tracked(project, tree, path):
        case None:
            return f"git cannot say whether it tracks {path}"
        case True:
            return f"git tracks {path}: remove it with `git rm --cached`"
        case False:
            return ""


def is_mirror_tracked(project: Project, tree: Path, path: Path) -> bool | None:
    """Whether git tracks this mirror; None if it cannot say now. It asks `git`."""
    if not project.git:
        return False
    tracked = git.list_tracked(tree, path.parent, re.sub(r"([\\*?\[\]])", r"\\\1", path.name))
    return None if tracked is None else path.name.casefold() in tracked


def came_through_git(
    project: Project, tree: Path, path: Path, data: bytes, written: Sequence[str]
) -> bool | None:
    """Whether git wrote an untracked mirror, at least in part; None if it cannot say now. It asks `git`.

    Git tracked it then, such as before `git rm --cached` or `git reset`. `written`: the texts that tacitd wrote last.
    """
    if not project.git or not data.strip():
        return False
    if git.knows_blob(tree, data):
        return True
    versions = git.read_versions(tree, path, REVISIONS)
    if versions is None:
        return None
    known = {line for text in written for line in _list_lines(text.encode("utf-8", "replace"))}
    theirs = {line for version in versions.values() for line in _list_lines(version)}
    return bool((_list_lines(data) - known) & theirs)


def _list_lines(data: bytes) -> set[bytes]:
    return {line.strip() for line in git.normalize_ident(data).splitlines()}


def find_unsettled(project: Project, tree: Path) -> Path | None:
    """What shows that git is not done with this work tree, see `git.find_unsettled`; None if it is."""
    return git.find_unsettled(tree) if project.git else None


def is_settled(project: Project, tree: Path) -> bool:
    """Whether no git command is changing this work tree now, and no merge, rebase or the like is under way."""
    return find_unsettled(project, tree) is None
