"""`tacitd doctor` names each copy of learned lines that is not written or not read, also while no daemon runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support_learning import PNPM, git
from support_mirrors import MirrorBench
from tacitd.files.disk import RealDisk
from tacitd_handlers.learning.mirrors.mirror_checks import HINT, find_problems


@pytest.fixture
def bench(tmp_path: Path) -> MirrorBench:
    made = MirrorBench(tmp_path)
    made.learn_line(PNPM)
    return made


def find(bench: MirrorBench, **more: str) -> list[str]:
    """What doctor says."""
    environ = {"HOME": str(bench.box), "TACITD_STATE_DIR": str(bench.state), **more}
    found = list(find_problems(environ))
    assert all(one.id == "learning.copies" and (one.hint == HINT) is (one.severity != "ok") for one in found)
    return [one.what for one in found if one.severity == "warning"]


def test_nothing_is_wrong(bench: MirrorBench) -> None:
    """Also if a mirror is missing, or if the daemon has not seen an edit yet."""
    assert find(bench) == []
    bench.mirror().unlink()
    bench.files.learned_file.write_text(bench.learned + "- mine\n")
    assert find(bench) == []


def track(bench: MirrorBench) -> None:
    git(bench.root, "add", "-f", str(bench.mirror()))
    bench.mirror().write_text("changed\n")


def link(bench: MirrorBench) -> None:
    bench.mirror().unlink()
    bench.mirror().symlink_to("../../LEARNED.md")


def link_directory(bench: MirrorBench) -> None:
    (bench.root / ".claude").rename(bench.box / "elsewhere")
    (bench.root / ".claude").symlink_to(bench.box / "elsewhere")


def forget(bench: MirrorBench) -> None:
    for path in (bench.home / "mirrors").iterdir():
        path.write_text(path.read_text().replace(str(bench.mirror()), str(bench.box / "x")))
    bench.mirror().write_text("# Theirs\n")


def protect(bench: MirrorBench) -> None:
    bench.mirror().chmod(0o400)
    bench.files.learned_file.write_text(bench.learned + "- mine\n")


def write_what_cannot_be_moved(bench: MirrorBench) -> None:
    path = bench.mirror()
    path.write_text(path.read_text().replace(f"- {PNPM}\n", f"- {PNPM}\n\n    make all\n"))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (track, "git rm --cached"),
        (link, "is a link"),
        (link_directory, "is behind the link"),
        (forget, "was not written by this tacitd"),
        (protect, "is read-only"),
        (write_what_cannot_be_moved, "would be lost"),
    ],
)
def test_what_is_wrong_is_named(
    bench: MirrorBench, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[MirrorBench], None], words: str
) -> None:
    """With the path and the reason; nothing is changed by looking."""
    # Root may write everything, so the permissions are read instead.
    monkeypatch.setattr(RealDisk, "may_write", lambda _, path: bool(path.stat().st_mode & 0o200))
    spoil(bench)
    before = bench.learned
    (what,) = find(bench)
    assert str(bench.mirror()) in what and words in what
    assert find(bench) == [what] and bench.learned == before


def test_a_project_without_mirrors_has_no_problem(bench: MirrorBench) -> None:
    """`reach.project_rules = false`: what is at their paths does not matter."""
    forget(bench)
    assert find(bench, TACITD_REACH__PROJECT_RULES="false") == []


def test_a_project_that_is_gone_is_left_out(bench: MirrorBench) -> None:
    """Its record stays, and a wrong configuration is another check's."""
    bench.root.rename(bench.box / "moved")
    assert find(bench, TACITD_REACH__PROJECT_RULES="perhaps") == []
