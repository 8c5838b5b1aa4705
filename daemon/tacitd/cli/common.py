"""What commands share: paths, calls of the daemon, output and the directory argument.

Every command imports this module, so it imports nothing heavy.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tacitd.cli.caller import CallMethod as CallMethod
from tacitd.cli.caller import echo_message as echo_message
from tacitd.cli.caller import echo_text, get_directory, get_environ
from tacitd.errors import UnavailableError, UsageError
from tacitd.state.paths import Paths
from tacitd.text.sanitize import escape_output as escape_output
from tacitd.text.sanitize import replace_surrogates

__all__ = [
    "CallMethod",
    "connect_or_run",
    "echo_json",
    "echo_json_line",
    "echo_message",
    "escape_output",
    "get_paths",
    "parse_since",
    "resolve_directory",
    "show_argument",
]

LONGEST_SHOWN = 80
"""Characters of an argument that a message repeats."""


def get_paths() -> Paths:
    """The paths for this process's environment."""
    return Paths.from_env(get_environ())


def connect_daemon(socket: Path, timeout: float | None = 30.0) -> CallMethod:
    """A `CallMethod` on the running daemon. `timeout` is in seconds; None waits without a limit."""

    from tacitd.control.client import call_daemon

    def ask(method: str, /, **params: Any) -> Any:
        return call_daemon(socket, method, params, timeout)

    return ask


@contextmanager
def connect_or_run() -> Iterator[CallMethod]:
    """Yield a `CallMethod` on the running daemon; if none runs, on an engine in this process until the block ends."""
    from tacitd.control.client import call_daemon

    places = get_paths()
    ask = connect_daemon(places.socket, None)
    try:
        call_daemon(places.socket, "ping", timeout=5.0)
    except UnavailableError:
        from tacitd.cli.in_process import run_in_process

        with run_in_process(places) as own:
            yield own
        return
    yield ask


def echo_json(document: object) -> None:
    """Print a document on stdout as indented JSON."""
    echo_text(replace_surrogates(json.dumps(document, ensure_ascii=False, indent=2)))


def echo_json_line(document: Mapping[str, Any]) -> None:
    """Print an object on stdout as one line of JSON."""
    echo_text(replace_surrogates(json.dumps(document, ensure_ascii=False, separators=(",", ":"))))


def show_argument(text: str) -> str:
    """What a person typed, for a message: escaped, and cut if it is very long."""
    return escape_output(text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…")


def resolve_directory(given: str | None, *, missing_ok: bool = False) -> Path:
    """Given a directory argument, return it as an absolute path; None is the current directory, `~` the home.

    Raises UsageError if it is not an existing directory: a mistyped name must not look like a project without contents.
    `missing_ok`: do not check that it exists.
    """
    try:
        place = Path(given or ".").expanduser()
        place = place if place.is_absolute() else get_directory() / place
        if missing_ok or stat.S_ISDIR(place.stat().st_mode):
            return place
        why = "not a directory"
    except FileNotFoundError:
        if not given:
            raise UsageError("the current directory was removed", "cd to an existing directory") from None
        raise UsageError(f"{escape_output(given)}: no such directory", _suggest_directory(given)) from None
    except (OSError, RuntimeError, ValueError) as error:
        # RuntimeError: an unknown `~name`; ValueError: a NUL.
        why = getattr(error, "strerror", None) or str(error)
    raise UsageError(f"{escape_output(given or '.')}: {why}", "name an existing directory")


def _suggest_directory(given: str) -> str:
    """The hint for a directory that does not exist: one beside it with a similar name, if there is one."""
    from difflib import get_close_matches

    place = Path(given).expanduser()
    try:
        beside = [one.name for one in place.parent.iterdir() if one.is_dir()]
    except OSError:
        beside = []
    similar = get_close_matches(place.name, beside, n=1)
    if not similar:
        return "name an existing directory"
    return f"did you mean {escape_output(str(Path(given).with_name(similar[0])))}?"


def parse_since(since: str | None) -> float:
    """Given the value of `--since`, return the time that long ago in seconds since 1970, UTC; 0 without one.

    Raises UsageError if it is not a duration.
    """
    if since is None:
        return 0.0
    from tacitd.clock import SystemClock
    from tacitd.config.durations import parse_duration

    try:
        return max(0.0, SystemClock().now() - parse_duration(since))
    except ValueError as error:
        raise UsageError(f"--since {escape_output(since)}: {error}") from error
