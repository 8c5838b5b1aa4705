"""The text of the systemd unit and the launchd agent, filled in from templates. Pure except for reading the templates.

Public sources: systemd.unit(5), systemd.exec(5) and systemd.service(5) for quoting; launchd.plist(5) for keys.
"""

from __future__ import annotations

import hashlib
import html
import plistlib
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Literal
from xml.parsers.expat import ExpatError

from msgspec import Struct, field

from tacitd.errors import UsageError

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
    """The systemd unit."""
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
