"""The text at a session's start: LEARNED.md, then AGENTS.md from the root down, within a budget."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support_cli import Cli
from support_git import run_git as git
from tacitd.session_context.context_request import ContextRequest
from tacitd_handlers.learning.learned_text import make_text as build_section


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git work tree with LEARNED.md and AGENTS.md on three levels, and a state directory without records."""
    monkeypatch.setenv("TACITD_STATE_DIR", str(tmp_path / "state"))
    root = tmp_path.resolve() / "app"
    (root / "src/deep").mkdir(parents=True)
    git(root, "init", "-q", "--template=")
    for name, words in {
        "LEARNED.md": "- learned",
        "AGENTS.md": "- of the root",
        "src/AGENTS.md": "- of src",
        "src/deep/AGENTS.md": "- of deep",
        "other/AGENTS.md": "- of another",
    }.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(words + "\n")
    return root


def order(text: str) -> list[str]:
    return [line[2:] for line in text.splitlines() if line.startswith("- ")]


@pytest.mark.parametrize(
    ("where", "found"), [("", 2), ("src", 3), ("src/deep", 4), ("src/gone/deeper", 3), ("../link", 3)]
)
def test_from_the_root_down_to_the_directory(root: Path, where: str, found: int) -> None:
    """SPEC S-37: also of one that is gone, as far as it is there, and of one that is reached through a link."""
    (root.parent / "link").symlink_to(root / "src")
    text = build_section(ContextRequest(root / where, 9000))
    assert order(text) == ["learned", "of the root", "of src", "of deep"][:found]
    assert (f"({root / 'src/AGENTS.md'})" in text) == (found > 2)


def test_a_linked_worktree_has_the_main_ones_learned_file(root: Path, tmp_path: Path) -> None:
    """DESIGN "Where it writes": a linked worktree's own AGENTS.md is used if it has one."""
    git(root, "commit", "-q", "--allow-empty", "-m", "x")
    tree = tmp_path.resolve() / "tree"
    git(root, "worktree", "add", "-q", str(tree))
    (tree / "src").mkdir()
    (tree / "src/AGENTS.md").write_text("- of the tree\n")
    (tree / "src/deep").mkdir()
    assert order(build_section(ContextRequest(tree / "src/deep", 9000))) == [
        "learned",
        "of the root",
        "of the tree",
        "of deep",
    ]


def test_the_budget_is_never_passed(root: Path) -> None:
    """Lines are printed while they fit."""
    (root / "LEARNED.md").write_text("".join(f"- line number {n}\n" for n in range(1000)))
    for budget in (100, 300, 1000, 5000, 100_000):
        text = build_section(ContextRequest(root / "src", budget))
        assert len(text) <= budget and set(order(text)) <= {
            *(f"line number {n}" for n in range(1000)),
            "of the root",
            "of src",
        }
    assert 30 < len(order(build_section(ContextRequest(root, 1000)))) < 1000


def test_lines_that_came_with_the_repository_are_a_strangers(root: Path) -> None:
    """What git tracks and no record knows is left out, as in the rules that the client loads; `tacitd trust` admits it."""
    git(root, "add", "LEARNED.md", "src/AGENTS.md")
    assert order(build_section(ContextRequest(root / "src"))) == ["of the root"]

    def rows(sql: str, *values: object) -> list[tuple[object, ...]]:
        return [("yes",)] if "'trust'" in sql else []

    trusted = ContextRequest(root / "src", rows=rows)
    assert order(build_section(trusted)) == ["learned", "of the root", "of src"]


def test_what_the_client_loads_is_left_out(root: Path) -> None:
    """The mirror of LEARNED.md has the line, so it is not repeated; a sub-agent that loads no rules gets prohibitions."""
    (root / "LEARNED.md").write_text("- learned\n- Never use `npm` here\n")
    loaded = frozenset({"learned", "Never use npm here"})
    assert order(build_section(ContextRequest(root, loaded=loaded))) == ["of the root"]
    agent = ContextRequest(root, occasion="agent", agent="Explore")
    assert order(build_section(agent)) == ["Never use `npm` here"]
    off = ContextRequest(root, withheld=frozenset({root / "LEARNED.md"}))
    assert order(build_section(off)) == ["of the root"]


@pytest.mark.parametrize("odd", ["fifo", "directory", "bytes", "empty"])
def test_odd_files_are_left_out(root: Path, odd: str) -> None:
    """A FIFO does not block, and a file that is not text is printed as far as it is."""
    path = root / "LEARNED.md"
    path.unlink()
    match odd:
        case "fifo":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "bytes":
            path.write_bytes(b"- gr\xfc\xdfe\n")
        case _:
            path.write_text("\n \n")
    assert order(build_section(ContextRequest(root, 9000)))[-1] == "of the root"


def test_the_command_needs_no_daemon_and_no_claude(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`context` prints text, or JSON with one text for each plugin; nothing is written."""
    cli = Cli(tmp_path, monkeypatch, capsys)
    assert order(cli.run("context", root / "src").out) == ["learned"]  # new clients load AGENTS.md themselves
    (root / "CLAUDE.md").write_text("- of the person\n")  # now they do not
    assert order(cli.run("context", root / "src").out) == ["learned", "of the root", "of src"]
    assert order(cli.run("context", cwd=root).out) == ["learned", "of the root"]
    assert set(cli.run("context", root, "--json").json) == {"learning"}
    assert cli.run("context", tmp_path / "nowhere").out == ""
    assert not list(cli.home.iterdir())
