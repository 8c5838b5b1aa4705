"""Copies of the mirrors in linked work trees, and what stays clean for git."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support_learning import PNPM, SHORT, git
from support_mirrors import MirrorBench
from tacitd.files.worktrees import worktree_list

MINE = "Never push on a Friday"


@pytest.fixture
def bench(tmp_path: Path) -> MirrorBench:
    made = MirrorBench(tmp_path)
    git(made.root, "commit", "-q", "--allow-empty", "-m", "a")
    return made


@pytest.fixture
def linked(bench: MirrorBench) -> Path:
    """A linked work tree, which the daemon has noticed."""
    path = bench.box / "linked"
    git(bench.root, "worktree", "add", "-q", str(path))
    bench.notice(worktree_list(bench.root))
    return path


def clean(*trees: Path) -> bool:
    return all(git(tree, "status", "--porcelain", "-uall") == "" for tree in trees)


def test_each_linked_work_tree_gets_a_copy(bench: MirrorBench, linked: Path) -> None:
    """An excluded file does not exist there, so a session in it would load nothing."""
    bench.learn_line(PNPM)
    bench.learn_line(SHORT, "src/AGENTS.md")
    assert bench.shown(tree=linked) == [PNPM] and bench.shown("src", linked) == [SHORT]
    assert clean(bench.root, linked)
    git(bench.root, "worktree", "remove", str(linked))
    assert not linked.exists()
    bench.notice(worktree_list(bench.root))
    bench.learn_line("Use uv")
    assert bench.status["rules_problems"] == [] and not linked.exists()


def test_a_new_work_tree_gets_its_copies_at_once(bench: MirrorBench) -> None:
    """The directory that lists them is watched."""
    bench.learn_line(PNPM)
    path = bench.root / "inside"
    git(bench.root, "worktree", "add", "-q", str(path))
    assert worktree_list(bench.root) in bench.handler.sources(bench.project)
    bench.notice(worktree_list(bench.root))
    assert bench.shown(tree=path) == [PNPM] and clean(path)


def test_an_edit_in_a_copy_moves_to_the_main_file(bench: MirrorBench, linked: Path) -> None:
    """It is gone everywhere."""
    bench.learn_line(PNPM)
    bench.learn_line(SHORT)
    bench.edit(bench.mirror(tree=linked), f"- {PNPM}\n", "")
    assert bench.bullets == bench.shown() == bench.shown(tree=linked) == [SHORT]
    bench.edit(bench.mirror(tree=linked), f"- {SHORT}\n", f"- {SHORT}\n- mine\n")
    assert bench.bullets == bench.shown() == bench.shown(tree=linked) == [SHORT, "mine"]


@pytest.mark.parametrize("how", ["link", "read-only", "gone"])
def test_a_copy_that_fails_holds_nothing_up(
    bench: MirrorBench, linked: Path, tmp_path: Path, how: str
) -> None:
    """The line is written, and so are the other copies."""
    other = bench.box / "other"
    git(bench.root, "worktree", "add", "-q", str(other))
    outside = tmp_path / "outside"
    outside.mkdir()
    if how == "link":
        (linked / ".claude").symlink_to(outside)
    elif how == "gone":
        os.rename(linked, tmp_path / "moved away")
    else:
        (linked / ".claude").mkdir()
        (linked / ".claude/rules").write_text("a file\n")
    bench.learn_line(PNPM)
    assert bench.bullets == bench.shown() == bench.shown(tree=other) == [PNPM]
    assert list(outside.iterdir()) == [] and not bench.history.pending and not bench.degraded
    assert bool(bench.status["rules_problems"]) is (how != "gone")


def test_shared_files_are_mirrored_from_each_branch_s_own(bench: MirrorBench, linked: Path) -> None:
    """In share mode LEARNED.md is the branch's, and the mirrors stay out of git."""
    bench.learn_line(PNPM)
    bench.write = "shared"
    git(bench.root, "add", "-f", "LEARNED.md")
    git(bench.root, "commit", "-qm", "share")
    bench.notice()
    assert bench.shown() == [PNPM] and bench.shown(tree=linked) == []
    git(linked, "merge", "-q", "main")
    bench.notice(bench.mirror(tree=linked))
    bench.start_session()
    assert bench.shown(tree=linked) == [PNPM] and clean(bench.root, linked)
    bench.edit(bench.mirror(tree=linked), f"- {PNPM}\n")
    assert PNPM not in (linked / "LEARNED.md").read_text() and bench.bullets == bench.shown() == [PNPM]


def test_a_person_s_line_of_another_branch_is_shown_too(bench: MirrorBench, linked: Path) -> None:
    """It was typed on this machine, so no trust is needed where git brings it to."""
    bench.learn_line(PNPM)
    bench.edit(bench.files.learned_file, f"- {PNPM}\n", f"- {PNPM}\n- {MINE}\n")
    bench.write = "shared"
    git(bench.root, "add", "-f", "LEARNED.md")
    git(bench.root, "commit", "-qm", "share")
    git(linked, "merge", "-q", "main")
    bench.notice()
    bench.start_session()
    assert bench.shown(tree=linked) == bench.shown() == [PNPM, MINE]


def test_a_work_tree_of_a_bare_repository_is_its_own_project(bench: MirrorBench) -> None:
    """Bad input: there is no main work tree, and another work tree's lines are not its own."""
    bare = bench.box / "bare.git"
    git(bench.root, "clone", "-q", "--bare", str(bench.root), str(bare))
    for name in ("one", "two"):
        git(bare, "worktree", "add", "-q", str(bench.box / name))
    place = bench.project_of(str(bench.box / "one"))
    from tacitd.events import Project

    assert isinstance(place, Project)
    bench.project = place
    bench.learn_line(PNPM)
    assert bench.shown() == [PNPM] and clean(bench.box / "one", bench.box / "two")
    assert not (bench.box / "two/.claude").exists()


# --- git operations -------------------------------------------------------------------------------------------


def test_stash_and_clean_lose_nothing(bench: MirrorBench) -> None:
    """`git clean -fdx` removes source and mirror; neither is a decision about a line."""
    bench.learn_line(PNPM)
    git(bench.root, "stash", "-q", "-u")
    bench.notice()
    assert bench.shown() == bench.bullets == [PNPM]
    git(bench.root, "clean", "-fdxq")
    bench.notice()
    assert bench.shown() == bench.bullets == []
    bench.learn_line(PNPM)
    assert bench.shown() == bench.bullets == [PNPM] and clean(bench.root)


def test_a_source_that_was_cleaned_away_keeps_the_copies_of_other_work_trees(
    bench: MirrorBench, linked: Path
) -> None:
    """`git clean -fdx` in the main one: the copies in another stay until their source is restored, and after that."""
    bench.learn_line(PNPM)
    bench.learn_line(SHORT, "src/AGENTS.md")
    git(bench.root, "clean", "-fdxq")
    bench.notice()
    assert bench.shown(tree=linked) == [PNPM] and bench.shown("src", linked) == [SHORT]
    bench.start_session()  # LEARNED.md is restored, but not the AGENTS.md of a folder that is gone
    assert bench.bullets == bench.shown(tree=linked) == [PNPM] and bench.shown("src", linked) == []


def test_a_branch_switch_takes_the_lines_away_and_brings_them_back(bench: MirrorBench) -> None:
    """LEARNED.md is tracked on one branch only."""
    bench.learn_line(PNPM)
    git(bench.root, "checkout", "-q", "-b", "with")
    git(bench.root, "add", "-f", "LEARNED.md")
    git(bench.root, "commit", "-qm", "b")
    git(bench.root, "checkout", "-q", "main")
    bench.notice()
    assert not bench.mirror().exists()
    git(bench.root, "checkout", "-q", "with")
    bench.notice()
    assert bench.shown() == bench.bullets == [PNPM] and clean(bench.root)


def test_a_branch_that_tracks_a_mirror(bench: MirrorBench) -> None:
    """Checking it out overwrites the ignored file. Nothing moves, and going back makes the mirror again."""
    bench.learn_line(PNPM)
    git(bench.root, "checkout", "-q", "-b", "with")
    mine = bench.mirror().read_text()
    bench.mirror().write_text(mine.replace(PNPM, "Theirs"))
    git(bench.root, "add", "-f", str(bench.mirror()))
    git(bench.root, "commit", "-qm", "b")
    bench.notice()
    assert bench.bullets == [PNPM]
    git(bench.root, "checkout", "-q", "main")
    bench.notice()
    bench.start_session()
    assert bench.bullets == bench.shown() == [PNPM] and clean(bench.root)


# --- leaving --------------------------------------------------------------------------------------------------


def test_off_removes_what_is_tacitd_s_and_names_the_rest(bench: MirrorBench, linked: Path) -> None:
    """`exclude`, and `projects.write = "off"`."""
    bench.learn_line(PNPM)
    bench.learn_line(SHORT, "src/AGENTS.md")
    path = bench.mirror(tree=linked)
    path.write_text(path.read_text() + "mine\n")
    bench.modes[bench.root] = "off"
    bench.do_mirror()
    assert not bench.mirror().exists() and not bench.mirror("src").exists()
    assert not bench.mirror("src", linked).exists() and path.read_text().endswith("mine\n")
    assert str(path) in bench.status["rules_problems"][0] and bench.bullets == [PNPM]
    del bench.modes[bench.root]
    bench.do_mirror()
    assert bench.shown() == [PNPM] and bench.shown("src") == [SHORT]
