"""The service under a real user manager of systemd: install, restarts, calls, reload, uninstall."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support_beginnings import is_new, opening
from support_claude import install_stand_in
from support_daemon import LEARNING, PROGRAM, append, line, prompt_record
from support_waiting import PATIENCE

pytestmark = pytest.mark.scenario
WITH_SYSTEMD = Path(__file__).with_name("with-systemd")
NEEDS = ("unshare", "dbus-daemon", "systemctl", "/usr/lib/systemd/systemd")
INSIDE = Path(__file__).with_name("inside_systemd.py")


def _why_not() -> str:
    """The reason why these tests cannot run here."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "needs Linux and root"
    missing = [tool for tool in NEEDS if shutil.which(tool) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    tried = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True, check=False
    )
    return "" if tried.returncode == 0 else "namespaces cannot be made here"


needs_systemd = pytest.mark.skipif(bool(_why_not()), reason=_why_not() or "it can run")


class World:
    """A home with an odd name, a project and a stand-in for the client."""

    def __init__(self, root: Path) -> None:
        self.home = root / "höme with spaces"
        self.state = self.home / ".local/state/tacitd"
        self.project = self.home / "work" / "app"
        self.project.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(self.project)], check=True)
        (self.home / ".claude/projects/app").mkdir(parents=True)
        self.config = self.home / ".config/tacitd/config.toml"
        self.config.parent.mkdir(parents=True)
        self.config.write_text('[extraction]\nsettle = "0s"\n[session]\nidle = "1h"\n')
        self.claude = install_stand_in(self.home / "bin", LEARNING)
        self.environ = {
            "HOME": str(self.home),
            "PATH": self.claude.path(),
            "LANG": "C.UTF-8",
            "USER": "dev",
            **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
        }

    def run(self, part: str) -> str:
        """Run one part of `inside_systemd.py` beside a manager, and return its output."""
        done = subprocess.run(
            [str(WITH_SYSTEMD), sys.executable, str(INSIDE), part],
            env=self.environ,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=220,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@needs_systemd
@pytest.mark.timeout(240)
def test_the_life_of_a_service(tmp_path: Path) -> None:
    """DESIGN "Service", RELIABILITY 20: it is installed, becomes active, learns, is restarted after `kill -9` and when
    its loop is blocked, reloads all or nothing, stops, and leaves nothing."""
    world = World(tmp_path)
    said = world.run("life")
    for step in ("installed", "learned", "killed", "reloaded", "wedged", "stopped", "gone"):
        assert f"ok {step}" in said, said
    assert not list(world.home.rglob("*tacitd.service*"))
    assert not world.state.exists()
    assert (world.project / "LEARNED.md").stat().st_mode & 0o777 == 0o666 & world.project.stat().st_mode


@needs_systemd
@pytest.mark.timeout(240)
def test_a_wrong_configuration_ends_without_a_loop(tmp_path: Path) -> None:
    """RestartPreventExitStatus: no restart after exit code 78, also for a newer schema of the state directory."""
    world = World(tmp_path)
    assert "ok refused" in world.run("refused")


@needs_systemd
def test_the_unit_is_clean(tmp_path: Path) -> None:
    """`systemd-analyze --user verify` finds nothing, and docs/security.md has the figure of `security`."""
    world = World(tmp_path)
    said = world.run("verify")
    figure = said.split("figure ")[1].split()[0]
    if "systemd 252" not in said:
        pytest.skip("the figure is told for systemd 252")
    page = (Path(__file__).parents[2] / "docs/security.md").read_text(encoding="utf-8")
    assert f"**{figure}**" in page, f"docs/security.md must tell the figure {figure}"


@pytest.mark.timeout(600)
def test_start_kill_start(tmp_path: Path) -> None:
    """DESIGN "Service": five rounds of start, `kill -9`, start: it always runs, never twice, and files are 0600."""
    world = World(tmp_path)

    def tacitd(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*PROGRAM, *arguments],
            env=world.environ,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    for number in range(5):
        started = tacitd("start")
        assert started.returncode == 0, started.stderr
        pid = int((world.state / "lock").read_text())
        again = tacitd("start")
        assert again.returncode == 0 and f"already running (process {pid})" in again.stderr
        record = prompt_record("s1", f"Prefers amber-{number}", str(world.project))
        path = world.home / ".claude/projects/app/s1.jsonl"
        append(path, (opening("s1") if is_new(path) else b"") + line(record))
        os.kill(pid, 9)
        _wait_gone(pid)
    assert tacitd("start").returncode == 0
    # A prompt whose call was cut by two of the kills goes alone a minute later, which `sync` says.
    synced = tacitd("sync")
    assert synced.returncode == 0 or (synced.returncode == 75 and "begun twice" in synced.stderr), (
        synced.stderr
    )
    open_ = [p for p in world.state.rglob("*") if p.is_file() and p.stat().st_mode & 0o077]
    assert not open_
    assert tacitd("stop").returncode == 0


def _wait_gone(pid: int) -> None:
    last = time.monotonic() + PATIENCE
    while Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes():
        assert time.monotonic() < last
        time.sleep(0.01)
