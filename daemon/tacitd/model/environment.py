"""What the client's process gets and nothing else: variables, options, an empty directory; and where the program is (CLAUDE_CODE 3.1).

The daemon may have been started from anywhere, also by a hook of Claude Code, so nothing is inherited by default (S-66, ANCHORS P4, P7).
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tacitd.errors import FileRefusedError

ISOLATION: Mapping[str, str] = {
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    "CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",
    "CLAUDE_CODE_SKIP_PROMPT_HISTORY": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "API_TIMEOUT_MS": "120000",
    "CLAUDE_CODE_DISABLE_THINKING": "1",
    "CLAUDE_CODE_EFFORT_LEVEL": "low",
}
"""The eight variables of CLAUDE_CODE 3.1, and two that spare what a call would think. Nothing overrides them."""

MARK = "TACITD_CHILD"
"""In every child, with the id of the process that waits for its answer. tacitd's own hooks do nothing then (S-62), and children that
survived a crash are recognised by it."""

ACCOUNT = ("HOME", "PATH", "USER", "LOGNAME", "LANG", "TMPDIR")

_NETWORK = """
HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy SSL_CERT_FILE
SSL_CERT_DIR NODE_EXTRA_CA_CERTS NODE_USE_SYSTEM_CA REQUESTS_CA_BUNDLE CURL_CA_BUNDLE
CLAUDE_CODE_CLIENT_CERT CLAUDE_CODE_CLIENT_KEY CLAUDE_CODE_CLIENT_KEY_PASSPHRASE
CLAUDE_CODE_CERT_STORE
"""
NETWORK = frozenset(_NETWORK.split())

_LOGIN = """
CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CONFIG_DIR CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_SKIP_BEDROCK_AUTH
ANTHROPIC_BEDROCK_BASE_URL ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION CLAUDE_CODE_USE_VERTEX
CLAUDE_CODE_SKIP_VERTEX_AUTH ANTHROPIC_VERTEX_BASE_URL ANTHROPIC_VERTEX_PROJECT_ID CLOUD_ML_REGION
GOOGLE_APPLICATION_CREDENTIALS GOOGLE_CLOUD_PROJECT GCLOUD_PROJECT CLOUDSDK_CONFIG
ANTHROPIC_DEFAULT_HAIKU_MODEL ANTHROPIC_DEFAULT_SONNET_MODEL ANTHROPIC_DEFAULT_OPUS_MODEL
"""
LOGIN = frozenset(_LOGIN.split())
"""CLAUDE_CONFIG_DIR is passed only if it is set: its explicit default value would select another Keychain entry (ANCHORS P7)."""

LOGIN_PREFIXES = ("AWS_", "VERTEX_REGION_CLAUDE_")

_NEVER = """
CLAUDECODE CLAUDE_CODE_CHILD_SESSION CLAUDE_CODE_SESSION_ID CLAUDE_CODE_ENTRYPOINT
CLAUDE_CODE_MESSAGING_SOCKET CLAUDE_CODE_MESSAGING_TOKEN CLAUDE_PID CLAUDE_ENV_FILE
CLAUDE_PROJECT_DIR CLAUDE_CODE_SIMPLE CLAUDE_CODE_FORCE_SESSION_PERSISTENCE
"""
NEVER = frozenset(_NEVER.split())
"""What a hook's environment contains, and what would undo the isolation. Refused even if `claude.pass_env` names it."""

DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"


def child_environment(parent: Mapping[str, str], pass_env: Iterable[str] = ()) -> dict[str, str]:
    """Given the parent's variables and the names of `claude.pass_env`, return the child's variables.

    ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN and ANTHROPIC_BASE_URL are passed only if they are named. A forgotten key in a
    shell must not make a subscription's calls cost money (ANCHORS P1), and a base URL would send the subscription's login
    to that host.
    """
    passed = {*pass_env, *NETWORK, *LOGIN, *ACCOUNT} - NEVER
    child = {
        name: value
        for name, value in parent.items()
        if value and (name in passed or name.startswith(LOGIN_PREFIXES))
    }
    return {**account_environment(parent), **child, **ISOLATION, MARK: str(os.getpid())}


def account_environment(parent: Mapping[str, str]) -> dict[str, str]:
    """The variables that service managers leave out; without USER the client reports "Not logged in" (ANCHORS P7)."""
    known = {"PATH": DEFAULT_PATH, "LANG": "C.UTF-8"}
    try:
        entry = pwd.getpwuid(os.getuid())
    except KeyError:  # an unnamed uid in a container: only the parent's variables are known
        return known
    user = parent.get("USER") or parent.get("LOGNAME") or entry.pw_name
    return known | {"HOME": entry.pw_dir, "USER": user, "LOGNAME": user}


def with_directory(path: str, directory: str) -> str:
    """PATH with the program's directory at its end: a client installed by npm starts its own `node`, which is there."""
    return path if directory in path.split(os.pathsep) else os.pathsep.join(filter(None, (path, directory)))


# --- The lean call. It was run on clients from 2.0.76 to 2.1.328: no hook, no tool, no transcript, no CLAUDE.md, no MCP server, and
# no file read. After any change to it, it must be run on them again.

SETTINGS = '{"disableAllHooks":true,"cleanupPeriodDays":36500,"autoMemoryEnabled":false}'
"""No hooks, no deletion of a person's old transcripts (CLAUDE_CODE, fact 5), no memory of the client's own."""


def client_arguments(model: str, system: str, setting_sources: str = "") -> list[str]:
    """The options of the verified command, each as a separate argument. The prompt is not one of them (S-09)."""
    system = system.replace("\0", "")  # no argument may have one
    return [
        *("-p", "--model", model, "--output-format", "stream-json", "--verbose", "--no-session-persistence"),
        *("--tools", "", "--setting-sources", setting_sources, "--strict-mcp-config"),
        *("--disable-slash-commands", "--settings", SETTINGS, "--system-prompt", system),
    ]


def missing_options(help_text: str) -> list[str]:
    """Given the output of `claude --help`, return the options of the lean call that it does not list (S-63). A text that lists none is
    not the client's help, so nothing is known and the result is empty."""
    wanted = [one for one in client_arguments("", "") if one.startswith("-")]
    missing = [one for one in wanted if not re.search(rf"(?<![\w-]){re.escape(one)}(?![\w-])", help_text)]
    return missing if len(missing) < len(wanted) else []


def private_directory(path: Path) -> None:
    """Make sure that the path is an empty directory of this user with mode 0700 (S-60).

    It must be empty because the client loads what it finds there. Raises FileRefusedError for a link or another user's
    directory, OSError if it cannot be made.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise FileRefusedError(f"{path} is not a directory, or another user owns it", "remove it")
    if stat.S_IMODE(found.st_mode) != 0o700:
        path.chmod(0o700)
    for entry in path.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)


# --- the program: on PATH, otherwise where its installers put it, because service managers give a bare PATH


INSTALLED = (
    *("~/.claude/local", "~/.local/bin", "/usr/local/bin", "/opt/homebrew/bin", "~/.npm-global/bin"),
    *("~/.nvm/versions/node/*/bin", "~/.volta/bin", "~/.bun/bin"),
)
"""The installers' places, the native installer's first; of several versions of node the newest."""


def find_command(command: str, environ: Mapping[str, str]) -> Path | None:
    """Given `claude.command` and the environment, return the program's path, or None if there is none.

    A command with a slash or `~` is a path, and only that path is checked. A symlink is not resolved, because an update
    changes its target.
    """
    home = Path(environ["HOME"]) if environ.get("HOME") else None
    if command.startswith("~/") and home is not None:
        return _runnable(home / command[2:])
    if "/" in command or command.startswith("~"):
        return _runnable(Path(command).absolute())
    found = shutil.which(command, path=environ.get("PATH") or os.defpath)
    if found is not None:
        return Path(found).absolute()
    return next((path for path in map(_runnable, _places(command, home)) if path is not None), None)


def _runnable(path: Path) -> Path | None:
    try:
        return path if path.is_file() and os.access(path, os.X_OK) else None
    except OSError:
        return None


def _places(command: str, home: Path | None) -> Iterator[Path]:
    for place in INSTALLED:
        if not place.startswith("~/"):
            yield Path(place) / command
        elif home is not None:
            found = [(re.findall(r"\d+", one.parts[-3]), one) for one in home.glob(f"{place[2:]}/{command}")]
            yield from (one for _, one in sorted(found, key=lambda one: [*map(int, one[0])], reverse=True))


def describe_missing(missing: list[str]) -> str:
    """Given options that a client does not know, say so: the same in `doctor` and in the daemon."""
    return f"this client does not know {', '.join(missing)}: the daemon cannot call it"
