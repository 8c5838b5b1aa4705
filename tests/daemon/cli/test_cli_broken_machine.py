"""Commands on a machine where something is wrong: each names what it is and how it is mended."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support_claude import install_stand_in
from support_cli import Cli
from support_git import init
from support_rights import bound
from tacitd.control.client import call_daemon
from tacitd.errors import PARKED
from tacitd.state.paths import Paths

PROGRAM = "from tacitd_handlers.entry_point import main; main()"
HANG = """
import sys
from tacitd.cli.common import get_paths
from tacitd.control.server import Server
from tacitd.files.locks import acquire_lock
lock = acquire_lock(get_paths().state_dir / "lock")
server = Server(get_paths().socket, {"ping": lambda _: {}, "stop": lambda _: {}, "wake": lambda _: {}})
server.open()
print("up", flush=True)
sys.stdin.readline()
"""


def run_bound(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in this environment, in a process that obeys permission bits."""
    command = [*bound(), sys.executable, "-c", PROGRAM, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=cwd)


@contextmanager
def run_hung_daemon() -> Iterator[int]:
    """A daemon in this environment that is stopped by SIGSTOP; yield its process."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", HANG], stdin=pipe, stdout=pipe, text=True) as made:
        assert made.stdout is not None and made.stdout.readline() == "up\n"
        made.send_signal(signal.SIGSTOP)
        try:
            yield made.pid
        finally:
            made.kill()
            Paths.from_env(os.environ).socket.unlink(missing_ok=True)


@pytest.fixture
def shut_state(cli: Cli) -> Iterator[Cli]:
    """The state directory cannot be entered, as one of another user."""
    (cli.config_dir / "projects").mkdir(parents=True)
    cli.state.mkdir(parents=True)
    cli.state.chmod(0)
    yield cli
    cli.state.chmod(0o700)


@pytest.mark.parametrize("command", ["status", "doctor", "config check", "learned", "why x", "stop", "log"])
def test_a_user_without_a_home_is_told_to_set_it(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """A container that runs with a number of its own: HOME is not set, and the user database does not name the user."""

    def find_none(uid: int) -> pwd.struct_passwd:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.setattr(pwd, "getpwuid", find_none)
    monkeypatch.delenv("HOME")
    said = cli.run(*command.split())
    assert said.code == 78 and said.err.startswith("tacitd: no home directory"), said.err
    assert said.err.endswith("\nhint: set HOME\n")


@pytest.mark.parametrize("command", ["stop", "restart"])
def test_a_daemon_that_does_not_answer_is_named_with_how_to_end_it(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """`restart` began with `stop`, whose hint was `restart`."""

    def ask(path: Path, method: str) -> object:
        return call_daemon(path, method, timeout=0.5)

    monkeypatch.setattr("tacitd.cli.control_commands.call_daemon", ask)
    with run_hung_daemon() as pid:
        said = cli.run(command)
    assert said.code == 69 and "did not answer" in said.err
    assert f"`kill -9 {pid}`, then `tacitd start`" in said.err and "restart" not in said.err


def test_doctor_names_a_state_directory_of_another_user(shut_state: Cli) -> None:
    said = run_bound("doctor")
    assert f"FAIL state.read-only: {shut_state.state} is not writable" in said.stdout, said.stderr
    assert said.returncode == 1 and "warn daemon.absent" in said.stdout


def test_doctor_names_a_file_of_another_user_in_the_state_directory(cli: Cli) -> None:
    """`sudo tacitd pause` makes one, and the daemon can handle nothing; its hint leads to doctor."""
    cli.state.mkdir(parents=True)
    (cli.state / "choices.jsonl").touch(0o000)
    said = run_bound("doctor")
    assert f"FAIL state.shut: {cli.state / 'choices.jsonl'} cannot be read and written" in said.stdout
    assert said.returncode == 1 and "ok   state.writable" not in said.stdout


@pytest.mark.parametrize("shut", ["state", "home"])
def test_doctor_ends_all_its_checks_in_a_directory_of_another_user(
    cli: Cli, tmp_path: Path, shut: str
) -> None:
    """Hints of other commands lead to it. The client is there, and was called in the directory that cannot be entered."""
    cli.state.mkdir(parents=True)
    (cli.config_dir / "projects").mkdir(parents=True)
    cli.set(PATH=install_stand_in(tmp_path / "bin").path())
    closed = cli.state if shut == "state" else cli.home
    closed.chmod(0)
    try:
        said = run_bound("doctor")
    finally:
        closed.chmod(0o700)
    assert said.returncode == 1 and said.stderr == "", said.stderr
    assert "FAIL state.read-only" in said.stdout and "ok   model.found" in said.stdout
    assert "warn daemon.absent" in said.stdout
    if shut == "home":
        assert f"FAIL config.wrong: {cli.home}" in said.stdout
        assert f"FAIL doctor.failed: {cli.config_dir / 'projects'}: Permission denied" in said.stdout


@pytest.mark.parametrize("command", ["status", "log", "learned", "rescue", "spend"])
def test_what_cannot_be_read_is_not_said_to_be_empty(shut_state: Cli, command: str) -> None:
    """Nor that nothing ran here."""
    said = run_bound(command)
    assert said.returncode != 0 and "Permission denied" in said.stdout + said.stderr
    assert not any(one in said.stdout + said.stderr for one in ("nothing", "has not run", "no model call"))


@pytest.mark.parametrize("command", ["review", "review --json", "forget pnpm", "accept pnpm"])
@pytest.mark.parametrize("is_shut", [True, False])
def test_what_cannot_be_read_is_not_said_to_wait_for_nothing(cli: Cli, command: str, is_shut: bool) -> None:
    """Another user's state directory, and a store that is damaged."""
    init(cli.home / "app")
    cli.state.mkdir(parents=True)
    (cli.state / "tacitd.sqlite").write_bytes(b"damaged " * 1000)
    cli.state.chmod(0 if is_shut else 0o700)
    try:
        said = run_bound(*command.split(), cwd=cli.home / "app")
    finally:
        cli.state.chmod(0o700)
    assert said.returncode == 1
    assert f"learning: {'' if not is_shut else cli.state}" in said.stderr
    assert "nothing" not in said.stderr, said.stderr


@pytest.mark.parametrize(
    "file",
    ["config.toml", "settings.json", "choices.jsonl", "LEARNED.md", "changelog.jsonl", "tacitd.service"],
)
def test_a_pipe_in_the_place_of_a_file_blocks_nothing(cli: Cli, file: str) -> None:
    """Opening it would wait for a writer for ever."""
    place = {
        "config.toml": cli.home / ".config/tacitd",
        "settings.json": cli.config_dir,
        "choices.jsonl": cli.state,
        "LEARNED.md": cli.home / ".agents",
        "changelog.jsonl": cli.config_dir / "user-memory",
        "tacitd.service": cli.home / ".config/systemd/user",
    }[file]
    init(cli.home / "app")
    place.mkdir(parents=True, exist_ok=True)
    os.mkfifo(place / file)
    for command in (
        "status",
        "doctor",
        "config check",
        "plugin status",
        "exclude --undo .",
        "pause",
        "profile history",
    ):
        said = run_bound(*command.split(), cwd=cli.home / "app")
        assert "Traceback" not in said.stderr, said.stderr
        if command == "config check":
            assert said.returncode == (78 if file == "config.toml" else 0)
            assert file != "config.toml" or "it is a pipe" in said.stderr


def test_a_choice_is_stored_beside_a_daemon_that_does_not_answer(cli: Cli) -> None:
    """`exclude` and `trust` end with 0, as `pause` does; git's exclude file waits for `share`. The files follow when it goes on."""
    init(cli.home / "app")
    with run_hung_daemon():
        for command, code, text in (
            ("share .", PARKED, "is done when it goes on"),
            ("exclude .", 0, "app is excluded"),
            ("trust --remove .", 0, "only what tacitd wrote"),
        ):
            said = cli.run(*command.split(), cwd=cli.home / "app")
            assert said.code == code and text in said.err, said.err
            assert "did not answer" in said.err and "what you asked for is stored" in said.err
    choices = (cli.state / "choices.jsonl").read_text()
    assert '"share"' in choices and '"exclude"' in choices


def test_purge_removes_a_store_that_was_put_aside(cli: Cli) -> None:
    """And names the person's LEARNED.md, of which a new store knows nothing."""
    cli.state.mkdir(parents=True)
    names = (
        "tacitd.sqlite.2026-02-19T14-30-05",
        "tacitd.sqlite.2026-02-19T14-30-05-wal",
        "tacitd.sqlite.2026-02-19T14-30-05.1",
    )
    for name in names:
        (cli.state / name).write_bytes(b"damaged")
    (cli.state / "tacitd.sqlite").write_bytes(b"damaged " * 1000)
    (cli.state / "tacitd.sqlite.mine").write_text("mine")
    learned = cli.home / ".agents/LEARNED.md"
    learned.parent.mkdir()
    learned.write_text("- Prefers short answers\n")
    said = cli.run("uninstall", "--purge", "--yes")
    assert said.code == 0 and f"kept {learned}\n" in said.err, said.err
    assert [one.name for one in cli.state.iterdir()] == ["tacitd.sqlite.mine"]
    assert learned.is_file()


@pytest.mark.parametrize("command", ["sync", "reload", "status"])
def test_a_daemon_whose_socket_is_gone_is_not_said_to_be_absent(cli: Cli, command: str) -> None:
    """The socket is gone, such as one in /tmp; a second daemon is not to be started."""
    with run_hung_daemon() as pid:
        socket = Paths.from_env(os.environ).socket
        socket.unlink()
        (cli.state / "socket").write_text(f"{socket}\n{pid}\n")
        said = cli.run(command)
    assert said.code == 69 and "a daemon runs, but" in said.err, said.err
    assert "`tacitd stop` works meanwhile" in said.err and "tacitd run" not in said.err


def test_rescue_does_not_say_that_nothing_waits(cli: Cli) -> None:
    """It lists what has waited for a day."""
    said = cli.run("rescue")
    assert said.code == 0 and "`tacitd status` shows what waits" in said.err


@pytest.mark.parametrize(
    "command",
    ["learner archive edge:x", "learner alias Loop edge:x", "project alias --remove /x", "forget xyz"],
)
def test_what_is_not_there_is_a_failure_and_no_wrong_use(cli: Cli, command: str) -> None:
    """Exit code 1, as everywhere."""
    init(cli.home / "app")
    said = cli.run(*command.split(), cwd=cli.home / "app")
    assert said.code == 1, said.err


def test_an_alias_of_an_unknown_home_is_a_wrong_use(cli: Cli) -> None:
    assert cli.run("project", "alias", "/workspaces/app", "~no-such-user/app").code == 2


def test_stop_does_not_tell_to_run_what_is_to_be_stopped(cli: Cli) -> None:
    said = cli.run("stop")
    assert said.code == 69 and "no daemon answers" in said.err
    assert said.err.endswith("\nhint: nothing is to be stopped; `tacitd run` starts one\n")


@pytest.mark.parametrize("command", ["uninstall --purge", "profile clear"])
def test_where_nobody_can_be_asked_the_option_is_named(cli: Cli, command: str) -> None:
    """A script, or cron: the question ended with `aborted` alone."""
    said = cli.run(*command.split())
    assert said.code == 1 and said.err.endswith("aborted\n")
    assert "nobody could be asked\nhint: `--yes` says yes\n" in said.err


def test_an_answer_in_a_pipe_is_one(cli: Cli) -> None:
    """`echo n | tacitd uninstall --purge`: somebody was asked, and said no."""
    said = cli.run("uninstall", "--purge", typed="n\n")
    assert said.code == 1 and said.err.endswith("aborted\n") and "nobody" not in said.err
