"""Sources that git removes together with their mirrors: `git clean -fdx`, `git stash -a`, and what only looks like them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from support_learning import EXTRACTION, PNPM, SHORT, SYNTHESIS, git, lines
from support_mirrors import MirrorBench
from tacitd_handlers.learning.mirrors.cleaned_sources import AbsentSource, judge_absence
from tacitd_handlers.learning.mirrors.mirror_sync import RESTORED

RUFF = "Run ruff before a commit"
MINE = "---\nowner: me\n---\n<!-- a note of mine -->\n"
CLEANED = AbsentSource(is_same_clone=True, has_folder=True, is_settled=True, in_git=False, in_stash=False)


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        ({}, "restore"),
        ({"is_same_clone": False}, "forget"),
        ({"has_folder": False}, "forget"),
        ({"in_git": True}, "forget"),
        ({"in_git": True, "in_stash": True, "is_settled": False}, "forget"),
        ({"in_git": None}, "wait"),
        ({"in_stash": True}, "wait"),
        ({"is_settled": False}, "wait"),
    ],
)
def test_what_follows_from_an_absent_source(seen: dict[str, Any], verdict: str) -> None:
    assert judge_absence(replace(CLEANED, **seen)) == verdict


@pytest.fixture
def bench(tmp_path: Path) -> MirrorBench:
    """Two lines in LEARNED.md with text of the person's, and one in a module; git tracks a file of that module."""
    made = MirrorBench(tmp_path)
    made.commit_file("src/main.py", "x = 1\n")
    made.learn_line(PNPM)
    made.learn_line(SHORT)
    made.learn_line(RUFF, "src/AGENTS.md")
    made.files.learned_file.write_bytes(
        MINE.encode() + made.files.learned_file.read_bytes() + b"\r\nmine @x\r\n"
    )
    made.notice()
    return made


def clean(bench: MirrorBench, *more: str) -> None:
    git(bench.root, "clean", "-fdxq", *more)


def list_restored(bench: MirrorBench) -> list[list[str]]:
    """The files of each transaction that restored some, relative to the project."""
    done = [one for one in bench.history.list_transactions(bench.root) if one.cause.get("what") == RESTORED]
    return [[str(path.relative_to(bench.root)) for path in one.written] for one in done]


@pytest.mark.parametrize("when", ["session", "jobs", "restart", "synthesis", "unseen session"])
def test_git_clean_loses_nothing(bench: MirrorBench, when: str) -> None:
    """Each file has its bytes again, the lines are not taken for deleted, and the transaction has a name."""
    files = [bench.files.learned_file, bench.root / "src/AGENTS.md"]
    mirrors = [bench.mirror(), bench.mirror("src")]
    before = {path: path.read_bytes() for path in (*files, *mirrors)}
    clean(bench)
    assert not any(path.exists() for path in before)
    if when != "unseen session":
        bench.notice()
        assert not any(path.exists() for path in before)
    match when:
        case "jobs":
            bench.run_jobs()
        case "restart":
            bench.restart()
            bench.run_jobs()
        case "synthesis":
            bench.learn_line("Never push on a Friday")
            before = {path: path.read_bytes().replace(b"- Never push on a Friday\n", b"") for path in before}
            assert "Never push on a Friday" in bench.bullets
            assert PNPM in bench.bullets and SHORT in bench.bullets
            assert bench.files.learned_file.read_bytes().startswith(MINE.encode())
        case _:
            bench.start_session()
    if when != "synthesis":
        assert {path: path.read_bytes() for path in before} == before
    assert (
        sorted(list_restored(bench)[0]) == ["LEARNED.md", "src/AGENTS.md"] and len(list_restored(bench)) == 1
    )
    assert git(bench.root, "status", "--porcelain", "-uall") == ""
    assert not bench.degraded
    bench.start_session()
    bench.edit(bench.files.learned_file, f"- {PNPM}\n")  # a deletion is still one afterwards
    bench.start_session()
    assert PNPM not in bench.shown() and PNPM not in bench.bullets


def test_it_can_be_repeated(bench: MirrorBench) -> None:
    before = bench.files.learned_file.read_bytes()
    for _ in range(3):
        clean(bench)
        bench.notice()
        bench.start_session()
        assert bench.files.learned_file.read_bytes() == before
    assert len(list_restored(bench)) == 3


def test_the_text_of_the_last_look_is_restored(bench: MirrorBench) -> None:
    """An edit of the person's after the lines were learned is in it, and a deleted line is not."""
    bench.edit(bench.files.learned_file, f"- {SHORT}\n", "- Never push on a Friday\n")
    before = bench.files.learned_file.read_bytes()
    clean(bench)
    bench.start_session()
    assert bench.files.learned_file.read_bytes() == before


def test_a_deleted_file_is_not_restored(bench: MirrorBench) -> None:
    """The person deletes only LEARNED.md: its mirror goes too, and it does not come back when the rest is cleaned."""
    bench.files.learned_file.unlink()
    bench.notice()
    assert not bench.mirror().exists()
    clean(bench)
    bench.notice()
    bench.run_jobs()
    bench.start_session()
    assert not bench.files.learned_file.exists() and list_restored(bench) == [["src/AGENTS.md"]]


def test_a_deleted_file_is_not_restored_at_the_start(bench: MirrorBench) -> None:
    """The same if no daemon ran meanwhile."""
    bench.files.learned_file.unlink()
    bench.start_session()
    assert not bench.files.learned_file.exists() and list_restored(bench) == []


def test_a_cleaned_folder_is_not_made_again(bench: MirrorBench) -> None:
    """What git does not track in the module is all there was: the folder is gone, and stays so."""
    git(bench.root, "rm", "-q", "-f", "src/main.py")
    git(bench.root, "commit", "-qm", "no src")
    clean(bench)
    bench.start_session()
    assert list_restored(bench) == [["LEARNED.md"]] and not (bench.root / "src").exists()


def test_only_mirrors_were_cleaned(bench: MirrorBench) -> None:
    """Git tracks LEARNED.md and the module's file: the mirrors are made again, and nothing is restored."""
    git(bench.root, "add", "-f", "LEARNED.md", "src/AGENTS.md")
    git(bench.root, "commit", "-qm", "shared")
    clean(bench)
    bench.start_session()
    assert bench.shown() == [PNPM, SHORT] and list_restored(bench) == []


def test_a_file_that_git_has_is_gits(bench: MirrorBench) -> None:
    """It is in the last commit, so git restores it, and its absence is the person's decision."""
    git(bench.root, "add", "-f", "LEARNED.md")
    git(bench.root, "commit", "-qm", "shared")
    bench.notice()
    git(bench.root, "rm", "-q", "LEARNED.md")
    git(bench.root, "commit", "-qm", "not shared")
    clean(bench)
    bench.start_session()
    assert list_restored(bench) == [["src/AGENTS.md"]] and not bench.files.learned_file.exists()


def test_stash_all(bench: MirrorBench) -> None:
    """A stash has the files, so they are not restored: `git stash pop` would fail. If it is dropped, they are."""
    before = bench.files.learned_file.read_bytes()
    bench.put("other.txt", "x\n")
    git(bench.root, "stash", "-q", "-a")
    assert not bench.files.learned_file.exists()
    bench.run_jobs()
    bench.start_session()
    assert not bench.files.learned_file.exists()
    git(bench.root, "stash", "pop", "-q")
    bench.start_session()
    assert bench.files.learned_file.read_bytes() == before and bench.shown() == [PNPM, SHORT]
    git(bench.root, "stash", "-q", "-a")
    bench.start_session()
    git(bench.root, "stash", "drop", "-q")
    bench.start_session()
    assert bench.files.learned_file.read_bytes() == before and bench.shown() == [PNPM, SHORT]
    assert not bench.degraded


def test_a_new_clone_stays_as_it_is(bench: MirrorBench) -> None:
    """Nothing of an old clone is put into a new one at the same path, nor into the next `git clean` there."""
    origin = bench.box / "origin.git"
    git(bench.box, "clone", "-q", "--bare", str(bench.root), str(origin))
    shutil.rmtree(bench.root)
    bench.notice()
    bench.run_jobs()
    bench.start_session()
    assert not bench.root.exists()
    git(bench.box, "clone", "-q", str(origin), str(bench.root))
    bench.run_jobs()
    bench.start_session()
    assert git(bench.root, "status", "--porcelain", "-uall", "--ignored") == "" and list_restored(bench) == []


def test_a_project_that_is_being_removed_is_left_alone(bench: MirrorBench) -> None:
    """`rm -rf` takes a while, and would fail if a file came back: tracked files are gone too."""
    clean(bench)
    (bench.root / "src/main.py").unlink()
    bench.run_jobs()
    assert list_restored(bench) == []


def test_a_forgotten_line_is_in_no_kept_text(bench: MirrorBench) -> None:
    """The kept text follows each change of tacitd's and of the person's at once."""
    (record,) = (bench.home / "mirrors").glob("*.json")
    assert "a note of mine" in record.read_text()
    bench.edit(bench.files.learned_file, "<!-- a note of mine -->\n")
    assert "a note of mine" not in record.read_text()


def test_the_project_is_excluded(bench: MirrorBench) -> None:
    """Who wants it all gone excludes the project."""
    bench.modes[bench.root] = "off"
    bench.do_mirror()
    (record,) = (bench.home / "mirrors").glob("*.json")
    assert "a note of mine" not in record.read_text()
    clean(bench)
    bench.run_jobs()
    bench.start_session()
    del bench.modes[bench.root]
    bench.start_session()
    assert not bench.files.learned_file.exists() and list_restored(bench) == []


def test_a_merge_is_waited_for(bench: MirrorBench) -> None:
    clean(bench)
    (bench.root / ".git/MERGE_HEAD").write_text("x\n")
    bench.start_session()
    assert not bench.files.learned_file.exists()
    (bench.root / ".git/MERGE_HEAD").unlink()
    bench.start_session()
    assert bench.shown() == [PNPM, SHORT]


def test_copies_in_other_work_trees_stay(bench: MirrorBench) -> None:
    """They are not cleaned. An edit there is moved after the file is restored."""
    linked = bench.box.resolve() / "linked"
    git(bench.root, "worktree", "add", "-q", str(linked))
    bench.notice(bench.mirror())
    copy = bench.mirror(tree=linked)
    text = copy.read_text()
    clean(bench)
    bench.notice()
    assert copy.read_text() == text
    bench.edit(copy, f"- {SHORT}\n", "- Never push on a Friday\n")
    bench.run_jobs()
    assert bench.bullets == [PNPM, "Never push on a Friday"] == bench.shown() == bench.shown(tree=linked)


def test_a_removed_work_tree_is_not_made_again(bench: MirrorBench) -> None:
    linked = bench.box.resolve() / "linked"
    git(bench.root, "worktree", "add", "-q", str(linked))
    bench.notice(bench.mirror())
    git(linked, "clean", "-fdxq")
    git(bench.root, "worktree", "remove", str(linked))
    bench.run_jobs()
    bench.start_session()
    assert not linked.exists() and list_restored(bench) == []


def test_a_new_file_of_the_persons_stays(bench: MirrorBench) -> None:
    clean(bench)
    bench.files.learned_file.write_text("# Mine\n\n- Never push on a Friday\n")
    bench.start_session()
    assert bench.files.learned_file.read_text() == "# Mine\n\n- Never push on a Friday\n"


def test_a_link_is_not_replaced_by_a_file(bench: MirrorBench) -> None:
    """Git removes an ignored link; the file that it leads to is tracked and stays."""
    bench.put("docs/LEARNED.md", bench.learned)
    git(bench.root, "add", "docs")
    git(bench.root, "commit", "-qm", "docs")
    bench.files.learned_file.unlink()
    bench.files.learned_file.symlink_to("docs/LEARNED.md")
    bench.notice()
    clean(bench)
    bench.start_session()
    assert not bench.files.learned_file.exists()


def test_waiting_facts_are_kept(bench: MirrorBench) -> None:
    """They are in `tmp/`, which is cleaned too; the log has them."""
    friday = "Never push on a Friday"
    bench.answer((SYNTHESIS, lines(friday)), (EXTRACTION, friday))
    bench.type(friday, session="s-facts")
    clean(bench)
    bench.notice()
    bench.end("s-facts")
    assert bench.bullets == [PNPM, SHORT, friday]
