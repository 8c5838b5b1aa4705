"""Which mirrors go when a project is to have none: those whose text is tacitd's. The others are named and stay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tacitd.events import Project
from tacitd.files import git
from tacitd.files.operations import WithdrawFile, digest_of
from tacitd_handlers.learning.mirrors.mirror_files import (
    FoundMirror,
    inspect_mirror,
    list_trees,
    why_not_ours,
)
from tacitd_handlers.learning.mirrors.mirror_names import PROJECT_MIRROR
from tacitd_handlers.learning.mirrors.mirror_plan import MirrorPlan, note_before
from tacitd_handlers.learning.mirrors.mirror_record import MirrorRecord

ABSENT = FoundMirror("absent")


def plan_withdrawal(project: Project, record: MirrorRecord) -> MirrorPlan:
    """Return the plan that removes tacitd's mirrors and names the others. Nothing is written."""
    plan, trees = MirrorPlan(), list_trees(project)
    for path in _list_possible(record, trees):
        tree = find_tree(path, trees)
        found = inspect_mirror(path, tree, record.texts_of(path)) if tree is not None else ABSENT
        if tree is None or (found.state == "foreign" and path not in record.written):
            continue
        if found.state == "absent" or why_not_ours(project, tree, path):
            continue
        if found.state == "ours":
            note_before(plan, path, found, ())
            plan.changes.append(WithdrawFile(path, digest_of(found.data)))
        else:
            plan.problems.append(f"{path} was changed by hand, so it stays")
    return plan


def sort_mirrors(record: MirrorRecord) -> tuple[list[Path], list[Path]]:
    """The mirrors of a project that exist: those whose text is tacitd's, and the others. For `uninstall`."""
    project = Project(record.root, git=git.git_dir(record.root) is not None)
    trees, mine, others = list_trees(project), list[Path](), list[Path]()
    for path in _list_possible(record, trees):
        tree = find_tree(path, trees)
        found = inspect_mirror(path, tree, record.texts_of(path)) if tree is not None else ABSENT
        if found.state == "ours" and tree is not None and not why_not_ours(project, tree, path):
            mine.append(path)
        elif found.state != "absent" and path in record.written:
            others.append(path)
    return mine, others


def find_tree(path: Path, trees: Sequence[Path]) -> Path | None:
    """The work tree that contains a mirror; None if it is gone. A work tree may be inside another one."""
    around = [tree for tree in trees if path.is_relative_to(tree)]
    return max(around, key=lambda tree: len(tree.parts), default=None)


def _list_possible(record: MirrorRecord, trees: Sequence[Path]) -> Iterator[Path]:
    """Where a mirror of tacitd's may be."""
    yield from dict.fromkeys([*record.written, *(tree / PROJECT_MIRROR for tree in trees)])
