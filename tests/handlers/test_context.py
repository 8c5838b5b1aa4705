"""`tacitd context`: the texts of all plugins together."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_cli import Cli


def test_a_slice_that_cannot_be_read_keeps_no_other_from_speaking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """DESIGN "Handlers and events": a failing plugin does not affect another; its error goes to stderr."""
    cli = Cli(tmp_path, monkeypatch, capsys)
    project = tmp_path / "app"
    project.mkdir()
    (project / "LEARNED.md").write_text("# Learned\n\n- Use pnpm\n")
    cli.run("profile", "set", "tools.editor", "neovim")
    (cli.config_dir / "lessons" / "lessons.jsonl").mkdir(parents=True)
    made = cli.run("context", cwd=project)
    assert made.code == 0
    assert "Editor: neovim" in made.out
    assert "Use pnpm" in made.out
    assert "lessons: " in made.err
    assert set(cli.run("context", "--json", cwd=project).json) == {"profile", "learning"}


def test_explain_says_file_by_file_what_reaches_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the client, by the context, or by nothing, which is a warning with the reason; the same input gives the same bytes."""
    cli = Cli(tmp_path, monkeypatch, capsys)
    project = tmp_path.resolve() / "app"
    rules = project / ".claude/rules/tacitd-learned.md"
    rules.parent.mkdir(parents=True)
    learned = project / "LEARNED.md"
    learned.write_text("# Learned\n\n- Use pnpm\n- Never edit generated files\n- Indent with tabs\n")
    rules.write_text("<!-- Written by tacitd from LEARNED.md: x -->\n\n- Use pnpm\n")
    (project / "CLAUDE.md").write_text("# Shop\n")
    said = cli.run("context", "--explain", cwd=project)
    assert said.code == 0 and said.err == ""
    assert f"{rules}: 1 line, loaded by the client at the start\n" in said.out
    assert (
        f"{learned}: 3 lines, 1 loaded by the client at the start, from another file; 2 added by tacitd's context ("
        in said.out
    )
    assert f"{project}/CLAUDE.md: loaded by the client at the start; not tacitd's\n" in said.out
    text = cli.run("context", cwd=project).out
    assert f"adds {len(text)} of 9000 characters:\n  learning: " in said.out
    assert "Use pnpm" not in text and text == cli.run("context", cwd=project).out
    agent = cli.run("context", "--explain", "--agent", "Explore", cwd=project)
    assert agent.code == 0
    assert (
        f"warning: 2 lines are loaded by nothing: {learned}" in agent.err and "Explore load no" in agent.err
    )
