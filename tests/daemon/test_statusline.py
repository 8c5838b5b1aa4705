"""The line for a client's status bar: one question to the daemon, in at most twice the time of Python's start."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from support_engine import Scene, with_words
from tacitd.cli.client_commands import statusline
from tacitd.contract import Later
from tacitd.handler import Degradation
from tacitd.state.paths import state_dir
from tacitd.status import make_status_line
from tacitd.statusline import ABSENT, BUSY, ask_status_line


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state directory that names a socket."""
    (tmp_path / "socket").write_text(f"{tmp_path / 's'}\n")
    return tmp_path


def answer(state: Path, line: bytes | None) -> threading.Thread:
    """A daemon that takes one question; without a line it hangs."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(state / "s"))
    listening.listen(1)

    def take() -> None:
        with listening, listening.accept()[0] as peer:
            peer.settimeout(60)
            assert b'"method":"statusline"' in peer.recv(4096)
            if line is None:
                peer.recv(1)
            else:
                peer.sendall(line)

    thread = threading.Thread(target=take)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (b'{"id":1,"result":{"line":"tacitd: 1 \xc2\xb7 \\"x\\" \\u20ac"}}\n', 'tacitd: 1 · "x" €'),
        (b'{"id":1,"error":{"message":"no"}}\n', BUSY),
        (b'{"id":1,"result":{"line":"cut', BUSY),
        (b'{"id":1,"result":{"line":"\\q"}}\n', BUSY),
        (b"", BUSY),
        (None, BUSY),
    ],
)
def test_what_the_daemon_says_is_the_line(state: Path, line: bytes | None, shown: str) -> None:
    """Also if it says nothing, something else, or hangs: never an error."""
    thread = answer(state, line)
    assert ask_status_line({"TACITD_STATE_DIR": str(state)}) == shown
    thread.join()


def test_a_daemon_that_never_stops_sending_is_not_awaited(state: Path) -> None:
    """Each part comes in time, but not the end of the line. The sender is a process, so that it is as fast as the reader."""
    program = """
import socket, sys
peer = socket.socket(fileno=int(sys.argv[1])).accept()[0]
while True:
    peer.sendall(b"x" * 1000)
"""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(state / "s"))
        listening.listen(1)
        number = listening.fileno()
        sender = subprocess.Popen(
            [sys.executable, "-c", program, str(number)], pass_fds=[number], stderr=subprocess.PIPE
        )
        assert ask_status_line({"TACITD_STATE_DIR": str(state)}) == BUSY
    assert b"Error" in sender.communicate()[1]


def test_without_a_daemon(tmp_path: Path) -> None:
    """No state directory, a socket that is gone, a directory in its place."""
    assert ask_status_line({"HOME": str(tmp_path)}) == ABSENT
    assert ask_status_line({"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "x")}) == ABSENT
    for state in ("~/state", "relative", ""):
        assert ask_status_line({"HOME": str(tmp_path), "TACITD_STATE_DIR": state}) == ABSENT
    (tmp_path / "socket").write_text("/nowhere/s\n")
    assert ask_status_line({"TACITD_STATE_DIR": str(tmp_path)}) == ABSENT
    (tmp_path / "socket").unlink()
    (tmp_path / "socket").mkdir()
    assert ask_status_line({"TACITD_STATE_DIR": str(tmp_path)}) == ABSENT


def test_the_command_imports_nothing_heavy(tmp_path: Path) -> None:
    """Not even what every other command imports; a closed standard output is no error."""
    code = (
        "import sys; from tacitd_handlers.entry_point import main; sys.argv = ['tacitd', 'statusline']; main();"
        "print(sorted({'click', 're', 'json', 'pathlib', 'socket', 'dataclasses', 'typing'} & set(sys.modules)))"
    )
    environ = os.environ | {"TACITD_STATE_DIR": str(tmp_path)}
    # `-S`: an editable installation imports some of these at each start of Python.
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env=environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == (f"{ABSENT}\n[]\n", "")
    command = f"{sys.executable} -c 'from tacitd_handlers.entry_point import main; main()' statusline >&-"
    shut = subprocess.run(["/bin/sh", "-c", command], env=environ, capture_output=True, text=True)
    assert (shut.returncode, shut.stderr) == (0, "")


def test_the_setting_runs_without_the_package(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command of the setting, as the client runs it: in a shell, with JSON on standard input."""
    with pytest.raises(SystemExit):
        statusline(["--setting"], help_option_names=["-h", "--help"])  # click keeps the first names
    command = json.loads(capsys.readouterr().out)["statusLine"]["command"]
    thread = answer(state, b'{"id":1,"result":{"line":"tacitd: fine"}}\n')
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env={"TACITD_STATE_DIR": str(state)},
        input='{"session_id":"s"}',
        capture_output=True,
        text=True,
        timeout=60,
    )
    thread.join()
    assert (done.returncode, done.stdout, done.stderr) == (0, "tacitd: fine\n", "")


def test_it_finds_the_socket_where_the_daemon_writes_it(tmp_path: Path) -> None:
    """The same directory as `tacitd.state.paths`, in every environment."""
    for number, environ in enumerate(
        ({"HOME": "h"}, {"HOME": "h", "XDG_STATE_HOME": "x"}, {"HOME": "h", "TACITD_STATE_DIR": "t"})
    ):
        places = {name: str(tmp_path / str(number) / value) for name, value in environ.items()}
        directory = state_dir(places)
        directory.mkdir(parents=True)
        (directory / "socket").write_text(f"{tmp_path / 's'}\n")
        thread = answer(tmp_path, b'{"id":1,"result":{"line":"here"}}\n')
        assert ask_status_line(places) == "here"
        thread.join()
        (tmp_path / "s").unlink()


def test_what_the_line_contains(tmp_path: Path) -> None:
    """What waits, what was spent, what is wrong; nothing that is not there."""
    scene = Scene(tmp_path, with_words(lambda task: Later("no model")))
    scene.settle()
    assert make_status_line(scene.app.read_status()) == "tacitd: 0 learned today · $0.00 of $1.00 today"
    scene.type("s", "one", "two")
    scene.settle()
    scene.app.degraded["x"] = Degradation("x", "something")
    scene.engine.run_pass()
    line = make_status_line(scene.app.read_status())
    document = scene.app.read_status()
    cheap = document | {"budget": document["budget"] | {"usd_today": 0.004}}
    assert "<$0.01 of $1.00 today" in make_status_line(cheap), "a call is never free, as in `status`"
    assert "2 prompts waiting" in line and line.endswith("1 problem: tacitd status")
