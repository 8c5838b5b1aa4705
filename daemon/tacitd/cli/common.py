"""What commands share: paths, calls of the daemon, output, and common options and arguments.

Every command imports this module, so it imports nothing heavy.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, TypeVar

import click

from tacitd.errors import FAILED, ParkedError, TacitdError, UnavailableError, UsageError, describe_os_error
from tacitd.state.paths import Paths
from tacitd.text.sanitize import escape_lines, replace_surrogates
from tacitd.text.sanitize import escape_output as escape_output

if TYPE_CHECKING:
    from tacitd.contract import Rows
    from tacitd.control.client import BusyError
    from tacitd.events import Project
    from tacitd.handler import DoctorFinding
    from tacitd.store import Store

__all__ = [
    "PROJECT_OPTION",
    "SINCE_OPTION",
    "CallMethod",
    "StoredError",
    "add_pager_option",
    "connect_or_run",
    "echo_findings",
    "echo_json",
    "echo_message",
    "echo_paged",
    "echo_text",
    "escape_output",
    "find_project",
    "format_moment",
    "get_paths",
    "json_option",
    "leave_to_daemon",
    "open_store",
    "parse_since",
    "ping_daemon",
    "resolve_directory",
    "show_argument",
    "show_progress",
    "to_json_line",
    "wake_daemon",
]


LONGEST_SHOWN = 80
"""Characters of an argument that a message repeats."""
_F = TypeVar("_F", bound=Callable[..., Any])
T = TypeVar("T")
CallMethod = Callable[..., Any]
"""Calls a method of the daemon, or of an engine in this process: `call("sync", timeout=60)`. Raises TacitdError."""


def get_paths() -> Paths:
    return Paths.from_env(os.environ)


@contextmanager
def connect_or_run() -> Iterator[CallMethod]:
    """Yield a `CallMethod` on the running daemon; if none runs, on an engine in this process until the block ends. Beside a daemon that
    does not answer, a task that a method would run is left to it: the call raises StoredError then, otherwise BusyError."""
    from tacitd.control.client import BusyError, call_daemon

    places = get_paths()
    try:
        ping_daemon(places, timeout=5.0, patience=2.0)
    except BusyError as error:  # it holds the lock
        yield partial(_leave_task, error)
        return
    except UnavailableError:
        from tacitd.cli.run_command import run_in_process

        with run_in_process(places) as own:
            yield own
        return
    yield lambda method, /, **params: call_daemon(places.socket, method, params, timeout=None)


def ping_daemon(places: Paths, timeout: float, patience: float) -> Any:
    """The daemon's answer, within `timeout` seconds. One that starts or reloads has the lock a moment before it listens: it is asked
    again for `patience` seconds. Raises UnavailableError, BusyError."""
    from tacitd.control.client import BusyError, call_daemon
    from tacitd.files.locks import find_holder

    until = time.monotonic() + patience
    while True:
        try:
            return call_daemon(places.socket, "ping", timeout=timeout)
        except BusyError:
            raise
        except UnavailableError:
            if time.monotonic() > until or find_holder(places.state_dir / "lock") is None:
                raise
        time.sleep(0.02)


def _leave_task(error: BusyError, method: str, /, **params: Any) -> NoReturn:
    """Insert the task that the daemon would have inserted. Raises StoredError; `error` if there is none, or more is to be done with it."""
    if method not in ("task", "decide") or params.get("purge"):
        raise error
    from tacitd.clock import SystemClock
    from tacitd.handler import Decision
    from tacitd.work.asked_tasks import make_command, make_decision
    from tacitd.work.task_rows import insert_task

    now = SystemClock().now()
    project = find_project(params["project"]) if params.get("project") else None
    with open_store() as store, store.write() as tx:
        if method == "task":
            new = make_command(tx, params, project, now)
        else:
            root = Path(params["root"]) if params["root"] else None
            decision = Decision(params["id"], params["choice"], root, params["text"])
            new = make_decision(tx.rows, params["plugin"], decision)
        insert_task(tx, new, now)
    raise leave_to_daemon(error)


class StoredError(ParkedError):
    """What a command asked for is a row, and the daemon does not answer."""


def leave_to_daemon(error: UnavailableError) -> StoredError:
    """Have a daemon that does not answer begin what a command stored once it goes on; return the error with which the command ends."""
    from tacitd.control.client import END_HINT, BusyError

    wake_daemon(0.1)
    hint = END_HINT if isinstance(error, BusyError) else error.hint
    return StoredError(f"{error.what}: what you asked for is stored, and is done when it goes on", hint)


def ask_plugin(call: CallMethod, plugin: str, **data: Any) -> list[dict[str, Any]]:
    """Have a plugin do what a person or an agent asks for; return its notices. Raises what it is refused with."""
    from uuid import uuid4

    made: list[dict[str, Any]] = call("task", plugin=plugin, key=str(uuid4()), data=data)["made"]
    return made


def wake_daemon(seconds: float = 2.0) -> bool:
    """Have the daemon read what was typed up to now, and begin what is due. Returns whether one answered within so many seconds; one that
    does not is woken once it goes on."""
    from tacitd.control.client import call_daemon

    with suppress(TacitdError):
        call_daemon(get_paths().socket, "wake", timeout=seconds)
        return True
    return False


@contextmanager
def open_store() -> Iterator[Store]:
    """The store, for a command that changes rows by itself, with and without a daemon. Raises what `Store.open` raises."""
    from tacitd.clock import SystemClock
    from tacitd.store import Store

    with closing(Store.open(get_paths().state_dir, SystemClock(), owner=False)) as store:
        yield store


def read_store(ask: Callable[[Rows], T], state_dir: Path | None = None) -> T | None:
    """What `ask` finds in the store; None without one. Raises what `open_readonly` raises."""
    from tacitd.store import open_readonly

    with open_readonly(state_dir or get_paths().state_dir) or nullcontext() as store:
        return None if store is None else ask(store.rows)


def find_project(given: str | None, excludes: Sequence[str] = ()) -> Project:
    """The project that contains a directory (None: the working directory). Raises UsageError if there is none, or one of the patterns
    `excludes` it."""
    from tacitd.events import NoProject
    from tacitd.sources.projects import ProjectFinder

    places, wanted = get_paths(), resolve_directory(given)
    private = [places.state_dir, places.config_dir]
    place = ProjectFinder(places.home, excludes=excludes, private=private).find_project(str(wanted))
    if isinstance(place, NoProject):
        raise UsageError(f"{place.cwd} is not a project: {place.reason}", "name a directory that you work in")
    return place


PROJECT_OPTION = click.option(
    "--project", "--cwd", "cwd", metavar="DIR", help="The project; the default is the current directory."
)
SINCE_OPTION = click.option("--since", metavar="AGE", help="Only what is not older, such as 12h or 7d.")


def json_option(about: str) -> Callable[[_F], _F]:
    """The decorator of the option `--json`, which gives the command `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=about)


def add_pager_option(command: _F) -> _F:
    """The decorator of the option `--no-pager`; the command gets `no_pager` for `echo_paged`."""
    about = "Print long output without a pager (PAGER)."
    return click.option("--no-pager", "no_pager", is_flag=True, help=about)(command)


def echo_text(text: str, *, nl: bool = True) -> None:
    """Print a text on stdout, with its colours if it has any."""
    click.echo(text, nl=nl, color=True)


def echo_message(text: str, hint: str = "") -> None:
    """Print a text for a person on stderr, and what helps; control characters are escaped, as it may name files of a cloned repository."""
    click.echo(escape_lines(f"{text}\nhint: {hint}" if hint else text), err=True)


def confirm(question: str) -> None:
    """Ask a person, who says yes or ends the command. Raises click.Abort; where nobody can be asked, the option that says yes is named."""
    try:
        is_yes = click.confirm(question, err=True)
    except click.Abort:  # the input ended
        if not sys.stdin.isatty():
            echo_message("\nnobody could be asked", "`--yes` says yes")
        raise
    if not is_yes:
        raise click.Abort


def echo_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], none: str, right: Collection[int] = ()
) -> None:
    """Print rows below a head, those columns to the right; if there are none, `none` on stderr. Control characters are escaped."""
    from tacitd.text.wording import format_table

    lines = format_table(head, (tuple(map(escape_output, row)) for row in rows), right=right)
    for line in lines:
        click.echo(line)
    if not lines:
        echo_message(none)


def echo_paged(lines: Iterable[str], *, no_pager: bool = False) -> None:
    """Print lines on stdout; on a terminal through PAGER or `less`, which ends by itself if they fit the screen."""
    text = "\n".join(lines)
    pager = os.environ.get("PAGER", "less").strip()
    if no_pager or not text or pager in ("", "cat") or not sys.stdout.isatty():
        echo_text(text, nl=bool(text))
        return
    os.environ["PAGER"] = pager
    os.environ.setdefault("LESS", "FRX")
    click.echo_via_pager(text, color=True)


@contextmanager
def show_progress(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show on a terminal's standard error how far a long command is. Yield a function that sets how much is done, and the total if
    it is known now."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return

    def show(text: str) -> None:
        click.echo(f"\r\x1b[K{text}", nl=False, err=True, color=True)

    try:
        yield lambda done, total: show(f"{what}: {done:,}{'' if total is None else f' of {total:,}'}")
    finally:
        show("")


def echo_json(document: object) -> None:
    echo_text(replace_surrogates(json.dumps(document, ensure_ascii=not _is_utf8(sys.stdout), indent=2)))


def echo_findings(found: Sequence[DoctorFinding], *, as_json: bool) -> None:
    """Print findings as JSON, or a line each with what fixes it."""
    from msgspec.structs import asdict

    if as_json:
        echo_json([asdict(finding) for finding in found])
        return
    for one in found:
        mark = {"ok": "ok  ", "warning": "warn", "error": "FAIL"}[one.severity]
        hint = f"\n     hint: {one.hint}" if one.hint else ""
        echo_text(escape_lines(f"{mark} {one.id}: {one.what}{hint}"))


def _is_utf8(stream: TextIO) -> bool:
    """Whether a stream takes every character. JSON is printed in ASCII otherwise, so that nothing of it is lost."""
    return (stream.encoding or "utf-8").lower() in ("utf-8", "utf8")


def to_json_line(document: Mapping[str, Any]) -> str:
    is_ascii = not _is_utf8(sys.stdout)
    return replace_surrogates(json.dumps(document, ensure_ascii=is_ascii, separators=(",", ":")))


def format_moment(at: str, now: float | None = None) -> str:
    """Given a UTC time, return `2026-11-22 10:05 (3 h ago)`, local; the text itself if it is no time, such as a local date.

    `now`: seconds since 1970, UTC; None: the machine's clock.
    """
    from tacitd.clock import SystemClock, local_minutes, parse_utc
    from tacitd.text.wording import format_age

    found = parse_utc(at)
    if found is None or len(at) == len("2026-11-22"):
        return at
    age = format_age((SystemClock().now() if now is None else now) - found)
    return local_minutes(found).replace("T", " ") + (f" ({age})" if age else "")


def show_argument(text: str) -> str:
    """What a person typed, for a message: escaped, and cut if it is very long."""
    return escape_output(text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…")


def resolve_directory(given: str | None, *, missing_ok: bool = False) -> Path:
    """A directory argument as an absolute path; None is the current directory, `~` the home. Raises
    UsageError if it does not exist, unless `missing_ok`: a mistyped name must not look like a project without
    contents."""
    try:
        place = Path(given or ".").expanduser()
        place = place if place.is_absolute() else Path.cwd() / place
        if missing_ok or stat.S_ISDIR(place.stat().st_mode):
            return place
        why = "not a directory"
    except FileNotFoundError:
        why = "no such directory" if given else "the current directory was removed"
    except (OSError, RuntimeError, ValueError) as error:  # also an unknown `~name`, and a NUL
        why = getattr(error, "strerror", None) or str(error)
    raise UsageError(f"{escape_output(given or '.')}: {why}", "name an existing directory")


def parse_since(since: str | None) -> float:
    """The time so long ago, in seconds since 1970, UTC; 0 without one. Raises UsageError if it is no
    duration."""
    if since is None:
        return 0.0
    from tacitd.clock import SystemClock
    from tacitd.config.durations import parse_duration

    try:
        return max(0.0, SystemClock().now() - parse_duration(since))
    except ValueError as error:
        raise UsageError(f"--since {escape_output(since)}: {error}") from error


# --- the standard streams of a command: they are opened and flushed, and errors are reported on them


class ReaderGoneError(Exception):
    """The reader of stdout closed it. click would report a BrokenPipeError as a failure."""


def flush_streams(code: int, name: str) -> int:
    """Flush stdout and stderr; return the exit code. At the interpreter's end an error could not be reported any more."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            silence_stream(stream)
        except OSError as error:
            silence_stream(stream)
            if not code:  # otherwise an error was printed already
                echo_error(TacitdError(*describe_os_error(error)), name)
            code = code or FAILED
    return code


def silence_stream(stream: TextIO) -> None:
    """Point the stream to /dev/null: after `tacitd prompts | head` the interpreter's last flush must not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def open_streams() -> None:
    """Open standard streams that are closed (`>&-`, some supervisors) as /dev/null: Python has None for them, and the next file that is
    opened would get their number, so that a child's output could end up in a log."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)  # the lowest free number: this one
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115 - for life
    encoding = None
    if sys.orig_argv[1:3] == ["-X", "utf8"] and "PYTHONIOENCODING" not in os.environ:
        from locale import getencoding  # of a terminal for which the program started itself again

        encoding = getencoding()
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and (encoding or not _is_utf8(stream)):
            # A terminal without UTF-8 shows `?` for what it does not have. Otherwise the command would fail.
            stream.reconfigure(encoding=encoding, errors="replace")


def echo_error(error: TacitdError, name: str = "tacitd") -> None:
    with suppress(OSError):  # stderr itself cannot be written: there is no other place to report that
        echo_message(f"{name}: {error.what}", error.hint)
