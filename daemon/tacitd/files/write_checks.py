"""Where tacitd may write: inside a project, and only where permissions allow it (S-24). Nothing is changed here."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tacitd.errors import FileRefusedError
from tacitd.files import git
from tacitd.files.disk import find_stat, is_regular, same_file

_REPLACE = "replace it with a regular file"


def refuse_link(path: Path, real: Path, root: Path, home: Path) -> None:
    """Raise FileRefusedError if `path` is in a git directory, or a link leads from it to a file of another name or another repository,
    or to one that git tracks: as `LEARNED.md -> .husky/pre-commit`. `real` and `home`: the path and `root` with every link resolved.
    """
    if any(part.casefold() == ".git" for part in real.relative_to(home).parts):
        raise FileRefusedError(f"{path} leads into a git directory", "make it a file of the project's own")
    if real == home / (path.relative_to(root) if path.is_relative_to(root) else path):
        return
    refuse_other_name(path, real)
    inside = (place for place in real.parents if place != home and place.is_relative_to(home))
    if any((place / ".git").exists() for place in inside):
        raise FileRefusedError(f"{path} is a link into another repository: {real}", _REPLACE)
    if git.read_index_mode(home, real):
        raise FileRefusedError(f"{path} is behind a link, and git tracks {real}", _REPLACE)


def refuse_leading_away(path: Path, root: Path) -> None:
    """Raise FileRefusedError if a link leads from a file of this project, or of one of its work trees, out of it or to what `refuse_link`
    refuses. A file elsewhere is the person's, who may link it."""
    tree: Path | None = root
    if not path.is_relative_to(root):
        tree = next((one for one in git.list_linked_worktrees(root) if path.is_relative_to(one)), None)
    if tree is None:
        return
    real, home = Path(os.path.realpath(path)), Path(os.path.realpath(tree))
    if not real.is_relative_to(home):
        raise FileRefusedError(f"{path} is a link that leads out of the project", _REPLACE)
    refuse_link(path, real, tree, home)


def refuse_other_name(path: Path, real: Path) -> None:
    """Raise FileRefusedError if a link leads from `path` to `real`, a file of another name."""
    if real.name != path.name:
        raise FileRefusedError(f"{path} is a link to {real}", _REPLACE)


def refuse_link_text(path: Path, real: Path, home: Path) -> None:
    """Raise FileRefusedError if git has a link where a regular file is: a clone with `core.symlinks=false` has its text."""
    if find_stat(real) is not None and git.read_index_mode(home, real) == "120000":
        raise FileRefusedError(f"{path} is a link for git", "git rm it, or replace it with a regular file")


def refuse_foreign(path: Path) -> None:
    """Raise FileRefusedError if what has this name is no file that tacitd made: a link, a directory, a device, a file of another user,
    or one of more than 1 MB."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode):
        what = "a link" if stat.S_ISLNK(found.st_mode) else "not an ordinary file"
        raise FileRefusedError(f"{path} is {what}", "move it away")
    if found.st_uid != os.geteuid():
        raise FileRefusedError(f"{path} belongs to another user", "move it away")
    if found.st_size > 1 << 20:
        raise FileRefusedError(f"{path} is longer than 1 MB", "move it away")


def refuse_unwritable(target: Path) -> None:
    """Raise FileRefusedError if this process may not write the file, or the directory that it will be in.

    A file without write permission is not replaced even if its directory allows it, because its owner removed the
    permission on purpose.
    """
    if target.is_file() and not os.access(target, os.W_OK) and target.exists():  # it may vanish in between
        raise FileRefusedError(f"{target} is read-only", f"chmod u+w {target}")
    directory = target.parent
    while directory != directory.parent and find_stat(directory) is None:
        directory = directory.parent
    if not os.access(directory, os.W_OK):
        raise FileRefusedError(f"{directory} is read-only", "make it writable, or exclude the project")


def refuse_aliased(target: Path) -> None:
    """Raise FileRefusedError if the file has a second name in its directory (`ln AGENTS.md CLAUDE.md`).

    The other name would keep the old text. A second name in another directory is a backup (`cp -al`), which is meant to keep it.
    """
    mine = find_stat(target)
    if mine is None or not is_regular(mine) or mine.st_nlink < 2:
        return
    for other in sorted(target.parent.iterdir()):
        its = find_stat(other) if other.name != target.name else None
        if its is not None and same_file(its, mine):
            what = f"{target} is {other} too, by a hard link"
            raise FileRefusedError(what, f"ln -sf {target.name} {other}")
