"""What is read of a repository, against what `git` itself says."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tacitd import git


def _git(where: Path, *arguments: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(where), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=n", "-c", "user.email=e@x"]
    done = subprocess.run(
        ["git", *who, *arguments], cwd=where, check=True, capture_output=True, text=True, env=env
    )
    return done.stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "r"
    root.mkdir()
    _git(root, "init", "-q", "-b", "main")
    (root / "a.md").write_bytes(b"one\n")
    _git(root, "add", "a.md")
    _git(root, "commit", "-q", "-m", "x")
    return root


def test_head_is_what_git_says(repo: Path) -> None:
    """DESIGN "Two durable primitives": HEAD having moved tells git from a person. Loose, packed, detached."""
    first = _git(repo, "rev-parse", "HEAD")
    assert git.head(repo) == first
    _git(repo, "pack-refs", "--all")
    assert git.head(repo) == first
    _git(repo, "commit", "-q", "--allow-empty", "-m", "y")
    assert git.head(repo) == _git(repo, "rev-parse", "HEAD") != first
    _git(repo, "checkout", "-q", "--detach", first)
    assert git.head(repo) == first


def test_linked_worktree_has_its_own_head_and_shares_the_rest(repo: Path) -> None:
    """DESIGN: the local excludes are the common directory's; HEAD and a merge are the worktree's own."""
    linked = repo.parent / "linked"
    _git(repo, "worktree", "add", "-q", str(linked), "-b", "other")
    _git(linked, "commit", "-q", "--allow-empty", "-m", "y")
    assert git.head(linked) == _git(linked, "rev-parse", "HEAD") != git.head(repo)
    assert git.git_dir(linked) == git.git_dir(repo) == repo / ".git"
    (repo / ".git/worktrees/linked/MERGE_HEAD").write_text("x")
    assert git.in_progress(linked) and not git.in_progress(repo)


def test_no_commit_no_repository_no_sense(tmp_path: Path, repo: Path) -> None:
    """RELIABILITY row 9: whatever cannot be read is no repository, and raises nothing."""
    empty = tmp_path / "empty"
    empty.mkdir()
    assert (git.git_dir(empty), git.head(empty), git.in_progress(empty)) == (None, "", False)
    _git(empty, "init", "-q")
    assert git.head(empty) == ""
    assert git.head(repo / "nowhere") == ""
    for head in (b"ref: ../../../etc/passwd", b"\xff\xfe", b"ref: refs/heads/\0x", b"ref: /etc/passwd"):
        (empty / ".git/HEAD").write_bytes(head)
        assert git.head(empty) == ""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/.git").write_text("gitdir: /nowhere/at/all\n")
    assert git.find(tmp_path / "broken") is None


def test_reftable_changes_its_token(repo: Path) -> None:
    """DESIGN: where refs are no files, the text still changes when HEAD moves."""
    (repo / ".git/reftable").mkdir()
    (repo / ".git/reftable/tables.list").write_text("a")
    before = git.head(repo)
    (repo / ".git/reftable/tables.list").write_text("b")
    assert before.startswith("reftable:") and git.head(repo) != before


def test_ignored_tracked_and_known_blobs(repo: Path) -> None:
    """DESIGN "Nothing gets published by accident", "a known blob": asked of git itself."""
    (repo / ".gitignore").write_text("tmp/\n")
    assert git.ignored(repo, repo / "tmp/x.md") and not git.ignored(repo, repo / "LEARNED.md")
    assert git.is_tracked(repo, repo / "a.md") and not git.is_tracked(repo, repo / "*.md")
    assert git.knows_blob(repo, b"one\n") and git.knows_blob(repo, b"one\r\n")
    assert not git.knows_blob(repo, b"two\n") and not git.knows_blob(repo.parent, b"one\n")


def test_runner_is_an_argument_and_may_know_nothing(repo: Path) -> None:
    """STYLE habit 4: without git, nothing is concluded."""

    def absent(arguments: Sequence[str], directory: Path) -> int | None:
        return None

    assert not git.ignored(repo, repo / "x", absent)
    assert not git.is_tracked(repo, repo / "a.md", absent)
    assert not git.knows_blob(repo, b"one\n", absent)


def test_the_persons_git_variables_and_the_repositorys_programs_stay_out(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN "It must not act": GIT_DIR does not lead elsewhere, and a hostile fsmonitor is not run."""
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    _git(repo, "config", "core.fsmonitor", f"touch {repo}/was-run; false")
    assert git.is_tracked(repo, repo / "a.md")
    assert not (repo / "was-run").exists()


def test_absent_git_answers_none(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN: everything that needs no program goes on without it."""
    monkeypatch.setenv("PATH", "/nowhere")
    assert git.run_git(["status"], repo) is None
