"""`tacitd doctor`: tries what the daemon needs. Each finding has a stable id and a hint that fixes it.

Nothing here changes a file, and only `probe_model` calls the model. docs/troubleshooting.md has a section for each id.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from tacitd import __version__
from tacitd.config.settings import Config, load_config
from tacitd.errors import TacitdError
from tacitd.handler import load_hook
from tacitd.model.client_args import missing_options
from tacitd.model.environment import child_environment, with_directory
from tacitd.model.locate import describe_missing, find_command
from tacitd.model.outcome import HINTS
from tacitd.model.port import Answer, ModelRequest, Why
from tacitd.model_factory import open_model
from tacitd.plugins import find_plugins
from tacitd.service import machine_checks
from tacitd.service.client_plugin import check_plugin, check_server
from tacitd.service.finding import DoctorFinding
from tacitd.service.managers import Manager
from tacitd.service.units import ServiceFacts
from tacitd.state.paths import Paths

QUESTION = "Answer with the one word: yes"
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
"""Variables with a login. They reach the daemon's calls only if `claude.pass_env` names them."""


class Service(Struct, frozen=True):
    """The service manager of this system, and the facts that would be installed now."""

    manager: Manager
    facts: ServiceFacts


def examine_machine(
    paths: Paths, environ: Mapping[str, str], service: Service | None = None
) -> list[DoctorFinding]:
    """Run every check and return the findings, the basic ones first.

    If a service is installed, the client is looked for and tried in the service's own environment.
    """
    version = f"tacitd {__version__} on Python {'.'.join(map(str, sys.version_info[:3]))}"
    found = [DoctorFinding("python.version", "ok", version), *_check_configuration(paths, environ)]
    config, env = load_or_default(paths, environ), environ
    if service is not None:
        found += machine_checks.check_service(service.manager, service.facts)
        env = service.manager.read_environment() or environ
        found += machine_checks.check_client(config.claude.command, environ, env)
    found += _claude(config, env, _directory(paths.state_dir), environ)
    found += machine_checks.check_places(paths)
    found += [*check_plugin(paths, Path.cwd()), *check_server(paths, Path.cwd(), environ)]
    found += _ask_plugins(environ)
    return found


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


def load_or_default(paths: Paths, environ: Mapping[str, str]) -> Config:
    """The configuration; the defaults if it is wrong (`config.wrong` reports that)."""
    try:
        return load_config(paths.config_file, environ, find_plugins().collect_sections())
    except TacitdError:
        return load_config(paths.state_dir / "no such file", {}, find_plugins().collect_sections())


def _check_configuration(paths: Paths, environ: Mapping[str, str]) -> Iterator[DoctorFinding]:
    found = find_plugins()
    removed: list[str] | TacitdError
    try:
        config = load_config(paths.config_file, environ, found.collect_sections())
        removed = [one.what for one in config.removed]
    except TacitdError as error:
        removed = error
    yield from machine_checks.check_configuration(paths, removed, found.failed)


def _claude(
    config: Config, environ: Mapping[str, str], place: Path, shell: Mapping[str, str]
) -> Iterator[DoctorFinding]:
    """Check that the client exists, is new enough and is logged in.

    `place`: a working directory without project settings, as in the daemon's own calls. `environ`: the daemon's variables.
    `shell`: the variables of the shell that runs doctor; an installed service may have others.
    """
    program = find_command(config.claude.command, environ)
    if program is None:
        hint = "install Claude Code, or set claude.command (TACITD_CLAUDE__COMMAND) to its path"
        yield DoctorFinding("model.absent", "error", f"`{config.claude.command}` was not found", hint)
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


def _directory(path: Path) -> Path:
    """This path or its nearest parent that is a directory: a working directory for a child process."""
    return next(p for p in (path, *path.parents) if p.is_dir())


def probe_model(paths: Paths, config: Config, environ: Mapping[str, str]) -> DoctorFinding:
    """Make one call of the fast model, as the daemon would, counted in the daemon's budget. Return the finding."""
    ask = ModelRequest(
        purpose="doctor",
        tier="fast",
        system="You answer questions.",
        prompt=QUESTION,
        key="",
    )
    with open_model(paths, environ, config) as model:
        answer = model.ask(ask)
    if isinstance(answer, Answer):
        return DoctorFinding(
            "model.answers", "ok", f"the model answered within {answer.seconds:.1f} s, for ${answer.usd:.4f}"
        )
    return DoctorFinding(
        "model.mute",
        "error",
        f"the model does not answer: {answer.why}: {answer.detail}",
        answer.hint or "run `claude` once by hand",
    )
