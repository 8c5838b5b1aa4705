"""The checks of `tacitd doctor` that start no process and read little: `tacitd doctor --quick` is these."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tacitd import __version__
from tacitd.control.client import BusyError, call_daemon
from tacitd.errors import TacitdError, UnavailableError
from tacitd.handler import Degradation
from tacitd.service import service_checks
from tacitd.service.finding import DoctorFinding
from tacitd.sources.registry import make_source
from tacitd.state.paths import Paths, find_file_in_the_way

MIN_WATCHES = 8192
"""inotify watches below which a busy machine runs out."""
MIN_FREE_BYTES = 100 << 20
"""Free bytes below which the disk counts as full."""
DEFAULT_RETENTION_DAYS = 30
"""Days after which Claude Code deletes transcripts by default."""


def report_python() -> DoctorFinding:
    """The versions of tacitd and of Python."""
    version = ".".join(map(str, sys.version_info[:3]))
    return DoctorFinding("python.version", "ok", f"tacitd {__version__} on Python {version}")


def report_configuration(
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


def report_absent(command: str) -> DoctorFinding:
    """The finding for a client that is not there."""
    hint = "install Claude Code, or set claude.command (TACITD_CLAUDE__COMMAND) to its path"
    return DoctorFinding("model.absent", "error", f"`{command}` was not found", hint)


def examine_places(paths: Paths) -> Iterator[DoctorFinding]:
    """The checks of directories, clock and socket, which take no longer than looking at them."""
    yield from _directories(paths)
    yield from service_checks.check_modes(paths)
    yield from service_checks.check_projects(paths)
    yield from service_checks.check_clock(paths)
    yield from _socket(paths)
    yield from _inotify()
    yield from _check_retention(paths)


def _directories(paths: Paths) -> Iterator[DoctorFinding]:
    yield _check_state(paths.state_dir)
    for transcripts in make_source(paths.config_dir).roots:
        yield _check_transcripts(transcripts)
    yield _check_room(paths)


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


def _socket(paths: Paths) -> Iterator[DoctorFinding]:
    try:
        said = call_daemon(paths.socket, "ping", timeout=3.0)
    except BusyError as error:
        yield DoctorFinding("daemon.odd", "error", error.what, error.hint)
    except UnavailableError as error:
        yield from service_checks.check_socket(paths, answered=False)
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


def _inotify() -> Iterator[DoctorFinding]:
    if not sys.platform.startswith("linux"):
        return
    limit = _number(Path("/proc/sys/fs/inotify/max_user_watches"))
    if limit is not None and limit < MIN_WATCHES:
        hint = "sudo sysctl fs.inotify.max_user_watches=524288"
        yield DoctorFinding(
            "watch.limit", "warning", f"only {limit} inotify watches are allowed; the rest is polled", hint
        )
    else:
        yield DoctorFinding("watch.ok", "ok", f"{limit if limit is not None else 'enough'} inotify watches")


def _number(path: Path, read: Callable[[Path], str] = Path.read_text) -> int | None:
    try:
        return int(read(path))
    except (OSError, ValueError):
        return None


def _check_retention(paths: Paths) -> Iterator[DoctorFinding]:
    """Warn if Claude Code deletes transcripts after less than 7 days: what was not read by then is lost."""
    file = paths.config_dir / "settings.json"
    days: object = DEFAULT_RETENTION_DAYS
    try:
        settings = json.loads(file.read_bytes())
        days = (
            settings.get("cleanupPeriodDays", DEFAULT_RETENTION_DAYS)
            if isinstance(settings, dict)
            else DEFAULT_RETENTION_DAYS
        )
    except (OSError, ValueError):
        pass  # no settings: the default applies
    if isinstance(days, int) and days < 7:
        hint = f'set "cleanupPeriodDays": 30 or more in {file}'
        yield DoctorFinding(
            "transcripts.short-lived", "warning", f"Claude Code deletes transcripts after {days} days", hint
        )
    else:
        yield DoctorFinding("transcripts.kept", "ok", f"Claude Code keeps transcripts for {days} days")
