"""Linked work trees are found in the git directory, and an entry must be named by its work tree too."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_git import run_git as git
from tacitd.files.git import list_linked_worktrees, locate_exclude_file


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a commit and two linked work trees, one of them inside it."""
    root = tmp_path.resolve() / "main"
    root.mkdir()
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", "a")
    git(root, "worktree", "add", "-q", str(root.parent / "linked"))
    git(root, "worktree", "add", "-q", str(root / "inside"))
    return root


def test_linked_work_trees_are_listed(root: Path) -> None:
    """Those of the main work tree only; one that was removed by hand is left out."""
    linked, inside = root.parent / "linked", root / "inside"
    assert list_linked_worktrees(root) == [linked, inside]
    assert list_linked_worktrees(linked) == [] and list_linked_worktrees(root / "x") == []
    git(root, "worktree", "remove", str(inside))
    assert list_linked_worktrees(root) == [linked]
    git(root, "worktree", "move", str(linked), str(root.parent / "moved"))
    assert list_linked_worktrees(root) == [root.parent / "moved"]


def test_an_entry_that_its_directory_does_not_name_is_ignored(root: Path, tmp_path: Path) -> None:
    """An archive may list any directory of the person's."""
    victim = tmp_path.resolve() / "victim"
    victim.mkdir()
    entry = root / ".git/worktrees/evil"
    entry.mkdir()
    for named in (f"{victim}/.git", "\0", "", str(tmp_path / "none/.git")):
        (entry / "gitdir").write_text(named + "\n")
        assert victim not in list_linked_worktrees(root) and len(list_linked_worktrees(root)) == 2
    git(victim, "init", "-q")
    (entry / "gitdir").write_text(f"{victim}/.git\n")
    assert victim not in list_linked_worktrees(root)
    (entry / "gitdir").unlink()
    (entry / "gitdir").mkdir()
    assert len(list_linked_worktrees(root)) == 2


def test_a_bare_repository_has_no_main_work_tree(root: Path) -> None:
    """Its work trees are listed below itself, or below the folder whose `.git` file names it."""
    bare, around = root.parent / "bare.git", root.parent / "around"
    git(root, "clone", "-q", "--bare", str(root), str(bare))
    git(bare, "worktree", "add", "-q", str(root.parent / "of-bare"))
    assert list_linked_worktrees(root.parent / "of-bare") == []
    assert list_linked_worktrees(bare) == [root.parent / "of-bare"]
    assert locate_exclude_file(bare) == bare / "info/exclude"
    around.mkdir()
    git(root, "clone", "-q", "--bare", str(root), str(around / ".bare"))
    (around / ".git").write_text("gitdir: ./.bare\n")
    git(around, "worktree", "add", "-q", str(around / "one"))
    assert list_linked_worktrees(around) == [around / "one"]
