"""Starts: the reason of a failure, and signals at every moment of a start."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support_daemon import Daemon, MakeDaemon, leftovers, until

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


def write_newer_store(daemon: Daemon) -> str:
    """A store of a newer version, which the child finds after it has detached."""
    daemon.state.mkdir(mode=0o700, parents=True)
    with sqlite3.connect(daemon.state / "tacitd.sqlite") as db:
        db.execute("CREATE TABLE schema_version(owner TEXT PRIMARY KEY, version INTEGER NOT NULL)")
        db.execute("INSERT INTO schema_version VALUES('engine', 99)")
    db.close()
    return "newer version of tacitd"


def block_lock(daemon: Daemon) -> str:
    """Put a directory in the lock's place, which causes an error of the system."""
    (daemon.state / "lock").mkdir(mode=0o700, parents=True)
    daemon.state.chmod(0o700)
    return "lock"


@pytest.mark.parametrize("prepare", [block_socket, break_configuration, write_newer_store, block_lock])
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


def spread_over_start(daemon: Daemon, moments: int) -> list[float]:
    """Seconds after the process begins at which to send a signal: over a whole start and a little more."""
    began = time.monotonic()
    process = daemon.spawn("run", "--service")
    until(lambda: daemon.socket.exists(), 60, daemon.said)
    took = time.monotonic() - began
    process.terminate()
    assert process.wait(60) == 0
    return [1.3 * took * number / moments for number in range(moments)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ending_it_during_the_start_does_no_harm(make: MakeDaemon, number: signal.Signals) -> None:
    """Ctrl-C at any moment: the daemon stops in time, and the next start succeeds."""
    daemon = make()
    daemon.faults_expected = True  # Python itself prints a traceback if it is interrupted in its own start
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    daemon.stop()
    for moment in spread_over_start(daemon, MOMENTS):
        process = daemon.spawn("run")
        time.sleep(moment)
        process.send_signal(number)
        code = process.wait(60)
        assert code in (0, 1, -number, 128 + number), f"{moment:.3f} s after it began: {code}"
        assert not daemon.socket.exists() or code != 0
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


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what is loaded")
def test_a_daemon_without_work_loads_only_what_it_needs(make: MakeDaemon) -> None:
    """Each of these takes one to three MB, of every daemon that never needs it."""
    daemon = make()
    daemon.start()
    daemon.sync()
    assert daemon.process is not None
    mapped = Path(f"/proc/{daemon.process.pid}/maps").read_text()
    assert "/msgspec/" in mapped
    assert [name for name in ("/yaml/", "/rapidfuzz/", "/_asyncio.", "/_ssl.") if name in mapped] == []
