"""The files `sessions/<pid>.json`, in which a client says which session it runs.

Claude Code writes the file in place while a session is open, removes it at exit, and leaves it behind after a SIGKILL
(2.1.328). So half-written files and files that name a dead process are normal. What follows for a session is in
sources/sessions.py.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

from tacitd.sources.base import SessionClaim

LARGEST = 65536
"""Bytes of a session file that are read; a real one has some hundred."""


def read_claims(config_dir: Path) -> list[SessionClaim]:
    """Given `~/.claude`, return the claims of its session files. Files that cannot be read or parsed are left out."""
    try:
        with os.scandir(config_dir / "sessions") as entries:
            names = [entry.path for entry in entries if entry.name.endswith(".json")]
    except OSError:
        return []
    return [claim for claim in map(_read_claim, names) if claim is not None]


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
    return SessionClaim(pid, session, cwd if isinstance(cwd, str) else "")
