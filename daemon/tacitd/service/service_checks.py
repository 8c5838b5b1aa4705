"""The checks of `tacitd doctor` on the service and its machine: unit file, environment, projects, clock, socket, modes.

Each check yields findings and changes nothing. What may be repaired without asking is in `fixes.py`.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tacitd.errors import TacitdError
from tacitd.model.locate import find_command
from tacitd.service.finding import DoctorFinding
from tacitd.sources.registry import make_source
from tacitd.state.known_projects import list_known_projects
from tacitd.state.paths import SNAPSHOT, Paths

if TYPE_CHECKING:
    from tacitd.service.managers import Manager
    from tacitd.service.units import ServiceFacts

FAR = 400 * 86400.0
"""Seconds after the newest transcript from which the clock is probably wrong."""
SLACK = 300.0
"""Seconds by which the clock may be before the last run."""


def check_service(manager: Manager, facts: ServiceFacts) -> Iterator[DoctorFinding]:
    """Check that the service's file exists, is what this version would install, and was not edited by hand."""
    from tacitd.service.units import is_edited

    if not manager.file.exists():
        why = manager.why_unavailable()
        hint = "`tacitd start` runs it without one" if why else "run `tacitd service install`"
        yield DoctorFinding("service.absent", "warning", why or "no service keeps tacitd running", hint)
        return
    try:
        text, wanted = manager.file.read_text(encoding="utf-8"), manager.render_file(facts)
    except (OSError, UnicodeDecodeError, TacitdError) as error:
        yield DoctorFinding(
            "service.unreadable",
            "error",
            f"{manager.file}: {error}",
            "remove it, then run `tacitd service install`",
        )
        return
    if is_edited(text):
        hint = "move your changes into a drop-in (`systemctl --user edit tacitd`), remove the file, run `tacitd service install`"
        yield DoctorFinding("service.edited", "warning", f"{manager.file} was edited by hand", hint)
    elif strip_variables(text) != strip_variables(wanted):
        what = f"{manager.file} is not what this version would install"
        yield DoctorFinding("service.outdated", "warning", what, "run `tacitd service install`")
    else:
        yield DoctorFinding("service.installed", "ok", f"{manager.file} is up to date")


def strip_variables(text: str) -> str:
    """The text of a service's file without its seal and variables. PATH differs from shell to shell, so it does not count."""
    text = re.sub(r"tacitd-seal: \w+", "", text)
    text = re.sub(r"<key>EnvironmentVariables</key>.*?</dict>", "", text, flags=re.DOTALL)
    return "\n".join(line for line in text.splitlines() if not line.startswith("Environment="))


def check_client(command: str, shell: Mapping[str, str], env: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """Check that the service finds the client if the shell does. After an update of nvm it may not."""
    here = find_command(command, shell)
    if here is not None and find_command(command, env) is None:
        what = f"your shell finds {here}, but the service does not"
        yield DoctorFinding("service.client-moved", "error", what, "run `tacitd service install`")


def check_projects(paths: Paths) -> Iterator[DoctorFinding]:
    """Check write access to each known project. A setting of the service manager may forbid it."""
    shut = [
        name
        for name in list_known_projects(paths.state_dir)
        if Path(name).is_dir() and not os.access(name, os.W_OK | os.X_OK)
    ]
    if shut:
        what = f"not writable: {', '.join(shut[:3])}{f', and {len(shut) - 3} more' if len(shut) > 3 else ''}"
        yield DoctorFinding(
            "project.read-only", "warning", what, "make them writable by your user, or exclude them"
        )
    else:
        yield DoctorFinding("project.writable", "ok", "every known project is writable")


def check_clock(paths: Paths, now: float | None = None) -> Iterator[DoctorFinding]:
    """Warn if the clock is before the last run, or long after the newest transcript. `now`: seconds since 1970."""
    now = time.time() if now is None else now
    last, newest = _mtime(paths.state_dir / SNAPSHOT), _newest(make_source(paths.config_dir).roots)
    if last is not None and now < last - SLACK:
        what = f"the clock is {(last - now) / 60:.0f} min before the last run"
    elif newest is not None and now > newest + FAR:
        what = f"the clock is {(now - newest) / 86400:.0f} days after the newest transcript"
    else:
        yield DoctorFinding("clock.ok", "ok", "the clock looks right")
        return
    yield DoctorFinding(
        "clock.odd", "warning", what, "check `date`; `timedatectl set-ntp true` keeps the clock right"
    )


def _mtime(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def _newest(roots: Sequence[Path]) -> float | None:
    """When a transcript was last created, from the modification times of the folders alone (seconds since 1970)."""
    try:
        folders = [one for root in roots for one in root.iterdir()]
    except OSError:
        return None
    return max((t for one in folders if (t := _mtime(one)) is not None), default=None)


def check_socket(paths: Paths, *, answered: bool) -> Iterator[DoctorFinding]:
    """Report a file in the socket's place, or a leftover socket."""
    try:
        found = paths.socket.lstat()
    except OSError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        yield DoctorFinding(
            "socket.taken", "error", f"{paths.socket} exists and is not a socket", "move it away"
        )
    elif not answered:
        what = f"{paths.socket} is left over from a daemon that has ended"
        yield DoctorFinding(
            "socket.stale", "warning", what, "the next start replaces it; `tacitd doctor --fix` removes it"
        )


def check_modes(paths: Paths) -> Iterator[DoctorFinding]:
    """Check that only their owner can read tacitd's own files."""
    wide = list(list_too_open(paths))
    if wide:
        what = f"other users can read {', '.join(str(one) for one in wide[:3])}"
        yield DoctorFinding("state.too-open", "warning", what, "run `tacitd doctor --fix`")


def list_too_open(paths: Paths) -> Iterator[Path]:
    """Yield the files and directories of the state directory that other users can enter or read.

    Links are left out, and so is a file in the socket's place: tacitd did not make it.
    """
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
