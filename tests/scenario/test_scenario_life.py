"""The process: one at a time, timely stops, and answers on the socket."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support_daemon import ECHO_FACTS, EXTRACTION, LEARNING, PROGRAM, Daemon, MakeDaemon, leftovers, until

pytestmark = pytest.mark.scenario
STARTS = int(os.environ.get("TACITD_TEST_STARTS", "20"))
LINE = b'{"jsonrpc":"2.0","id":1,"method":"status"}\n'
"""The request in docs/socket.md."""


@pytest.mark.timeout(900)
def test_of_many_simultaneous_starts_exactly_one_survives(
    make: MakeDaemon, record_property: Callable[[str, object], None]
) -> None:
    """RELIABILITY 13, factor 1/5 unless TACITD_TEST_STARTS is 100: the others end with 69 and a message; the one that
    runs is not disturbed."""
    daemon = make()
    starting = {number: daemon.spawn("run", output=f"output-{number}") for number in range(STARTS)}
    try:
        until(
            lambda: sum(one.poll() is None for one in starting.values()) <= 1,
            60 + 5 * STARTS,
            daemon.terminal,
        )
        (survivor,) = (number for number, one in starting.items() if one.poll() is None)
        until(lambda: daemon.cli("status").returncode == 0, 60, daemon.terminal)
        assert daemon.status()["pid"] == starting[survivor].pid
        for number, one in starting.items():
            if number != survivor:
                said = (daemon.root / f"output-{number}").read_text()
                assert one.returncode == 69, said
                assert said.startswith("tacitd: "), said
                assert "hint: " in said
        record_property("reached", f"{STARTS} starts, one process remained")
    finally:
        for one in starting.values():
            one.terminate()
            one.wait(60)


def test_it_leaves_within_two_seconds_when_idle(
    make: MakeDaemon, record_property: Callable[[str, object], None]
) -> None:
    """RELIABILITY 14: SIGTERM ends it with 0; so does `tacitd stop`; a second start finds everything in place."""
    daemon = make()
    wanted, took = int(os.environ.get("TACITD_STOPS", "1")), list[float]()
    while len([one for one in took if one < 2.0]) < wanted and len(took) < max(8, wanted):
        daemon.start()
        took.append(daemon.stop())
        assert not daemon.socket.exists()
    in_time = [one for one in took if one < 2.0]
    # In a full run each of them; beside other tests the machine may be too busy for some.
    assert len(in_time) == wanted and (wanted == 1 or len(took) == wanted), took
    record_property("reached", f"{max(in_time):.1f} s when idle")
    daemon.start()
    assert daemon.cli("stop").returncode == 0
    assert daemon.process is not None
    assert daemon.process.wait(60) == 0
    daemon.process = None
    assert daemon.cli("stop").returncode == 69


def test_it_leaves_within_fifteen_seconds_with_a_call_in_flight(
    make: MakeDaemon, record_property: Callable[[str, object], None]
) -> None:
    """RELIABILITY 14: no orphan process, and prompts that were in flight are learned after the next start.

    One daemon for each way to hang. They stop at the same time, because each gives its call eight seconds to finish.
    """
    daemons: dict[str, Daemon] = {}
    for fault in ("hang", "hang-family", "hang-deaf"):
        rules = [{"match": EXTRACTION, "fault": fault, "times": 1}, *LEARNING]
        daemons[fault] = daemon = make(rules, EXTRACTION__SETTLE="0s")
        daemon.start()
        daemon.type_("s1", "Prefers amber-1")
        daemon.wait_until(lambda s, one=daemon: s["model"]["children"] == 1 and one.claude.calls(), fault)  # type: ignore[misc]
    with ThreadPoolExecutor() as pool:
        took = dict(zip(daemons, pool.map(Daemon.stop, daemons.values()), strict=True))
    assert max(took.values()) < 15.0, took
    record_property("reached", f"{max(took.values()):.1f} s with a model call in flight")
    for fault, daemon in daemons.items():
        assert leftovers(daemon.home) == [], fault
        assert not daemon.said().count("Traceback"), fault
        daemon.start()
        daemon.wait_until(lambda s: s["slices"]["learning"]["total"]["facts"] == 1, fault)


def test_a_reload_waits_for_a_call_and_costs_none(make: MakeDaemon) -> None:
    """Issue 38, build 2: the same process goes on with all of a new configuration; what runs ends first; who asks waits for it."""
    daemon = make(
        [{**ECHO_FACTS, "delay": 3.0, "times": 1}, *LEARNING],
        EXTRACTION__SETTLE="0s",
    )
    config = daemon.home / ".config/tacitd/config.toml"
    config.parent.mkdir(parents=True)
    daemon.start()
    pid = daemon.status()["pid"]
    daemon.type_("s1", "Prefers amber-1")
    daemon.wait_until(lambda s: s["model"]["children"] == 1 and daemon.claude.calls())
    config.write_text("[budget]\nusd_per_day = -1\n")
    refused = daemon.cli("reload")
    assert refused.returncode == 78 and "usd_per_day" in refused.stderr
    config.write_text("[budget]\nusd_per_day = 7.5\n")
    done = daemon.cli("reload")
    assert done.returncode == 0 and "changed: budget.usd_per_day" in done.stdout + done.stderr
    status = daemon.wait_until(lambda s: s["budget"]["usd_per_day"] == 7.5)
    assert status["pid"] == pid and not [one for one in status["degraded"] if one["id"] == "config.refused"]
    daemon.wait_until(lambda s: s["slices"]["learning"]["total"]["facts"] == 1)
    assert daemon.put_to_model() == ["Prefers amber-1"]
    assert daemon.stop() < 15.0 and not daemon.said().count("Traceback")


def test_what_is_saved_into_an_old_file_after_a_reload_is_kept(make: MakeDaemon) -> None:
    """SPEC X-08: an editor that had the file open before tacitd wrote it lost its user's text, if a reload came between."""
    daemon = make(SESSION__IDLE="2s")
    config = daemon.home / ".config/tacitd/config.toml"
    config.parent.mkdir(parents=True)
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    daemon.wait_for_lines("Prefers amber-1")
    with (daemon.project / "LEARNED.md").open("a") as editor:
        daemon.type_("s1", "Prefers amber-2")
        daemon.wait_for_lines("Prefers amber-1", "Prefers amber-2")
        config.write_text("[budget]\nusd_per_day = 7.5\n")
        assert daemon.cli("reload").returncode == 0
        daemon.wait_until(lambda s: s["budget"]["usd_per_day"] == 7.5)
        editor.write("- typed by the person\n")
        editor.flush()
        daemon.stop()
    assert "- typed by the person" in (daemon.project / "LEARNED.md.tacitd-saved").read_text()


CLOSING = """
import os, pathlib, signal, time
from tacitd.app import App
from tacitd_handlers.entry_point import main
close = App.close
def send_while_closing(app):
    App.close = close
    app.stopping.set()
    config = pathlib.Path.home() / ".config/tacitd/config.toml"
    config.write_text(config.read_text().replace("7.5", "8.5"))
    os.kill(os.getpid(), signal.{name})
    time.sleep(0.5)
    close(app)
App.close = send_while_closing
main()
"""
"""The program, which gets a signal while the first App is closed."""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_while_a_reload_closes_counts(
    make: MakeDaemon, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The daemon lived on after a SIGTERM then, and a second SIGHUP changed nothing."""
    daemon = make()
    config = daemon.home / ".config/tacitd/config.toml"
    config.parent.mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.setattr("support_daemon.PROGRAM", [sys.executable, "-c", CLOSING.format(name=name)])
        daemon.process = process = daemon.spawn("run", "--service")

    def told(*words: str) -> bool:
        said = daemon.cli("status", "--json").stdout  # where no daemon answers for a moment, too
        return all(word in said for word in words)

    until(lambda: told('"running": true'), 60, daemon.said)
    config.write_text("[budget]\nusd_per_day = 7.5\n")
    process.send_signal(signal.SIGHUP)
    if name == "SIGTERM":
        assert process.wait(60) == 0
        daemon.process = None
    else:
        until(lambda: told('"running": true', '"usd_per_day": 8.5'), 60, daemon.said)
        daemon.stop()


def test_what_a_killed_daemon_left_running_is_ended_by_the_next(make: MakeDaemon) -> None:
    """SPEC S-65: a model's child that outlives a killed daemon is ended, with the processes that it started."""
    daemon = make(
        [{"match": EXTRACTION, "fault": "hang-family", "times": 1}, *LEARNING], EXTRACTION__SETTLE="0s"
    )
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    daemon.wait_until(lambda s: s["model"]["children"] == 1 and daemon.claude.calls())
    until(lambda: (daemon.bin / "claude.grandchild").exists(), 60, daemon.said)
    daemon.kill9()
    daemon.start()
    daemon.wait_until(lambda s: s["slices"]["learning"]["total"]["facts"] == 1)
    assert daemon.put_to_model() == ["Prefers amber-1"] * 2


def test_once_leaves_nothing_behind_when_it_is_asked_to_end(make: MakeDaemon) -> None:
    """RELIABILITY 14, for `run --once` under cron or `timeout`: no orphan process, a message, and 128 plus the signal.

    One process for each signal. They stop at the same time, because each gives its call eight seconds to finish.
    """
    running: dict[signal.Signals, tuple[Daemon, subprocess.Popen[str]]] = {}
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        rules = [{"match": EXTRACTION, "fault": "hang-family", "times": 1}, *LEARNING]
        daemon = make(rules, EXTRACTION__SETTLE="0s")
        daemon.start()
        daemon.stop()
        daemon.type_("s1", "Prefers amber-1")
        command = [*PROGRAM, "run", "--once"]
        once = subprocess.Popen(command, env=daemon.environ, stderr=subprocess.PIPE, text=True)
        running[number] = daemon, once
        until(lambda one=daemon: bool(one.claude.calls()), 60, daemon.said)  # type: ignore[misc]
    for number, (_, once) in running.items():
        once.send_signal(number)
    for number, (daemon, once) in running.items():
        _, said = once.communicate(timeout=60)
        assert once.returncode == 128 + number and number.name in said, (number, said)
        assert leftovers(daemon.home) == [], number
        assert daemon.cli("run", "--once").returncode == 0, number
        assert daemon.put_to_model() == ["Prefers amber-1"] * 2, number


def test_a_command_with_another_environment_finds_the_daemon(make: MakeDaemon, tmp_path: Path) -> None:
    """DESIGN "Control": cron, sudo and ssh have no TACITD_SOCKET, or another one."""
    daemon = make(LEARNING)
    daemon.environ = {**daemon.environ, "TACITD_SOCKET": str(tmp_path / "elsewhere.sock")}
    daemon.start()
    bare = {name: value for name, value in daemon.environ.items() if name != "TACITD_SOCKET"}
    said = subprocess.run([*PROGRAM, "status"], env=bare, capture_output=True, text=True, check=False)
    assert said.returncode == 0 and "running since" in said.stdout, said.stderr
    daemon.stop()
    assert not (daemon.state / "socket").exists()


def test_a_status_is_there_from_the_first_moment(make: MakeDaemon) -> None:
    """DESIGN "Control": without a daemon `status` prints the document in the files, also right after kill -9."""
    daemon = make(LEARNING)
    daemon.start()
    daemon.kill9()
    said = daemon.cli("status")
    assert said.returncode == 69 and "has not run here" not in said.stdout and "stopped" in said.stdout


def test_it_runs_with_its_standard_streams_closed(make: MakeDaemon) -> None:
    """Some supervisors start programs with closed standard streams. No opened file may get their numbers."""
    daemon = make()
    command = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *PROGRAM, "run"]
    daemon.process = subprocess.Popen(command, env=daemon.environ, cwd=daemon.root)
    until(lambda: daemon.cli("status").returncode == 0, 60, lambda: "it does not answer")
    daemon.type_("s1", "Prefers amber-1")
    assert daemon.synthesize() == []
    assert daemon.learned == ["Prefers amber-1"]
    daemon.stop()


def test_more_callers_than_it_takes_are_told_that_it_is_busy(make: MakeDaemon) -> None:
    """RELIABILITY 17, factor 1/10: with a hundred silent connections reading continues, and no caller gets "no daemon
    runs"."""
    daemon = make()
    daemon.start()
    silent = [socket.socket(socket.AF_UNIX) for _ in range(100)]
    try:
        for one in silent:
            with suppress(BlockingIOError):
                one.setblocking(False)
                one.connect(str(daemon.socket))
        said = daemon.cli("status")
        assert said.returncode == 0 or ("busy" in said.stderr and "no daemon" not in said.stderr), said.stderr
        daemon.type_("s1", "Prefers amber-1", daemon.project)
    finally:
        for one in silent:
            one.close()
    until(lambda: daemon.cli("sync").returncode == 0, 60, daemon.said)
    assert daemon.put_to_model() == ["Prefers amber-1"]


AS_NOBODY = """
import os, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.settimeout(60)
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    connection.connect(sys.argv[1])
    connection.sendall(sys.argv[2].encode())
    print("said", connection.recv(100))
except PermissionError:
    print("shut")
except OSError:
    print("refused")
"""


def test_another_user_is_refused(make: MakeDaemon) -> None:
    """RELIABILITY 17: the directory's mode keeps other users out, otherwise the check of the peer's uid."""
    if os.geteuid() != 0:
        pytest.skip("only root can be two users")
    with TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        daemon = make(SOCKET=f"{place}/d/s")
        daemon.start()
        command = [sys.executable, "-c", AS_NOBODY, str(daemon.socket), LINE.decode()]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "shut\n"
        daemon.socket.parent.chmod(0o755)
        daemon.socket.chmod(0o666)
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert said in ("said b''\n", "refused\n")
        assert daemon.status()["running"]
        daemon.stop()


def test_a_restart_with_a_wrong_configuration_leaves_the_daemon(make: MakeDaemon) -> None:
    """It was stopped first, and then nothing ran."""
    daemon = make()
    daemon.start()
    config = daemon.home / ".config/tacitd/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("budget.usd_per_day = -1\n")
    said = daemon.cli("restart")
    assert said.returncode == 78 and "budget.usd_per_day" in said.stderr and "stopped" not in said.stderr
    assert daemon.process is not None and daemon.call("ping")["pid"] == daemon.process.pid
