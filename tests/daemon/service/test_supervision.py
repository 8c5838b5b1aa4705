"""A daemon and its service manager: what is sent when, and that a stuck daemon sends no sign of life."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support_engine import Scene
from support_waiting import PATIENCE
from tacitd.errors import ConfigError
from tacitd.service.supervision import (
    STUCK_AFTER,
    Notifier,
    Supervision,
    find_fault,
    handle_signals,
)


class Heard:
    """systemd's end of the notification socket."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._socket.setblocking(False)

    def all(self) -> list[str]:
        """The messages since the last call."""
        found = []
        while True:
            try:
                found.append(self._socket.recv(4096).decode())
            except BlockingIOError:
                return found

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[Heard]:
    made = Heard(tmp_path / "notify")
    yield made
    made.close()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.app.close()


def test_what_the_environment_says() -> None:
    """sd_notify(3), sd_watchdog_enabled(3): half of the interval; another process's watchdog is not ours."""
    env = {"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "4000000", "WATCHDOG_PID": str(os.getpid())}
    assert Notifier.from_env(env) == Notifier("/x", 2.0)
    assert Notifier.from_env({**env, "WATCHDOG_PID": "1"}).interval is None
    for wrong in ("", "x", "0", "-1"):
        assert Notifier.from_env({**env, "WATCHDOG_USEC": wrong}).interval is None
    Notifier.from_env({}).send(READY="1")
    Notifier("/no/such/socket").send(STOPPING="1")


def test_the_words_of_the_protocol(heard: Heard) -> None:
    """READY with STATUS, STOPPING, as systemd reads them; a sign of life only if one is due."""
    notifier = Notifier(str(heard.path), 2.0)
    notifier.send(READY="1", STATUS="läuft")
    notifier.send(STOPPING="1")
    notifier.notify_alive(0.0)
    notifier.notify_alive(0.5)
    notifier.notify_alive(1.0)
    said = heard.all()
    assert said == ["READY=1\nSTATUS=läuft", "STOPPING=1", "WATCHDOG=1", "WATCHDOG=1"]


def test_ready_is_said_when_everything_is_up_and_then_each_turn_is_a_sign_of_life(
    scene: Scene, heard: Heard
) -> None:
    """DESIGN "Service": READY after lock, socket, watches and first listing; WATCHDOG from the engine's loop, in time."""
    life = Supervision(scene.app, Notifier(str(heard.path), 10.0))
    life.announce_ready()
    (ready,) = heard.all()
    assert ready.startswith("READY=1\nSTATUS=tacitd: 0 learned today")
    life.report_health()
    assert heard.all() == ["WATCHDOG=1"]
    scene.clock.advance(1.0)
    life.report_health()
    assert heard.all() == []
    scene.clock.advance(10.0)
    life.report_health()
    assert "WATCHDOG=1" in heard.all()


def test_a_stuck_daemon_gives_no_sign_of_life(scene: Scene, heard: Heard) -> None:
    """A worker that is busy for more than half an hour, or a watcher that ended: the manager restarts the daemon."""
    life = Supervision(scene.app, Notifier(str(heard.path), 1.0))
    scene.app.engine.runner._running["a", "/project"] = scene.clock.monotonic()
    scene.clock.advance(STUCK_AFTER - 1)
    life.report_health()
    assert "WATCHDOG=1" in heard.all()
    scene.clock.advance(2)
    life.report_health()
    said = heard.all()
    assert "WATCHDOG=1" not in said and "has been busy with /project for 30 min" in said[0]
    scene.app.engine.runner._running.clear()
    assert find_fault(scene.app, scene.clock.monotonic()) == ""


def test_reload_is_whole_or_not_at_all(scene: Scene, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELOADING comes before it, and READY after it: if nothing changed, or the new configuration is refused, at once."""

    def refuse(_: object) -> list[str]:
        raise ConfigError("wrong", "mend it")

    life = Supervision(scene.app, Notifier(str(heard.path)))
    monkeypatch.setattr("tacitd.service.supervision.reload_config", refuse)
    for _ in range(2):
        life.reload_or_keep()
        first, second = heard.all()
        assert first.startswith("RELOADING=1\nMONOTONIC_USEC=") and second.startswith("READY=1")
        monkeypatch.setattr("tacitd.service.supervision.reload_config", lambda _: [])
    monkeypatch.setattr("tacitd.service.supervision.reload_config", lambda _: ["session.idle"])
    life.reload_or_keep()
    (only,) = heard.all()
    assert only.startswith("RELOADING=1")


def test_a_signal_is_acted_on_in_a_thread() -> None:
    """A handler in the main thread could deadlock on a lock that this thread holds."""
    done, where = threading.Event(), list[str]()

    def act() -> None:
        where.append(threading.current_thread().name)
        done.set()

    before = signal.getsignal(signal.SIGHUP)
    with handle_signals({signal.SIGHUP: act}):
        os.kill(os.getpid(), signal.SIGHUP)
        assert done.wait(PATIENCE)
    assert where == ["tacitd-signals"] and signal.getsignal(signal.SIGHUP) == before


def test_a_signal_that_comes_with_its_handler_is_acted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that came between the two steps of installing was lost: the daemon did not end."""
    done, install = threading.Event(), signal.signal

    def install_and_send(number: signal.Signals, handler: Any) -> Any:
        before = install(number, handler)
        if not done.is_set():
            os.kill(os.getpid(), number)
        return before

    original = install(signal.SIGHUP, signal.SIG_IGN)
    monkeypatch.setattr(signal, "signal", install_and_send)
    try:
        with handle_signals({signal.SIGHUP: done.set}):
            assert done.wait(PATIENCE)
    finally:
        install(signal.SIGHUP, original)


@pytest.mark.parametrize("how", ["life.request_stop()", "app.asked_to_stop.set(); life.run()"])
def test_a_daemon_that_hangs_while_it_stops_is_ended(how: str) -> None:
    """After a signal and after `tacitd stop`, in time for who waits for it, and it prints where it hung."""
    program = (
        "import time; from types import SimpleNamespace as Space; from threading import Event\n"
        "from tacitd.service import supervision as own; own.END_WITHIN = 0.2\n"
        "app = Space(asked_to_stop=Event(), stopping=Event(), request_stop=bool, run=lambda *_: None)\n"
        f"life = own.Supervision(app, own.Notifier()); {how}; time.sleep(600)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1 and "Timeout" in done.stderr


# --- memory that is given back, in a process of its own


PROGRAM = """
import sys, threading
from tacitd.service.supervision import limit_heap
if sys.argv[1] == "limited":
    limit_heap()
def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20
def work():
    bytearray(40 << 20)
    kept.extend(bytes(4 << 20) for _ in range(8))
    del kept[:-1]
kept, before = [], memory()
for _ in range(4):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
print(memory() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the memory")
def test_large_blocks_of_all_threads_are_given_back() -> None:
    """What stays is what is kept: one block of 4 MB. Without the limit the C library decides."""
    command = [sys.executable, "-c", PROGRAM, "limited"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 8


FRAGMENTS = """
from tacitd.service.supervision import return_memory
def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20
kept = [bytearray(1000) for _ in range(60_000)]
del kept[:50_000], kept[1::2]
before = memory()
return_memory()
print(before - memory())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the memory")
def test_free_memory_below_what_is_kept_is_returned() -> None:
    """The last blocks keep the heap from shrinking at its end; most of 50 MB is given back nevertheless."""
    done = subprocess.run([sys.executable, "-c", FRAGMENTS], capture_output=True, text=True, check=True)
    assert float(done.stdout) > 30
