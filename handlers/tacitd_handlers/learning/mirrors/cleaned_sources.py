"""Sources that git removed together with their mirrors, such as by `git clean -x`: which are restored, and with what text.

A person who wants lines gone deletes lines, or LEARNED.md. That every mirror is gone too, which git ignores and nobody opens,
shows that a command removed whatever git does not track. Then nothing is concluded about the lines, and the files are made
again with the text that they had at the last look. Only the files of the main work tree are restored.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tacitd.errors import FileRefusedError
from tacitd.events import Project
from tacitd.files import git
from tacitd.files.worktrees import list_linked_worktrees
from tacitd_handlers.learning.folders import LEARNED
from tacitd_handlers.learning.mirrors.displaced_sources import is_being_replaced, is_changed, is_same_clone
from tacitd_handlers.learning.mirrors.mirror_files import is_settled
from tacitd_handlers.learning.mirrors.mirror_record import MirrorRecord
from tacitd_handlers.learning.mirrors.mirror_withdrawal import find_tree
from tacitd_handlers.learning.project_files import read_shared

STASHES = 50
"""Number of the newest stashes that are looked into."""


class AbsentSource(Struct, frozen=True):
    """What is known about a source that is gone together with the mirrors."""

    is_same_clone: bool
    """Whether this is the clone in which tacitd wrote. Another one was made at its path otherwise."""
    has_folder: bool
    """Whether the folder that contained it exists."""
    is_settled: bool
    """Whether no git command is changing the work tree, and no merge or the like is under way."""
    in_git: bool | None
    """Whether git has the file in the index or in a commit; None: git cannot say."""
    in_stash: bool
    """Whether a stash has it: `git stash pop` restores it, and fails if the file exists."""


def judge_absence(seen: AbsentSource) -> Literal["restore", "wait", "forget"]:
    """What is to be done about a source that is gone with the mirrors. `forget`: its text is not needed any more."""
    if not seen.is_same_clone or not seen.has_folder or seen.in_git:
        return "forget"
    if not seen.is_settled or seen.in_git is None or seen.in_stash:
        return "wait"
    return "restore"


def note_texts(project: Project, record: MirrorRecord, sources: Mapping[Path, bytes | None]) -> None:
    """Keep the texts of the main work tree's sources for the case that they are removed. `sources`: as they are now.

    The text of a file that is gone is kept only if the mirrors are gone too. That of a link is not kept.
    """
    for name in [one for one in record.kept if Path(one).is_symlink()]:
        del record.kept[name]
    for path, data in sources.items():
        text = record.kept.get(str(path))
        if text is not None and is_changed(data, text) and is_being_replaced(project, path):
            continue
        if path.is_relative_to(record.root) and data is not None and not path.is_symlink():
            record.kept[str(path)] = data.decode("utf-8", "replace")
        elif str(path) in record.kept and (data is not None or not lost_mirrors(record)):
            del record.kept[str(path)]


def read_sources(record: MirrorRecord) -> dict[Path, bytes | None]:
    """The bytes that LEARNED.md and the AGENTS.md with lines of tacitd's have now. One that cannot be read is left out."""
    found: dict[Path, bytes | None] = {}
    for path in dict.fromkeys(map(Path, (str(record.root / LEARNED), *record.modules, *record.kept))):
        try:
            if path.is_relative_to(record.root):
                found[path] = read_shared(path, record.root).data
        except FileRefusedError:
            continue
    return found


def lost_mirrors(record: MirrorRecord) -> bool:
    """Whether the main work tree had mirrors, and all of them are gone."""
    trees = [record.root, *list_linked_worktrees(record.root)]
    had = [one for one in record.written if record.texts_of(one) and find_tree(one, trees) == record.root]
    return bool(had) and not any(os.path.lexists(path) for path in had)


def has_lost_sources(record: MirrorRecord) -> bool:
    """Whether sources are gone together with the mirrors. It does not ask git."""
    return has_missing(record) and record.root.is_dir() and lost_mirrors(record)


def has_missing(record: MirrorRecord) -> bool:
    """Whether a source is gone that was there at the last look."""
    return any(not os.path.lexists(path) for path in record.kept)


def is_being_removed(root: Path) -> bool:
    """Whether files are missing that git tracks. Then the whole directory may be in the course of being removed."""
    return git.read_git(["ls-files", "--deleted"], root) != b""


def find_cleaned(project: Project, record: MirrorRecord) -> dict[Path, str]:
    """Given a project that has lost sources, return those that are to be restored, with their texts, and forget those
    that are not. It asks git."""
    found: dict[Path, str] = {}
    stashes = _list_stashes(project)
    for name, text in list(record.kept.items()):
        path = Path(name)
        if os.path.lexists(path):
            continue
        match judge_absence(_look_at(project, record, path, stashes)):
            case "restore":
                found[path] = text
            case "forget":
                del record.kept[name]
            case "wait":
                pass
    return found


def _look_at(project: Project, record: MirrorRecord, path: Path, stashes: Sequence[str]) -> AbsentSource:
    seen = record.sources.get(str(project.root / LEARNED))
    versions = git.read_versions(
        project.root, path, ("HEAD", "", *([seen.head] if seen and seen.head else ()))
    )
    stashed = git.read_versions(project.root, path, stashes)
    return AbsentSource(
        is_same_clone=is_same_clone(project),
        has_folder=path.parent.is_dir(),
        is_settled=is_settled(project, project.root),
        in_git=None if versions is None else bool(versions),
        in_stash=stashed is None or bool(stashed),
    )


def _list_stashes(project: Project) -> list[str]:
    """The commits that contain the untracked files of the stashes. Not each of them exists."""
    said = git.read_git(["log", "-g", f"-{STASHES}", "--format=%H", "refs/stash"], project.root)
    return [f"{id}^3" for id in (said or b"").decode("ascii", "replace").split()]
