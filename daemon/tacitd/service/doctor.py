"""`tacitd doctor`: tries what the daemon needs. Each finding has a stable id and a hint that fixes it.

Nothing here changes a file, and only `probe_model` calls the model.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path

from msgspec import Struct

from tacitd import __version__
from tacitd.config.settings import Config, load_config
from tacitd.control.client import BusyError, call_daemon
from tacitd.errors import TacitdError, UnavailableError, describe_failure
from tacitd.handler import DoctorFinding, load_hook
from tacitd.model.environment import (
    child_environment,
    describe_missing,
    find_command,
    missing_options,
    with_directory,
)
from tacitd.model.outcome import HINTS
from tacitd.model.port import Answer, ModelRequest, Why
from tacitd.model_factory import open_model
from tacitd.plugin import PluginSpec
from tacitd.plugins import find_plugins
from tacitd.service.client_plugin import check_plugin, check_server
from tacitd.service.managers import Manager, ServiceFacts, is_edited, run_tool
from tacitd.session_context.plugin_view import ask_each
from tacitd.sources.registry import make_source
from tacitd.state.paths import Paths, find_current_dir, find_file_in_the_way, find_silent_daemon, read_file
from tacitd.store import open_readonly

MIN_FREE_BYTES = 100 << 20

RETENTION_DAYS = 30
"""Days after which Claude Code deletes transcripts by default."""
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
"""Variables with a login. They reach the daemon's calls only if `claude.pass_env` names them."""


class Service(Struct, frozen=True):
    """The service manager of this system, and the facts that would be installed now."""

    manager: Manager
    facts: ServiceFacts


def _ok(id: str, what: str) -> DoctorFinding:
    return DoctorFinding(id, "ok", what)


def _warn(id: str, what: str, hint: str) -> DoctorFinding:
    return DoctorFinding(id, "warning", what, hint)


def _fail(id: str, what: str, hint: str) -> DoctorFinding:
    return DoctorFinding(id, "error", what, hint)


def examine_machine(
    paths: Paths, environ: Mapping[str, str], service: Service | None = None
) -> list[DoctorFinding]:
    """Run every check and return the findings, the basic ones first. An installed service's own environment
    is that of the client."""
    version = f"tacitd {__version__} on Python {'.'.join(map(str, sys.version_info[:3]))}"
    found = [_ok("python.version", version), *_guard(_check_configuration(paths, environ))]
    config, env = load_or_default(paths, environ), environ
    if service is not None:
        found += _guard(check_service(service.manager, service.facts))
        with suppress(OSError):  # `check_service` names it
            env = service.manager.read_environment() or environ
        found += check_client(config.claude.command, environ, env)
    found += _guard(_check_claude(config, env, _nearest(paths.state_dir, _is_open_directory), environ))
    found += [_check_state(paths.state_dir), *_guard(_check_store(paths.state_dir))]
    found += _guard(_check_transcripts(one) for one in make_source(paths.config_dir).roots)
    found += [_check_room(paths), _check_daemon(paths), _check_retention(paths)]
    found += _guard(check_plugin(paths, find_current_dir()))
    found += _guard(check_server(paths, find_current_dir(), environ))

    def check(spec: PluginSpec) -> Iterable[DoctorFinding]:
        hook = spec.prompt_parts.get("doctor")
        return load_hook(hook)(environ) if hook else ()

    failed = list[str]()
    found += [one for _, one in ask_each(find_plugins().plugins, check, failed.append)]
    hint = "`tacitd status` reports what else is wrong"
    return [*found, *(_warn("doctor.failed", f"the check of {what}", hint) for what in failed)]


def _guard(findings: Iterable[DoctorFinding]) -> Iterator[DoctorFinding]:
    """The findings, and the error at which they end: the other checks follow."""
    try:
        yield from findings
    except (OSError, TacitdError) as error:
        yield _fail("doctor.failed", *describe_failure(error))


def examine_client(paths: Paths, config: Config, environ: Mapping[str, str]) -> list[DoctorFinding]:
    """What is wrong with the client, its login and the plugin in it: what a person is to know at a first start."""
    found = _check_claude(config, environ, _nearest(paths.state_dir, _is_open_directory), environ)
    return [one for one in (*found, *check_plugin(paths, find_current_dir())) if one.severity != "ok"]


# --- the configuration, the directories and the daemon


def load_or_default(paths: Paths, environ: Mapping[str, str]) -> Config:
    """The configuration; the defaults if it is wrong (`config.wrong` reports that)."""
    sections = find_plugins().collect_sections()
    try:
        return load_config(paths.config_file, environ, sections)
    except TacitdError:
        return load_config(Path(os.devnull), {}, sections)


def _check_configuration(paths: Paths, environ: Mapping[str, str]) -> Iterator[DoctorFinding]:
    found = find_plugins()
    try:
        load_config(paths.config_file, environ, found.collect_sections())
    except TacitdError as error:
        yield _fail("config.wrong", error.what, error.hint)
    else:
        there = "valid" if paths.config_file.exists() else "does not exist; the defaults apply"
        yield _ok("config.ok", f"{paths.config_file}: {there}")
    for broken in found.failed:
        yield _fail(broken.id, broken.what, broken.hint)


def _check_state(path: Path) -> DoctorFinding:
    in_the_way = find_file_in_the_way(path)
    if in_the_way is not None:
        what = f"{in_the_way} is a file where a directory belongs"
        return _fail("state.no-directory", what, "move it away")
    at = _nearest(path, partial(os.access, mode=os.F_OK))
    if os.access(at, os.W_OK | os.X_OK):
        for one in sorted(path.glob("*")):
            if one.exists() and not os.access(one, os.R_OK | os.W_OK):  # `sudo tacitd` makes such files
                hint = f"make all in {path} accessible to your user (chown, chmod)"
                return _fail("state.shut", f"{one} cannot be read and written", hint)
        return _ok("state.writable", f"{path} is writable")
    hint = f"make {at} writable by your user (chown, chmod), or set TACITD_STATE_DIR"
    return _fail("state.read-only", f"{at} is not writable", hint)


def _check_store(state_dir: Path) -> Iterator[DoctorFinding]:
    try:
        with open_readonly(state_dir) or nullcontext():
            pass
    except TacitdError as error:
        yield _fail("state.unreadable", error.what, error.hint)


def _check_transcripts(transcripts: Path) -> DoctorFinding:
    if transcripts.is_dir() and not os.access(transcripts, os.R_OK | os.X_OK):
        hint = f"make {transcripts} readable by your user"
        return _fail("transcripts.unreadable", f"{transcripts} is not readable", hint)
    if transcripts.is_dir():
        return _ok("transcripts.there", f"{transcripts} exists")
    hint = "use Claude Code once, or set CLAUDE_CONFIG_DIR if its directory is elsewhere"
    return _warn("transcripts.missing", f"{transcripts} does not exist yet", hint)


def _check_room(paths: Paths) -> DoctorFinding:
    free = shutil.disk_usage(_nearest(paths.state_dir, partial(os.access, mode=os.F_OK))).free
    if free < MIN_FREE_BYTES:
        what = f"{free >> 20} MB are free for {paths.state_dir}"
        return _fail("disk.full", what, "free space on that disk")
    return _ok("disk.ok", f"{free >> 20} MB are free")


def _check_daemon(paths: Paths) -> DoctorFinding:
    try:
        version = call_daemon(paths.socket, "ping", timeout=3.0).get("version")
    except TacitdError as error:
        if isinstance(error, UnavailableError) and not isinstance(error, BusyError):
            if pid := find_silent_daemon(paths.state_dir):
                what = f"a daemon runs (process {pid}), but {paths.socket} is gone"
                return _fail("daemon.odd", what, "`tacitd restart`")
            hint = "`tacitd service install` keeps one running; or `tacitd start`"
            return _warn("daemon.absent", error.what, hint)
        return _fail("daemon.odd", error.what, error.hint)
    what = f"tacitd {version} answers on {paths.socket}"
    if version == __version__:
        return _ok("daemon.there", what)
    return _warn("daemon.other-version", what, "run `tacitd restart`")


def _check_retention(paths: Paths) -> DoctorFinding:
    """Warn if Claude Code deletes transcripts after less than 7 days: what was not read by then is lost."""
    file, days = paths.config_dir / "settings.json", None
    try:
        settings = json.loads(read_file(file))
        days = settings.get("cleanupPeriodDays") if isinstance(settings, dict) else None
    except (OSError, ValueError):  # no settings: the default applies
        pass
    days = days if isinstance(days, int) else RETENTION_DAYS
    if days < 7:
        what, hint = f"Claude Code deletes transcripts after {days} days", "30 or more"
        return _warn("transcripts.short-lived", what, f'set "cleanupPeriodDays": {hint} in {file}')
    return _ok("transcripts.kept", f"Claude Code keeps transcripts for {days} days")


# --- the service


def check_service(manager: Manager, facts: ServiceFacts) -> Iterator[DoctorFinding]:
    """Check that the service's file exists, is what this version would install, and was not edited by hand."""
    if not manager.file.exists():
        why = manager.why_unavailable()
        hint = "`tacitd start` runs it without one" if why else "run `tacitd service install`"
        yield _warn("service.absent", why or "no service keeps tacitd running", hint)
        return
    try:
        text, wanted = read_file(manager.file).decode(), manager.render_file(facts)
    except (OSError, UnicodeDecodeError, TacitdError) as error:
        hint = "remove it, then run `tacitd service install`"
        yield _fail("service.unreadable", f"{manager.file}: {error}", hint)
        return
    if is_edited(text):
        hint = "move your changes into a drop-in (`systemctl --user edit tacitd`), remove the file, run `tacitd service install`"
        yield _warn("service.edited", f"{manager.file} was edited by hand", hint)
    elif strip_variables(text) != strip_variables(wanted):
        what = f"{manager.file} is not what this version would install"
        yield _warn("service.outdated", what, "run `tacitd service install`")
    else:
        yield _ok("service.installed", f"{manager.file} is up to date")


def check_client(command: str, shell: Mapping[str, str], env: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """Check that the service finds the client if the shell does. After an update of nvm it may not."""
    here = find_command(command, shell)
    if here is not None and find_command(command, env) is None:
        what = f"your shell finds {here}, but the service does not"
        yield _fail("service.client-moved", what, "run `tacitd service install`")


def strip_variables(text: str) -> str:
    """The text of a service's file without its seal and variables. PATH differs from shell to shell, so it does not count."""
    text = re.sub(r"tacitd-seal: \w+", "", text)
    text = re.sub(r"<key>EnvironmentVariables</key>.*?</dict>", "", text, flags=re.DOTALL)
    return "\n".join(line for line in text.splitlines() if not line.startswith("Environment="))


# --- the client and the model


def _check_claude(
    config: Config, environ: Mapping[str, str], place: Path, shell: Mapping[str, str]
) -> Iterator[DoctorFinding]:
    """`place`: a working directory without project settings, as in the daemon's own calls. `environ`: the
    daemon's variables. `shell`: those of the shell that runs doctor."""
    program = find_command(config.claude.command, environ)
    if program is None:
        hint = "install Claude Code, or set claude.command (TACITD_CLAUDE__COMMAND) to its path"
        hint += "; a service learns it by `tacitd service install`"
        yield _fail("model.absent", f"`{config.claude.command}` was not found", hint)
        return
    env = child_environment(environ, config.claude.pass_env)
    env["PATH"] = with_directory(env["PATH"], str(program.parent))
    version = run_tool([str(program), "--version"], env, place, 20.0).printed
    yield _ok("model.found", f"{program} {version or '(version unknown)'}")
    if missing := missing_options(run_tool([str(program), "--help"], env, place, 20.0).printed):
        yield _fail("model.too-old", describe_missing(missing), HINTS[Why.TOO_OLD])
    # It makes no call to the model. Older clients do not know it.
    try:
        status = json.loads(run_tool([str(program), "auth", "status", "--json"], env, place, 20.0).printed)
    except ValueError:
        status = None
    if not isinstance(status, dict):
        hint = "run `claude` once by hand, or `tacitd doctor --model`"
        yield _warn("model.login-unknown", "this client does not report whether it is logged in", hint)
    elif status.get("loggedIn"):
        yield _ok("model.login", f"logged in ({status.get('authMethod', 'unknown method')})")
    else:
        yield _describe_logged_out(config.claude.pass_env, environ, shell)


def _describe_logged_out(
    passed: Sequence[str], environ: Mapping[str, str], shell: Mapping[str, str]
) -> DoctorFinding:
    """By default no key is passed on, so that a forgotten key does not bill the calls of a subscription: a
    person chooses."""
    what = "claude is not logged in when called as the daemon calls it"
    hint = "run `claude` and log in, or give the daemon a token: `claude setup-token`, then CLAUDE_CODE_OAUTH_TOKEN"
    keys = [name for name in KEYS if environ.get(name) or shell.get(name)]
    if not all(name in passed and environ.get(name) for name in keys):
        what = f"{what}; {', '.join(keys)} is set, but not passed to it"
        steps = f"set claude.pass_env = {json.dumps(keys)}"
        hint = f"to pay by the key, {steps}, for a service also `systemctl --user edit tacitd`; or {hint}"
    return _fail("model.logged-out", what, hint)


def probe_model(paths: Paths, config: Config, environ: Mapping[str, str]) -> DoctorFinding:
    """Make one call of the fast model, as the daemon would, counted in the daemon's budget. Return the finding."""
    question = "Answer with the one word: yes"
    ask = ModelRequest(question, "fast", system="You answer questions.", purpose="doctor")
    with open_model(paths, environ, config) as (model, _):
        answer = model.ask(ask)
    if isinstance(answer, Answer):
        what = f"the model answered within {answer.seconds:.1f} s, for ${answer.usd:.4f}"
        return _ok("model.answers", what)
    what = f"the model does not answer: {answer.why}: {answer.detail}"
    return _fail("model.mute", what, answer.hint or "run `claude` once by hand")


def _is_open_directory(path: Path) -> bool:
    return os.access(path, os.X_OK) and path.is_dir()


def _nearest(path: Path, fits: Callable[[Path], bool]) -> Path:
    return next(one for one in (path, *path.parents) if fits(one))
