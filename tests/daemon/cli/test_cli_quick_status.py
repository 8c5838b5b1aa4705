"""`tacitd status` without click while no daemon runs: the text and the exit code of the full command."""

from __future__ import annotations

import json
from typing import Any

import pytest
from test_cli_status_lines import BUSY, QUIET  # pyright: ignore[reportMissingImports]

from support_cli import Cli
from tacitd.cli.quick_status import print_last_status
from tacitd.errors import UNAVAILABLE

NOW = 1_750_000_000.0


@pytest.mark.parametrize("document", [None, QUIET, BUSY])
@pytest.mark.parametrize("columns", [None, "46"])
def test_the_text_is_that_of_the_command(
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    document: dict[str, Any] | None,
    columns: str | None,
) -> None:
    """Where no daemon ran, and after a quiet and a busy one; in a pipe and on a narrow terminal."""
    if document is not None:
        cli.state.mkdir(parents=True)
        (cli.state / "status.json").write_text(json.dumps(document))
    monkeypatch.setattr("time.time", lambda: NOW)
    if columns is not None:
        monkeypatch.setattr("tacitd.cli.quick_status.sys.stdout.isatty", lambda: True)
        cli.set(COLUMNS=columns)
    said = cli.run("status")
    assert print_last_status() == said.code == UNAVAILABLE
    quick = capsys.readouterr()
    assert (quick.out, quick.err) == (said.out, said.err)
    assert ("\x1b[1m" in quick.out) == (columns is not None)


def test_what_may_be_a_daemon_is_left_to_the_full_command(
    cli: Cli, capsys: pytest.CaptureFixture[str]
) -> None:
    """A socket, which may be a leftover, and a file in place of the state directory. Nothing is printed."""
    cli.state.parent.mkdir(parents=True)
    cli.state.write_text("")
    assert print_last_status() is None
    cli.state.unlink()
    cli.set(TACITD_SOCKET="/dev/null")
    assert print_last_status() is None
    assert capsys.readouterr() == ("", "")
