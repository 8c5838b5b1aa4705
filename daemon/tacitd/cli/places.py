"""What commands share: paths, calls of the daemon, output and the directory argument.

Every command imports this module, so it imports nothing heavy.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import click

from tacitd.control.client import call
from tacitd.errors import UnavailableError, UsageError
from tacitd.paths import Paths
from tacitd.text.sanitize import escape


class Call(Protocol):
    """Calls a method of the daemon, or of an engine in this process."""

    def __call__(self, method: str, /, **params: Any) -> Any:
        """Return the method's result. Raises TacitdError."""
        ...


def paths() -> Paths:
    """The paths for this process's environment."""
    return Paths.from_env(os.environ)


def remote(socket: Path, timeout: float | None = 30.0) -> Call:
    """A `Call` on the running daemon. `timeout` is in seconds; None waits without a limit."""

    def ask(method: str, /, **params: Any) -> Any:
        return call(socket, method, params, timeout)

    return ask


@contextmanager
def somewhere() -> Iterator[Call]:
    """Yield a `Call` on the running daemon; if none runs, on an engine in this process until the block ends."""
    places = paths()
    ask = remote(places.socket, None)
    try:
        call(places.socket, "ping", timeout=5.0)
    except UnavailableError:
        from tacitd.cli.inline import inline

        with inline(places) as own:
            yield own
        return
    yield ask


def data(document: object) -> None:
    """Print a document on stdout as indented JSON."""
    click.echo(_whole(json.dumps(document, ensure_ascii=False, indent=2)))


def line(document: Mapping[str, Any]) -> None:
    """Print an object on stdout as one line of JSON."""
    click.echo(_whole(json.dumps(document, ensure_ascii=False, separators=(",", ":"))))


def shown(text: str) -> str:
    """Untrusted text for a terminal: one line, with control characters escaped."""
    return _whole(escape(text))


def talk(text: str) -> None:
    """Print a line for a person on stderr."""
    click.echo(_whole(text), err=True)


def directory(given: str | None, *, missing_ok: bool = False) -> Path:
    """Given a directory argument, return it as an absolute path; None is the current directory, `~` the home.

    Raises UsageError if it is not an existing directory: a mistyped name must not look like a project without contents.
    `missing_ok`: do not check that it exists.
    """
    try:
        place = Path(given or ".").expanduser().absolute()
        if missing_ok or stat.S_ISDIR(place.stat().st_mode):
            return place
        why = "not a directory"
    except FileNotFoundError:
        if not given:
            raise UsageError("the current directory was removed", "cd to an existing directory") from None
        why = "no such directory"
    except (
        OSError,
        RuntimeError,
        ValueError,
    ) as error:  # RuntimeError: an unknown `~name`; ValueError: a NUL
        why = getattr(error, "strerror", None) or str(error)
    raise UsageError(f"{shown(given or '.')}: {why}", "name an existing directory")


def _whole(text: str) -> str:
    """The text with `?` for what is not UTF-8 (half a character, bytes of a path), so that printing does not fail."""
    return text.encode("utf-8", "replace").decode("utf-8")
