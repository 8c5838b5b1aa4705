"""Type into the real Claude Code client as a person would: a private tmux server, a fresh HOME, the stand-in API.

with RealClient(binary, api_url, home, project) as client:  # project: the directory the person works in
    client.say("use tabs, not spaces")  # typed, so the transcript says promptSource "typed"
    client.leave("/exit")  # or "TERM", "KILL", "CLOSE" (the terminal goes away)

Needs tmux. `binary` is the client's executable (`real_install.py` installs it); `api_url` comes from `fake_api.py`.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

KEY = "sk-fake"
VERSION = "2.1.328"


def client_environment(home: Path, api_url: str) -> dict[str, str]:
    """What a person's shell would have, and nothing of ours; the client must not leave this machine."""
    return {
        "HOME": str(home),
        "PATH": _path(),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "USER": "dev",
        "ANTHROPIC_BASE_URL": api_url,
        "ANTHROPIC_API_KEY": KEY,
        "IS_SANDBOX": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


def onboarded(home: Path, project: Path) -> None:
    """Past the first-run questions: theme, key, trust."""
    home.mkdir(parents=True, exist_ok=True)
    state = home / ".claude.json"
    said: dict[str, Any] = (
        json.loads(state.read_bytes())
        if state.exists()
        else {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "lastOnboardingVersion": VERSION,
            "customApiKeyResponses": {"approved": [KEY], "rejected": []},
        }
    )
    projects = said.setdefault("projects", {})
    if str(project.resolve()) not in projects:
        projects[str(project.resolve())] = {
            "hasTrustDialogAccepted": True,
            "hasCompletedProjectOnboarding": True,
        }
        state.write_text(json.dumps(said), encoding="utf-8")


class RealClient:
    """One run of the client in a terminal of its own."""

    def __init__(
        self, binary: Path, home: Path, project: Path, env: Mapping[str, str], args: tuple[str, ...] = ()
    ) -> None:
        self.binary, self.home, self.project, self.args = binary, home, project, args
        self.env = dict(env)
        self.socket = f"real-tui-{os.getpid()}-{time.monotonic_ns()}"

    def tmux(self, *args: str) -> str:
        """Run a tmux command on our own server."""
        command = ["tmux", "-L", self.socket, "-f", "/dev/null", *args]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=20).stdout

    def __enter__(self) -> RealClient:
        onboarded(self.home, self.project)
        assigns = " ".join(f"{k}={shlex.quote(v)}" for k, v in self.env.items())
        program = " ".join(map(shlex.quote, [str(self.binary), "--model", "haiku", *self.args]))
        command = f"exec env -i {assigns} {program}"
        where = ("-x", "160", "-y", "50", "-c", str(self.project))
        self.tmux("new-session", "-d", "-s", "c", *where, command)
        try:
            wait_for(lambda: self.ready(), 90, "the prompt of the client", self.screen)
            threading.Event().wait(1)  # the client shows its prompt a moment before it takes keys
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.tmux("kill-server")

    def ready(self) -> bool:
        """Whether the input line is there."""
        return any(mark in self.screen() for mark in ("❯", ">"))

    def screen(self) -> str:
        """What a person would see."""
        return self.tmux("capture-pane", "-p", "-t", "c")

    def pid(self) -> int:
        """The client's."""
        return int(self.tmux("list-panes", "-t", "c", "-F", "#{pane_pid}").strip() or 0)

    def enter(self, text: str) -> None:
        """Type one line and press Enter."""
        self.tmux("send-keys", "-t", "c", "-l", text)
        threading.Event().wait(0.3)
        self.tmux("send-keys", "-t", "c", "Enter")

    def say(self, text: str, seconds: float = 20) -> None:
        """Type one line and wait until the transcript has it, in whatever record."""
        words = json.dumps(text, ensure_ascii=False)[1:-1].encode()
        before = self.recorded(words)
        self.enter(text)
        self.press_enter_until(lambda: self.recorded(words) > before)
        wait_for(lambda: self.recorded(words) > before, seconds, f"{text!r} in the transcript", self.screen)

    def recorded(self, words: bytes) -> int:
        """How many records of the transcripts hold these words."""
        files = sorted((self.home / ".claude" / "projects").glob("*/*.jsonl"))
        return sum(words in line for file in files for line in file.read_bytes().splitlines())

    def leave(self, how: str = "/exit") -> None:
        """End the client, and wait until its process is gone."""
        pid = self.pid()
        if how in ("TERM", "KILL"):
            os.kill(pid, getattr(signal, "SIG" + how))
        elif how == "CLOSE":
            self.tmux("kill-session", "-t", "c")
        else:
            self.enter(how)
            self.press_enter_until(lambda: not _runs(pid))
        wait_for(lambda: not _runs(pid), 20, "the client to leave", self.screen)

    def press_enter_until(self, is_done: Callable[[], bool]) -> None:
        """Press Enter again, up to five times: a busy client takes the first one for a part of a paste, or chooses from its
        list of commands with it."""
        for _ in range(5):
            with suppress(TimeoutError, ValueError):  # a request of the log is still being written
                wait_for(is_done, 6, "what was typed to be taken")
                return
            self.tmux("send-keys", "-t", "c", "Enter")


def wait_for(
    ready: Callable[[], object], seconds: float, what: str, show: Callable[[], str] = lambda: ""
) -> None:
    """Until it holds; raises TimeoutError that says what was waited for and what could be seen."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds} s for {what}\n{show()}")
        threading.Event().wait(0.1)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _path() -> str:
    """The system's, with the directory of `node`: clients before 2.1.113 are programs for it."""
    node = shutil.which("node")
    return os.pathsep.join(
        [*([str(Path(node).parent)] if node else []), "/usr/local/bin", "/usr/bin", "/bin"]
    )
