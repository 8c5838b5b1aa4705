"""Starts: the reason of a failure, and signals at every moment of a start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from support_daemon import PROGRAM, Daemon, MakeDaemon, leftovers, until
from tacitd.errors import TacitdError

MOMENTS = int(os.environ.get("TACITD_TEST_START_MOMENTS", "4"))
"""Moments of a start at which each signal is sent; a full run takes 100."""
pytestmark = [pytest.mark.scenario, pytest.mark.timeout(300)]


# --- `tacitd start` says the real reason ---------------------------------------------------------------------


def block_socket(daemon: Daemon) -> str:
    """Put an ordinary file in the socket's place."""
    daemon.socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    daemon.socket.write_text("mine")
    daemon.socket.chmod(0o600)
    return f"{daemon.socket} exists and is not a socket"


def test_run_prints_no_banner_where_it_cannot_answer(make: MakeDaemon) -> None:
    """With an ordinary file in the socket's place, the error is printed, and not that the daemon answers there."""
    daemon = make()
    reason = block_socket(daemon)
    done = daemon.cli("run")
    assert done.returncode != 0 and reason in done.stderr, done.stderr
    assert "socket: " not in done.stderr and "watches" not in done.stderr, done.stderr


def break_configuration(daemon: Daemon) -> str:
    """Configure a value that is not allowed."""
    daemon.environ["TACITD_BUDGET__USD_PER_DAY"] = "much"
    return "budget.usd_per_day"


def block_schema(daemon: Daemon) -> str:
    """Put a directory in the place of a state file, which the child finds after it has detached."""
    (daemon.state / "schema.json").mkdir(mode=0o700, parents=True)
    daemon.state.chmod(0o700)
    return "schema.json"


def block_lock(daemon: Daemon) -> str:
    """Put a directory in the lock's place, which causes an error of the system."""
    (daemon.state / "lock").mkdir(mode=0o700, parents=True)
    daemon.state.chmod(0o700)
    return "lock"


@pytest.mark.parametrize("prepare", [block_socket, break_configuration, block_schema, block_lock])
def test_start_says_why_the_child_ended(make: MakeDaemon, prepare: Callable[[Daemon], str]) -> None:
    """`tacitd start` prints the message and the hint that `tacitd run` prints."""
    daemon = make()
    reason = prepare(daemon)
    daemon.faults_expected = True
    said = daemon.cli("start")
    run = daemon.cli("run", "--quiet")
    assert said.returncode == run.returncode != 0
    assert reason in said.stderr, said.stderr
    assert "hint: " in said.stderr and "it printed nothing" not in said.stderr
    assert leftovers(daemon.home) == []


# --- signals at every moment ---------------------------------------------------------------------------------


def signals_of(pid: int, field: str) -> int:
    """A mask of signals from /proc/<pid>/status: `SigCgt` (caught), `SigIgn` (ignored)."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1], 16)
    return 0


def is_prepared(pid: int) -> bool:
    """Whether the program has reached its first line: it has a handler for SIGUSR1.

    Until the program is executed, the new process has the command line and the signal handlers of this one; what this one
    ignores, it ignores also then.
    """
    bit = 1 << (signal.SIGUSR1 - 1)
    with suppress(OSError):
        if Path(f"/proc/{pid}/cmdline").read_bytes() == Path("/proc/self/cmdline").read_bytes():
            return False
    return bool(signals_of(pid, "SigCgt") & bit)


def spawn_prepared(daemon: Daemon, *arguments: str) -> subprocess.Popen[bytes]:
    """Start the program and return at its first line, after the interpreter's start."""
    process = daemon.spawn(*arguments)
    while process.poll() is None and not is_prepared(process.pid):
        time.sleep(0.0005)
    assert process.poll() is None, daemon.said()
    return process


def spread_over_start(daemon: Daemon, moments: int) -> list[float]:
    """Seconds after the first line at which to send a signal: over a whole start and a little more."""
    process = spawn_prepared(daemon, "run", "--service")
    began = time.monotonic()
    until(lambda: daemon.socket.exists(), 60, daemon.said)
    took = time.monotonic() - began
    process.terminate()
    assert process.wait(60) == 0
    return [1.3 * took * number / moments for number in range(moments)]


def pid_of(daemon: Daemon) -> int | None:
    """The process that answers on the socket; None if none does. The socket's name exists before it listens."""
    try:
        return int(daemon.call("ping")["pid"])
    except TacitdError:
        return None


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGHUP])
def test_a_question_during_the_start_does_no_harm(make: MakeDaemon, number: signal.Signals) -> None:
    """DESIGN "Service": SIGUSR1 logs stacks and SIGHUP reloads, at every moment of a start."""
    daemon = make()
    for moment in spread_over_start(daemon, MOMENTS):
        process = spawn_prepared(daemon, "run", "--service")
        time.sleep(moment)  # the moment is what is tested
        process.send_signal(number)
        until(lambda: process.poll() is not None or daemon.socket.exists(), 60, daemon.said)  # noqa: B023
        assert process.poll() is None, f"{moment:.3f} s after its first line: {process.returncode}"
        try:
            until(lambda: pid_of(daemon) == process.pid, 60, daemon.said)  # noqa: B023
        finally:
            process.terminate()
            assert process.wait(60) == 0
    assert leftovers(daemon.home) == []


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ending_it_during_the_start_does_no_harm(make: MakeDaemon, number: signal.Signals) -> None:
    """Ctrl-C at any moment: the daemon stops in time, without a traceback, and the next start succeeds."""
    daemon = make()
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    daemon.stop()
    for moment in spread_over_start(daemon, MOMENTS):
        process = spawn_prepared(daemon, "run")
        time.sleep(moment)
        process.send_signal(number)
        code = process.wait(60)
        assert code in (0, -number, 128 + number), f"{moment:.3f} s after its first line: {code}"
        assert not daemon.socket.exists() or code != 0
    assert "Traceback" not in daemon.said() and "KeyboardInterrupt" not in daemon.said()
    assert leftovers(daemon.home) == []
    daemon.start()
    assert daemon.synthesize() == []
    assert daemon.learned == ["Prefers amber-1"]
    assert daemon.put_to_model() == ["Prefers amber-1"]


def test_a_second_interrupt_does_not_cut_the_closing_short(make: MakeDaemon) -> None:
    """After Ctrl-C was pressed several times, the model's child is ended, and the exit code is 0."""
    daemon = make([{"match": "opinion mining", "fault": "hang-family"}], EXTRACTION__SETTLE="0s")
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    daemon.wait_until(lambda s: s["model"]["children"] == 1 and daemon.claude.calls())
    process = daemon.process
    assert process is not None
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    daemon.process = None
    assert process.returncode == 0, daemon.said()
    assert leftovers(daemon.home) == []
    assert "Traceback" not in daemon.said()


def test_signals_are_prepared_before_anything_is_imported() -> None:
    """The program's first module imports nothing of the command line, because that import takes most of a start."""
    first = "import sys; import tacitd_handlers.entry_point; print([n for n in %r if n in sys.modules])"
    heavy = ("click", "loguru", "pydantic", "tacitd.cli", "tacitd.app", "tacitd.cli.plugin_table")
    done = subprocess.run(
        [PROGRAM[0], "-c", first % (heavy,)], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what is loaded")
def test_a_daemon_without_work_loads_only_what_it_needs(make: MakeDaemon) -> None:
    """Each of these takes one to three MB, of every daemon that never needs it."""
    daemon = make()
    daemon.start()
    daemon.sync()
    assert daemon.process is not None
    mapped = Path(f"/proc/{daemon.process.pid}/maps").read_text()
    assert "/msgspec/" in mapped
    assert [name for name in ("/_asyncio.", "/_ssl.", "/yaml/", "/rapidfuzz/") if name in mapped] == []
