"""What tacitd does not change although it could write there (DESIGN "Priorities", 1 and 2)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support_git import init
from support_git import run_git as git
from tacitd.errors import FileRefusedError
from tacitd.files.write_checks import refuse_aliased, refuse_link, refuse_unwritable


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a file."""
    root = tmp_path.resolve() / "project"
    root.mkdir()
    (root / "AGENTS.md").write_text("# Ours\n\n## A\n- one\n")
    return root


def check(root: Path, path: Path) -> None:
    """All that is asked before a project's file is changed."""
    real = path.resolve()
    refuse_link(path, real, root, root)


def test_a_file_with_a_second_name_beside_it_is_not_parted_from_it(root: Path) -> None:
    """DESIGN "Priorities", 2: a person edits CLAUDE.md, and AGENTS.md must always have the same text. A backup by hard links
    (`cp -al`) is meant to keep the old one."""
    os.link(root / "AGENTS.md", root / "CLAUDE.md")
    with pytest.raises(FileRefusedError, match=r"CLAUDE.md too, by a hard link") as caught:
        refuse_aliased(root / "AGENTS.md")
    assert caught.value.hint == f"ln -sf AGENTS.md {root / 'CLAUDE.md'}"
    (root / "CLAUDE.md").unlink()
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    (root.parent / "backup").mkdir()
    os.link(root / "AGENTS.md", root.parent / "backup" / "AGENTS.md")
    refuse_aliased(root / "AGENTS.md")
    refuse_aliased(root / "none.md")


@pytest.mark.parametrize("target", [".git/config", ".GIT/hooks/post-commit", "sub/.git/info/exclude"])
def test_a_git_directory_in_the_project_is_not_written_in(root: Path, target: str) -> None:
    """S-24: a repository may contain `LEARNED.md -> .git/config`."""
    (root / target).parent.mkdir(parents=True)
    (root / target).write_text("mine\n")
    (root / "LEARNED.md").symlink_to(target)
    for path in (root / "LEARNED.md", root / target):
        with pytest.raises(FileRefusedError, match="git directory"):
            check(root, path)


@pytest.mark.parametrize("folder", ["+x", ".claude", ".git ", "git", ".github"])
def test_folders_with_similar_names_are_no_git_directory(root: Path, folder: str) -> None:
    """S-24: only `.git` itself, in any case, is refused."""
    check(root, root / folder / "a.md")
    for name in (".git", ".GIT"):
        with pytest.raises(FileRefusedError, match="git directory"):
            check(root, root / name / folder)


COMMITTED = ".husky/pre-commit .envrc .npmrc setup.py Makefile package.json AGENTS.md CLAUDE.md docs/rules.md docs/LEARNED.md .github/workflows/ci.yml"


@pytest.mark.parametrize("target", COMMITTED.split())
@pytest.mark.parametrize("way", ["link", "chain", "absolute", "folder"])
def test_a_committed_link_is_not_followed_to_a_team_s_file(root: Path, target: str, way: str) -> None:
    """S-24: a link leads to an untracked Markdown file of the same name, or nothing is written."""
    init(root)
    (root / target).parent.mkdir(parents=True, exist_ok=True)
    (root / target).write_text("theirs\n")
    path = root / "LEARNED.md"
    if way == "link":
        path.symlink_to(target)
    elif way == "chain":
        (root / "step.md").symlink_to(target)
        path.symlink_to("step.md")
    elif way == "absolute":
        path.symlink_to(root / target)
    else:
        (root / "way").symlink_to((root / target).parent.relative_to(root))
        path = root / "way" / (root / target).name
    git(root, "add", "-A")
    git(root, "commit", "-qm", "theirs")
    with pytest.raises(FileRefusedError, match="link"):
        check(root, path)


def test_a_link_to_an_untracked_file_of_the_same_name_is_followed(root: Path) -> None:
    """S-24: a person keeps LEARNED.md elsewhere in the project, also if the link itself is committed."""
    init(root)
    (root / "LEARNED.md").symlink_to("notes/LEARNED.md")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "theirs")
    check(root, root / "LEARNED.md")


def test_what_its_owner_made_read_only_stays(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without write permission is not replaced, nor is one put into such a directory."""
    path = root / "AGENTS.md"
    refuse_unwritable(path)
    refuse_unwritable(root / "new" / "deep.md")
    shut = {path}
    monkeypatch.setattr(os, "access", lambda asked, mode: asked not in shut)
    with pytest.raises(FileRefusedError, match="is read-only"):
        refuse_unwritable(path)
    shut = {root}
    with pytest.raises(FileRefusedError, match=f"{root} is read-only"):
        refuse_unwritable(root / "new" / "deep.md")
