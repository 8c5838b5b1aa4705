"""Commands that run without click, as real processes: each prints, byte for byte, what the full program prints.

A running daemon answers them; otherwise they run in the process itself.
"""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from support_daemon import PROGRAM, Daemon
from support_rights import bound
from support_waiting import PATIENCE

pytestmark = pytest.mark.scenario

FULL = [sys.executable, "-c", "from tacitd.cli.program import main; main()"]
QUICK_ONLY = [
    sys.executable,
    "-c",
    "import os, sys; from tacitd.cli import quick_answer; quick_answer.PATIENCE = 30.0; "
    "sys.exit(not quick_answer.answer_command(sys.argv[1:], os.environ))",
]
"""Without the fallback: it ends with 1 if the daemon declines."""
ALONE = [
    sys.executable,
    "-c",
    "import sys; from tacitd.cli.quick_command import run_without_click; run_without_click(sys.argv[1:]); print('click')",
]
"""In a process of its own, without asking the daemon to run the command. It prints `click` if that is needed."""
ANSWERED = [
    "status",
    "status -v",
    "status --json",
    "learned",
    "learned --json",
    "learned --all --no-pager",
    "learned . Prefers",
    "learned --withheld",
    "learned --refused --json",
    "learned --archived",
    "learned --forgotten",
    "why tool1",
    "why tool1 --json",
    "context",
    "context --json",
    "context --agent Explore --budget 600",
    "context /nowhere",
    "history",
    "history --all -n 1",
    "history --since 1d --json",
    "config show",
    "config show --json",
    "doctor --quick",
    "doctor --quick --json",
    "spend",
    "spend --by purpose --since 1d --json",
    "prompts TRANSCRIPT",
    "prompts TRANSCRIPT --json --explain",
]
TRIES = 5
NEEDS_CLICK = (0, b"click\n", b"")
DECLINED = [
    "status --unknown",
    "status --help",
    "status --watch",
    "learned /nowhere",
    "learned nothing has this",
    "learned --withheld --refused",
    "why nothing",
    "why",
    "context --explain",
    "doctor --model",
    "show nothing",
    "config path",
    "config nothing",
    "prompts s1.jsonl",
    "prompts /nowhere",
]
FREE = re.compile(rb"\d+ MB are free")
"""What `doctor` says of the disk, to which other tests write meanwhile."""


class Printed(NamedTuple):
    """What a process printed."""

    code: int
    out: bytes
    err: bytes


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """It learned three lines, one of which was forgotten."""
    made = Daemon(tmp_path_factory.mktemp("d") / "d")
    try:
        made.start()
        for number in range(3):
            made.type_("s1", f"Prefers tool{number} for job{number} — in this project.")
        made.synthesize()
        assert len(made.learned) == 3
        assert made.cli("forget", "tool2", cwd=made.project).returncode == 0
        made.sync()
        yield made
    finally:
        made.finish()


def run(daemon: Daemon, program: Sequence[str], arguments: str, **variables: str) -> Printed:
    """Run a command in the project, in a pipe."""
    words = arguments.replace("TRANSCRIPT", str(daemon.transcript("s1"))).split()
    done = subprocess.run(
        [*program, *words],
        env=daemon.environ | variables,
        cwd=daemon.project,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE,
        check=False,
    )
    return Printed(done.returncode, FREE.sub(b"some MB are free", done.stdout), done.stderr)


def show(daemon: Daemon, program: Sequence[str], arguments: str, **variables: str) -> Printed:
    """Run a command in the project, on a terminal of 50 columns and 12 lines."""
    words = arguments.replace("TRANSCRIPT", str(daemon.transcript("s1"))).split()
    fd, child = pty.openpty()
    termios.tcsetwinsize(fd, (12, 50))
    environ = daemon.environ | {"TERM": "xterm-256color", "TACITD_PAGER": ""} | variables
    process = subprocess.Popen(
        [*program, *words], env=environ, cwd=daemon.project, stdin=child, stdout=child, stderr=child
    )
    os.close(child)
    shown, last = b"", time.monotonic() + PATIENCE
    while time.monotonic() < last:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                shown += os.read(fd, 65_536)
            except OSError:  # Linux: the other side is closed
                break
    os.close(fd)
    return Printed(process.wait(PATIENCE), FREE.sub(b"some MB are free", shown), b"")


def compare(one: Callable[[list[str]], Printed]) -> Printed:
    """Run the programs with `one`, and return what all printed. Again if they differ: the status may change between them."""
    printed = list[Printed]()
    for _ in range(TRIES):
        printed = [one(program) for program in (QUICK_ONLY, ALONE, FULL)]
        if len(set(printed)) == 1:
            break
    assert printed[0] == printed[2]
    assert printed[1] == printed[2]
    return printed[0]


@pytest.mark.parametrize("arguments", ANSWERED)
def test_the_daemon_and_a_process_alone_answer_as_the_full_program(daemon: Daemon, arguments: str) -> None:
    """In a pipe: both streams and the exit code."""
    assert compare(lambda program: run(daemon, program, arguments)).code == 0


@pytest.mark.parametrize("arguments", [*ANSWERED, *DECLINED])
def test_without_a_daemon_the_same_is_printed(daemon: Daemon, tmp_path: Path, arguments: str) -> None:
    """Also for a project of which nothing is known, and for errors."""
    elsewhere = {"TACITD_STATE_DIR": str(tmp_path / "state")}
    quick, full = (run(daemon, program, arguments, **elsewhere) for program in (PROGRAM, FULL))
    assert quick == full
    alone = run(daemon, ALONE, arguments, **elsewhere)
    assert alone == full or (alone == NEEDS_CLICK and arguments in DECLINED)


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [
        ("status", {}),
        ("status -v", {"NO_COLOR": "1"}),
        ("status", {"TERM": "dumb"}),
        ("status", {"COLUMNS": "33"}),
        ("learned", {}),
        ("spend", {"COLUMNS": "70"}),
        ("context", {"COLUMNS": "33"}),
    ],
)
def test_a_terminal_shows_the_same(daemon: Daemon, arguments: str, variables: Mapping[str, str]) -> None:
    """Its width and its colours are those of the terminal of the caller."""
    quick = compare(lambda program: show(daemon, program, arguments, **variables))
    assert quick.code == 0 and quick.out
    if arguments.startswith("status"):
        assert (b"\x1b[1m" in quick.out) == (not {"NO_COLOR", "TERM"} & set(variables))


def test_a_pager_shows_what_does_not_fit(daemon: Daemon, tmp_path: Path) -> None:
    """The same lines reach it, and it is the caller's."""
    pager = tmp_path / "pager"
    pager.write_text('#!/bin/sh\necho "paged with $LESS"\ncat\n')
    variables = {"TACITD_PAGER": f"/bin/sh {pager}", "LINES": "3", "COLUMNS": "200"}
    quick = compare(lambda program: show(daemon, program, "learned", **variables))
    assert quick.out.startswith(b"paged with FRX") and quick.code == 0
    assert b"paged" not in show(daemon, QUICK_ONLY, "learned --no-pager", **variables).out


@pytest.mark.parametrize("arguments", DECLINED)
def test_errors_are_those_of_the_full_program(daemon: Daemon, arguments: str) -> None:
    """The daemon declines what it does not know and what fails, and the full program runs."""
    assert run(daemon, QUICK_ONLY, arguments) == (1, b"", b"")
    full = run(daemon, FULL, arguments)
    assert run(daemon, PROGRAM, arguments) == full
    assert run(daemon, ALONE, arguments) in (full, NEEDS_CLICK)


@pytest.mark.parametrize(
    "variables",
    [
        {"USER_MEMORY_DIR": "/elsewhere"},
        {"CLAUDE_CONFIG_DIR": "/elsewhere"},
        {"TACITD_SESSION__IDLE": "2h"},
        {"tacitd_session__idle": "2h"},
        {"TZ": "UTC-5"},
        {"PYTHONPATH": "/elsewhere"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
)
def test_other_surroundings_are_not_answered(daemon: Daemon, variables: Mapping[str, str]) -> None:
    """The daemon has other values of variables that matter, or this process cannot print all."""
    assert run(daemon, QUICK_ONLY, "config show", **variables) == (1, b"", b"")
    full = run(daemon, FULL, "config show", **variables)
    assert run(daemon, PROGRAM, "config show", **variables) == full and full.code == 0


def test_a_daemon_of_another_version_is_not_asked_to_answer(daemon: Daemon) -> None:
    """After an update the daemon that runs is the old one, until it is restarted."""
    other = QUICK_ONLY[-1].replace("import os, sys;", "import os, sys, tacitd; tacitd.__version__ = '9.9.9';")
    assert run(daemon, [*QUICK_ONLY[:-1], other], "status") == (1, b"", b"")


def test_a_state_directory_that_cannot_be_searched(daemon: Daemon, tmp_path: Path) -> None:
    """A daemon may run there: `status` says what is wrong, and not that nothing ran."""
    closed = tmp_path / "closed"
    closed.mkdir(0o000)
    elsewhere = {"TACITD_STATE_DIR": str(closed / "s")}
    quick, full = (run(daemon, [*bound(), *program], "status", **elsewhere) for program in (PROGRAM, FULL))
    assert quick == full and b"Permission denied" in quick.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", ["doctor --quick", "status"])
def test_messages_that_cannot_be_written_double_nothing(
    daemon: Daemon, tmp_path: Path, arguments: str
) -> None:
    """What is on stdout already is not printed again: as the full program, which ends with 1."""
    variables = {"TACITD_STATE_DIR": str(tmp_path / "state")} if arguments == "status" else {}
    command = ["bash", "-c", '"$@" 2>/dev/full', "bash"]
    quick, full = (run(daemon, [*command, *program], arguments, **variables) for program in (PROGRAM, FULL))
    assert quick == full and full.code == 1 and full.out


def test_a_closed_reader_and_closed_streams(daemon: Daemon) -> None:
    """`tacitd learned | head -0` ends quietly, and `>&-` does not fail: as the full program."""
    for program in (PROGRAM, ALONE, FULL):
        command = 'set -o pipefail; "$@" learned | true; echo $?; "$@" learned >&-; echo $?; "$@" learned 2>&-; echo $?'
        done = run(daemon, ["bash", "-c", command, "bash", *program], "")
        lines = done.out.splitlines()
        assert lines[:2] == [b"0", b"0"] and lines[-1] == b"0" and not done.err
