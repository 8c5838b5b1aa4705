"""`tacitd status` without a running daemon: the saved status."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from support_cli import Cli
from support_engine import Scene
from tacitd import __version__
from tacitd.errors import UnavailableError
from tacitd.files.locks import acquire_lock


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "engine")


def test_without_any_state_it_says_so(cli: Cli) -> None:
    """Issue "`status` … (it still prints what the files say)": nothing yet. Exit code 69, and no file is made."""
    said = cli.run("status")
    assert said.code == 69 and said.out == "tacitd has not run here yet\n"
    assert said.err == "no daemon runs; `tacitd run` starts one\n"
    assert cli.run("status", "--json").json == {
        "schema": 1,
        "running": False,
        "pid": None,
        "state": "stopped",
        "degraded": [],
    }
    assert list(cli.home.iterdir()) == []


def test_without_a_daemon_it_says_what_the_store_says(scene: Scene, cli: Cli) -> None:
    """docs/socket.md: `running` false, `pid` null, `state` stopped. The age is that of the daemon's last pass."""
    cli.set(TACITD_STATE_DIR=str(scene.app.paths.state_dir), TACITD_SOCKET=str(scene.app.paths.socket))
    scene.type("s", "one")
    scene.settle()
    scene.app.close()
    said = cli.run("status")
    seen = datetime.fromtimestamp(scene.clock.now())
    assert said.code == 69 and said.out.startswith(f"tacitd {__version__}: stopped, last seen ")
    assert f"{seen:%H:%M}" in said.out.splitlines()[0]
    assert "1 transcript below" in said.out
    document = cli.run("status", "--json").json
    assert (document["pid"], document["running"], document["state"]) == (None, False, "stopped")


@pytest.mark.parametrize("is_held", [True, False])
def test_a_daemon_that_reloads_is_no_stopped_one(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, is_held: bool
) -> None:
    """It holds the lock, and does not listen for a moment: `status` ended with 69."""
    lock = acquire_lock(cli.state / "lock")
    if not is_held:
        lock.release()
    answers = iter([None, None, {"pid": 7}])

    def call(*_: object, **__: object) -> object:
        if (answer := next(answers)) is None:
            raise UnavailableError("no daemon answers")
        return answer

    monkeypatch.setattr("tacitd.control.client.call_daemon", call)
    assert cli.run("status").code == (0 if is_held else 69)
    lock.release()


def test_a_store_that_cannot_be_read_is_said(cli: Cli) -> None:
    """RELIABILITY "no silence": a damaged file is a problem, and not a daemon that never ran."""
    cli.state.mkdir(parents=True)
    (cli.state / "tacitd.sqlite").write_bytes(b"x" * 9000)
    said = cli.run("status")
    assert said.code == 69 and said.out.startswith("tacitd has a store that cannot be read\n")
    assert "! the store is damaged\n          hint: `tacitd start` puts it aside" in said.out


def test_a_file_where_the_state_directory_belongs(cli: Cli, tmp_path: Path) -> None:
    """Whether tacitd ran here is unknown then; the file is named, with the fix."""
    file = tmp_path / "file"
    file.write_text("mine")
    cli.set(TACITD_STATE_DIR=str(file))
    said = cli.run("status")
    assert said.code == 69 and "has not run here" not in said.out
    assert f"{file} is a file where a directory belongs: move it away" in said.out + said.err
    assert "`tacitd run` starts one" not in said.err
    assert cli.run("status", "--json").json["running"] is False


def test_watching_needs_a_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pipe it would print without end, and a dumb one shows the codes that erase the screen."""
    for arguments in (["--watch"], ["--watch", "--json"]):
        said = cli.run("status", *arguments)
        assert said.code == 2 and "needs a terminal" in said.err and "tacitd log -f" in said.err
    cli.set(TERM="dumb")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delattr("tacitd.cli.status_command.ERASE_SCREEN")
    assert cli.run("status", "--watch").code == 2
