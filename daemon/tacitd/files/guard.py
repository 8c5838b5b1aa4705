"""Where a transaction may write: inside its project, and nowhere that is closed to it.

Only refusals belong here. They look at paths and permissions, and change nothing.
"""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

from tacitd.errors import FileRefusedError
from tacitd.files.disk import Disk, regular, same_file
from tacitd.files.operations import NOTHING, Effect, Operation, RemoveFile


def real_target(operation: Operation, root: Path, also: Sequence[Path], disk: Disk) -> Path:
    """The real path behind every link, if it is below `root`, or is or is below one of `also`.

    `also` is meant as it is named: where one of its directories is a link, that leads elsewhere. Raises
    FileRefusedError where the path is not there, is relative or not UTF-8, lies in a `.git` that `also` does not name,
    or the project is gone.
    """
    path = operation.path
    _refuse_unclear(path)
    home = disk.resolve(root)
    if not _exists(home, disk):
        raise FileRefusedError(f"the project {root} is not there", "it may be on a disk that is not mounted")
    # Of a link that is to go, the link itself is meant; its directory must still be inside.
    real = disk.resolve(path.parent) / path.name if isinstance(operation, RemoveFile) else disk.resolve(path)
    if any(real.is_relative_to(place) and disk.resolve(place) == place for place in also):
        return real
    if real == home or not real.is_relative_to(home):
        raise FileRefusedError(f"{path} leads out of {root}", "a link or `..` points elsewhere")
    refuse_git_directory(path, real, home)
    return real


def refuse_git_directory(path: Path, real: Path, home: Path) -> None:
    """Raise FileRefusedError where `path`, which is `real` behind every link, is in a git directory below `home`.

    A repository may hold a link such as `LEARNED.md -> .git/config`. Case is ignored, as some file systems do.
    """
    if any(part.casefold() == ".git" for part in real.relative_to(home).parts):
        raise FileRefusedError(f"{path} leads into a git directory", "make it a file of the project's own")


def refuse_unwritable(target: Path, disk: Disk) -> None:
    """Raise FileRefusedError where the file, or the directory it is to be in, is closed to this process.

    A file without write permission is left alone even where its directory would allow replacing it: whoever
    took the permission away meant it.
    """
    if _exists(target, disk) and regular(disk.stat(target)) and not disk.may_write(target):
        raise FileRefusedError(f"{target} is read-only", f"chmod u+w {target}")
    directory = target.parent
    while not _exists(directory, disk):
        directory = directory.parent
    if not disk.may_write(directory):
        raise FileRefusedError(f"{directory} is read-only", "give write permission, or exclude the project")


def refuse_aliased(target: Path, disk: Disk) -> None:
    """Raise FileRefusedError where the file has a second name beside it (`ln AGENTS.md CLAUDE.md`).

    Trigger: a hard link in the same directory. Why: bytes come in by a rename, which would part the two: the other name
    would keep the old text, and whoever edits there would edit in vain. Outcome: refused, and a symlink cures it. A
    second name elsewhere is a backup (`cp -al`), and there the old text is what is wanted.
    """
    if not _exists(target, disk):
        return
    mine = disk.stat(target)
    if not regular(mine) or mine.st_nlink < 2:
        return
    for name in sorted(disk.names(target.parent)):
        other = target.parent / name
        if name != target.name and _exists(other, disk) and same_file(disk.stat(other), mine):
            raise FileRefusedError(
                f"{target} is {other} too, by a hard link", f"ln -sf {target.name} {other}"
            )


def removal(target: Path, disk: Disk) -> Effect:
    """What removing this name would do. FileRefusedError: it is a directory."""
    if not _exists(target, disk):
        return NOTHING
    if stat.S_ISDIR(disk.stat(target).st_mode):
        raise FileRefusedError(f"{target} is a directory")
    return Effect("removed")


def _refuse_unclear(path: Path) -> None:
    if not path.is_absolute():
        raise FileRefusedError(f"{path} is not an absolute path")
    if ".." in path.parts:
        raise FileRefusedError(f"{path} goes up with `..`")
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise FileRefusedError(f"{str(path)!r} is not UTF-8", "rename it") from error


def _exists(path: Path, disk: Disk) -> bool:
    try:
        disk.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return path == path.parent
    return True
