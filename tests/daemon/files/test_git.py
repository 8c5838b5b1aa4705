"""The data of a repository, compared with the output of `git`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from support_waiting import is_gone, until
from tacitd.errors import FileRefusedError
from tacitd.files import git


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


def read_head(root: Path) -> str:
    """The commit in `read_checkout`."""
    return git.read_checkout(root).partition(" ")[0]


def test_head_is_what_git_says(repo: Path) -> None:
    """DESIGN "Files": a moved HEAD means that git changed a file, not a person. Loose, packed, detached."""
    first = _git(repo, "rev-parse", "HEAD")
    assert read_head(repo) == first
    _git(repo, "pack-refs", "--all")
    assert read_head(repo) == first
    _git(repo, "commit", "-q", "--allow-empty", "-m", "y")
    assert read_head(repo) == _git(repo, "rev-parse", "HEAD") != first
    _git(repo, "checkout", "-q", "--detach", first)
    assert read_head(repo) == first


def test_a_checkout_there_and_back_leaves_a_trace(repo: Path) -> None:
    """DESIGN "Doubt": HEAD names the same commit again, and git has changed files meanwhile. What only reads leaves none."""
    first = git.read_checkout(repo)
    for command in ("status", "log", "diff", "branch other", "tag v1"):
        _git(repo, *command.split())
    assert git.read_checkout(repo) == first
    seen = {first}
    for there, back in (
        ("checkout -q --detach", "checkout -q -"),
        ("commit -q --allow-empty -m y", "reset -q --hard HEAD~1"),
    ):
        _git(repo, *there.split())
        _git(repo, *back.split())
        seen.add(git.read_checkout(repo))
    assert len(seen) == 3 and all(git.is_same_commit(first, one) for one in seen)
    (repo / ".git/logs/HEAD").unlink()  # a person may keep no log
    assert git.is_same_commit(first, git.read_checkout(repo))
    _git(repo, "commit", "-q", "--allow-empty", "-m", "z")
    assert not git.is_same_commit(first, git.read_checkout(repo))


def test_linked_worktree_has_its_own_head_and_shares_the_rest(repo: Path) -> None:
    """The local excludes are in the common directory; HEAD and a merge are the work tree's own."""
    linked = repo.parent / "linked"
    _git(repo, "worktree", "add", "-q", str(linked), "-b", "other")
    _git(linked, "commit", "-q", "--allow-empty", "-m", "y")
    assert read_head(linked) == _git(linked, "rev-parse", "HEAD") != read_head(repo)
    assert git.locate_exclude_file(linked) == repo / ".git/info/exclude"
    (repo / ".git/worktrees/linked/MERGE_HEAD").write_text("x")
    assert git.look_at(linked / "a").unsettled and not git.look_at(repo).unsettled
    assert git.look_at(linked / "a")[:2] == (repo, linked) and git.look_at(repo / "a")[:2] == (repo, repo)
    for tree, look in ((tree, git.look_at(tree / "a/folder/to/come")) for tree in (repo, linked)):
        assert (look.root, look.checkout) == (repo, git.read_checkout(tree))


def test_no_commit_no_repository_no_sense(tmp_path: Path, repo: Path) -> None:
    """RELIABILITY row 9: what cannot be read does not count as a repository, and nothing is raised."""
    empty = tmp_path / "empty"
    empty.mkdir()
    assert git.locate_exclude_file(empty) is git.look_at(empty).unsettled is None
    assert git.read_checkout(empty) == ""
    _git(empty, "init", "-q")
    assert read_head(empty) == ""
    assert read_head(repo / "nowhere") == ""
    for head in (b"ref: ../../../etc/passwd", b"\xff\xfe", b"ref: refs/heads/\0x", b"ref: /etc/passwd"):
        (empty / ".git/HEAD").write_bytes(head)
        assert read_head(empty) == ""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/.git").write_text("gitdir: /nowhere/at/all\n")
    assert git.find_repository(tmp_path / "broken") is None


def test_reftable_changes_its_token(repo: Path) -> None:
    """If refs are not files, the text still differs after HEAD has moved."""
    (repo / ".git/reftable").mkdir()
    (repo / ".git/reftable/tables.list").write_text("a")
    before = read_head(repo)
    (repo / ".git/reftable/tables.list").write_text("b")
    assert before.startswith("reftable:") and read_head(repo) != before


def test_ignored_and_tracked(repo: Path) -> None:
    """DESIGN "Where it writes" (nothing is published by accident): `git` answers."""
    (repo / ".gitignore").write_text("tmp/\n")
    assert git.is_ignored(repo, repo / "tmp/x.md") and not git.is_ignored(repo, repo / "LEARNED.md")
    assert git.is_tracked(repo, repo / "a.md") and not git.is_tracked(repo, repo / "*.md")


def test_git_is_not_started_for_what_the_index_cannot_list(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it is: an index of another version, split, sparse, of another form, or a path in other letters."""
    asked: list[str] = []
    real = git._execute

    def run(arguments: Sequence[str], directory: Path) -> tuple[int, bytes] | None:
        asked.append(arguments[-1].rpartition(")")[2])
        return real(arguments, directory)

    monkeypatch.setattr(git, "_execute", run)
    (repo / "sub").mkdir()
    (repo / "sub" / "b.md").write_text("two\n")
    _git(repo, "add", "sub/b.md")
    _git(repo, "commit", "-q", "-m", "y")
    assert not git.is_tracked(repo, repo / "x.md") and asked == []
    assert git.is_tracked(repo, repo / "a.md") and git.is_tracked(repo, repo / "A.MD")
    assert not git.is_tracked(repo, repo / "ä.md") and asked == ["a.md", "A.MD", "ä.md"]
    plain = (repo / ".git/index").read_bytes()
    for change in (
        ("update-index", "--index-version", "4"),
        ("update-index", "--split-index"),
        ("sparse-checkout", "set", "--sparse-index", "elsewhere"),
    ):
        (repo / ".git/index").write_bytes(plain)
        _git(repo, *change)
        for name in ("a.md", "sub/b.md"):
            assert git.is_tracked(repo, repo / name), (change, name)
        asked.clear()
        assert not git.is_tracked(repo, repo / "x.md") and asked == ["x.md"], change
    _git(repo, "sparse-checkout", "disable")
    for damaged in (b"", plain[:8], b"DIRC"):
        (repo / ".git/index").write_bytes(damaged)
        asked.clear()
        assert not git.is_tracked(repo, repo / "x.md") and asked
    (repo / ".git/index").unlink()
    asked.clear()
    assert not git.is_tracked(repo, repo / "a.md") and asked == []
    assert not git.is_tracked(repo, repo.parent / "a.md")


def test_the_persons_git_variables_have_no_effect(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert git.is_tracked(repo, repo / "a.md")


# --- a `.git` that leads elsewhere ----------------------------------------------------------------------------


def _make_victim(tmp_path: Path) -> Path:
    """Another project of the same person, with a linked work tree of its own."""
    victim = Path(os.path.realpath(tmp_path)) / "victim"
    victim.mkdir()
    _git(victim, "init", "-q", "-b", "main")
    _git(victim, "commit", "-q", "--allow-empty", "-m", "x")
    _git(victim, "worktree", "add", "-q", str(victim.parent / "victims-linked"))
    return victim


def _make_stranger(tmp_path: Path, git_file: str) -> Path:
    """An unpacked archive whose `.git` is a file with this text."""
    root = Path(os.path.realpath(tmp_path)) / "stranger"
    root.mkdir()
    (root / ".git").write_text(git_file)
    return root


def test_a_commondir_that_leads_to_another_repository_is_not_followed(tmp_path: Path) -> None:
    """DESIGN "Where it writes": a work tree is another's only if that one's `worktrees/<id>/gitdir` points back."""
    victim = _make_victim(tmp_path)
    root = _make_stranger(tmp_path, "gitdir: own\n")
    (root / "own").mkdir()
    (root / "own/HEAD").write_text("ref: refs/heads/main\n")
    (root / "own/commondir").write_text(f"{victim}/.git\n")
    found = git.find_repository(root)
    assert found is not None and (found.top, found.here) == (root, root)
    assert git.locate_exclude_file(root) == root / "own/info/exclude"


@pytest.mark.parametrize("place", ["", "/worktrees/victims-linked"])
def test_the_git_directory_of_another_project_is_not_ours(tmp_path: Path, place: str) -> None:
    """`gitdir:` may name any directory; it is this work tree's only if it points back to it or is inside it."""
    victim = _make_victim(tmp_path)
    root = _make_stranger(tmp_path, f"gitdir: {victim}/.git{place}\n")
    found = git.find_repository(root)
    assert found is not None and found.top == root
    assert isinstance(git.locate_exclude_file(root), git.UnsafeGitDirectory)


def test_a_forged_back_pointer_does_not_open_the_common_directory(tmp_path: Path) -> None:
    """The entry must lie in the common directory's own `worktrees`, not only point back."""
    victim = _make_victim(tmp_path)
    root = _make_stranger(tmp_path, "gitdir: x/worktrees/y\n")
    (root / "x/worktrees/y").mkdir(parents=True)
    (root / "x/worktrees/y/HEAD").write_text("ref: refs/heads/main\n")
    (root / "x/worktrees/y/commondir").write_text(f"{victim}/.git\n")
    (root / "x/worktrees/y/gitdir").write_text(f"{root}/.git\n")
    found = git.find_repository(root)
    assert found is not None and found.top == root
    located = git.locate_exclude_file(root)
    assert isinstance(located, Path) and located.is_relative_to(root)


def test_honest_worktrees_submodules_and_inner_git_directories_have_an_exclude_file(
    tmp_path: Path, repo: Path
) -> None:
    """DESIGN "Where it writes": directories made by git point back, so the local excludes are written there."""
    assert git.locate_exclude_file(repo) == repo / ".git/info/exclude"
    linked = repo.parent / "linked"
    _git(repo, "worktree", "add", "-q", str(linked))
    assert git.locate_exclude_file(linked) == repo / ".git/info/exclude"
    found = git.find_repository(linked)
    assert found is not None and found.top == repo
    # worktree.useRelativePaths.
    (repo / ".git/worktrees/linked/gitdir").write_text("../../../../linked/.git\n")
    assert git.locate_exclude_file(linked) == repo / ".git/info/exclude"
    _git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repo), "sub")
    assert git.locate_exclude_file(repo / "sub") == repo / ".git/modules/sub/info/exclude"
    inner = repo.parent / "inner"
    inner.mkdir()
    _git(repo, "clone", "-q", "--bare", str(repo), str(inner / ".bare"))
    (inner / ".git").write_text("gitdir: ./.bare\n")
    assert git.locate_exclude_file(inner) == inner / ".bare/info/exclude"
    assert git.locate_exclude_file(tmp_path) is None


@pytest.mark.parametrize("linked", [".git", ".git/info", ".git/info/exclude"])
def test_a_link_in_the_git_directory_is_not_written_through(repo: Path, linked: str) -> None:
    """DESIGN "Where it writes": `info` may be a link to another directory."""
    outside = repo.parent / "outside"
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / linked).rename(outside) if (repo / linked).exists() else outside.touch()
    (repo / linked).symlink_to(outside)
    located = git.locate_exclude_file(repo)
    assert isinstance(located, git.UnsafeGitDirectory) and str(repo / linked) in located.reason


# --- which files are tracked ----------------------------------------------------------------------------------


def test_how_the_index_has_a_file(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its case, also if the file was deleted; a path's own characters are no pattern. Without git nothing is known."""
    (repo / "[t]mp*").mkdir()
    for name in ("Raw.jsonl", "[t]mp*/raw.jsonl"):
        (repo / name).write_text("x")
    (repo / "link").symlink_to("a.md")
    _git(repo, "add", "-f", ".")
    (repo / "Raw.jsonl").unlink()
    found = {
        name: git.read_index_mode(repo, repo / name)
        for name in ("raw.jsonl", "[t]mp*/raw.jsonl", "tmp/raw.jsonl", "link", "new", "*.jsonl")
    }
    assert found == {
        "raw.jsonl": "100644",
        "[t]mp*/raw.jsonl": "100644",
        "tmp/raw.jsonl": "",
        "link": "120000",
        "new": "",
        "*.jsonl": "",
    }
    index = (repo / ".git/index").read_bytes()
    (repo / ".git/index").write_bytes(b"rubbish")
    assert git.read_index_mode(repo, repo / "a.md") == "unknown" and not git.is_tracked(repo, repo / "a.md")
    (repo / ".git/index").write_bytes(index)
    monkeypatch.setenv("PATH", "/nowhere")
    assert git.read_index_mode(repo, repo / "a.md") == "unknown" and not git.is_tracked(repo, repo / "a.md")


def test_a_git_directory_that_git_refuses_is_not_looked_for_above(repo: Path) -> None:
    """A damaged `.git` below another repository: git would search the parents and answer for the wrong index."""
    inner = repo / "inner"
    (inner / ".git").mkdir(parents=True)
    (inner / ".git/HEAD").write_text("rubbish")
    (inner / "a.md").write_text("x")
    assert git.read_index_mode(inner, inner / "a.md") in ("", "unknown")
    assert git.run_git(["rev-parse", "--git-dir"], inner) not in (0, None)


PROGRAMS = {
    "fsmonitor": ["core.fsmonitor"],
    "pager": ["core.pager", "pager.ls-files"],
    "alias": ["alias.ls-files", "alias.check-ignore"],
    "ssh": ["core.sshCommand", "core.askPass", "core.editor", "sequence.editor"],
    "filter": ["filter.x.clean", "filter.x.smudge", "filter.x.process"],
    "diff": ["diff.external", "diff.x.textconv", "diff.x.command"],
    "credential": ["credential.helper", "gpg.program"],
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_no_program_that_a_repository_names_is_run(repo: Path, kind: str) -> None:
    """A hostile repository has its own configuration, attributes and hooks: nothing of it is executed."""
    ran = repo.parent / "was-run"
    program = repo / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    for key in PROGRAMS[kind]:
        _git(repo, "config", key, str(program))
    (repo / ".gitattributes").write_text("* filter=x diff=x\n")
    hooks = repo / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "fsmonitor-watchman", "post-checkout", "reference-transaction"):
        (hooks / hook).write_text(program.read_text())
        (hooks / hook).chmod(0o755)
    (repo / "a.md").write_text("changed\n")
    assert git.is_tracked(repo, repo / "a.md") and not git.is_ignored(repo, repo / "a.md")
    assert not ran.exists()


def test_a_submodules_own_configuration_is_not_run_either(repo: Path) -> None:
    """`submodule.recurse` would let git start itself in the submodule, without tacitd's options."""
    ran = repo.parent / "was-run"
    _git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repo), "sub")
    _git(repo, "config", "submodule.recurse", "true")
    _git(repo / "sub", "config", "core.fsmonitor", f"touch {ran}; false")
    assert git.read_index_mode(repo, repo / "sub/a.md") == ""
    assert git.is_tracked(repo, repo / "a.md")
    assert not ran.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_repository_of_another_user_is_named_and_not_taken_for_one_that_tracks_nothing(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mounted volume or a shared checkout: git's own cure is the hint, and it works."""
    assert git.is_tracked(repo, repo / "a.md")
    for path in (repo, repo / ".git"):
        os.chown(path, 12345, -1)
    monkeypatch.setenv("HOME", str(repo.parent))
    with pytest.raises(FileRefusedError, match="another user") as caught:
        git.is_tracked(repo, repo / "a.md")
    assert caught.value.hint.endswith(f"git config --global --add safe.directory {repo}")
    _git(repo.parent, "config", "--global", "--add", "safe.directory", str(repo))
    assert git.is_tracked(repo, repo / "a.md")


@pytest.mark.undated
def test_a_git_that_hangs_is_killed_with_what_it_started(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A helper of git's on a mount that does not answer would otherwise hold its pipes, and with them the worker."""
    program, began = tmp_path / "bin" / "git", tmp_path / "pid"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nsleep 600 &\necho $! > {began}\nwait\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(git, "TIMEOUT", 0.5)
    assert git.run_git(["status"], repo) is None
    child = int(began.read_text())
    until(lambda: is_gone(child))


# --- linked work trees ----------------------------------------------------------------------------------------


@pytest.fixture
def worktrees(tmp_path: Path) -> Path:
    """A repository with a commit and two linked work trees, one of them inside it."""
    root = tmp_path.resolve() / "main"
    root.mkdir()
    _git(root, "init", "-q")
    _git(root, "commit", "-q", "--allow-empty", "-m", "a")
    _git(root, "worktree", "add", "-q", str(root.parent / "linked"))
    _git(root, "worktree", "add", "-q", str(root / "inside"))
    return root


def test_linked_work_trees_are_listed(worktrees: Path) -> None:
    """Those of the main work tree only; one that was removed by hand is left out."""
    linked, inside = worktrees.parent / "linked", worktrees / "inside"
    assert git.list_linked_worktrees(worktrees) == [linked, inside]
    assert git.list_linked_worktrees(linked) == [] and git.list_linked_worktrees(worktrees / "x") == []
    _git(worktrees, "worktree", "remove", str(inside))
    assert git.list_linked_worktrees(worktrees) == [linked]
    _git(worktrees, "worktree", "move", str(linked), str(worktrees.parent / "moved"))
    assert git.list_linked_worktrees(worktrees) == [worktrees.parent / "moved"]


def test_an_entry_that_its_directory_does_not_name_is_ignored(worktrees: Path, tmp_path: Path) -> None:
    """An archive may list any directory of the person's."""
    victim = tmp_path.resolve() / "victim"
    victim.mkdir()
    entry = worktrees / ".git/worktrees/evil"
    entry.mkdir()
    for named in (f"{victim}/.git", "\0", "", str(tmp_path / "none/.git")):
        (entry / "gitdir").write_text(named + "\n")
        assert (
            victim not in git.list_linked_worktrees(worktrees)
            and len(git.list_linked_worktrees(worktrees)) == 2
        )
    _git(victim, "init", "-q")
    (entry / "gitdir").write_text(f"{victim}/.git\n")
    assert victim not in git.list_linked_worktrees(worktrees)
    (entry / "gitdir").unlink()
    (entry / "gitdir").mkdir()
    assert len(git.list_linked_worktrees(worktrees)) == 2


def test_a_bare_repository_has_no_main_work_tree(worktrees: Path) -> None:
    """Its work trees are listed below itself, or below the folder whose `.git` file names it."""
    bare, around = worktrees.parent / "bare.git", worktrees.parent / "around"
    _git(worktrees, "clone", "-q", "--bare", str(worktrees), str(bare))
    _git(bare, "worktree", "add", "-q", str(worktrees.parent / "of-bare"))
    assert git.list_linked_worktrees(worktrees.parent / "of-bare") == []
    assert git.list_linked_worktrees(bare) == [worktrees.parent / "of-bare"]
    assert git.locate_exclude_file(bare) == bare / "info/exclude"
    around.mkdir()
    _git(worktrees, "clone", "-q", "--bare", str(worktrees), str(around / ".bare"))
    (around / ".git").write_text("gitdir: ./.bare\n")
    _git(around, "worktree", "add", "-q", str(around / "one"))
    assert git.list_linked_worktrees(around) == [around / "one"]
