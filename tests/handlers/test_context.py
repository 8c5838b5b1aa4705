"""`tacitd context`: all slices together at the start of a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_cli import Cli


def test_a_slice_that_cannot_be_read_keeps_no_other_from_speaking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """DESIGN "One way through": one failing slice never touches another; what is wrong with it is said on stderr."""
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
