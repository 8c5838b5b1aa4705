"""systemd and launchd: install, uninstall, restart, status, log and environment of the service.

Each call of their tools goes through a `RunTool`, which a test replaces. The service's file is written only if the manager
answers, and restored or removed if the manager refuses it.
"""

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
from importlib.resources import files
from pathlib import Path
from typing import ClassVar, Literal
from xml.parsers.expat import ExpatError

from msgspec import Struct, field

from tacitd.errors import FAILED, FileRefusedError, TacitdError, UnavailableError, UsageError
from tacitd.files.atomic import replace_file
from tacitd.state.paths import read_file


class ToolExit(Struct, frozen=True):
    """The result of a tool."""

    code: int
    """Exit code; 127 if the tool is not installed, 124 if it took more than 60 s."""
    out: str
    """stdout, then stderr."""


RunTool = Callable[[Sequence[str]], ToolExit]


def run_tool(argv: Sequence[str]) -> ToolExit:
    """Run a manager's tool for at most 60 s."""
    try:
        done = subprocess.run(
            list(argv), capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        return ToolExit(127, f"{argv[0]} is not installed")
    except subprocess.TimeoutExpired:
        return ToolExit(124, f"{argv[0]} did not answer within 60 s")
    return ToolExit(done.returncode, (done.stdout + done.stderr).strip())


class ServiceError(TacitdError):
    """The service manager refused a command."""

    code = FAILED


class Manager(ABC):
    """A service manager of one user."""

    tool: ClassVar[tuple[str, ...]]
    """The command that all requests begin with."""
    about_edits: ClassVar[str]
    """What a person who edited the file does first."""

    def __init__(self, file: Path, log_hint: str, run: RunTool) -> None:
        """`file`: of the service. `log_hint`: where a refused command says more."""
        self.file, self.run = file, run
        self._log_hint = log_hint

    @abstractmethod
    def why_unavailable(self) -> str:
        """Why it cannot be used here; "" if it can."""

    @abstractmethod
    def render_file(self, facts: ServiceFacts) -> str:
        """The file that would be installed."""

    @abstractmethod
    def _enable(self, *, changed: bool, start: bool) -> None:
        """Have the manager read the file, and start the service at each login, and now if `start`. Raises ServiceError."""

    @abstractmethod
    def _forget(self, *, is_new: bool) -> None:
        """Take back `_enable`. `is_new`: there was no file before, and there will be none."""

    @abstractmethod
    def start(self) -> None:
        """Start the service if it does not run. Raises UnavailableError or ServiceError."""

    @abstractmethod
    def restart(self) -> None:
        """Stop and start the service. Raises UnavailableError or ServiceError."""

    @abstractmethod
    def uninstall(self) -> list[str]:
        """Stop the service and remove its file. Returns a line for each thing done; [] if nothing was installed."""

    @abstractmethod
    def is_running(self) -> bool:
        """Whether the service runs now."""

    @abstractmethod
    def status(self) -> str:
        """The manager's own report on the service."""

    @abstractmethod
    def logs_command(self, follow: bool, since: str) -> list[str]:
        """The command that shows the service's log. `since`: as journalctl takes it; "" for all."""

    @abstractmethod
    def read_environment(self) -> dict[str, str]:
        """The service's environment, drop-ins included; empty if the service is not installed."""

    def install(self, facts: ServiceFacts, *, now: bool) -> list[str]:
        """Write the file if it differs, enable the service, start it if `now`. Returns a line for each thing done. What the manager
        refuses is taken back.

        Raises UnavailableError without a manager, FileRefusedError for an edited file, ServiceError if the manager refuses.
        """
        self._require_manager()
        before = read_file(self.file) if self.file.exists() else None
        if before is not None and is_edited(before.decode("utf-8", "replace")):
            hint = f"{self.about_edits}, remove the file, and install again"
            raise FileRefusedError(f"{self.file} was edited by hand", hint)
        changed = replace_file(self.file, self.render_file(facts).encode())
        ran = not changed and self.is_running()
        try:
            self._enable(changed=changed, start=now and not ran)
        except ServiceError:
            if before is not None:
                replace_file(self.file, before)
            self._forget(is_new=before is None)
            raise
        done = [f"{'wrote' if changed else 'kept'} {self.file}", "enabled: starts at every login"]
        return [*done, "already running" if ran else "started"] if now or ran else done

    def _require_manager(self) -> None:
        if why := self.why_unavailable():
            raise UnavailableError(why, "`tacitd start` runs it without a service manager")

    def _ask(self, *arguments: str) -> ToolExit:
        return self.run([*self.tool, *arguments])

    def _request(self, *arguments: str) -> None:
        """Raises ServiceError."""
        answer = self._ask(*arguments)
        if answer.code != 0:
            raise ServiceError(f"{' '.join((*self.tool, *arguments))}: {answer.out}", self._log_hint)

    def _remove_file(self) -> list[str]:
        if not self.file.exists():
            return []
        self.file.unlink()
        return [f"removed {self.file}"]


class Systemd(Manager):
    """The user manager of systemd. Drop-ins beside the unit belong to a person and stay."""

    tool = ("systemctl", "--user")
    about_edits = "`systemctl --user edit tacitd` makes a drop-in; move your changes there"

    def __init__(self, file: Path, run: RunTool = run_tool) -> None:
        super().__init__(file, "journalctl --user -u tacitd", run)

    @classmethod
    def for_user(cls, environ: Mapping[str, str], home: Path, run: RunTool = run_tool) -> Systemd:
        """For this user: `~/.config/systemd/user/tacitd.service`."""
        named = environ.get("XDG_CONFIG_HOME", "")
        base = Path(named) if named.startswith("/") else home / ".config"
        return cls(base / "systemd" / "user" / UNIT, run)

    def why_unavailable(self) -> str:
        answer = self._ask("show", "--property=Version")
        if answer.code == 0:
            return ""
        first = (answer.out.splitlines() or ["it does not answer"])[0]
        return f"no systemd user manager answers: {first}"

    def render_file(self, facts: ServiceFacts) -> str:
        return render_unit(facts)

    def _enable(self, *, changed: bool, start: bool) -> None:
        self._request("daemon-reload")
        self._request("enable", UNIT)
        if start:
            self._request("restart", UNIT)

    def _forget(self, *, is_new: bool) -> None:
        if is_new:
            self._ask("disable", UNIT)
            self.file.unlink(missing_ok=True)
        self._ask("daemon-reload")

    def uninstall(self) -> list[str]:
        """Stop and disable the service, remove the unit. A person's drop-ins are named."""
        if not self.why_unavailable():
            self._ask("disable", "--now", UNIT)
        done = self._remove_file()
        self._ask("daemon-reload")
        self._ask("reset-failed", UNIT)
        drop_ins = self.file.with_name(UNIT + ".d")
        return [*done, f"kept your drop-ins in {drop_ins}"] if drop_ins.is_dir() else done

    def start(self) -> None:
        self._require_manager()
        self._request("start", UNIT)

    def restart(self) -> None:
        self._require_manager()
        self._request("restart", UNIT)

    def is_running(self) -> bool:
        return self._ask("is-active", UNIT).code == 0

    def status(self) -> str:
        return self._ask("status", "--no-pager", "--lines=5", UNIT).out

    def logs_command(self, follow: bool, since: str) -> list[str]:
        return ["journalctl", "--user", "-u", UNIT, *["-f"] * follow, *(["--since", since] if since else [])]

    def read_environment(self) -> dict[str, str]:
        """The `Environment` property, as `systemctl show` prints it; where no manager answers, that of the unit alone."""
        if not self.file.exists():
            return {}
        answer = self._ask("show", UNIT, "--property=Environment", "--value")
        return parse_environment(answer.out if answer.code == 0 else read_unit_variables(self.file))


def read_unit_variables(unit: Path) -> str:
    """The variables of a unit, in the form of the `Environment` property. Raises OSError."""
    lines = read_file(unit).decode("utf-8", "replace").splitlines()
    set_here = (one.removeprefix("Environment=") for one in lines if one.startswith("Environment="))
    return " ".join(set_here).replace("%%", "%")


def parse_environment(text: str) -> dict[str, str]:
    """Given `Environment` as `systemctl show` prints it, return the variables, unquoted."""
    try:
        words = shlex.split(text)
    except ValueError:
        return {}
    return dict(word.split("=", 1) for word in words if "=" in word)


class Launchd(Manager):
    """The agents of launchd, for the user who is logged in."""

    tool = ("launchctl",)
    about_edits = "keep a copy of your changes"

    def __init__(self, file: Path, uid: int, log: Path, run: RunTool = run_tool) -> None:
        super().__init__(file, f"read {log}", run)
        self._domain, self._agent, self._log = f"gui/{uid}", f"gui/{uid}/{AGENT}", log

    @classmethod
    def for_user(cls, home: Path, log: Path, run: RunTool = run_tool) -> Launchd:
        """For this user: `~/Library/LaunchAgents/dev.tacitd.plist`."""
        return cls(home / "Library" / "LaunchAgents" / f"{AGENT}.plist", os.getuid(), log, run)

    def why_unavailable(self) -> str:
        answer = self._ask("print", self._domain)
        return (
            "" if answer.code == 0 else f"launchd has no domain {self._domain}: {answer.out.splitlines()[:1]}"
        )

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
            self.start()

    def _forget(self, *, is_new: bool) -> None:
        if is_new:
            self._ask("bootout", self._agent)
            self.file.unlink(missing_ok=True)

    def uninstall(self) -> list[str]:
        self._ask("bootout", self._agent)
        return self._remove_file()

    def start(self) -> None:
        self._request("kickstart", self._agent)

    def restart(self) -> None:
        self._request("kickstart", "-k", self._agent)

    def is_running(self) -> bool:
        return "state = running" in self.status()

    def status(self) -> str:
        return self._ask("print", self._agent).out

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
        return Launchd.for_user(home, log)
    if sys.platform.startswith("linux"):
        return Systemd.for_user(environ, home)
    raise UnavailableError(
        f"tacitd supports no service manager on {sys.platform}", "`tacitd start` runs it without one"
    )


# --- the text of the service's file


UNIT = "tacitd.service"
AGENT = "dev.tacitd"
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
    return found is None or found[1] != _seal(text.replace(found[0], SEAL))


def _sealed(text: str) -> str:
    return text.replace(SEAL, f"tacitd-seal: {_seal(text)}")


def _seal(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def render_unit(given: ServiceFacts) -> str:
    environment = "\n".join(
        f"Environment={_quoted(f'{name}={value}', 'e')}" for name, value in given.environment.items()
    )
    program = " ".join(_quoted(part, "x") for part in given.program)
    return _sealed(
        read_template("systemd").replace("@PROGRAM@", program).replace("@ENVIRONMENT@", environment)
    )


def _quoted(text: str, kind: Literal["e", "x"]) -> str:
    """One word of a unit file. `%` starts a specifier everywhere, `$` a variable in ExecStart only."""
    if any(ord(char) < 32 for char in text):
        raise UsageError(f"{text!r} cannot be written to a unit file", "remove the control character from it")
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + (plain.replace("$", "$$") if kind == "x" else plain) + '"'


def render_agent(given: ServiceFacts) -> str:
    """The launchd agent. Raises UsageError if the result is not a valid property list."""
    arguments = "\n".join(
        f"\t\t<string>{html.escape(part, quote=False)}</string>"
        for part in (*given.program, "run", "--service")
    )
    pairs = (
        f"\t\t<key>{html.escape(name, quote=False)}</key>\n\t\t<string>{html.escape(value, quote=False)}</string>"
        for name, value in given.environment.items()
    )
    text = (
        read_template("launchd").replace("@ARGUMENTS@", arguments).replace("@ENVIRONMENT@", "\n".join(pairs))
    )
    text = text.replace("@HOME@", html.escape(given.home, quote=False)).replace(
        "@LOG@", html.escape(given.log, quote=False)
    )
    try:
        plistlib.loads(text.encode())
    except (ValueError, ExpatError) as error:
        raise UsageError(
            f"the agent would not be a valid property list: {error}",
            "look for odd characters in HOME and PATH",
        ) from None
    return _sealed(text)


def read_template(kind: Literal["systemd", "launchd"]) -> str:
    """The template, from the package's data; in a checkout, from the file itself."""
    name = UNIT if kind == "systemd" else f"{AGENT}.plist"
    packaged = files("tacitd.service") / "templates" / name
    if packaged.is_file():
        return packaged.read_text(encoding="utf-8")
    return (Path(__file__).parents[3] / kind / name).read_text(encoding="utf-8")
