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
