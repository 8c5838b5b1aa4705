"""`tacitd status` without click while no daemon runs: the text and the exit code of the full command."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from test_cli_status_lines import BUSY, QUIET  # pyright: ignore[reportMissingImports]

from support_cli import Cli
from tacitd.cli.quick_status import LONGEST_SOCKET, SNAPSHOT_FILE, print_last_status
from tacitd.errors import UNAVAILABLE
from tacitd.state.paths import LONGEST, SNAPSHOT, Paths
from tacitd.statusline import find_state_dir

NOW = 1_750_000_000.0


@pytest.fixture
def state(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state directory, which is not made yet. Its name is short: see LONGEST_SOCKET."""
    made = tmp_path_factory.mktemp("s") / "s"
    cli.set(TACITD_STATE_DIR=str(made))
    return made


@pytest.mark.parametrize("document", [None, {}, QUIET, BUSY, "[" * 100_000])
@pytest.mark.parametrize("columns", [None, "46"])
def test_the_text_is_that_of_the_command(
    cli: Cli,
    state: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    document: dict[str, Any] | str | None,
    columns: str | None,
) -> None:
    """Where no daemon ran, after a quiet and a busy one, and where the file is damaged; in a pipe and on a narrow terminal."""
    if document is not None:
        state.mkdir()
        (state / "status.json").write_text(document if isinstance(document, str) else json.dumps(document))
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
    cli: Cli, state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A socket, which may be a leftover, in each place where the daemon's may be. Nothing is printed."""
    state.write_text("")
    assert print_last_status() is None, "a file is in the way"
    state.unlink()
    state.mkdir()
    assert print_last_status() == UNAVAILABLE and capsys.readouterr().err
    for name in ("socket", "tacitd.sock"):
        (state / name).touch()
        assert print_last_status() is None
        (state / name).unlink()
    cli.set(XDG_RUNTIME_DIR=str(tmp_path))
    assert print_last_status() is None, "its name in the runtime directory is a digest"
    cli.set(XDG_RUNTIME_DIR="", TACITD_STATE_DIR=f"/{'s' * LONGEST_SOCKET}")
    assert print_last_status() is None, "its name in /tmp is a digest too"
    cli.set(TACITD_STATE_DIR=str(state), TACITD_SOCKET="/s")
    assert print_last_status() is None
    assert capsys.readouterr() == ("", "")


def test_a_socket_in_the_runtime_directory_is_left_to_the_full_command(
    cli: Cli, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The usual place, without a state directory that a variable names."""
    short = tmp_path_factory.mktemp("r")
    cli.set(XDG_RUNTIME_DIR=str(short), XDG_STATE_HOME=str(short / "s"))
    assert print_last_status() == UNAVAILABLE
    (short / "tacitd").mkdir()
    assert print_last_status() == UNAVAILABLE
    (short / "tacitd" / "tacitd.sock").touch()
    assert print_last_status() is None


def test_the_places_are_those_of_the_full_command(cli: Cli) -> None:
    """The quick path does not import `state.paths`."""
    for variables in ({}, {"XDG_STATE_HOME": "/x"}, {"TACITD_STATE_DIR": "~/s"}, {"TACITD_STATE_DIR": "/s"}):
        cli.set(**variables)
        assert find_state_dir(os.environ) == str(Paths.from_env(os.environ).state_dir)
    assert (SNAPSHOT_FILE, LONGEST_SOCKET) == (SNAPSHOT, LONGEST)
