"""The paths, given an environment."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tacitd.errors import ConfigError, UnavailableError
from tacitd.service.supervision import make_server
from tacitd.state import paths
from tacitd.state.paths import Paths

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the places of Linux")


@linux
def test_defaults(tmp_path: Path) -> None:
    """DESIGN "Where it writes": without any variable."""
    found = Paths.from_env({"HOME": "/h"})
    assert found == Paths(
        home=Path("/h"),
        config_dir=Path("/h/.claude"),
        state_dir=Path("/h/.local/state/tacitd"),
        config_file=Path("/h/.config/tacitd/config.toml"),
        socket=Path("/h/.local/state/tacitd/tacitd.sock"),
    )


def test_variables_win(tmp_path: Path) -> None:
    """SPEC X-11: CLAUDE_CONFIG_DIR; also TACITD_STATE_DIR, TACITD_CONFIG, TACITD_SOCKET; `~` is the home."""
    env = {
        "HOME": "/h",
        "CLAUDE_CONFIG_DIR": "~/c",
        "TACITD_STATE_DIR": "/s/../t",
        "TACITD_CONFIG": "/x.toml",
        "TACITD_SOCKET": "/y.sock",
    }
    found = Paths.from_env(env)
    assert (found.config_dir, found.state_dir) == (Path("/h/c"), Path("/t"))
    assert (found.config_file, found.socket) == (Path("/x.toml"), Path("/y.sock"))


@linux
def test_xdg_variables_count_and_empty_ones_do_not() -> None:
    """The directories of platformdirs, according to the given environment."""
    env = {"HOME": "/h", "XDG_STATE_HOME": "/st", "XDG_CONFIG_HOME": "/co", "CLAUDE_CONFIG_DIR": ""}
    assert paths.state_dir(env) == Path("/st/tacitd")
    assert paths.config_file(env) == Path("/co/tacitd/config.toml")
    assert paths.config_dir(env) == Path("/h/.claude")
    assert paths.state_dir({"HOME": "/h", "XDG_STATE_HOME": "relative"}) == Path("/h/.local/state/tacitd")


@pytest.mark.parametrize("variable", ["TACITD_STATE_DIR", "TACITD_CONFIG", "TACITD_SOCKET"])
def test_a_relative_path_is_refused(variable: str) -> None:
    """A command in another directory, and the daemon, which leaves it, would look elsewhere."""
    with pytest.raises(ConfigError, match=f"{variable} is not an absolute path: here"):
        Paths.from_env({"HOME": "/h", variable: "here"})


def test_long_path_becomes_a_short_one(tmp_path: Path) -> None:
    """DESIGN "Control": a socket's path is short (AF_UNIX takes about a hundred bytes)."""
    env = {"HOME": "/h", "TACITD_STATE_DIR": "/" + "d" * 120}
    found = paths.socket_path(env)
    assert found.parent == Path(f"/tmp/tacitd-{os.getuid()}") and len(os.fsencode(found)) <= paths.LONGEST
    assert found != paths.socket_path(env | {"TACITD_STATE_DIR": "/" + "e" * 120})
    with pytest.raises(ConfigError, match="TACITD_SOCKET"):
        paths.socket_path({"HOME": "/h", "TACITD_SOCKET": "/" + "d" * 120})


@pytest.fixture(params=["open to others", "a link", "a file"])
def foreign(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A place into which others could put a socket."""
    place = tmp_path / f"tacitd-{os.getuid()}"
    if request.param == "open to others":
        place.mkdir()
        place.chmod(0o777)
    elif request.param == "a link":
        place.symlink_to(tmp_path)
    else:
        place.touch()
    return place


def test_no_command_fails_or_asks_there_if_others_made_the_short_directory(
    foreign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELIABILITY row 17: the socket's directory is this user's alone. The daemon itself says so, when it binds."""
    monkeypatch.setattr(paths, "SHORT", tmp_path)
    state = tmp_path / ("d" * 120)
    found = Paths.from_env({"HOME": "/h", "TACITD_STATE_DIR": str(state)})
    assert found.socket == state / paths.SOCKET
    server = make_server(found, {})
    with pytest.raises(UnavailableError, match="tacitd-"):
        server.open()


def test_a_socket_where_others_may_write_is_not_asked(tmp_path: Path) -> None:
    """The file that names it is left behind by `kill -9`; meanwhile somebody else may have made the directory."""
    place = tmp_path / "p"
    place.mkdir(0o700)
    env = {"HOME": str(tmp_path), "TACITD_STATE_DIR": str(tmp_path)}
    with closing(socket.socket(socket.AF_UNIX)) as bound:
        here = os.getcwd()
        os.chdir(place)  # the whole path may be too long
        try:
            bound.bind("s")
        finally:
            os.chdir(here)
        (tmp_path / paths.SOCKET_FILE).write_text(f"{place / 's'}\n1\n")
        assert Paths.from_env(env).socket == place / "s"
        place.chmod(0o777)
        assert Paths.from_env(env).socket == paths.socket_path(env)


def test_a_fifo_in_place_of_the_file_that_names_the_socket_is_passed_over(tmp_path: Path) -> None:
    """Opening it would wait until somebody writes to it."""
    os.mkfifo(tmp_path / paths.SOCKET_FILE)
    env = {"HOME": str(tmp_path), "TACITD_STATE_DIR": str(tmp_path)}
    assert paths.Paths.from_env(env).socket == paths.socket_path(env)
