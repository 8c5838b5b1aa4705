"""A module's mirror is left out where the client loads the module's AGENTS.md by itself, and would show it twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_learning import PNPM, SHORT, git
from support_mirrors import MirrorBench
from tacitd.files.worktrees import worktree_list
from tacitd_handlers.learning.mirrors.nested_agents import AGAIN, RECENT, all_load_agents

MODULE = "src/AGENTS.md"


@pytest.fixture
def bench(tmp_path: Path) -> MirrorBench:
    return MirrorBench(tmp_path)


def test_every_known_client_has_to_load_them() -> None:
    """One older client is enough for the mirror to be needed; so is a version that cannot be read, or none."""
    assert all_load_agents(["2.1.328", "2.2.0"]) and not all_load_agents([])
    assert not all_load_agents(["2.1.328", "2.1.327"]) and not all_load_agents(["2.1.328", "?"])


def test_a_client_that_loads_agents_md_needs_no_mirror(bench: MirrorBench) -> None:
    """Without a CLAUDE.md the lines would be there twice. The project's own mirror stays."""
    bench.use_client("2.1.328")
    bench.learn_line(PNPM, MODULE)
    bench.learn_line(SHORT)
    assert not bench.mirror("src").exists() and bench.shown() == [SHORT]
    assert PNPM in (bench.root / MODULE).read_text() and bench.status["rules_problems"] == []


@pytest.mark.parametrize(
    "name", ["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", "src/CLAUDE.md", "../CLAUDE.md"]
)
def test_a_claude_md_needs_the_mirror(bench: MirrorBench, name: str) -> None:
    """The client then loads no AGENTS.md. When the file comes or goes, so does the mirror."""
    bench.use_client("2.1.328")
    path = bench.put(name, "# Shop\n")
    bench.learn_line(PNPM, MODULE)
    assert bench.shown("src") == [PNPM]
    path.unlink()
    bench.start_session()
    assert not bench.mirror("src").exists()
    path.write_text("# Shop\n")
    bench.start_session()
    assert bench.shown("src") == [PNPM]


def test_the_person_s_own_claude_md_does_not_matter(bench: MirrorBench) -> None:
    """It was observed that the client loads AGENTS.md beside it. A project may be below the person's home."""
    bench.use_client("2.1.328")
    assert bench.client_home is not None
    bench.project = bench.new_project("home/work/app")
    bench.see(bench.project)
    bench.use_client("2.1.328")
    (bench.client_home / "CLAUDE.md").write_text("# Mine\n")
    bench.learn_line(PNPM, MODULE)
    assert not bench.mirror("src").exists()


def test_an_older_client_brings_the_mirror_back(bench: MirrorBench) -> None:
    """At its first session; other projects' clients do not count, nor do clients of long ago."""
    bench.use_client("2.1.328")
    bench.use_client("2.1.63", "elsewhere", bench.new_project("other").root)
    bench.learn_line(PNPM, MODULE)
    assert not bench.mirror("src").exists()
    bench.use_client("2.1.197", "old")
    bench.start_session()
    assert bench.shown("src") == [PNPM]
    bench.clock.advance(RECENT)
    bench.use_client("2.1.328")
    bench.clock.advance(AGAIN)
    bench.notice()
    assert not bench.mirror("src").exists()


def test_a_person_s_edit_is_moved_before_the_mirror_goes(bench: MirrorBench) -> None:
    """What was typed into the mirror is in AGENTS.md then."""
    bench.use_client("2.1.197")
    bench.learn_line(PNPM, MODULE)
    path = bench.mirror("src")
    path.write_text(path.read_text().replace(f"- {PNPM}\n", f"- {PNPM}\n- mine\n"))
    bench.use_client("2.1.328")
    bench.start_session()
    assert not path.exists() and "- mine\n" in (bench.root / MODULE).read_text()


def test_a_linked_work_tree_without_the_agents_md_needs_the_mirror(bench: MirrorBench) -> None:
    """AGENTS.md is kept out of git, so it is only in the main work tree."""
    bench.use_client("2.1.328")
    git(bench.root, "commit", "-q", "--allow-empty", "-m", "a")
    linked = bench.box / "linked"
    git(bench.root, "worktree", "add", "-q", str(linked))
    bench.notice(worktree_list(bench.root))
    bench.learn_line(PNPM, MODULE)
    assert bench.shown("src", linked) == [PNPM] and not bench.mirror("src").exists()
