"""Which project a directory belongs to (SPEC E-30)."""

from __future__ import annotations

from pathlib import Path

from support_git import run_git as git
from tacitd_handlers.shared.places import identify_project


def clone(root: Path, url: str = "") -> Path:
    (root / ".git").mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git/config").write_text(f'[remote "origin"]\n\turl = {url}\n' if url else "[core]\n")
    return root


def test_two_clones_are_one_project_and_two_folders_of_one_name_are_two(tmp_path: Path) -> None:
    one = identify_project(clone(tmp_path / "work/app", "git@github.com:me/app.git"))
    other = identify_project(clone(tmp_path / "copy", "https://me:token@github.com/Me/App"))
    fork = identify_project(clone(tmp_path / "fork/app", "https://github.com/you/app"))
    local = identify_project(clone(tmp_path / "local/app"))
    assert one.key == other.key == "github.com/me/app"
    assert len({one.key, fork.key, local.key}) == 3
    assert "token" not in repr(other)


def test_a_worktree_belongs_to_its_main_project(tmp_path: Path) -> None:
    """With real git: folders, worktrees and folders that are gone."""
    root = tmp_path / "app"
    root.mkdir()
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", "x")
    git(root, "worktree", "add", "-q", str(tmp_path / "feature"))
    main = identify_project(root)
    (root / "src").mkdir()
    for place in (root / "src", tmp_path / "feature", root / "src/gone/deep"):
        assert identify_project(place) == main
    assert main.key == str(root.resolve())


def test_a_directory_outside_git_is_itself(tmp_path: Path) -> None:
    (tmp_path / "notes/sub").mkdir(parents=True)
    found = identify_project(tmp_path / "notes")
    assert found.root == tmp_path / "notes" and found.key != identify_project(tmp_path / "notes/sub").key
