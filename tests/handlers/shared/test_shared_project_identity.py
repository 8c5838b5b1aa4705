"""Which project a directory belongs to (SPEC E-30)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support_learning import git
from tacitd_handlers.shared.project_identity import identify_project, simplify_name, split_scope


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
    assert one.key == other.key == "github.com/me/app" and one.scopes[0] == other.scopes[0]
    assert len({one.scopes[0], fork.scopes[0], local.scopes[0]}) == 3
    for found in (one, fork, local):
        assert re.fullmatch(r"app-[0-9a-f]{8}", found.scopes[0]) and found.names == ("app",)
    assert other.names == ("copy", "app")
    assert "token" not in repr(other)


def test_a_project_keeps_its_scope_when_it_gets_a_remote(tmp_path: Path) -> None:
    """What was learned before belongs to it after."""
    root = clone(tmp_path / "app")
    (before,) = identify_project(root).scopes
    (root / ".git/config").write_text('[remote "origin"]\n\turl = git@h:me/app\n')
    after = identify_project(root)
    assert before in after.scopes and after.scopes[0] != before


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
    assert found.names == ("notes",) and found.key != identify_project(tmp_path / "notes/sub").key


@pytest.mark.parametrize(
    ("name", "simple"),
    [("My App!", "my-app"), ("Größe", "größe"), ("...", ""), ("a  b", "a-b"), ("日本", "日本")],
)
def test_a_folders_name_is_one_word(tmp_path: Path, name: str, simple: str) -> None:
    assert simplify_name(name) == simple
    (tmp_path / name).mkdir()
    (scope,) = identify_project(tmp_path / name).scopes
    assert split_scope(scope)[0] == (simple or "project") and len(scope) <= 64


def test_a_scope_is_split_into_name_and_digits() -> None:
    assert split_scope("my-app-1a2b3c4d") == ("my-app", "1a2b3c4d")
    for other in ("app", "global", "app-12", "app-1A2B3C4D", "-1a2b3c4d", "1a2b3c4d"):
        assert split_scope(other) == (other, "")
