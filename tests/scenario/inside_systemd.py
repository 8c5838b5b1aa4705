"""The parts of test_scenario_systemd.py that run beside a user manager of systemd. They print `ok <step>` for each."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support_beginnings import is_new, opening
from support_daemon import PROGRAM, append, bullets, line, prompt_record
from support_waiting import PATIENCE

HOME = Path(os.environ["HOME"])
PROJECT = HOME / "work" / "app"
UNIT = HOME / ".config/systemd/user/tacitd.service"
CONFIG = HOME / ".config/tacitd/config.toml"


def say(text: str) -> None:
    """Print a line for the test."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def tacitd(*arguments: str, code: int = 0) -> str:
    """Run a command that must end with this code."""
    done = subprocess.run(
        [*PROGRAM, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == code, (arguments, done)
    return done.stdout + done.stderr


def systemctl(*arguments: str) -> str:
    """Run `systemctl --user`."""
    done = subprocess.run(["systemctl", "--user", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (arguments, done)
    return done.stdout


def show(name: str) -> str:
    """One property of the unit."""
    return systemctl("show", "tacitd", f"--property={name}", "--value").strip()


def until(condition: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
    """Wait until a condition is true."""
    last = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < last, (what, systemctl("show", "tacitd"))
        time.sleep(0.05)


def up_again(before: str) -> bool:
    """Whether another process is active."""
    return show("ActiveState") == "active" and show("MainPID") not in ("0", before)


def type_(words: str) -> None:
    """Type into a session."""
    record = prompt_record("s1", words, str(PROJECT))
    path = HOME / ".claude/projects/app/s1.jsonl"
    append(path, (opening("s1") if is_new(path) else b"") + line(record))


def learn(words: str) -> None:
    """Type, and wait for the line."""
    type_(words)
    tacitd("sync")
    tacitd("synthesize", str(PROJECT))
    tacitd("sync")
    assert words in bullets(PROJECT / "LEARNED.md"), words


def life() -> None:
    """The whole life of the service."""
    printed = tacitd("service", "install", "--dry-run")
    assert not UNIT.exists() and "Type=notify" in printed
    drop_in = UNIT.with_name("tacitd.service.d") / "watchdog.conf"
    drop_in.parent.mkdir(parents=True)
    drop_in.write_text("[Service]\nWatchdogSec=10s\nEnvironment=TACITD_DEBUG=1\n")
    tacitd("service", "install")
    first = UNIT.read_bytes()
    assert show("ActiveState") == "active" and "learned today" in show("StatusText")
    pid = show("MainPID")
    assert "kept" in tacitd("service", "install") and UNIT.read_bytes() == first and show("MainPID") == pid
    assert f"already running (process {pid})" in tacitd("start") and "already running" in tacitd(
        "service", "install"
    )
    say("ok installed")
    learn("Prefers amber-1")
    say("ok learned")
    os.kill(int(pid), 9)
    until(lambda: up_again(pid), "kill -9")
    say("ok killed")
    reloads()
    wedged()
    systemctl("stop", "tacitd")
    assert (show("Result"), show("ExecMainStatus")) == ("success", "0"), "it did not leave by itself"
    tacitd("service", "status", code=3)
    assert "the service is running" in tacitd("start") and show("ActiveState") == "active"
    tacitd("service", "status")
    say("ok stopped")
    drop_in.unlink()
    drop_in.parent.rmdir()
    tacitd("service", "uninstall")
    tacitd("uninstall", "--purge", "--yes")
    runtime = Path(os.environ["XDG_RUNTIME_DIR"])
    assert not list(runtime.glob("tacitd*")) and not UNIT.exists()
    say("ok gone")


def reloads() -> None:
    """A reload by signal and by command, all or nothing."""
    pid = show("MainPID")
    good = CONFIG.read_text()
    CONFIG.write_text(good + "[budget]\ncalls_per_day = 77\n")
    systemctl("reload", "tacitd")
    until(lambda: "of 77 calls" in tacitd("status"), "HUP")
    CONFIG.write_text(good + "[budget]\ncalls_per_day = -1\n")
    assert "calls_per_day" in tacitd("reload", code=78)
    assert "of 77 calls" in tacitd("status")
    CONFIG.write_text(good)
    assert "budget.calls_per_day" in tacitd("reload")
    assert show("MainPID") == pid and show("ActiveState") == "active"
    say("ok reloaded")


def wedged() -> None:
    """The watchdog detects a blocked loop, and what was typed meanwhile is learned."""
    from tacitd.control.client import call_daemon
    from tacitd.state.paths import Paths

    pid = show("MainPID")
    call_daemon(Paths.from_env(os.environ).socket, "debug.wedge")
    type_("Prefers amber-2")
    until(lambda: up_again(pid), "the watchdog")
    learn("Prefers amber-3")
    assert "Prefers amber-2" in bullets(PROJECT / "LEARNED.md")
    say("ok wedged")


def refused() -> None:
    """A failure that a restart cannot fix causes no restart."""
    CONFIG.write_text("[budget]\ncalls_per_day = -1\n")
    said = tacitd("service", "install", code=78)
    assert "calls_per_day" in said and not UNIT.exists()  # all or nothing
    CONFIG.unlink()
    tacitd("start")
    assert "is running already" in tacitd("service", "install", code=69) and not UNIT.exists()
    tacitd("stop")
    tacitd("service", "install")
    tacitd("restart")
    systemctl("stop", "tacitd")
    state = HOME / ".local/state/tacitd"
    with sqlite3.connect(state / "tacitd.sqlite") as db:
        db.execute("UPDATE schema_version SET version = 99 WHERE owner = 'engine'")
    db.close()
    subprocess.run(["systemctl", "--user", "start", "tacitd"], capture_output=True, check=False)
    until(lambda: show("ActiveState") == "failed", "exit code 78")
    assert (show("ExecMainStatus"), show("NRestarts")) == ("78", "0")
    assert "newer version of tacitd" in tacitd("run", code=78)
    tacitd("service", "uninstall")
    say("ok refused")


def verify() -> None:
    """What systemd thinks of the unit."""
    tacitd("service", "install", "--no-now")
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(UNIT)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, ""), done
    said = subprocess.run(
        ["systemd-analyze", "security", "--user", "--offline=true", "--no-pager", str(UNIT)],
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", said.stdout)
    assert found is not None, said
    say(said.stdout)
    say(f"figure {found[1]}")
    say(subprocess.run(["systemctl", "--version"], capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    {"life": life, "refused": refused, "verify": verify}[sys.argv[1]]()
