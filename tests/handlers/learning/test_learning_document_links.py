"""Documents of a project that are links. One that leads out of the project is not read (SPEC S-40).

A repository can contain links, so their targets are untrusted.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support_learning import EXTRACTION, Bench, git
from tacitd.session_context.context_request import ContextRequest
from tacitd_handlers.learning.context import build_section

ALPHA = "Alpha bullet of another place"


def commit(bench: Bench, *names: str) -> None:
    """The repository has these files."""
    git(bench.root, "add", "-f", *names)
    git(bench.root, "commit", "-qm", "x")


@pytest.mark.parametrize("name", ["AGENTS.md", "LEARNED.md"])
@pytest.mark.parametrize("to", ["file", "directory", "git"])
def test_a_committed_link_brings_no_file_from_elsewhere(
    bench: Bench, tmp_path: Path, name: str, to: str
) -> None:
    """SPEC S-40: text outside the project, or in its git directory, reaches neither a prompt nor the summary nor the text for
    a session's start.
    """
    path = tmp_path / "elsewhere" / "notes.md"
    path.parent.mkdir()
    if to == "git":
        path = bench.root / ".git" / "notes.md"
    path.write_text(f"- {ALPHA}\n")
    target = path
    if to == "directory":
        (bench.root / "docs").symlink_to(path.parent)
        target = Path("docs/notes.md")
    (bench.root / name).symlink_to(target)
    commit(bench, name)
    bench.learn()
    bench.due("init", bench.project)
    assert bench.asked(EXTRACTION) and not bench.asked(ALPHA)
    assert ALPHA not in bench.files.summary_file.read_text() and ALPHA not in build_section(
        ContextRequest(bench.root, 10_000)
    )
    assert path.read_text() == f"- {ALPHA}\n"


@pytest.mark.parametrize("name", ["AGENTS.md", "LEARNED.md"])
def test_a_link_within_the_project_is_followed(bench: Bench, name: str) -> None:
    """SPEC S-40: a project may have one document under several names. A session gets none of it: git brought it."""
    bench.put("docs/rules.md", f"- {ALPHA}\n")
    (bench.root / name).symlink_to("docs/rules.md")
    commit(bench, "docs", name)
    bench.learn()
    assert bench.asked(ALPHA) and ALPHA in bench.files.summary_file.read_text()
    assert ALPHA not in build_section(ContextRequest(bench.root, 10_000))


def test_status_names_an_agents_file_that_is_not_read(bench: Bench, tmp_path: Path) -> None:
    """DESIGN "Priorities", 3: `status` shows why a linked document is not read, and what to do."""
    (tmp_path / "notes.md").write_text(f"- {ALPHA}\n")
    (bench.root / "AGENTS.md").symlink_to(tmp_path / "notes.md")
    bench.type("use pnpm, not npm")
    one = bench.degraded[f"learning.document:{bench.root}"]
    assert "AGENTS.md" in one.what and "`directives`" in one.hint
    (bench.root / "AGENTS.md").unlink()
    bench.type("use pnpm, not npm")
    assert f"learning.document:{bench.root}" not in bench.degraded
