"""The checks of `tacitd doctor` on the machine: configuration, directories, clock, socket, watches, and the service's file.

Each check yields findings and changes nothing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tacitd import __version__
from tacitd.control.client import BusyError, call_daemon
from tacitd.errors import FileRefusedError, TacitdError, UnavailableError
from tacitd.files import git
from tacitd.handler import Degradation
from tacitd.model.locate import find_command
from tacitd.service.finding import DoctorFinding
from tacitd.service.uninstall import list_state_files
from tacitd.sources.registry import make_source
from tacitd.state.known_projects import list_known_projects
from tacitd.state.paths import SNAPSHOT, Paths, find_file_in_the_way

if TYPE_CHECKING:
    from tacitd.service.managers import Manager
    from tacitd.service.units import ServiceFacts

SLACK = 300.0
"""Seconds by which the clock may be before the last run."""
MIN_WATCHES = 8192
"""inotify watches below which a busy machine runs out."""
MIN_FREE_BYTES = 100 << 20
"""Free bytes below which the disk counts as full."""
RETENTION_DAYS = 30
"""Days after which Claude Code deletes transcripts by default."""


def check_configuration(
    paths: Paths, removed: Sequence[str] | TacitdError, failed: Sequence[Degradation]
) -> Iterator[DoctorFinding]:
    """What is wrong with the configuration. `removed`: messages about settings without effect, or the error that it has."""
    if isinstance(removed, TacitdError):
        yield DoctorFinding("config.wrong", "error", removed.what, removed.hint)
    else:
        if removed:
            yield DoctorFinding("config.removed", "warning", "; ".join(removed), "remove it from there")
        there = "valid" if paths.config_file.exists() else "does not exist; the defaults apply"
        yield DoctorFinding("config.ok", "ok", f"{paths.config_file}: {there}")
    for broken in failed:
        yield DoctorFinding(broken.id, "error", broken.what, broken.hint)


def check_places(paths: Paths) -> Iterator[DoctorFinding]:
    """The checks of directories, clock and socket."""
    yield _check_state(paths.state_dir)
    yield from (_check_transcripts(root) for root in make_source(paths.config_dir).roots)
    yield _check_room(paths)
    yield from check_modes(paths)
    yield from check_projects(paths)
    yield from check_clock(paths)
    yield from _check_daemon(paths)
    yield from _check_watches()
    yield _check_retention(paths)


def _check_transcripts(transcripts: Path) -> DoctorFinding:
    if transcripts.is_dir() and not os.access(transcripts, os.R_OK | os.X_OK):
        hint = f"make {transcripts} readable by your user"
        return DoctorFinding("transcripts.unreadable", "error", f"{transcripts} is not readable", hint)
    if transcripts.is_dir():
        return DoctorFinding("transcripts.there", "ok", f"{transcripts} exists")
    hint = "use Claude Code once, or set CLAUDE_CONFIG_DIR if its directory is elsewhere"
    return DoctorFinding("transcripts.missing", "warning", f"{transcripts} does not exist yet", hint)


def _check_room(paths: Paths) -> DoctorFinding:
    free = shutil.disk_usage(_existing(paths.state_dir)).free
    if free < MIN_FREE_BYTES:
        return DoctorFinding(
            "disk.full", "error", f"{free >> 20} MB are free for {paths.state_dir}", "free space on that disk"
        )
    return DoctorFinding("disk.ok", "ok", f"{free >> 20} MB are free")


def _check_state(path: Path) -> DoctorFinding:
    in_the_way = find_file_in_the_way(path)
    if in_the_way is not None:
        what = f"{in_the_way} is a file where a directory belongs"
        return DoctorFinding("state.no-directory", "error", what, "move it away")
    at = _existing(path)
    if os.access(at, os.W_OK | os.X_OK):
        return DoctorFinding("state.writable", "ok", f"{path} is writable")
    return DoctorFinding(
        "state.read-only",
        "error",
        f"{at} is not writable",
        f"make {at} writable by your user (chown, chmod), or set TACITD_STATE_DIR",
    )


def _existing(path: Path) -> Path:
    """This path or its nearest parent that exists and is accessible."""
    return next(p for p in (path, *path.parents) if os.access(p, os.F_OK))


def _check_daemon(paths: Paths) -> Iterator[DoctorFinding]:
    try:
        said = call_daemon(paths.socket, "ping", timeout=3.0)
    except BusyError as error:
        yield DoctorFinding("daemon.odd", "error", error.what, error.hint)
    except UnavailableError as error:
        yield from check_socket(paths)
        yield DoctorFinding(
            "daemon.absent",
            "warning",
            error.what,
            "`tacitd service install` keeps one running; or `tacitd start`",
        )
    except TacitdError as error:
        yield DoctorFinding("daemon.odd", "error", error.what, error.hint)
    else:
        same = said.get("version") == __version__
        hint = "" if same else "run `tacitd restart`"
        what = f"tacitd {said.get('version')} answers on {paths.socket}"
        yield DoctorFinding(
            "daemon.there" if same else "daemon.other-version", "ok" if same else "warning", what, hint
        )


def _check_watches() -> Iterator[DoctorFinding]:
    if not sys.platform.startswith("linux"):
        return
    try:
        limit = int(Path("/proc/sys/fs/inotify/max_user_watches").read_text())
    except (OSError, ValueError):  # a kernel that has no such file
        limit = MIN_WATCHES
    if limit < MIN_WATCHES:
        hint = "sudo sysctl fs.inotify.max_user_watches=524288"
        what = f"only {limit} inotify watches are allowed; the rest is polled"
        yield DoctorFinding("watch.limit", "warning", what, hint)
    else:
        yield DoctorFinding("watch.ok", "ok", f"{limit} inotify watches")


def _check_retention(paths: Paths) -> DoctorFinding:
    """Warn if Claude Code deletes transcripts after less than 7 days: what was not read by then is lost."""
    file = paths.config_dir / "settings.json"
    try:
        settings = json.loads(file.read_bytes())
    except (OSError, ValueError):  # no settings: the default applies
        settings = None
    days = settings.get("cleanupPeriodDays", RETENTION_DAYS) if isinstance(settings, dict) else RETENTION_DAYS
    if isinstance(days, int) and days < 7:
        hint = f'set "cleanupPeriodDays": 30 or more in {file}'
        what = f"Claude Code deletes transcripts after {days} days"
        return DoctorFinding("transcripts.short-lived", "warning", what, hint)
    return DoctorFinding("transcripts.kept", "ok", f"Claude Code keeps transcripts for {days} days")


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
    for name in list_known_projects(paths.state_dir):
        try:
            if git.find_repository(Path(name)) is not None:
                git.run_git(["rev-parse", "--git-dir"], Path(name))
        except FileRefusedError as error:
            yield DoctorFinding("project.dubious", "warning", error.what, error.hint)


def check_clock(paths: Paths, now: float | None = None) -> Iterator[DoctorFinding]:
    """Warn if the clock is before the last run. `now`: seconds since 1970."""
    now = time.time() if now is None else now
    try:
        last = (paths.state_dir / SNAPSHOT).stat().st_mtime
    except OSError:  # it has not run yet
        last = now
    if now < last - SLACK:
        what = f"the clock is {(last - now) / 60:.0f} min before the last run"
        hint = "check `date`; `timedatectl set-ntp true` keeps the clock right"
        yield DoctorFinding("clock.odd", "warning", what, hint)
    else:
        yield DoctorFinding("clock.ok", "ok", "the clock looks right")


def check_socket(paths: Paths) -> Iterator[DoctorFinding]:
    """Report a file in the socket's place, or a socket that nobody answers."""
    try:
        found = paths.socket.lstat()
    except OSError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        what = f"{paths.socket} exists and is not a socket"
        yield DoctorFinding("socket.taken", "error", what, "move it away")
    else:
        what = f"{paths.socket} is left over from a daemon that has ended"
        yield DoctorFinding("socket.stale", "warning", what, "the next start replaces it")


def check_modes(paths: Paths) -> Iterator[DoctorFinding]:
    """Check that only their owner can read tacitd's own files. TACITD_STATE_DIR may name a folder with others' too."""
    wide = [path for path in list_state_files(paths.state_dir) if path.lstat().st_mode & 0o077]
    if wide:
        what = f"other users can read {', '.join(map(str, wide[:3]))}"
        hint = f"`chmod go-rwx {' '.join(map(str, wide[:3]))}`"
        yield DoctorFinding("state.too-open", "warning", what, hint)
