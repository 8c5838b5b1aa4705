"""What doctor tries of the service and of the machine it lives on: its file, its environment, clock, socket, modes.

Each check yields findings; none changes anything. What may be mended without asking stands in `mend.py`.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tacitd.errors import TacitdError
from tacitd.model.find import find_command
from tacitd.paths import SNAPSHOT, Paths
from tacitd.service.finding import Finding
from tacitd.service.managers import Manager
from tacitd.service.units import Facts, edited

FAR = 400 * 86400.0
"""Seconds after the newest transcript at which the clock is hard to believe."""
SLACK = 300.0


def service(manager: Manager, facts: Facts) -> Iterator[Finding]:
    """Installed, as we would install it now, and not edited by hand."""
    if not manager.file.exists():
        why = manager.available()
        hint = "`tacitd start` runs it without one" if why else "tacitd service install"
        yield Finding("service.absent", "warning", why or "no service keeps tacitd running", hint)
        return
    try:
        text, wanted = manager.file.read_text(encoding="utf-8"), manager.text(facts)
    except (OSError, UnicodeDecodeError, TacitdError) as error:
        yield Finding(
            "service.unreadable", "error", f"{manager.file}: {error}", "remove it, and install again"
        )
        return
    if edited(text):
        hint = "move your changes into a drop-in (`systemctl --user edit tacitd`), remove the file, install again"
        yield Finding("service.edited", "warning", f"{manager.file} was edited by hand", hint)
    elif bare(text) != bare(wanted):
        what = f"{manager.file} is not what this version would install"
        yield Finding("service.outdated", "warning", what, "tacitd service install")
    else:
        yield Finding("service.installed", "ok", f"{manager.file} is up to date")


def bare(text: str) -> str:
    """A service's file without its seal and its variables: each shell has another PATH, and that is no fault."""
    text = re.sub(r"tacitd-seal: \w+", "", text)
    text = re.sub(r"<key>EnvironmentVariables</key>.*?</dict>", "", text, flags=re.DOTALL)
    return "\n".join(line for line in text.splitlines() if not line.startswith("Environment="))


def client(command: str, shell: Mapping[str, str], env: Mapping[str, str]) -> Iterator[Finding]:
    """Whether the service finds the client where the shell does: after an update of nvm it may not."""
    here = find_command(command, shell)
    if here is not None and find_command(command, env) is None:
        what = f"your shell finds {here}, and the service does not"
        yield Finding("service.client-moved", "error", what, "tacitd service install")


def projects(paths: Paths) -> Iterator[Finding]:
    """Write access to each project that is known. The service manager may have been told to forbid it."""
    shut = [
        name
        for name in known_projects(paths)
        if Path(name).is_dir() and not os.access(name, os.W_OK | os.X_OK)
    ]
    if shut:
        what = f"cannot be written: {', '.join(shut[:3])}{f', and {len(shut) - 3} more' if len(shut) > 3 else ''}"
        yield Finding(
            "project.read-only", "warning", what, "give yourself the right to write there, or exclude them"
        )
    else:
        yield Finding("project.writable", "ok", "every known project can be written")


def known_projects(paths: Paths) -> list[str]:
    """As the last status names them: those of the slices, and those in which work is parked."""
    snapshot = _snapshot(paths)
    slices, parked = snapshot.get("slices"), snapshot.get("parked")
    found = (
        [one.get("projects") for one in slices.values() if isinstance(one, dict)]
        if isinstance(slices, dict)
        else []
    )
    names = {str(name) for one in found if isinstance(one, dict) for name in one}
    rows = parked if isinstance(parked, list) else []
    names |= {str(row.get("project", "")) for row in rows if isinstance(row, dict)}
    return sorted(name for name in names if name.startswith("/"))


def _snapshot(paths: Paths) -> dict[str, Any]:
    try:
        found = json.loads((paths.state_dir / SNAPSHOT).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def clock(paths: Paths, now: float | None = None) -> Iterator[Finding]:
    """A clock that is before the last run, or long after the newest transcript, is hard to believe."""
    now = time.time() if now is None else now
    last, newest = _mtime(paths.state_dir / SNAPSHOT), _newest(paths.config_dir / "projects")
    if last is not None and now < last - SLACK:
        what = f"the clock is {(last - now) / 60:.0f} min before the last run"
    elif newest is not None and now > newest + FAR:
        what = f"the clock is {(now - newest) / 86400:.0f} days after the newest transcript"
    else:
        yield Finding("clock.ok", "ok", "the clock can be believed")
        return
    yield Finding("clock.odd", "warning", what, "look at `date`; `timedatectl set-ntp true` keeps it right")


def _mtime(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def _newest(projects: Path) -> float | None:
    """When a transcript was last made, as the folders tell: no file is looked at."""
    try:
        return max((t for one in projects.iterdir() if (t := _mtime(one)) is not None), default=None)
    except OSError:
        return None


def socket_place(paths: Paths, *, answered: bool) -> Iterator[Finding]:
    """What lies where the socket belongs."""
    try:
        found = paths.socket.lstat()
    except OSError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        yield Finding("socket.taken", "error", f"{paths.socket} is there and is no socket", "move it away")
    elif not answered:
        what = f"{paths.socket} is left over from a daemon that is gone"
        yield Finding(
            "socket.stale", "warning", what, "the next start replaces it; `tacitd doctor --fix` removes it"
        )


def modes(paths: Paths) -> Iterator[Finding]:
    """Own files are for their owner alone."""
    wide = list(too_open(paths))
    if wide:
        what = f"others may look into {', '.join(str(one) for one in wide[:3])}"
        yield Finding("state.too-open", "warning", what, "tacitd doctor --fix")


def too_open(paths: Paths) -> Iterator[Path]:
    """What of the state directory others may enter or read. A log of the lock or of a link is not asked, and neither
    is a file at a socket's place: tacitd did not make it."""
    state_dir = paths.state_dir
    sockets = (paths.socket, state_dir / "tacitd.sock")
    for path in (state_dir, *state_dir.rglob("*")) if state_dir.is_dir() else ():
        try:
            found = path.lstat()
        except OSError:
            continue
        if path in sockets and not stat.S_ISSOCK(found.st_mode):
            continue
        if found.st_uid == os.getuid() and not stat.S_ISLNK(found.st_mode) and found.st_mode & 0o077:
            yield path
