"""Sources of the person's that git replaced by its own: which are restored, and when.

Git overwrites an ignored file when it checks out, merges or resets to a commit that has a file of that name, and removes it
with the next checkout of a commit that has none. The text from before is kept meanwhile, and restored once git has no such
file any more. What the person commits is not displaced: it is theirs to delete.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tacitd.events import Project
from tacitd.files import git
from tacitd_handlers.learning.mirrors.mirror_files import is_settled
from tacitd_handlers.learning.mirrors.mirror_names import MIRROR_PATTERNS
from tacitd_handlers.learning.mirrors.mirror_record import MirrorRecord
from tacitd_handlers.learning.store import text_of
from tacitd_handlers.learning.visibility import exclude_file

COMMITS = ("commit:", "commit (amend)", "commit (initial)")
"""How the log of HEAD names what only a person's own commit changed."""


def note_displaced(project: Project, record: MirrorRecord, sources: Mapping[Path, bytes | None]) -> None:
    """Keep the texts that git replaced or removed since the last look. To be called before `kept` follows the sources."""
    if not project.git or not is_same_clone(project):
        record.displaced, record.moves = {}, 0
        return
    moves, size = git.read_moves(project.root, record.moves) if record.moves else ([], 0)
    for path in sources:
        name, text = str(path), record.kept.get(str(path), "")
        is_new = (
            bool(moves) and text != "" and name not in record.displaced and is_changed(sources[path], text)
        )
        if is_new and _was_replaced(project.root, path, text, moves):
            record.displaced[name] = text
    for name in list(record.displaced):
        # Another file of the person's is there.
        if (
            os.path.lexists(name)
            and is_in_git(project, Path(name)) is False
            and is_settled(project, project.root)
        ):
            del record.displaced[name]
    record.moves = size or git.read_moves(project.root, 0)[1]


def has_displaced(record: MirrorRecord) -> bool:
    """Whether a source that git replaced is gone. It does not ask git."""
    return record.root.is_dir() and any(not os.path.lexists(name) for name in record.displaced)


def find_displaced(project: Project, record: MirrorRecord) -> dict[Path, str]:
    """The sources that are to be restored, with their texts: git has no file at their path any more. `note_displaced` comes
    first, which forgets those of another clone."""
    found: dict[Path, str] = {}
    for name, text in record.displaced.items():
        path = Path(name)
        is_gone = not os.path.lexists(path) and path.parent.is_dir() and is_settled(project, project.root)
        if is_gone and is_in_git(project, path) is False:
            found[path] = text
    return found


def list_displaced(record: MirrorRecord) -> list[str]:
    """Say which sources git has replaced now."""
    present = [name for name in record.displaced if os.path.lexists(name)]
    return [
        f"git put its own {name} in place of yours, which comes back once git has none" for name in present
    ]


def is_in_git(project: Project, path: Path) -> bool | None:
    """Whether git has this file in the index or in HEAD's commit; None if it cannot say now."""
    versions = git.read_versions(project.root, path, ("HEAD", ""))
    return None if versions is None else bool(versions)


def is_same_clone(project: Project) -> bool:
    """Whether this is the clone in which tacitd wrote, and not another one that was made at its path."""
    exclude = exclude_file(project)
    # Trigger: the exclude file does not list the mirrors. Why: tacitd lists them before it writes one, and `git clean` does
    # not touch that file. Outcome: the repository was cloned anew, and nothing of the old clone is put into it.
    listed = text_of(exclude).splitlines() if exclude is not None else []
    return set(MIRROR_PATTERNS) <= set(listed)


def is_being_replaced(project: Project, path: Path) -> bool:
    """Whether git may be about to move HEAD: it writes the file first, then the index, and its log last."""
    repository = git.find_repository(project.root) if project.git else None
    if repository is None:
        return False
    versions = git.read_versions(project.root, path, ("HEAD", ""))
    return git.is_index_locked(repository) or (versions is not None and versions.keys() == {""})


def is_changed(data: bytes | None, text: str) -> bool:
    """Whether a source does not have this text any more. `data`: its bytes; None: it is gone."""
    return data is None or data.decode("utf-8", "replace") != text


def _was_replaced(root: Path, path: Path, text: str, moves: list[git.HeadMove]) -> bool:
    """Whether HEAD moved from a commit without this file to one with it, other than by a person's commit of theirs."""
    brought = [one.after for one in moves if not one.what.startswith(COMMITS)]
    before = moves[0].before
    versions = git.read_versions(root, path, [before, *brought])
    if not versions or before in versions:
        return False
    return not git.knows_blob(root, text.encode())
