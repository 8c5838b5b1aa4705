"""Which client processes run a session on this machine: `sessions/<pid>.json`, and when a process started.

Reading the system belongs here. What follows for a session is in sessions.py. Claude Code writes the file in place while
a session is open, removes it at exit, and leaves it behind after a SIGKILL (Claude Code 2.1.328). So half-written files
and files that name a dead process are normal.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

LARGEST = 65536
"""Bytes of a session file that are read; a real one has some hundred."""


@dataclass(frozen=True, slots=True)
class SessionClaim:
    """The content of a session file: this process runs this session."""

    pid: int
    session: str
    cwd: str
    interactive: bool = True
    """Whether a person uses it, according to the file."""


def read_claims(config_dir: Path) -> list[SessionClaim]:
    """Given `~/.claude`, return the claims of its session files. Files that cannot be read or parsed are left out."""
    try:
        with os.scandir(config_dir / "sessions") as entries:
            names = [entry.path for entry in entries if entry.name.endswith(".json")]
    except OSError:
        return []
    return [claim for claim in map(_read_claim, names) if claim is not None]


def process_start(pid: int) -> str | None:
    """Given a process id, return what distinguishes this process from a later one with the same id; None if there is none.

    Linux: the start time in clock ticks since boot. macOS and others: the start time as `ps` prints it.
    """
    if pid <= 0:
        return None
    if sys.platform.startswith("linux"):
        return _start_from_proc(pid)
    return _start_from_ps(pid)


def parse_proc_stat(line: bytes) -> str | None:
    """Given `/proc/<pid>/stat`, return field 22. The name in field 2 may contain spaces and parentheses."""
    fields = line[line.rfind(b")") + 1 :].split()
    dead = not fields or fields[0] in (b"Z", b"X")
    return None if dead or len(fields) < 20 else fields[19].decode("ascii", "replace")


def _start_from_proc(pid: int) -> str | None:
    try:
        return parse_proc_stat(Path(f"/proc/{pid}/stat").read_bytes())
    except OSError:
        return None


def _start_from_ps(pid: int) -> str | None:
    command = ["ps", "-o", "lstart=", "-p", str(pid)]
    environment = {"PATH": "/bin:/usr/bin", "LC_ALL": "C", "TZ": "UTC"}
    try:
        done = subprocess.run(command, capture_output=True, timeout=5, check=False, env=environment)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("ascii", "replace").strip() or None


def _read_claim(path: str) -> SessionClaim | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        data = os.read(descriptor, LARGEST) if regular else b""
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return parse_claim(data)


def parse_claim(data: bytes) -> SessionClaim | None:
    """Given the bytes of a session file, return its claim; None if it is half written or unknown."""
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    pid, session, cwd = said.get("pid"), said.get("sessionId"), said.get("cwd")
    if type(pid) is not int or not isinstance(session, str) or not session:
        return None
    interactive = said.get("kind", "interactive") == "interactive"
    return SessionClaim(pid, session, cwd if isinstance(cwd, str) else "", interactive)
