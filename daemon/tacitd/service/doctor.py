"""`tacitd doctor`: tries what the daemon needs. Each finding has a stable id and a hint that fixes it.

Nothing here changes a file or calls the model. docs/troubleshooting.md has a section for each id.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from tacitd import __version__
from tacitd.config.settings import Config, load_config
from tacitd.control.client import BusyError, call_daemon
from tacitd.errors import TacitdError, UnavailableError
from tacitd.handler import load_hook
from tacitd.model.client_args import missing_options
from tacitd.model.environment import child_environment, with_directory
from tacitd.model.locate import find_command
from tacitd.model.outcome import HINTS
from tacitd.model.port import Why
from tacitd.model.probe import describe_missing
from tacitd.plugins import find_plugins
from tacitd.service import service_checks
from tacitd.service.finding import DoctorFinding
from tacitd.service.managers import Manager
from tacitd.service.units import ServiceFacts
from tacitd.sources.registry import make_source
from tacitd.state.paths import Paths, find_file_in_the_way

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
"""Variables with a login. They reach the daemon's calls only if `claude.pass_env` names them."""
MIN_WATCHES = 8192
"""inotify watches below which a busy machine runs out."""
MIN_FREE_BYTES = 100 << 20
"""Free bytes below which the disk counts as full."""
DEFAULT_RETENTION_DAYS = 30
"""Days after which Claude Code deletes transcripts by default."""


class Service(Struct, frozen=True):
    """The service manager of this system, and the facts that would be installed now."""

    manager: Manager
    facts: ServiceFacts


def examine_quickly(paths: Paths, environ: Mapping[str, str]) -> list[DoctorFinding]:
    """Run the checks that start no process and read little, and return the findings, the basic ones first.

    The client is looked for, but not tried. A service's file is not compared, because that takes its manager, and a plugin's
    check may read every project.
    """
    found: list[DoctorFinding] = [*_python(), *_configuration(paths, environ)]
    command = load_or_default(paths, environ).claude.command
    program = find_command(command, environ)
    found.append(
        _report_absent(command) if program is None else DoctorFinding("model.found", "ok", f"{program}")
    )
    return [*found, *_examine_places(paths)]


def examine_machine(
    paths: Paths, environ: Mapping[str, str], service: Service | None = None
) -> list[DoctorFinding]:
    """Run every check and return the findings, the basic ones first.

    If a service is installed, the client is looked for and tried in the service's own environment.
    """
    found: list[DoctorFinding] = [*_python(), *_configuration(paths, environ)]
    config, env = load_or_default(paths, environ), environ
    if service is not None:
        found += service_checks.check_service(service.manager, service.facts)
        env = service.manager.read_environment() or environ
        found += service_checks.check_client(config.claude.command, environ, env)
    found += _claude(config, env, _directory(paths.state_dir), environ)
    found += _examine_places(paths)
    found += service_checks.check_plugin(paths, environ)
    found += _ask_plugins(environ)
    return found


def _examine_places(paths: Paths) -> Iterator[DoctorFinding]:
    """The checks of directories, clock and socket, which take no longer than looking at them."""
    yield from _directories(paths)
    yield from service_checks.check_modes(paths)
    yield from service_checks.check_projects(paths)
    yield from service_checks.check_clock(paths)
    yield from _socket(paths)
    yield from _inotify()
    yield from _check_retention(paths)


def _ask_plugins(environ: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """The findings of the plugins' own checks. A check that fails is a finding, and the others go on."""
    for plugin in find_plugins().plugins:
        if not plugin.findings:
            continue
        try:
            yield from load_hook(plugin.findings)(environ)
        except Exception as error:  # noqa: BLE001  a third-party check may raise anything
            what = f"the check of {plugin.name} failed: {type(error).__name__}: {error}"
            yield DoctorFinding(
                "doctor.failed", "warning", what, "`tacitd status` reports what else is wrong"
            )


def _python() -> Iterator[DoctorFinding]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield DoctorFinding("python.version", "ok", f"tacitd {__version__} on Python {version}")


def load_or_default(paths: Paths, environ: Mapping[str, str]) -> Config:
    """The configuration; the defaults if it is wrong (`config.wrong` reports that)."""
    try:
        return load_config(paths.config_file, environ, find_plugins().collect_sections())
    except TacitdError:
        return load_config(paths.state_dir / "no such file", {}, find_plugins().collect_sections())


def _configuration(paths: Paths, environ: Mapping[str, str]) -> Iterator[DoctorFinding]:
    try:
        config = load_config(paths.config_file, environ, find_plugins().collect_sections())
    except TacitdError as error:
        yield DoctorFinding("config.wrong", "error", error.what, error.hint)
    else:
        if config.removed:
            what = "; ".join(one.what for one in config.removed)
            yield DoctorFinding("config.removed", "warning", what, "remove it from there")
        there = "valid" if paths.config_file.exists() else "does not exist; the defaults apply"
        yield DoctorFinding("config.ok", "ok", f"{paths.config_file}: {there}")
    for broken in find_plugins().failed:
        yield DoctorFinding(broken.id, "error", broken.what, broken.hint)


def _claude(
    config: Config, environ: Mapping[str, str], place: Path, shell: Mapping[str, str]
) -> Iterator[DoctorFinding]:
    """Check that the client exists, is new enough and is logged in.

    `place`: a working directory without project settings, as in the daemon's own calls. `environ`: the daemon's variables.
    `shell`: the variables of the shell that runs doctor; an installed service may have others.
    """
    program = find_command(config.claude.command, environ)
    if program is None:
        yield _report_absent(config.claude.command)
        return
    env = child_environment(environ, config.claude.pass_env)
    env["PATH"] = with_directory(env["PATH"], str(program.parent))
    version = _output([str(program), "--version"], env, place)
    yield DoctorFinding("model.found", "ok", f"{program} {version or '(version unknown)'}")
    if missing := missing_options(_output([str(program), "--help"], env, place)):
        yield DoctorFinding("model.too-old", "error", describe_missing(missing), HINTS[Why.TOO_OLD])
    logged_in = _login(program, env, place)
    if logged_in.id == "model.logged-out":
        logged_in = _with_keys(logged_in, config.claude.pass_env, environ, shell)
    yield logged_in


def _report_absent(command: str) -> DoctorFinding:
    hint = "install Claude Code, or set claude.command (TACITD_CLAUDE__COMMAND) to its path"
    return DoctorFinding("model.absent", "error", f"`{command}` was not found", hint)


def _with_keys(
    found: DoctorFinding, passed: Sequence[str], environ: Mapping[str, str], shell: Mapping[str, str]
) -> DoctorFinding:
    """Given the finding of a logged-out client, return it with the steps for a login by API key, if a key is set.

    Trigger: a key is set and the daemon's call does not receive it. Why: by default no key is passed on, so that a
    forgotten key does not bill the calls of a subscription. Outcome: the hint names the setting; a person chooses.
    """
    keys = [name for name in KEYS if environ.get(name) or shell.get(name)]
    absent = [name for name in keys if not environ.get(name)]
    steps = [] if set(keys) <= set(passed) else [f"set claude.pass_env = {json.dumps(keys)}"]
    steps += [f"give the service {', '.join(absent)} (`systemctl --user edit tacitd`)"] if absent else []
    if not steps:
        return found
    what = f"{found.what}; {', '.join(keys)} is set, but not passed to it"
    hint = f"to pay by the key, {' and '.join(steps)}; or {found.hint}"
    return DoctorFinding(found.id, found.severity, what, hint)


def _login(program: Path, env: Mapping[str, str], place: Path) -> DoctorFinding:
    """Ask `claude auth status --json`, which makes no call to the model. Older clients do not know it."""
    said = _output([str(program), "auth", "status", "--json"], env, place)
    try:
        status = json.loads(said)
    except ValueError:
        status = None
    if not isinstance(status, dict):
        hint = "run `claude` once by hand, or `tacitd doctor --model`"
        return DoctorFinding(
            "model.login-unknown", "warning", "this client does not report whether it is logged in", hint
        )
    if status.get("loggedIn"):
        return DoctorFinding("model.login", "ok", f"logged in ({status.get('authMethod', 'unknown method')})")
    hint = "run `claude` and log in, or give the daemon a token: `claude setup-token`, then CLAUDE_CODE_OAUTH_TOKEN"
    return DoctorFinding(
        "model.logged-out", "error", "claude is not logged in when called as the daemon calls it", hint
    )


def _output(argv: list[str], env: Mapping[str, str], place: Path) -> str:
    try:
        done = subprocess.run(
            argv,
            env=dict(env),
            cwd=place,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


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


def _directory(path: Path) -> Path:
    """This path or its nearest parent that is a directory: a working directory for a child process."""
    return next(p for p in (path, *path.parents) if p.is_dir())


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
