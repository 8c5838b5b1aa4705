"""The command line as a whole: help, exit codes, stdout and stderr, and imports."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest

import generate
from support_cli import Cli
from tacitd.cli.common import echo_error, echo_message, escape_output
from tacitd.cli.program import Program
from tacitd.clock import SystemClock
from tacitd.control.client import call_daemon
from tacitd.errors import ConfigError, ParkedError, TacitdError, UnavailableError, UsageError
from tacitd.store import Store

FIXTURES = Path(__file__).parents[2] / "fixtures"
TABLE = generate.list_all_commands()
PROGRAM = f"{sys.executable} -c 'from tacitd.cli.program import main; main()'"


@pytest.mark.parametrize("name", TABLE)
def test_every_commands_help_has_an_example_that_is_a_command(cli: Cli, name: str) -> None:
    """Issue "Command line"."""
    for switch in ("--help", "-h"):
        said = cli.run(name, switch)
        assert said.code == 0 and "Example: " in said.out, said.err
    assert name in said.out.split("Example: ", 1)[1]
    assert "Usage: tacitd" in said.out


LESSON = "WHEN it fails -> DO read the log -> BECAUSE it says why"


def test_the_list_is_by_group_and_names_the_exit_codes(cli: Cli) -> None:
    """Issue "Exit codes documented"; at most 25 commands in four groups, and all of them with `help --all`."""
    said = cli.run("--help")
    assert "75 something is parked" in said.out
    groups = ("See it:", "  status ", "Decide:", "  review ", "Run it:", "  run ", "More:", "  help ")
    places = [said.out.index(part) for part in groups]
    assert places == sorted(places) and "Others:" not in said.out
    listed = re.findall(r"^  (\w+)  ", said.out, re.MULTILINE)
    assert len(listed) <= 25
    whole = cli.run("help", "--all").out
    assert whole.index("Others:") > whole.index("More:")
    assert all(f"  {name} " in whole for name in {*TABLE, *listed})
    assert "lesson" not in listed and cli.run("lesson", "add", LESSON).code == 0
    assert "  lesson  " in cli.run("--help").out, "a plugin is listed once it has data"


def test_version(cli: Cli) -> None:
    """Issue "`--version`"."""
    said = cli.run("--version")
    assert said.code == 0 and said.out.startswith("tacitd 0.")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["status", "--nonsense"],
        ["prompts"],
        ["scan"],
        ["config", "nonsense"],
        ["exclude"],
        ["sync", "--timeout", "-1"],
        ["pause", "--session", ""],
        ["resume", "--project", ""],
    ],
)
def test_wrong_use_ends_with_2(cli: Cli, arguments: list[str]) -> None:
    """Exit code 2, the error on stderr, nothing on stdout."""
    said = cli.run(*arguments)
    assert said.code == 2 and said.out == "" and "Usage" in said.err


@pytest.mark.parametrize("arguments", [["status"], ["sync"], ["stop"]])
def test_without_a_daemon_it_ends_with_69(cli: Cli, arguments: list[str]) -> None:
    """Exit code 69, and the hint that starts one."""
    said = cli.run(*arguments)
    assert said.code == 69 and "`tacitd run`" in said.err


@pytest.mark.parametrize(
    "command",
    [
        *("accept 4f1c02ab", "forget 4f1c02ab", "forget --undo 4f1c02ab", "why 4f1c02ab", "undo 20261122", "show 20261122"),
        *("lesson show 99", "lesson wrong 99", "move 4f1c02ab --everywhere", "rescue drop u1", "rescue retry u1"),
        *("profile remove x.y", "sessions show nothing", "tutor resume nothing", "learner forget nothing"),
        "learned --check 4f1c02ab",
    ],
)  # fmt: skip
def test_an_id_that_is_not_there_ends_with_1(cli: Cli, command: str) -> None:
    """One exit code in all commands; a mistyped id must not look as if something was done."""
    said = cli.run(*command.split())
    assert said.code == 1 and said.out == "" and said.err, said


def test_the_log_of_a_service_that_is_not_there(cli: Cli) -> None:
    """ "errors that name the fix": after `tacitd start` the journal is empty, so the error names the log file."""
    said = cli.run("service", "logs")
    assert said.code == 69 and "no service is installed" in said.err
    assert str(cli.state / "tacitd.log") in said.err


@pytest.mark.parametrize(
    "arguments", [["config", "check"], ["config", "show"], ["run", "--once"], ["scan", "--since", "1d"]]
)
def test_a_wrong_configuration_ends_with_78(cli: Cli, arguments: list[str]) -> None:
    """Exit code 78, with the key, the value and what is allowed."""
    cli.set(TACITD_SESSION__IDLE="soon")
    said = cli.run(*arguments)
    assert said.code == 78 and "session.idle" in said.err and "soon" in said.err and "hint: " in said.err


@pytest.mark.parametrize(
    ("error", "code"),
    [(UsageError, 2), (UnavailableError, 69), (ParkedError, 75), (ConfigError, 78), (TacitdError, 1)],
)
def test_each_error_has_its_code_and_says_its_hint(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, error: type[TacitdError], code: int
) -> None:
    """STYLE 6: what happened, the hint that fixes it, the exit code."""

    def fail(*_: object, **__: object) -> None:
        raise error("it broke", "mend it")

    monkeypatch.setattr("tacitd.cli.status_command.ping_daemon", fail)
    monkeypatch.setattr("tacitd.cli.status_command.UnavailableError", KeyError)
    said = cli.run("status")
    assert said.code == code and said.err == "tacitd: it broke\nhint: mend it\n"


def test_an_error_of_the_system_is_said_in_words(cli: Cli) -> None:
    """ "errors that name the fix": no traceback for a state directory that cannot be made."""
    blocked = cli.home / "file"
    blocked.write_text("")
    cli.set(TACITD_STATE_DIR=str(blocked / "state"))
    said = cli.run("run", "--once")
    assert said.code == 1 and str(blocked) in said.err and "move it away" in said.err
    assert "Traceback" not in said.err


def test_a_directory_that_is_gone_is_said_in_words(cli: Cli, tmp_path: Path) -> None:
    """The same for a shell whose current directory was removed."""
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"cd {gone}; rmdir {gone}; exec {sys.executable} -c 'from tacitd.cli.program import main; main()' context"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "the current directory was removed" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("doctor", "FAIL model.absent"),
        ("start; code=$?; stop; exit $code", "tacitd is running"),
        ("plugin status", "warn plugin.absent"),
        ("plugin uninstall", "there is no plugin"),
        ("uninstall --purge --yes", "kept everything that was learned"),
    ],
)
def test_what_is_for_the_machine_needs_no_current_directory(
    cli: Cli, tmp_path: Path, command: str, said: str
) -> None:
    """It was removed; "No such file or directory" named neither it nor another file."""
    gone = tmp_path / "gone"
    gone.mkdir()
    program = f"{sys.executable} -c 'from tacitd_handlers.entry_point import main; main()'"
    words = command.replace("; stop", f"; {program} stop")
    done = subprocess.run(
        ["sh", "-c", f"cd {gone}; rmdir {gone}; {program} {words}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert said in done.stdout + done.stderr and "No such file or directory\nhint" not in done.stderr
    assert done.returncode == (1 if said.startswith(("FAIL", "warn")) else 0), done.stderr


@pytest.mark.scenario
def test_a_reader_that_has_enough_is_no_error(cli: Cli) -> None:
    """`tacitd prompts | head -1` ends without a message, also if much output is left."""
    for arguments in (f"prompts {FIXTURES} --json --explain", "--help"):
        command = f"{PROGRAM} {arguments} | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
        assert (done.stderr, done.stdout) == ("", "0\n")


@pytest.mark.scenario
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_error(cli: Cli, closed: str) -> None:
    """Some supervisors and scripts start programs like this; Python then has None for the stream."""
    for arguments, code in (("--help", 0), ("status", 69), ("nonsense", 2)):
        done = _in_shell(cli, f"{PROGRAM} {arguments} {closed}; echo $? >code")
        assert (cli.home / "code").read_text() == f"{code}\n", done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["status"], ["sync"], ["sync", "--timeout", "1"], ["stop"]])
def test_a_deaf_daemon_is_not_taken_for_an_absent_one(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, arguments: list[str]
) -> None:
    """DESIGN "Control": a call to a stopped or stuck daemon ends in time, with a hint that does not start another one."""
    path = tmp_path_factory.mktemp("s") / "s"
    cli.set(TACITD_SOCKET=str(path))
    monkeypatch.setattr(call_daemon, "__defaults__", (None, 0.05))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as deaf:
        deaf.bind(str(path))
        deaf.listen()
        said = cli.run(*arguments)
    assert said.code == 69 and "did not answer" in said.err and "kill -9" in said.err
    assert "no daemon runs" not in said.err


def _in_shell(cli: Cli, command: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(cli.home), "TACITD_STATE_DIR": str(cli.home / "state")}
    return subprocess.run(
        ["sh", "-c", command], env=environ, cwd=cli.home, capture_output=True, text=True, check=False
    )


def test_text_of_others_cannot_drive_a_terminal() -> None:
    """Text in a transcript may contain any characters."""
    assert escape_output("a\x1b[31m\nb\u202ec\ud800é") == "a\\x1b[31m\\nb\\u202ec\\ud800é"


def test_messages_about_files_of_others_cannot_drive_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """A cloned repository may have such names. Bytes that are no text are not an error either."""
    what, shown = (
        "/app/\x1b]0;owned\x07\udcff: no such file\nsecond line",
        r"\x1b]0;owned\x07\udcff: no such file",
    )
    echo_message(what)
    echo_error(TacitdError(what, what))
    said = capsys.readouterr()
    assert said.err.count(shown) == 3
    assert "\x1b" not in said.err and said.err.count("\nsecond line") == 3


def commands_with_a_directory() -> Iterator[tuple[str, ...]]:
    """Every command, sub-commands included, that takes a directory, up to that: as an argument, or after an option."""

    def below(command: click.Command, names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if isinstance(command, click.Group):
            context = click.Context(command, help_option_names=["-h", "--help"])
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                assert found is not None
                yield from below(found, (*names, name))
            return
        for one in command.params:
            if one.metavar in ("DIR", "[DIR]") and names != ("context",):  # see the test below
                needed = [each for each in command.params if each.required and each is not one]
                others = [
                    word
                    for each in needed
                    for word in (["x"] if isinstance(each, click.Argument) else [each.opts[0], "7d"])
                ]
                for option in one.opts if isinstance(one, click.Option) else ():
                    yield (*names, *others, option)
                if isinstance(one, click.Argument):
                    yield names

    yield from below(Program(TABLE), ())


@pytest.mark.parametrize("names", list(commands_with_a_directory()), ids=" ".join)
def test_a_directory_that_is_not_there_is_wrong_use(cli: Cli, names: tuple[str, ...]) -> None:
    """Exit code 2 with the name: a mistyped directory must not look like a project in which nothing was learned."""
    file = cli.home / "file"
    file.write_text("")
    for wrong, why in (
        ("/nonexistent", "no such directory"),
        (file, "not a directory"),
        (file / "x", "Not a directory"),
    ):
        said = cli.run(*names, wrong)
        assert said.code == 2, said
        assert f"{wrong}: {why}" in said.err
        assert "hint: " in said.err
    assert not cli.state.exists()


def test_a_session_start_without_its_directory_is_told_the_rest(cli: Cli) -> None:
    """Hooks call `context`, and their directory may have been removed: it must not fail then."""
    assert cli.run("context", "/nonexistent").code == 0


@pytest.mark.scenario
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [["--help"], ["status", "--json"], ["help"], ["config", "show"]])
def test_output_that_cannot_be_written_is_named(tmp_path: Path, arguments: list[str]) -> None:
    """Exit code 1, and what helps."""
    program = [sys.executable, "-c", "from tacitd_handlers.entry_point import main; main()", *arguments]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TACITD_")}
    environ |= {"TACITD_STATE_DIR": str(tmp_path), "HOME": str(tmp_path)}
    with open("/dev/full", "w") as full:
        said = subprocess.run(
            program, stdout=full, stderr=subprocess.PIPE, env=environ, text=True, check=False
        )
    assert said.returncode == 1, said.stderr
    assert said.stderr.startswith("tacitd: No space left on device\nhint: free space on that disk")


def test_an_interrupt_during_the_imports_prints_nothing() -> None:
    """Ctrl-C before the command runs: the signal ends the process, which a shell reports as 130, and there is no traceback."""
    script = """
import os, signal, sys
class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupted())
from tacitd_handlers.entry_point import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_a_daemon_is_woken_before_and_after_rows_are_changed(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was typed before is read first, so that `resume` counts it; then the daemon looks at what is due."""
    seen = list[tuple[str, bool]]()

    def call(_: Path, method: str, **__: object) -> None:
        with closing(Store.open(cli.state, SystemClock(), owner=False)) as store:
            seen.append((method, bool(store.rows("SELECT 1 FROM choice"))))

    monkeypatch.setattr("tacitd.control.client.call_daemon", call)
    assert cli.run("pause").code == 0
    assert seen == [("wake", False), ("wake", True)]
