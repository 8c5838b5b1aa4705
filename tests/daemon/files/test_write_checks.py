"""What a transaction does not change although it could write there (DESIGN "Priorities", 1 and 2)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support_git import init
from support_git import run_git as git
from tacitd.errors import FileRefusedError
from tacitd.files.disk import RealDisk
from tacitd.files.log import Log
from tacitd.files.operations import AppendLine, Operation, PutLine, TakeLine, WriteFile
from tacitd.files.transaction import History
from tacitd.files.write_checks import plan_removal, refuse_aliased, refuse_link_text, refuse_unwritable
from tacitd.testing import FakeClock


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project whose AGENTS.md has a second name."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "AGENTS.md").write_text("# Ours\n\n## A\n- one\n")
    return root


def history(root: Path) -> History:
    return History(Log(root.parent / "state" / "history.jsonl"), FakeClock())


@pytest.mark.parametrize("link", [False, True])
def test_a_file_with_a_second_name_beside_it_is_not_parted_from_it(root: Path, link: bool) -> None:
    """DESIGN "Priorities", 2: a person edits CLAUDE.md, and AGENTS.md must always have the same text."""
    os.link(root / "AGENTS.md", root / "CLAUDE.md")
    given = root / "AGENTS.md"
    if link:
        given = root / "sub/AGENTS.md"
        given.parent.mkdir()
        given.symlink_to("../AGENTS.md")
    for operation in (PutLine(given, "A", "two", "T"), TakeLine(given, "one")):
        with pytest.raises(FileRefusedError, match=r"CLAUDE.md too, by a hard link") as caught:
            history(root).run_transaction(root, [operation], {}, "k")
        assert caught.value.hint == f"ln -sf AGENTS.md {root / 'CLAUDE.md'}"
    assert not (root.parent / "state").exists()
    history(root).run_transaction(root, [PutLine(given, "A", "one", "T")], {}, "nothing to do")
    (root / "CLAUDE.md").unlink()
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    history(root).run_transaction(root, [PutLine(root / "AGENTS.md", "A", "two", "T")], {}, "k")
    assert (root / "CLAUDE.md").read_text() == "# Ours\n\n## A\n- one\n- two\n"


def test_a_backup_by_hard_links_keeps_the_old_text(root: Path) -> None:
    """`cp -al` before a change: the copy keeps its text, and the project's file changes."""
    (root / "other.md").write_text("another file beside it")
    (root.parent / "backup").mkdir()
    os.link(root / "AGENTS.md", root.parent / "backup" / "AGENTS.md")
    history(root).run_transaction(root, [PutLine(root / "AGENTS.md", "A", "two", "T")], {}, "k")
    assert (root.parent / "backup" / "AGENTS.md").read_text() == "# Ours\n\n## A\n- one\n"
    assert "- two" in (root / "AGENTS.md").read_text()


def test_files_of_ours_are_not_asked(root: Path) -> None:
    """No person edits generated files and git's excludes."""
    os.link(root / "AGENTS.md", root / "other")
    operations: list[Operation] = [WriteFile(root / "other", "x"), AppendLine(root / "AGENTS.md", "/x")]
    done = history(root).run_transaction(root, operations, {}, "k")
    assert [effect.did for effect in done.effects] == ["written", "appended"]


@pytest.mark.parametrize("linked", ["info", "main.git"])
def test_a_place_beside_the_project_is_meant_as_it_is_named(root: Path, linked: str) -> None:
    """DESIGN "Where it writes": the repository's `info` may be a link to a person's own directory."""
    outside, info = root.parent / "outside", root.parent / "main.git" / "info"
    outside.mkdir()
    link = info if linked == "info" else info.parent
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside)
    operation = AppendLine(info / "exclude", "/LEARNED.md")
    with pytest.raises(FileRefusedError, match="leads out"):
        history(root).run_transaction(root, [operation], {}, "k", also=[info])
    assert list(outside.iterdir()) == [] and not (root.parent / "state").exists()


@pytest.mark.parametrize("target", [".git/config", ".GIT/hooks/post-commit", "sub/.git/info/exclude"])
def test_a_git_directory_in_the_project_is_not_written_in(root: Path, target: str) -> None:
    """S-24: a repository may contain `LEARNED.md -> .git/config`; only a place that is named beside the root is allowed."""
    (root / target).parent.mkdir(parents=True)
    (root / target).write_text("mine\n")
    (root / "LEARNED.md").symlink_to(target)
    for path in (root / "LEARNED.md", root / target):
        with pytest.raises(FileRefusedError, match="git directory"):
            history(root).run_transaction(root, [PutLine(path, "A", "one", "T")], {}, "k")
    history(root).run_transaction(
        root, [AppendLine(root / target, "/x")], {}, "named", also=[(root / target).parent]
    )
    assert (root / target).read_text() == "mine\n/x\n"


@pytest.mark.parametrize("folder", ["+x", ".claude", ".git ", "git", ".github"])
def test_folders_with_similar_names_are_no_git_directory(root: Path, folder: str) -> None:
    """S-24: only `.git` itself, in any case, is refused."""
    path = root / folder / "a.md"
    history(root).run_transaction(root, [WriteFile(path, "x")], {}, "k")
    assert path.read_text() == "x"
    for name in (".git", ".GIT"):
        with pytest.raises(FileRefusedError, match="git directory"):
            history(root).run_transaction(root, [WriteFile(root / name / folder, "x")], {}, name)


@pytest.mark.parametrize("name", ["a", "z"])
def test_a_named_place_that_is_a_link_allows_nothing(root: Path, name: str) -> None:
    """S-24: the link may lead anywhere, before or after its own name in any order."""
    (root.parent / "m").mkdir()
    place = root.parent / name
    place.symlink_to("m")
    for given in (place / "x", root.parent / "m" / "x"):
        with pytest.raises(FileRefusedError, match="leads out"):
            history(root).run_transaction(root, [WriteFile(given, "x")], {}, "k", also=[place])
    history(root).run_transaction(root, [WriteFile(place / "x", "x")], {}, "k", also=[root.parent / "m"])
    assert (root.parent / "m" / "x").read_text() == "x"


COMMITTED = ".husky/pre-commit .envrc Makefile package.json CLAUDE.md docs/rules.md docs/LEARNED.md .github/workflows/ci.yml"


@pytest.mark.parametrize("target", COMMITTED.split())
@pytest.mark.parametrize("way", ["link", "folder"])
def test_a_committed_link_is_not_followed_to_a_team_s_file(root: Path, target: str, way: str) -> None:
    """S-24: a link leads to an untracked Markdown file of the same name, or nothing is written."""
    init(root)
    (root / target).parent.mkdir(parents=True, exist_ok=True)
    (root / target).write_text("theirs\n")
    path = root / "LEARNED.md"
    if way == "link":
        path.symlink_to(target)
    else:
        (root / "way").symlink_to((root / target).parent.relative_to(root))
        path = root / "way" / (root / target).name
    git(root, "add", "-A")
    git(root, "commit", "-qm", "theirs")
    with pytest.raises(FileRefusedError, match="link"):
        history(root).run_transaction(root, [PutLine(path, "A", "one", "T")], {}, "k")
    assert (root / target).read_text() == "theirs\n" and git(root, "status", "--porcelain") == ""


def test_a_link_to_an_untracked_file_of_the_same_name_is_followed(root: Path) -> None:
    """S-24: a person keeps LEARNED.md elsewhere in the project, also if the link itself is committed."""
    init(root)
    (root / "LEARNED.md").symlink_to("notes/LEARNED.md")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "theirs")
    history(root).run_transaction(root, [PutLine(root / "LEARNED.md", "A", "one", "T")], {}, "k")
    assert "- one" in (root / "notes/LEARNED.md").read_text() and (root / "LEARNED.md").is_symlink()


@pytest.mark.parametrize(
    "name", ["LEARNED.md", "sub/AGENTS.md", "tmp/known-facts-summary.md", ".claude/rules/x.md"]
)
def test_the_text_of_a_link_is_not_written_over(root: Path, name: str) -> None:
    """A clone with `core.symlinks=false` has a regular file where git's index has a link (mode 120000)."""
    init(root)
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).symlink_to("CLAUDE.md")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "theirs")
    git(root, "config", "core.symlinks", "false")
    (root / name).unlink()
    git(root, "checkout", "-q", "--", ".")
    for operation in (PutLine(root / name, "A", "one", "T"), WriteFile(root / name, "x")):
        with pytest.raises(FileRefusedError, match="is a link for git"):
            history(root).run_transaction(root, [operation], {}, "k")
    assert (root / name).read_text() == "CLAUDE.md"


@pytest.mark.parametrize("local", [False, True])
def test_a_tracked_file_of_a_team_is_written_only_if_it_is_shared(root: Path, local: bool) -> None:
    """DESIGN "Where it writes": `git status` stays clean in a project that is not shared."""
    init(root)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "theirs")
    log = Log(root.parent / "state" / "history.jsonl")
    made = History(log, FakeClock(), is_local=lambda root: local)
    operation = PutLine(root / "AGENTS.md", "A", "two", "T")
    if local:
        with pytest.raises(FileRefusedError, match="git tracks") as caught:
            made.run_transaction(root, [operation], {}, "k")
        assert "tacitd share" in caught.value.hint
    else:
        made.run_transaction(root, [operation], {}, "k")
    assert (git(root, "status", "--porcelain") == "") is local


class Saving(RealDisk):
    """An editor removes the file to create it anew, right after the `looks`th look at it."""

    def __init__(self, target: Path, looks: int) -> None:
        self.target, self.looks = target, looks

    def stat(self, path: Path) -> os.stat_result:
        found = super().stat(path)
        if path == self.target:
            self.looks -= 1
            if self.looks == 0:
                path.unlink()
        return found


@pytest.mark.parametrize("looks", [1, 2])
@pytest.mark.parametrize("check", ["text", "unwritable", "aliased", "other name", "removal"])
def test_a_file_that_is_removed_during_a_check_is_no_error(root: Path, check: str, looks: int) -> None:
    """RELIABILITY 11: an editor that saves by remove-and-create does not stop the write that waits for it."""
    agents = root / "AGENTS.md"
    other = root / "CLAUDE.md"
    os.link(agents, root.parent / "second name")
    disk = Saving(other if check == "other name" else agents, looks)
    if check == "other name":
        other.write_text("another file")
    if check == "text":
        refuse_link_text(agents, agents, root, disk)
    elif check == "unwritable":
        refuse_unwritable(agents, disk)
    elif check == "removal":
        assert plan_removal(agents, disk).did == "removed"
    else:
        refuse_aliased(agents, disk)
    assert disk.target.exists() is (disk.looks > 0)
