"""systemd and launchd: install, uninstall, restart, status, log and environment of the service.

Each call of their tools goes through a `RunTool`, which a test replaces. The service's file is written only if the manager
answers, and restored or removed if the manager refuses it. The text of the file belongs in `units.py`.
"""

from __future__ import annotations

import os
import plistlib
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol
from xml.parsers.expat import ExpatError

from msgspec import Struct

from tacitd.errors import FAILED, FileRefusedError, TacitdError, UnavailableError
from tacitd.files.replaced import replace_file
from tacitd.service.units import AGENT, UNIT, ServiceFacts, is_edited, render_agent, render_unit


class ToolExit(Struct, frozen=True):
    """The result of a tool."""

    code: int
    """Exit code; 127 if the tool is not installed, 124 if it took more than 60 s."""
    out: str
    """stdout, then stderr."""


RunTool = Callable[[Sequence[str]], ToolExit]


class Manager(Protocol):
    """A service manager of one user."""

    file: Path

    def why_unavailable(self) -> str:
        """Why it cannot be used here; "" if it can."""
        ...

    def render_file(self, facts: ServiceFacts) -> str:
        """The file that would be installed."""
        ...

    def install(self, facts: ServiceFacts, *, now: bool) -> list[str]:
        """Write the file if it differs, enable the service, start it if `now`. Returns a line for each thing done.

        Raises UnavailableError without a manager, FileRefusedError for an edited file, ServiceError if the manager refuses.
        """
        ...

    def uninstall(self) -> list[str]:
        """Stop the service and remove its file. Returns a line for each thing done; [] if nothing was installed."""
        ...

    def start(self) -> None:
        """Start the service if it does not run. Raises UnavailableError or ServiceError."""
        ...

    def restart(self) -> None:
        """Stop and start the service. Raises UnavailableError or ServiceError."""
        ...

    def is_running(self) -> bool:
        """Whether the service runs now."""
        ...

    def status(self) -> str:
        """The manager's own report on the service."""
        ...

    def logs_command(self, follow: bool, since: str) -> list[str]:
        """The command that shows the service's log. `since`: as journalctl takes it; "" for all."""
        ...

    def read_environment(self) -> dict[str, str]:
        """The service's environment, drop-ins included; empty if the service is not installed."""
        ...


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


def refuse_edited(file: Path, hint: str) -> None:
    """Raise FileRefusedError if a person has edited this file."""
    if file.exists() and is_edited(file.read_text(encoding="utf-8", errors="replace")):
        raise FileRefusedError(f"{file} was edited by hand", f"{hint}, remove the file, and install again")


class ServiceError(TacitdError):
    """The service manager refused a command."""

    code = FAILED


class Systemd(Struct):
    """The user manager of systemd."""

    file: Path
    run: RunTool = run_tool

    @classmethod
    def for_user(cls, environ: Mapping[str, str], home: Path, run: RunTool = run_tool) -> Systemd:
        """For this user: `~/.config/systemd/user/tacitd.service`."""
        base = (
            Path(environ["XDG_CONFIG_HOME"])
            if environ.get("XDG_CONFIG_HOME", "").startswith("/")
            else home / ".config"
        )
        return cls(base / "systemd" / "user" / UNIT, run)

    def _ctl(self, *arguments: str) -> ToolExit:
        return self.run(["systemctl", "--user", *arguments])

    def why_unavailable(self) -> str:
        """Ask the user manager for its version."""
        said = self._ctl("show", "--property=Version")
        if said.code == 0:
            return ""
        first = (said.out.splitlines() or ["it does not answer"])[0]
        return f"no systemd user manager answers: {first}"

    def render_file(self, facts: ServiceFacts) -> str:
        """The unit."""
        return render_unit(facts)

    def install(self, facts: ServiceFacts, *, now: bool) -> list[str]:
        """Idempotent. Drop-ins beside the unit belong to a person and stay."""
        self._require_manager()
        refuse_edited(self.file, "`systemctl --user edit tacitd` makes a drop-in; move your changes there")
        before = self.file.read_bytes() if self.file.exists() else None
        changed = replace_file(self.file, self.render_file(facts).encode())
        ran = not changed and self.is_running()
        try:
            self._run_checked("daemon-reload")
            self._run_checked("enable", UNIT)
            if now and not ran:
                self._run_checked("restart", UNIT)
        except ServiceError:
            self._roll_back(before)
            raise
        done = [f"{'wrote' if changed else 'kept'} {self.file}", "enabled: starts at every login"]
        return [*done, "already running" if ran else "started"] if now or ran else done

    def _roll_back(self, before: bytes | None) -> None:
        if before is None:
            self._ctl("disable", UNIT)
            self.file.unlink(missing_ok=True)
        else:
            replace_file(self.file, before)
        self._ctl("daemon-reload")

    def _require_manager(self) -> None:
        why = self.why_unavailable()
        if why:
            raise UnavailableError(why, "`tacitd start` runs it without a service manager")

    def _run_checked(self, *arguments: str) -> None:
        said = self._ctl(*arguments)
        if said.code != 0:
            raise ServiceError(
                f"systemctl --user {' '.join(arguments)}: {said.out}", "journalctl --user -u tacitd"
            )

    def uninstall(self) -> list[str]:
        """Stop and disable the service, remove the unit. A person's drop-ins stay and are named."""
        done: list[str] = []
        if not self.why_unavailable():
            self._ctl("disable", "--now", UNIT)
        if self.file.exists():
            self.file.unlink()
            done.append(f"removed {self.file}")
        self._ctl("daemon-reload")
        self._ctl("reset-failed", UNIT)
        drop_ins = self.file.with_name(UNIT + ".d")
        return [*done, f"kept your drop-ins in {drop_ins}"] if drop_ins.is_dir() else done

    def start(self) -> None:
        """Run `systemctl --user start`."""
        self._require_manager()
        self._run_checked("start", UNIT)

    def restart(self) -> None:
        """Run `systemctl --user restart`."""
        self._require_manager()
        self._run_checked("restart", UNIT)

    def is_running(self) -> bool:
        """Ask `systemctl --user is-active`."""
        return self._ctl("is-active", UNIT).code == 0

    def status(self) -> str:
        """The output of `systemctl --user status`."""
        return self._ctl("status", "--no-pager", "--lines=5", UNIT).out

    def logs_command(self, follow: bool, since: str) -> list[str]:
        """A journalctl command."""
        return [
            "journalctl",
            "--user",
            "-u",
            UNIT,
            *(["-f"] if follow else []),
            *(["--since", since] if since else []),
        ]

    def read_environment(self) -> dict[str, str]:
        """The `Environment` property, as `systemctl show` prints it; where no manager answers, that of the unit alone."""
        if not self.file.exists():
            return {}
        said = self._ctl("show", UNIT, "--property=Environment", "--value")
        return parse_environment(said.out if said.code == 0 else read_unit_variables(self.file))


def read_unit_variables(unit: Path) -> str:
    """The variables of a unit, in the form of the `Environment` property. Raises OSError."""
    lines = unit.read_text(encoding="utf-8", errors="replace").splitlines()
    set_here = (one.removeprefix("Environment=") for one in lines if one.startswith("Environment="))
    return " ".join(set_here).replace("%%", "%")


def parse_environment(text: str) -> dict[str, str]:
    """Given `Environment` as `systemctl show` prints it, return the variables, unquoted."""
    try:
        words = shlex.split(text)
    except ValueError:
        return {}
    return dict(word.split("=", 1) for word in words if "=" in word)


class Launchd(Struct):
    """The agents of launchd, for the user who is logged in."""

    file: Path
    uid: int
    log: Path
    run: RunTool = run_tool

    @classmethod
    def for_user(cls, home: Path, log: Path, run: RunTool = run_tool) -> Launchd:
        """For this user: `~/Library/LaunchAgents/dev.tacitd.plist`."""
        return cls(home / "Library" / "LaunchAgents" / f"{AGENT}.plist", os.getuid(), log, run)

    @property
    def _target(self) -> str:
        return f"gui/{self.uid}"

    def why_unavailable(self) -> str:
        """Ask for the user's domain. Without a graphical login there is none."""
        said = self.run(["launchctl", "print", self._target])
        return "" if said.code == 0 else f"launchd has no domain {self._target}: {said.out.splitlines()[:1]}"

    def render_file(self, facts: ServiceFacts) -> str:
        """The agent."""
        return render_agent(facts)

    def install(self, facts: ServiceFacts, *, now: bool) -> list[str]:
        """A changed agent that is loaded is booted out first, because launchd keeps the version that it read."""
        why = self.why_unavailable()
        if why:
            raise UnavailableError(why, "`tacitd start` runs it without a service manager")
        refuse_edited(self.file, "keep a copy of your changes")
        before = self.file.read_bytes() if self.file.exists() else None
        changed = replace_file(self.file, self.render_file(facts).encode())
        loaded = self.run(["launchctl", "print", f"{self._target}/{AGENT}"]).code == 0
        ran = loaded and not changed and self.is_running()
        if loaded and changed:
            self.run(["launchctl", "bootout", f"{self._target}/{AGENT}"])
        try:
            if changed or not loaded:
                self._run_checked("bootstrap", self._target, str(self.file))
            if now and not ran:
                self.start()
        except ServiceError:
            self._roll_back(before)
            raise
        done = [f"{'wrote' if changed else 'kept'} {self.file}", "enabled: starts at every login"]
        return [*done, "already running"] if ran else done

    def _roll_back(self, before: bytes | None) -> None:
        if before is None:
            self.run(["launchctl", "bootout", f"{self._target}/{AGENT}"])
            self.file.unlink(missing_ok=True)
        else:
            replace_file(self.file, before)

    def _run_checked(self, *arguments: str) -> None:
        said = self.run(["launchctl", *arguments])
        if said.code != 0:
            raise ServiceError(f"launchctl {' '.join(arguments)}: {said.out}", f"read {self.log}")

    def uninstall(self) -> list[str]:
        """Boot the agent out and remove its file."""
        self.run(["launchctl", "bootout", f"{self._target}/{AGENT}"])
        if not self.file.exists():
            return []
        self.file.unlink()
        return [f"removed {self.file}"]

    def start(self) -> None:
        """Run `launchctl kickstart`, which starts the agent if it does not run."""
        self._run_checked("kickstart", f"{self._target}/{AGENT}")

    def restart(self) -> None:
        """Run `launchctl kickstart -k`, which kills and starts the agent."""
        self._run_checked("kickstart", "-k", f"{self._target}/{AGENT}")

    def is_running(self) -> bool:
        """Whether `launchctl print` names the state `running`."""
        return "state = running" in self.status()

    def status(self) -> str:
        """The output of `launchctl print`."""
        return self.run(["launchctl", "print", f"{self._target}/{AGENT}"]).out

    def logs_command(self, follow: bool, since: str) -> list[str]:
        """A tail command on the daemon's log file, because launchd keeps no log. `since` has no effect."""
        return ["tail", *(["-f"] if follow else ["-n", "200"]), str(self.log)]

    def read_environment(self) -> dict[str, str]:
        """The variables in the agent's file."""
        try:
            found = plistlib.loads(self.file.read_bytes())["EnvironmentVariables"]
            return {str(name): str(value) for name, value in found.items()}
        except (OSError, ValueError, ExpatError, KeyError, AttributeError):
            return {}


def find_manager(environ: Mapping[str, str], home: Path, log: Path, run: RunTool = run_tool) -> Manager:
    """The service manager of this system. Raises UnavailableError on systems other than Linux and macOS."""
    if sys.platform == "darwin":
        return Launchd.for_user(home, log, run)
    if sys.platform.startswith("linux"):
        return Systemd.for_user(environ, home, run)
    raise UnavailableError(
        f"tacitd supports no service manager on {sys.platform}", "`tacitd start` runs it without one"
    )
