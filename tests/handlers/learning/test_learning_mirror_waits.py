"""A person's edit of a mirror while git is not done with the work tree: it waits, and after an hour that is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_learning import PNPM, SHORT
from support_mirrors import MirrorBench


@pytest.fixture
def bench(tmp_path: Path) -> MirrorBench:
    made = MirrorBench(tmp_path)
    made.commit_file("README.md", "a\n")
    made.learn_line(PNPM)
    made.learn_line(SHORT)
    return made


def waits(bench: MirrorBench) -> list[str]:
    """The hints of the degradations."""
    return [one.hint for id, one in bench.degraded.items() if id == f"learning.unsettled:{bench.root}"]


@pytest.mark.parametrize(
    ("mark", "hint"),
    [("index.lock", "no git command runs"), ("MERGE_HEAD", "finish"), ("rebase-merge", "finish")],
)
def test_an_edit_that_waits_for_git_is_named_after_an_hour(bench: MirrorBench, mark: str, hint: str) -> None:
    """S-28 "doubt": the file is named; once it is gone, the edit is moved without another change."""
    path = bench.root / ".git" / mark
    path.touch()
    bench.edit(bench.mirror(), f"- {PNPM}\n")
    bench.clock.advance(3400)
    bench.run_jobs()
    assert waits(bench) == [] and PNPM in bench.bullets
    bench.clock.advance(200)
    bench.run_jobs()
    (said,) = waits(bench)
    assert hint in said and PNPM in bench.bullets
    path.unlink()
    bench.run_jobs()
    assert waits(bench) == [] and bench.bullets == [SHORT] == bench.shown()


def test_a_lock_that_goes_soon_is_not_named(bench: MirrorBench) -> None:
    """The hour begins with each lock."""
    lock = bench.root / ".git/index.lock"
    lock.touch()
    bench.edit(bench.mirror(), f"- {PNPM}\n")
    lock.unlink()
    bench.run_jobs()
    assert bench.bullets == [SHORT]
    bench.clock.advance(4000)
    lock.touch()
    bench.edit(bench.mirror(), f"- {SHORT}\n")
    bench.run_jobs()
    assert waits(bench) == [] and bench.bullets == [SHORT]


def test_a_lock_without_an_edit_is_git_s_own_affair(bench: MirrorBench) -> None:
    """A rebase may take days; nothing waits for it."""
    (bench.root / ".git/index.lock").touch()
    bench.notice()
    bench.clock.advance(8000)
    bench.run_jobs()
    bench.notice()
    assert waits(bench) == []


@pytest.mark.parametrize("gone", ["rules off", "project"])
def test_what_is_not_wanted_any_more_is_not_waited_for(bench: MirrorBench, gone: str) -> None:
    """The degradation goes with the setting, and with the project."""
    (bench.root / ".git/index.lock").touch()
    bench.edit(bench.mirror(), f"- {PNPM}\n")
    bench.clock.advance(4000)
    bench.run_jobs()
    assert waits(bench)
    if gone == "project":
        bench.root.rename(bench.box / "elsewhere")
        bench.run_jobs()
    else:
        bench.project_rules = False
        bench.do_mirror()
    assert waits(bench) == []
