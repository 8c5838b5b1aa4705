"""Commands as a person runs them: real processes and a stand-in for claude, with and without a daemon."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from support_daemon import (
    ECHO_FACTS,
    EXTRACTION,
    LEARNING,
    PROGRAM,
    SYNTHESIS,
    Daemon,
    MakeDaemon,
    bullets,
    until,
)
from support_waiting import PATIENCE
from tacitd.clock import parse_utc
from tacitd.errors import PARKED

pytestmark = pytest.mark.scenario


def long_ago(daemon: Daemon, session: str = "s1", seconds: float = 7200.0) -> None:
    """Make the session look idle since then to a daemon that starts now."""
    at = time.time() - seconds
    os.utime(daemon.transcript(session), (at, at))


def test_run_once_does_all_that_waits_and_leaves(make: MakeDaemon) -> None:
    """`run --once` does all pending work, including the synthesis of ended sessions, and exits."""
    daemon = make()
    assert daemon.cli("run", "--once").returncode == 0
    daemon.type_("s1", "Prefers amber-1")
    long_ago(daemon)
    done = daemon.cli("run", "--once")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert daemon.learned == ["Prefers amber-1"]
    calls = len(daemon.claude.calls())
    before = daemon.snapshot()
    assert daemon.cli("run", "--once").returncode == 0
    assert daemon.snapshot() == before and len(daemon.claude.calls()) == calls


def test_run_once_with_something_parked_ends_with_75(make: MakeDaemon) -> None:
    """Exit code 75, with the parked work and its reason on stderr; later the work continues."""
    daemon = make([{"match": ".", "fault": "usage-limit"}])
    daemon.cli("run", "--once")
    daemon.type_("s1", "Prefers amber-4")
    done = daemon.cli("run", "--once")
    assert done.returncode == 75 and "parked: " in done.stderr and "usage limit" in done.stderr
    daemon.install_claude()
    long_ago(daemon)
    assert daemon.cli("run", "--once").returncode == 0
    assert daemon.learned == ["Prefers amber-4"]


def test_a_second_engine_is_refused(make: MakeDaemon) -> None:
    """Exit code 69: another daemon runs."""
    daemon = make()
    daemon.start()
    for arguments in (["run"], ["run", "--once"]):
        done = daemon.cli(*arguments)
        assert done.returncode == 69 and "already runs" in done.stderr and "tacitd stop" in done.stderr


@pytest.mark.parametrize("running", [True, False])
def test_init_and_synthesize_with_and_without_a_daemon(make: MakeDaemon, running: bool) -> None:
    """Both commands call the daemon, and do the work themselves if none runs."""
    daemon = make()
    (daemon.project / "AGENTS.md").write_text("- Test first\n")
    if running:
        daemon.start()
    said = daemon.cli("init", str(daemon.project))
    assert said.returncode == 0 and "LEARNED.md and its summary are there" in said.stderr, said.stderr
    assert (daemon.project / "LEARNED.md").read_text() == "# Learned Preferences\n"
    assert "Test first" in (daemon.project / "tmp/known-facts-summary.md").read_text()
    daemon.type_("s1", "Prefers amber-5")
    said = daemon.cli("synthesize", cwd=daemon.project)
    assert said.returncode == 0, said.stderr
    assert daemon.learned == ["Prefers amber-5"]
    assert daemon.cli("learned", "--json", cwd=daemon.project).stdout.count("amber-5") == 1


def test_init_where_there_is_no_project(make: MakeDaemon) -> None:
    """Exit code 2 with the reason, with and without a daemon, also for an excluded directory."""
    daemon = make()
    for _ in range(2):
        for where in (daemon.home, daemon.root / "nowhere"):
            done = daemon.cli("init", str(where))
            assert done.returncode == 2, done.stderr
            assert "not a project" in done.stderr or "no such directory" in done.stderr
        daemon.cli("exclude", str(daemon.project))
        done = daemon.cli("init", str(daemon.project))
        assert done.returncode == 2 and "--undo" in done.stderr
        assert not (daemon.project / "LEARNED.md").exists()
        if daemon.process is None:
            daemon.start()


def test_sync_says_what_waits_and_write_does_it(make: MakeDaemon) -> None:
    """While a fact waits for its session's end, `sync` prints no `all handled`; `--write` writes and names its line."""
    daemon = make()
    daemon.start()
    assert daemon.cli("sync").stderr == "all handled\n"
    daemon.type_("s1", "Prefers amber-1")
    said = daemon.cli("sync")
    assert said.returncode == 0 and "all handled" not in said.stderr
    assert f"waits: 1 fact in {daemon.project}: until its session ends (at " in said.stderr
    assert "`tacitd sync --write`" in said.stderr
    assert f"waits     1 fact in {daemon.project}: until" in daemon.cli("status").stdout
    (wait,) = daemon.status()["waits"]
    ends = parse_utc(wait["at"])
    assert ends is not None and 3000 < ends - time.time() < 3700, "session.idle is an hour here"
    said = daemon.cli("sync", "--write")
    line = "learned: Prefers amber-1  (app/LEARNED.md, from 1 prompt, <$0.01)"
    assert said.stderr == f"{line}\nall handled\n" and daemon.learned == ["Prefers amber-1"]
    assert f"INFO    {line}" in daemon.said()
    assert line in (daemon.state / "tacitd.log").read_text()
    assert daemon.status()["waits"] == []


@pytest.mark.parametrize("running", [True, False])
def test_synthesize_says_what_it_did(make: MakeDaemon, running: bool) -> None:
    """The output has the lines, or the reason why there is none."""
    daemon = make()
    daemon.start()
    if not running:
        daemon.stop()
    said = daemon.cli("synthesize", str(daemon.project))
    assert (said.returncode, said.stderr) == (0, "all handled\n")
    daemon.type_("s1", "Prefers amber-1")
    said = daemon.cli("synthesize", str(daemon.project))
    assert "learned: Prefers amber-1  (app/LEARNED.md, from 1 prompt, <$0.01)\n" in said.stderr
    for typed, reply, why in (
        (
            "Strongly prefers amber-1 here",
            "FILE: LEARNED.md\nFACT: Prefers amber-1",
            "it is written there already",
        ),
        ("Rejects amber-4", "NONE", "the model made no line of it"),
    ):
        daemon.claude.rules([ECHO_FACTS, {"match": SYNTHESIS, "reply": reply}])
        daemon.type_("s2", typed)
        said = daemon.cli("synthesize", str(daemon.project))
        assert said.returncode == 0 and f"no line: {why}" in said.stderr, said.stderr
    daemon.claude.rules(LEARNING)
    lock = daemon.project / ".#LEARNED.md"
    lock.symlink_to(f"me@{os.uname().nodename}.{os.getpid()}:1")  # a running Emacs has it open
    daemon.type_("s3", "Prefers amber-3")
    said = daemon.cli("synthesize", str(daemon.project))
    assert said.returncode == 75, said.stderr
    assert ".#LEARNED.md" in said.stderr and "hint: save and close it" in said.stderr
    assert "amber-3" not in (daemon.project / "LEARNED.md").read_text()
    lock.unlink()


def test_rows_are_changed_without_a_daemon_and_beside_a_hung_one(make: MakeDaemon) -> None:
    """DESIGN "Commands": what only changes rows is written by the command itself; the daemon finds it."""
    daemon = make()
    project = str(daemon.project)
    for options in ([], ["--project", project], ["--session", "s1"]):
        paused = daemon.cli("pause", *options)
        assert paused.returncode == 0 and paused.stderr.startswith("paused: "), paused.stderr
        assert "already paused" in daemon.cli("pause", *options).stderr
    assert daemon.cli("pause", "--project", "a", "--session", "b").returncode == 2
    daemon.start()
    assert len(daemon.status()["paused"]) == 3
    daemon.type_("s1", "Prefers basalt-1")
    assert [daemon.cli("sync", *options).returncode for options in ([], ["--write"], [])] == [0, 0, 0]
    process = daemon.process
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    try:
        for options in ([], ["--project", project], ["--session", "s1"]):
            resumed = daemon.cli("resume", *options)
            assert resumed.returncode == 0 and "1 prompt passed over" in resumed.stderr, resumed.stderr
        assert daemon.cli("resume", "--project", str(daemon.root / "nowhere")).returncode == 2
        assert daemon.cli("rescue").returncode == 0 and daemon.cli("rescue", "drop", "x").returncode == 1
    finally:
        process.send_signal(signal.SIGCONT)
    assert "was not paused: session s1" in daemon.cli("resume", "--session", "s1").stderr
    daemon.type_("s1", "Prefers amber-1")
    daemon.synthesize()
    assert daemon.learned == ["Prefers amber-1"]


def test_what_is_asked_for_beside_a_stopped_daemon_is_done_when_it_goes_on(make: MakeDaemon) -> None:
    """DESIGN "Commands": rows are written by the command, a task waits for the daemon, and what it waits for is said (75)."""
    refused = {"match": f"(?s){EXTRACTION}.*pnpm please", "reply": "[1] Use pnpm 9.9.9"}
    fails = {"match": f"(?s){EXTRACTION}.*put-aside", "fault": "echo"}
    daemon = make([fails, refused, *LEARNING], DISPATCH__FIRST_PAUSE="200ms", DISPATCH__LONGEST_PAUSE="200ms")
    daemon.type_("s0", "Prefers old-1")
    team, secret = daemon.new_project("team"), daemon.new_project("secret")
    daemon.start()
    for number in range(3):
        daemon.type_(f"s{number + 1}", f"Prefers put-aside-{number}")
    daemon.type_("s4", "Prefers amber-1")
    daemon.type_("s5", "pnpm please")
    daemon.type_("s6", "Prefers basalt-1", team)
    daemon.sync()
    daemon.wait_until(lambda status: status["rescued"] == 3 and not status["parked"])
    daemon.synthesize()
    daemon.synthesize(team)
    assert daemon.learned == ["Prefers amber-1"] and bullets(team / "LEARNED.md") == ["Prefers basalt-1"]
    hidden = team / ".git/info/exclude"
    assert "LEARNED.md" in hidden.read_text()
    (item,), kept = daemon.list_review(), {one["text"]: one["id"] for one in daemon.list_rescued()}
    assert item["text"] == "Use pnpm 9.9.9"
    daemon.claude.rules(LEARNING)
    process = daemon.process
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    try:
        for code, *asked in (
            (0, "pause", "--session", "s7"),
            (0, "pause", "--session", "s8"),
            (0, "resume", "--session", "s8"),
            (0, "rescue"),
            (0, "rescue", "drop", kept["Prefers put-aside-0"]),
            (PARKED, "rescue", "retry", kept["Prefers put-aside-1"]),
            (PARKED, "rescue", "retry", "--all"),
            (0, "exclude", str(secret)),
            (PARKED, "share", str(team)),
            (PARKED, "accept", item["id"]),
            (PARKED, "forget", "amber-1"),
            (PARKED, "scan", "--since", "1d", "--yes"),
        ):
            done = daemon.cli(*asked, cwd=daemon.project)
            assert done.returncode == code, (asked, done.stderr)
            assert ("is stored, and is done when it goes on" in done.stderr) is (
                code == PARKED or asked[0] == "exclude"
            ), done.stderr
    finally:
        process.send_signal(signal.SIGCONT)
    until(lambda: "LEARNED.md" not in hidden.read_text(), PATIENCE, lambda: hidden.read_text())
    until(lambda: daemon.learned == ["Use pnpm 9.9.9"], PATIENCE, lambda: str(daemon.learned))
    daemon.wait_until(lambda status: status["rescued"] == 0)
    daemon.type_("s7", "Prefers chalk-1")
    daemon.type_("s9", "Prefers chalk-2", secret)
    daemon.synthesize()
    lines = ["Prefers old-1", "Prefers put-aside-1", "Prefers put-aside-2", "Use pnpm 9.9.9"]
    assert sorted(daemon.learned) == lines
    assert not any("chalk" in words for words in daemon.put_to_model()) and daemon.list_review() == []


def _held(pipe: int) -> int:
    """Bytes that wait in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, b"\0\0\0\0"), sys.byteorder)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_demo_that_is_ended_leaves_nothing_behind(tmp_path: Path, how: signal.Signals) -> None:
    """`tacitd demo` leaves nothing behind, however it ends."""
    place = tmp_path / "t"
    place.mkdir()
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TMPDIR": str(place), "LANG": "C.UTF-8"}
    out, into = os.pipe()
    room = fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, 4096)
    filled = os.write(into, b"." * (room - 128))  # room for the first line only: the demo blocks after it
    with (
        os.fdopen(out, "rb") as shown,
        subprocess.Popen([*PROGRAM, "demo"], env=environ, stdout=into, stderr=subprocess.PIPE) as process,
    ):
        os.close(into)
        until(lambda: _held(out) > filled, 60, lambda: "the demo says nothing")
        process.send_signal(how)
        assert b"SCRIPT" in shown.read()
        process.communicate(timeout=60)
    assert process.returncode != 0 and list(place.iterdir()) == []
