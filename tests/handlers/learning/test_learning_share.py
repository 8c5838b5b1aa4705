"""`tacitd share --undo` says whether a project was shared: by a choice, or by the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_cli import Cli
from tacitd.clock import SystemClock
from tacitd.store import Store


@pytest.mark.parametrize(
    ("configured", "said"), [("shared", "is not shared any more"), ("local", "was not shared")]
)
def test_what_was_configured_counts_as_shared(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    configured: str,
    said: str,
) -> None:
    """A project without a choice of its own. The second time it was not shared, whatever is configured."""
    cli = Cli(tmp_path, monkeypatch, capsys)
    project = cli.home / "app"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    cli.state.mkdir(parents=True)
    store = Store.open(cli.state, SystemClock())
    with store.write() as tx:
        tx.execute("INSERT OR REPLACE INTO setting VALUES('projects.write', ?)", f'"{configured}"')
    store.close()
    assert f"{project} {said}" in cli.run("share", "--undo", project).err
    assert f"{project} was not shared" in cli.run("share", "--undo", project).err
