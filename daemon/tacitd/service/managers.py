"""systemd and launchd: install, uninstall, restart, status, log and environment of the service. The service's
file is written only if the manager answers, and restored or removed if the manager refuses it."""

from __future__ import annotations

import hashlib
import html
import os
import plistlib
import re
import shlex
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal
from xml.parsers.expat import ExpatError

from msgspec import Struct, field

from tacitd.errors import (
    FAILED,
    FileRefusedError,
    TacitdError,
    UnavailableError,
    UsageError,
    describe_os_error,
)
from tacitd.files.atomic import replace_file
from tacitd.state.paths import read_file

UNIT = "tacitd.service"
AGENT = "dev.tacitd"


class ToolExit(Struct, frozen=True):
    code: int
    """Exit code; 127 if the tool cannot be run, 124 if it took too long."""
    out: str
    """stdout, then stderr."""
    printed: str = ""
    """stdout alone."""


RunTool = Callable[[Sequence[str]], ToolExit]


def run_tool(
    argv: Sequence[str],
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    seconds: float = 60.0,
) -> ToolExit:
    """Run a program without input."""
    try:
        done = subprocess.run(
            list(argv),
            env=env,
            cwd=cwd,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        return ToolExit(127, f"{argv[0]} is not installed")
    except OSError as error:
        return ToolExit(127, describe_os_error(error)[0])
    except subprocess.TimeoutExpired:
        return ToolExit(124, f"{argv[0]} did not answer within {seconds:.0f} s")
    return ToolExit(done.returncode, (done.stdout + done.stderr).strip(), done.stdout.strip())


class ServiceError(TacitdError):
    """The service manager refused a command."""

    code = FAILED


class Manager(ABC):
    """A service manager of one user: its tool, and the arguments with which it is asked."""

    tool: ClassVar[tuple[str, ...]]
    about_edits: ClassVar[str]
    """What a person who edited the file does first."""
    absent: str
    """What is said if it does not answer `probe`."""
    log_hint: str
    """Where a refused command says more."""
    probe: tuple[str, ...]
    started: tuple[str, ...]
    restarted: tuple[str, ...]
    shown: tuple[str, ...]
    reread: tuple[str, ...]
    """Has it read a file that was put back."""

    def __init__(self, file: Path, run: RunTool) -> None:
        self.file, self.run = file, run

    @abstractmethod
    def render_file(self, facts: ServiceFacts) -> str:
        """The file that would be installed. Raises UsageError for what cannot stand in it."""

    @abstractmethod
    def _enable(self, *, changed: bool, start: bool) -> None:
        """Have the manager read the file, and start the service at each login, and now if `start`. Raises ServiceError."""

    @abstractmethod
    def uninstall(self) -> list[str]:
        """Stop the service and remove its file. Returns a line for each thing done; [] if nothing was installed."""

    @abstractmethod
    def is_running(self) -> bool: ...

    @abstractmethod
    def logs_command(self, follow: bool, since: str) -> list[str]:
        """The command that shows the service's log. `since`: as journalctl takes it; "" for all."""

    @abstractmethod
    def read_environment(self) -> dict[str, str]:
        """The service's environment, drop-ins included; empty if the service is not installed."""

    def why_unavailable(self) -> str:
        """Why it cannot be used here; "" if it can."""
        answer = self._ask(*self.probe)
        first = (answer.out.splitlines() or ["it does not answer"])[0]
        return "" if answer.code == 0 else f"{self.absent}: {first}"

    def install(self, facts: ServiceFacts, *, now: bool) -> list[str]:
        """Write the file if it differs, enable the service, start it if `now`. Returns a line for each thing done. What the manager
        refuses is taken back.

        Raises UnavailableError without a manager, FileRefusedError for an edited file, ServiceError if the manager refuses.
        """
        self.require_manager()
        before = read_file(self.file) if self.file.exists() else None
        if before is not None and is_edited(before.decode("utf-8", "replace")):
            hint = f"{self.about_edits}, remove the file, and install again"
            raise FileRefusedError(f"{self.file} was edited by hand", hint)
        changed = replace_file(self.file, self.render_file(facts).encode())
        ran = not changed and self.is_running()
        try:
            self._enable(changed=changed, start=now and not ran)
        except ServiceError:
            if before is None:
                self.uninstall()
            else:
                replace_file(self.file, before)
                self._ask(*self.reread)
            raise
        done = [f"{'wrote' if changed else 'kept'} {self.file}", "enabled: starts at every login"]
        return [*done, "already running" if ran else "started"] if now or ran else done

    def require_manager(self) -> None:
        if why := self.why_unavailable():
            raise UnavailableError(why, "`tacitd start` runs it without a service manager")

    def start(self) -> None:
        """Start the service if it does not run. Raises UnavailableError or ServiceError."""
        self.require_manager()
        self._request(*self.started)

    def restart(self) -> None:
        self.require_manager()
        self._request(*self.restarted)

    def status(self) -> str:
        return self._ask(*self.shown).out

    def _ask(self, *arguments: str) -> ToolExit:
        return self.run([*self.tool, *arguments])

    def _request(self, *arguments: str) -> None:
        answer = self._ask(*arguments)
        if answer.code != 0:
            raise ServiceError(f"{' '.join((*self.tool, *arguments))}: {answer.out}", self.log_hint)

    def _remove_file(self) -> list[str]:
        if not self.file.exists():
            return []
        self.file.unlink()
        return [f"removed {self.file}"]


class Systemd(Manager):
    """The user manager of systemd. Drop-ins beside the unit belong to a person and stay."""

    tool = ("systemctl", "--user")
    about_edits = "`systemctl --user edit tacitd` makes a drop-in; move your changes there"
    absent, log_hint = "no systemd user manager answers", "journalctl --user -u tacitd"
    probe = ("show", "--property=Version")
    started, restarted = ("start", UNIT), ("restart", UNIT)
    shown, reread = ("status", "--no-pager", "--lines=5", UNIT), ("daemon-reload",)

    @classmethod
    def for_user(cls, environ: Mapping[str, str], home: Path, run: RunTool = run_tool) -> Systemd:
        named = environ.get("XDG_CONFIG_HOME", "")
        base = Path(named) if named.startswith("/") else home / ".config"
        return cls(base / "systemd" / "user" / UNIT, run)

    def render_file(self, facts: ServiceFacts) -> str:
        return render_unit(facts)

    def _enable(self, *, changed: bool, start: bool) -> None:
        self._request("daemon-reload")
        self._request("enable", UNIT)
        if start:
            self._request("restart", UNIT)

    def uninstall(self) -> list[str]:
        """Stop and disable the service, remove the unit. A person's drop-ins are named."""
        self._ask("disable", "--now", UNIT)
        done = self._remove_file()
        self._ask(*self.reread)
        self._ask("reset-failed", UNIT)
        drop_ins = self.file.with_name(UNIT + ".d")
        return [*done, f"kept your drop-ins in {drop_ins}"] if drop_ins.is_dir() else done

    def is_running(self) -> bool:
        return self._ask("is-active", UNIT).code == 0

    def logs_command(self, follow: bool, since: str) -> list[str]:
        return ["journalctl", "--user", "-u", UNIT, *["-f"] * follow, *(["--since", since] if since else [])]

    def read_environment(self) -> dict[str, str]:
        """The `Environment` property, as `systemctl show` prints it; where no manager answers, that of the unit alone."""
        if not self.file.exists():
            return {}
        answer = self._ask("show", UNIT, "--property=Environment", "--value")
        if answer.code == 0:
            return parse_environment(answer.out)
        lines = read_file(self.file).decode("utf-8", "replace").splitlines()
        set_here = (one.removeprefix("Environment=") for one in lines if one.startswith("Environment="))
        return parse_environment(" ".join(set_here).replace("%%", "%"))


def parse_environment(text: str) -> dict[str, str]:
    """Given `Environment` as `systemctl show` prints it, return the variables, unquoted."""
    plain = re.sub(r"\\(.)", lambda pair: pair[1] if pair[1] in "$`" else pair[0], text)  # shlex keeps `\$`
    try:
        words = shlex.split(plain)
    except ValueError:
        return {}
    return dict(word.split("=", 1) for word in words if "=" in word)


class Launchd(Manager):
    """The agents of launchd, for the user who is logged in."""

    tool = ("launchctl",)
    about_edits = "keep a copy of your changes"

    def __init__(self, file: Path, uid: int, log: Path, run: RunTool = run_tool) -> None:
        super().__init__(file, run)
        domain, agent = f"gui/{uid}", f"gui/{uid}/{AGENT}"
        self._domain, self._agent, self._log = domain, agent, log
        self.absent, self.log_hint = f"launchd has no domain {domain}", f"read {log}"
        self.probe, self.shown = ("print", domain), ("print", agent)
        self.started, self.restarted = ("kickstart", agent), ("kickstart", "-k", agent)
        self.reread = ("print", agent)  # it read none yet

    def render_file(self, facts: ServiceFacts) -> str:
        return render_agent(facts)

    def _enable(self, *, changed: bool, start: bool) -> None:
        """A changed agent that is loaded is booted out first, because launchd keeps the version that it read."""
        loaded = self._ask("print", self._agent).code == 0
        if loaded and changed:
            self._ask("bootout", self._agent)
        if changed or not loaded:
            self._request("bootstrap", self._domain, str(self.file))
        if start:
            self._request(*self.started)

    def uninstall(self) -> list[str]:
        self._ask("bootout", self._agent)
        return self._remove_file()

    def is_running(self) -> bool:
        return "state = running" in self.status()

    def logs_command(self, follow: bool, since: str) -> list[str]:
        """A tail command on the daemon's log file, because launchd keeps no log. `since` has no effect."""
        return ["tail", *(["-f"] if follow else ["-n", "200"]), str(self._log)]

    def read_environment(self) -> dict[str, str]:
        try:
            found = plistlib.loads(read_file(self.file))["EnvironmentVariables"]
            return {str(name): str(value) for name, value in found.items()}
        except (OSError, ValueError, ExpatError, KeyError, AttributeError):
            return {}


def find_manager(environ: Mapping[str, str], home: Path, log: Path) -> Manager:
    """The service manager of this system. Raises UnavailableError on systems other than Linux and macOS."""
    if sys.platform == "darwin":
        return Launchd(home / "Library" / "LaunchAgents" / f"{AGENT}.plist", os.getuid(), log)
    if sys.platform.startswith("linux"):
        return Systemd.for_user(environ, home)
    raise UnavailableError(
        f"tacitd supports no service manager on {sys.platform}", "`tacitd start` runs it without one"
    )


# --- the text of the service's file


SEAL = "tacitd-seal: none"
PASSED = ("HOME", "USER", "LOGNAME", "LANG", "PATH")
KEPT = (
    "CLAUDE_CONFIG_DIR",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "TACITD_STATE_DIR",
    "TACITD_CONFIG",
    "TACITD_SOCKET",
    "TACITD_CLAUDE__COMMAND",
)
"""Variables that are passed on only if the user set them: without them the service would look elsewhere."""


class ServiceFacts(Struct, frozen=True):
    """The values of a template."""

    program: tuple[str, ...]
    """The command up to `run`: an absolute path, such as `/home/me/.local/share/tacitd/venv/bin/tacitd`, and arguments."""
    home: str
    log: str
    environment: Mapping[str, str] = field(default_factory=dict)


def collect_facts(
    program: tuple[str, ...],
    environ: Mapping[str, str],
    account: Mapping[str, str],
    claude: Path | None,
    log: Path,
) -> ServiceFacts:
    """Given the shell's environment at installation, return the values for the service.

    A service manager gives a bare PATH and no login variables; missing ones come from `account`. A variable such as
    CLAUDE_CONFIG_DIR is passed on only if it was set: set to its own default, it makes the client look for another login.
    """
    base = {**account, **{name: environ[name] for name in PASSED if environ.get(name)}}
    base.setdefault("LANG", "C.UTF-8")
    kept = {name: environ[name] for name in KEPT if environ.get(name)}
    paths = [
        part for part in base.get("PATH", "/usr/local/bin:/usr/bin:/bin").split(":") if part.startswith("/")
    ]
    if claude is not None and str(claude.parent) not in paths:
        paths.insert(0, str(claude.parent))
    base["PATH"] = ":".join(dict.fromkeys(paths))
    return ServiceFacts(program, base["HOME"], str(log), {**base, **kept})


def is_edited(text: str) -> bool:
    """Whether a person changed an installed file: its seal does not match its text."""
    found = re.search(r"tacitd-seal: ([0-9a-f]{16})", text)
    return found is None or _sealed(text.replace(found[0], SEAL)) != text


def _sealed(text: str) -> str:
    return text.replace(SEAL, f"tacitd-seal: {hashlib.sha256(text.encode()).hexdigest()[:16]}")


def render_unit(given: ServiceFacts) -> str:
    variables = (
        f"Environment={_quoted(f'{name}={value}', 'e')}" for name, value in given.environment.items()
    )
    program = given.program
    if set(program[0]) & set("'\"\\$"):  # systemd takes these in an argument, not in a program's path
        program = ("/bin/sh", "-c", 'exec "$0" "$@"', *program)
    words = {
        "@PROGRAM@": " ".join(_quoted(part, "x") for part in program),
        "@ENVIRONMENT@": "\n".join(variables),
    }
    return _sealed(_fill_template("systemd", words))


def _quoted(text: str, kind: Literal["e", "x"]) -> str:
    """One word of a unit file. `%` starts a specifier everywhere, `$` a variable in ExecStart only."""
    if any(ord(char) < 32 for char in text):
        raise UsageError(f"{text!r} cannot be written to a unit file", "remove the control character from it")
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + (plain.replace("$", "$$") if kind == "x" else plain) + '"'


def render_agent(given: ServiceFacts) -> str:
    """The launchd agent. Raises UsageError if the result is not a valid property list."""
    words = (*given.program, "run", "--service")
    variables = (
        f"\t\t<key>{_escape(name)}</key>\n\t\t<string>{_escape(value)}</string>"
        for name, value in given.environment.items()
    )
    text = _fill_template(
        "launchd",
        {
            "@ARGUMENTS@": "\n".join(f"\t\t<string>{_escape(word)}</string>" for word in words),
            "@ENVIRONMENT@": "\n".join(variables),
            "@HOME@": _escape(given.home),
            "@LOG@": _escape(given.log),
        },
    )
    try:
        plistlib.loads(text.encode())
    except (ValueError, ExpatError) as error:
        hint = "look for odd characters in HOME and PATH"
        raise UsageError(f"the agent would not be a valid property list: {error}", hint) from None
    return _sealed(text)


def _escape(text: str) -> str:
    return html.escape(text, quote=False)


def _fill_template(kind: Literal["systemd", "launchd"], words: Mapping[str, str]) -> str:
    """The template with these words in it. It is in the package's data; in a checkout, at the top."""
    name = UNIT if kind == "systemd" else f"{AGENT}.plist"
    packaged = Path(__file__).parent / "templates" / name
    text = (packaged if packaged.is_file() else Path(__file__).parents[3] / kind / name).read_text("utf-8")
    return re.sub("|".join(words), lambda found: words[found[0]], text)
