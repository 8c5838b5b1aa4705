"""The command line: a table of commands, each imported when it is called.

`status` must be instant, so nothing heavy is imported here: no pydantic, no rich, no scan of entry points. Each command
is a click command in a module of its own, which the table names. The engine's commands are in `COMMANDS`. Plugins add
theirs by a hook; `plugin_table` keeps those in a file, which is read only if the engine has no command of a name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TextIO

import click

from tacitd.cli.stored_table import HELP_COLUMNS
from tacitd.errors import FAILED, TacitdError, describe_os_error

if TYPE_CHECKING:
    from tacitd.cli.plugin_table import PluginTable


class CommandRow(NamedTuple):
    """One command in the list of commands: its location, help and group."""

    where: str
    """`module:name`."""
    help: str
    group: str


WORK, LOOK, CARE = "Running", "Looking", "Care"

COMMANDS: dict[str, CommandRow] = {
    "run": CommandRow("tacitd.cli.run_command:run", "Watch and learn, in the foreground.", WORK),
    "start": CommandRow(
        "tacitd.cli.service_commands:start", "Start in the background, without systemd or launchd.", WORK
    ),
    "stop": CommandRow("tacitd.cli.control_commands:stop", "Stop the running daemon.", WORK),
    "restart": CommandRow("tacitd.cli.service_commands:restart", "Stop the daemon and start it again.", WORK),
    "reload": CommandRow("tacitd.cli.service_commands:reload", "Reload the configuration.", WORK),
    "service": CommandRow(
        "tacitd.cli.service_commands:service", "Install tacitd as a service that starts at login.", WORK
    ),
    "sync": CommandRow(
        "tacitd.cli.control_commands:sync", "Handle everything now, and wait until it is done.", WORK
    ),
    "pause": CommandRow(
        "tacitd.cli.control_commands:pause", "Pause learning: everywhere, in a project or in a session.", WORK
    ),
    "resume": CommandRow("tacitd.cli.control_commands:resume", "Resume learning.", WORK),
    "status": CommandRow(
        "tacitd.cli.status_command:status", "Show what tacitd does, what waits and what it cost.", LOOK
    ),
    "log": CommandRow(
        "tacitd.cli.log_command:log", "Show what happened: read, learned, changed, parked.", LOOK
    ),
    "prompts": CommandRow(
        "tacitd.cli.prompts_command:prompts", "Show what a person typed in transcripts.", LOOK
    ),
    "why": CommandRow(
        "tacitd.cli.why_command:why", "Show which of your words a line or a lesson came from.", LOOK
    ),
    "history": CommandRow(
        "tacitd.cli.history_commands:history", "Show what tacitd changed in a project's files.", LOOK
    ),
    "show": CommandRow("tacitd.cli.history_commands:show", "Show one change whole.", LOOK),
    "undo": CommandRow("tacitd.cli.history_commands:undo", "Undo one change.", LOOK),
    "forget": CommandRow(
        "tacitd.cli.decide_commands:forget", "Remove what was learned, and never learn it again.", LOOK
    ),
    "accept": CommandRow(
        "tacitd.cli.decide_commands:accept", "Store a withheld or refused line after all.", LOOK
    ),
    "review": CommandRow("tacitd.cli.review_command:review", "Decide about what needs a decision.", LOOK),
    "spend": CommandRow("tacitd.cli.spend_command:spend", "Show what the model calls cost.", LOOK),
    "report": CommandRow(
        "tacitd.cli.report_command:report", "Show what was learned, and whether it helps, as a page.", LOOK
    ),
    "context": CommandRow(
        "tacitd.cli.context_command:context", "Print what a session gets at its start.", LOOK
    ),
    "statusline": CommandRow(
        "tacitd.cli.statusline_command:statusline", "Print one line for the client's status bar.", LOOK
    ),
    "hooks": CommandRow("tacitd.cli.hooks_command:hooks", "Optional hooks in Claude Code.", CARE),
    "mcp": CommandRow("tacitd.cli.mcp_command:mcp", "Tools for agents, over MCP.", CARE),
    "help": CommandRow("tacitd.cli.help_commands:show_help", "Show the help of a command.", CARE),
    "completion": CommandRow(
        "tacitd.cli.help_commands:completion", "Print the completion script for a shell.", CARE
    ),
    "config": CommandRow(
        "tacitd.cli.config_command:config", "Show, check and locate the configuration.", CARE
    ),
    "doctor": CommandRow(
        "tacitd.cli.doctor_command:doctor", "Check what the daemon needs, and name each fix.", CARE
    ),
    "uninstall": CommandRow(
        "tacitd.cli.service_commands:uninstall_all", "Remove service, daemon and socket.", CARE
    ),
    "rescue": CommandRow(
        "tacitd.cli.rescue_command:rescue", "List, retry or drop prompts that wait or were rejected.", CARE
    ),
}


class ReaderGoneError(Exception):
    """The reader of stdout closed it. click would report a BrokenPipeError as a failure."""


class OrderedGroup(click.Group):
    """A group that lists its commands in the order in which they were added. A closed stdout is not an error."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in order."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command. Raises EnoughError if the reader closed stdout."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGoneError from error


class LazyGroup(OrderedGroup):
    """A group that takes its commands' names and help from tables and imports a command when it is called.

    `load_more` returns further rows. It is called only if the first table does not answer, because it may take time.
    """

    def __init__(
        self,
        table: Mapping[str, CommandRow],
        load_more: Callable[[], Mapping[str, CommandRow]] = dict,
        **options: object,
    ) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.table = table
        self._load_more = load_more

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in order."""
        return list(self._list_rows())

    def _list_rows(self) -> dict[str, CommandRow]:
        return {**self.table, **self._load_more()}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command; None if no table names it. Raises TacitdError if a plugin's cannot be imported."""
        row = self.table.get(cmd_name)
        if row is not None:
            return _import_command(row)
        row = self._load_more().get(cmd_name)
        if row is None:
            return None
        try:
            return _import_command(row)
        except Exception as error:  # a third-party package may raise anything when it is imported
            what = f"the command {cmd_name} ({row.where}) cannot be loaded: {type(error).__name__}: {error}"
            raise TacitdError(what, "update or remove the package that brings it") from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but the error for an unknown name suggests similar ones. Raises click.UsageError."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            similar = get_close_matches(args[0], self.list_commands(ctx))
            if similar and not args[0].startswith("-"):
                what = f"{error.message} Did you mean {' or '.join(map(repr, similar))}?"
                raise click.UsageError(what, ctx) from error
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List them by group, from the tables."""
        table = self._list_rows()
        for group in dict.fromkeys(row.group for row in table.values()):
            with formatter.section(group):
                rows = [(name, row.help) for name, row in table.items() if row.group == group]
                formatter.write_dl(rows)


def _import_command(row: CommandRow) -> click.Command:
    module, _, name = row.where.partition(":")
    command = getattr(import_module(module), name)
    if not isinstance(command, click.Command):
        raise TypeError(f"{row.where} is not a click command")
    return command


def load_plugin_table(environ: Mapping[str, str]) -> PluginTable:
    """The hooks of all plugins."""
    from tacitd.cli.plugin_table import load_table

    return load_table(environ, COMMANDS)


def list_plugin_rows(table: PluginTable) -> dict[str, CommandRow]:
    """The rows of the plugins' commands, in the order of the plugins."""
    return {name: CommandRow(*row) for one in table.plugins for name, row in one.commands.items()}


def _load_plugin_rows() -> dict[str, CommandRow]:
    return list_plugin_rows(load_plugin_table(os.environ))


def load_command(name: str, path: Sequence[str] = ()) -> click.Command:
    """Import a command: its name, and those of the commands below it. Raises ValueError if there is none."""
    program = make_program(COMMANDS, _load_plugin_rows)
    found: click.Command | None = program
    for one in (name, *path):
        found = found.get_command(click.Context(program), one) if isinstance(found, click.Group) else None
    if found is None:
        raise ValueError(f"there is no command {' '.join((name, *path))}")
    return found


EPILOG = """\b
Exit codes: 0 done, 1 failed, 2 usage error, 69 another daemon runs or none does,
75 something is parked or waits, 78 the configuration is wrong."""


def make_program(
    table: Mapping[str, CommandRow],
    load_more: Callable[[], Mapping[str, CommandRow]] = dict,
    group: type[LazyGroup] = LazyGroup,
) -> LazyGroup:
    """The `tacitd` program with these commands."""
    made = group(
        table,
        load_more,
        name="tacitd",
        help="Learn from your sessions with Claude Code, and keep what was learned in plain files.",
        epilog=EPILOG,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": HELP_COLUMNS},
    )
    return click.version_option(package_name="tacitd", message="tacitd %(version)s")(made)


class _StoringGroup(LazyGroup):
    """The program that a person runs: the help that it makes is stored for `quick_help`."""

    def get_help(self, ctx: click.Context) -> str:
        """Return the help."""
        text = super().get_help(ctx)
        from tacitd.cli.plugin_table import store_help

        store_help(os.environ, text)
        return text


def main() -> None:
    """Run the program with the commands of the engine and of all plugins, and end the process with its exit code."""
    run_and_exit(make_program(COMMANDS, _load_plugin_rows, _StoringGroup), "tacitd")


def run_and_exit(command: click.Command, name: str) -> NoReturn:
    """Run a click program called `name` and end the process with its exit code.

    A TacitdError ends it with its own code, an OSError with 1, a closed stdout with 0.
    """
    _open_streams()
    try:
        code = command.main(prog_name=name, standalone_mode=False)
    except click.exceptions.Abort:
        with suppress(OSError):
            click.echo("aborted", err=True)
        code = FAILED
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else error.message)
        code = 0
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        code = error.exit_code
    except TacitdError as error:
        echo_error(error, name)
        code = error.code
    except ReaderGoneError:
        _silence_stream(sys.stdout)
        code = 0
    except OSError as error:
        echo_error(_describe_lost_output(error) or TacitdError(*describe_os_error(error)), name)
        code = FAILED
    sys.exit(_flush_streams(code if isinstance(code, int) else 0, name))


def _flush_streams(code: int, name: str) -> int:
    """Flush stdout and stderr; return the exit code. At the interpreter's end an error could not be reported any more."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            _silence_stream(stream)
        except OSError as error:
            _silence_stream(stream)
            if not code:  # otherwise an error was printed already
                echo_error(
                    TacitdError(
                        f"the output could not be written: {error.strerror}",
                        LOST_HINT,
                    ),
                    name,
                )
            code = code or FAILED
    return code


LOST_HINT = "free space where it goes to, or name another file"


def _describe_lost_output(error: OSError) -> TacitdError | None:
    """The error for a person if it was the output that could not be written, which only `click.echo` writes; otherwise None."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None or place.tb_frame.f_globals.get("__name__") != click.echo.__module__:
        return None
    return TacitdError(f"the output could not be written: {error.strerror}", LOST_HINT)


def _silence_stream(stream: TextIO) -> None:
    """Point the stream to /dev/null: after `tacitd prompts | head` the interpreter's last flush must not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _open_streams() -> None:
    """Open closed standard streams.

    Trigger: the program was started with a standard stream closed (`>&-`, some supervisors). Why: Python has None for it,
    and the next file that is opened gets its number, so a child's output could end up in a log. Outcome: the stream is
    /dev/null.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)  # the lowest free number: this one
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115 - for life
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.encoding.lower() not in ("utf-8", "utf8"):
            # A terminal without UTF-8 shows `?` for what it does not have. Otherwise the command would fail.
            stream.reconfigure(errors="replace")


def echo_error(error: TacitdError, name: str = "tacitd") -> None:
    """Print what happened and its hint on stderr."""
    from tacitd.text.sanitize import escape_lines

    with suppress(OSError):  # stderr itself cannot be written: there is no other place to report that
        click.echo(escape_lines(f"{name}: {error.what}"), err=True)
        if error.hint:
            click.echo(escape_lines(f"hint: {error.hint}"), err=True)
