"""What every command needs first: where things are, and how to reach the daemon. Imports almost nothing."""

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
    """Calls a method of the daemon, or of an engine that this process runs itself."""

    def __call__(self, method: str, /, **params: Any) -> Any:
        """Return the method's result. Raises TacitdError."""
        ...


def paths() -> Paths:
    """From this process's environment."""
    return Paths.from_env(os.environ)


def remote(socket: Path, timeout: float | None = 30.0) -> Call:
    """The running daemon."""

    def ask(method: str, /, **params: Any) -> Any:
        return call(socket, method, params, timeout)

    return ask


@contextmanager
def somewhere() -> Iterator[Call]:
    """The running daemon; where none runs, an engine in this process for as long as the command takes."""
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
    """A document on stdout, as JSON."""
    click.echo(_whole(json.dumps(document, ensure_ascii=False, indent=2)))


def line(document: Mapping[str, Any]) -> None:
    """One object on one line of stdout."""
    click.echo(_whole(json.dumps(document, ensure_ascii=False, separators=(",", ":"))))


def shown(text: str) -> str:
    """Text of others for a terminal: one line, and nothing in it that a terminal would obey."""
    return _whole(escape(text))


def talk(text: str) -> None:
    """To the person, on stderr."""
    click.echo(_whole(text), err=True)


def directory(given: str | None, *, missing_ok: bool = False) -> Path:
    """Given a directory argument, return it absolute; the current directory where none was given. `~` is the home.

    Raises UsageError where there is no such directory: a mistyped name must not look like a project without contents.
    With `missing_ok` only the path is made.
    """
    try:
        place = Path(given or ".").expanduser().absolute()
        if missing_ok or stat.S_ISDIR(place.stat().st_mode):
            return place
        why = "not a directory"
    except FileNotFoundError:
        if not given:
            raise UsageError("the directory that you are in is gone", "cd to one that is there") from None
        why = "no such directory"
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: `~name` of nobody; ValueError: a NUL
        why = getattr(error, "strerror", None) or str(error)
    raise UsageError(f"{shown(given or '.')}: {why}", "name an existing directory")


def _whole(text: str) -> str:
    """Half a character, or a path that is no UTF-8, as a question mark: output must not fail on it."""
    return text.encode("utf-8", "replace").decode("utf-8")
