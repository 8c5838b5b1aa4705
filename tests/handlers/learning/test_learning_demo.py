"""`tacitd demo`: all steps are shown and labelled in less than ten seconds, and no file is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_cli import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Make temporary files in a directory that the test can inspect."""
    made = Cli(tmp_path, monkeypatch, capsys)
    (tmp_path / "t").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "t"))
    return made


def test_it_shows_the_whole_way_and_leaves_nothing(cli: Cli, tmp_path: Path) -> None:
    """It shows typed prompts, extracted facts, LEARNED.md and status, without claude, a daemon or files."""
    said = cli.run("demo")
    assert said.code == 0 and said.err == ""
    assert "SCRIPT, not Claude" in said.out
    for words in (
        "no, use pnpm here, never npm",
        "Use pnpm in this project, never npm",
        "# Learned Preferences",
    ):
        assert words in said.out
    project, _, person = said.out.partition("\n   app/LEARNED.md:")[2].partition("\n   ~/.agents/LEARNED.md")
    assert "- Use pnpm" in project and "- Prefers short answers" not in project, "as the README's table says"
    assert "- Prefers short answers" in person.partition("\n4.")[0] and "- Use pnpm" not in person
    assert "## Communication" in person, "the answer of its own call"
    assert "3 prompts put to the model, 2 facts, 2 lines written" in said.out
    assert "model  " not in said.out and "not found" not in said.out, "a script answers"
    assert "waits  " not in said.out, "all of its lines were made"
    assert list((tmp_path / "t").iterdir()) == [] and list(cli.home.iterdir()) == []


def test_a_persons_own_settings_do_not_disturb_it(cli: Cli) -> None:
    """The user's configuration, state directory and exclusions have no effect on it."""
    cli.set(TACITD_SESSION__IDLE="soon", TACITD_PROJECTS__WRITE="off", TACITD_STATE_DIR="/nowhere")
    assert cli.run("demo").code == 0
