"""`tacitd stop` ends a daemon, and no other process that holds the lock for a while."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support_waiting import PATIENCE

HOLD = """
import sys
from tacitd.cli.common import get_paths
from tacitd.cli.run_command import run_in_process
with run_in_process(get_paths()):
    print("up", flush=True)
    sys.stdin.readline()
"""


LISTEN = """
import os, signal
from tacitd.cli.common import get_paths
from tacitd.cli.run_command import run_in_process
from tacitd.state.socket_file import write_socket_file
with run_in_process(get_paths()):
    write_socket_file(get_paths().state_dir, get_paths().state_dir / "none.sock")
    os.kill(os.getpid(), signal.SIGKILL)
"""

WAIT = """
import sys
from tacitd.cli.common import get_paths
from tacitd.cli.run_command import InterruptedByError, open_app
from tacitd.methods import build_methods
try:
    with open_app(get_paths()) as app:
        app.engine.runner.hold()
        print("up", flush=True)
        build_methods(app)["task"]({"plugin": "learning", "key": "k", "data": {"do": "init"}})
except InterruptedByError as error:
    sys.exit(error.code)
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("TACITD_")}
    return own | {"HOME": str(tmp_path)}


@pytest.fixture(params=["never", "killed"])
def daemon(environ: dict[str, str], request: pytest.FixtureRequest) -> None:
    """Whether a daemon ran here before, which `kill -9` ended."""
    if request.param == "killed":
        assert subprocess.run([sys.executable, "-c", LISTEN], env=environ).returncode == -signal.SIGKILL
        assert next(Path(environ["HOME"]).rglob("tacitd/socket")).is_file()


@pytest.fixture
def command(daemon: None, environ: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A command without a daemon, such as `tacitd scan`, in the middle of its work."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environ
    ) as made:
        assert made.stdout is not None and made.stdout.readline() == "up\n"
        yield made
        made.terminate()


def test_a_command_is_no_daemon(environ: dict[str, str], command: subprocess.Popen[str]) -> None:
    """DESIGN "Commands": a command holds the daemon's lock while it runs. It is not told to be a daemon without a socket, and not ended."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        program = "from tacitd_handlers.entry_point import main; main()"
        return subprocess.run(
            [sys.executable, "-c", program, *words], capture_output=True, text=True, env=environ, timeout=60
        )

    status = run("status")
    assert "is gone" not in status.stderr, status.stderr
    stopped = run("stop")
    assert command.stdin is not None
    command.stdin.write("\n")
    command.stdin.close()
    assert command.wait(30) == 0, "the command was ended by a signal"
    assert stopped.returncode == 69


def test_a_signal_ends_a_command_that_waits_for_its_task(environ: dict[str, str]) -> None:
    """It would wait for the task, which an engine that has stopped does not begin, for ten minutes."""
    with subprocess.Popen(
        [sys.executable, "-c", WAIT], stdout=subprocess.PIPE, text=True, env=environ
    ) as made:
        assert made.stdout is not None and made.stdout.readline() == "up\n"
        made.terminate()
        try:
            assert made.wait(PATIENCE) == 128 + signal.SIGTERM
        finally:
            made.kill()
