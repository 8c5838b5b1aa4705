"""For whom a command runs: for the person at this process, or in the daemon for another process that asked it to.

An `AnsweredCommand` takes its directory, its variables and the size of the terminal from here, and prints
here. So its code is the same in both cases. How the daemon is asked is in `quick_answer.py`, how it answers in
`command_answers.py`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal, Protocol

from tacitd.cli.standard_streams import write_text
from tacitd.text.sanitize import escape_lines

MOST_PRINTED = 1 << 20
"""Characters that the daemon answers with; the caller's own process prints more."""
Stream = Literal["out", "err", "paged"]
"""Where a text goes. `paged`: one line for stdout, through a pager if the lines do not fit the terminal."""


class CallMethod(Protocol):
    """Calls a method of the daemon, or of an engine in this process."""

    def __call__(self, method: str, /, **params: Any) -> Any:
        """Return the method's result. Raises TacitdError."""
        ...


class DeclinedError(BaseException):
    """The daemon does not answer this; the caller's own process runs the command.

    Not an Exception, because commands report those of a plugin's hook and go on.
    """


class RemoteCaller:
    """Another process for which the daemon runs a command, and what is printed for it."""

    def __init__(
        self, directory: Path, environ: Mapping[str, str], columns: int | None, call: CallMethod
    ) -> None:
        """`columns`: of its terminal; None if its stdout is not one. `call` calls a method of this daemon."""
        self.directory = directory
        self.environ = environ
        self.columns = columns
        self.call = call
        self.printed: list[tuple[Stream, str]] = []
        self._room = MOST_PRINTED

    def add_text(self, stream: Stream, text: str) -> None:
        """Note a text for a stream. Raises DeclinedError if there is too much."""
        self._room -= len(text)
        if self._room < 0:
            raise DeclinedError
        self.printed.append((stream, text))


_remote: ContextVar[RemoteCaller | None] = ContextVar("_remote", default=None)


@contextmanager
def run_for(caller: RemoteCaller) -> Iterator[None]:
    """While this is entered, commands in this thread run for that process."""
    token = _remote.set(caller)
    try:
        yield
    finally:
        _remote.reset(token)


def get_remote() -> RemoteCaller | None:
    """The other process for which this thread runs a command; None in a process of its own."""
    return _remote.get()


def require_own_process() -> None:
    """Raises DeclinedError in the daemon: the caller's own process must do this."""
    if _remote.get() is not None:
        raise DeclinedError


def get_directory() -> Path:
    """The caller's current directory. Raises FileNotFoundError if it was removed."""
    remote = _remote.get()
    return Path.cwd() if remote is None else remote.directory


def get_environ() -> Mapping[str, str]:
    """The caller's environment."""
    remote = _remote.get()
    return os.environ if remote is None else remote.environ


def get_columns() -> int | None:
    """The columns of the caller's terminal; None if its stdout is not one."""
    remote = _remote.get()
    if remote is not None:
        return remote.columns
    if not sys.stdout.isatty():
        return None
    from tacitd.cli.terminal_size import measure_terminal

    return measure_terminal(os.environ)[0]


def echo_text(text: str, *, nl: bool = True) -> None:
    """Print a text on the caller's stdout, with its colours if it has any."""
    remote = _remote.get()
    if remote is None:
        write_text(f"{text}\n" if nl else text, sys.stdout)
    else:
        remote.add_text("out", f"{text}\n" if nl else text)


def echo_message(text: str) -> None:
    """Print a text for a person on stderr, with control characters escaped: it may name files of a cloned repository."""
    remote = _remote.get()
    if remote is None:
        write_text(f"{escape_lines(text)}\n", sys.stderr)
    else:
        remote.add_text("err", f"{escape_lines(text)}\n")


def echo_paged(lines: Iterable[str], *, no_pager: bool = False) -> None:
    """Print lines on stdout, through a pager if they do not fit the terminal."""
    remote = _remote.get()
    if remote is None and sys.stdout.isatty() and not no_pager:
        from tacitd.cli.pager import print_paged

        print_paged(lines, echo_text)
        return
    if remote is None:
        write_text("".join(f"{line}\n" for line in lines), sys.stdout)
        return
    for line in lines:
        remote.add_text("out" if no_pager else "paged", f"{line}\n")
